"""What the workers print of the views that they made: one JSON line for `peers.py`."""

import hashlib
import json
import time


def report(texts_of_views, **more):
    """Consume an iterator of views (a list of texts each) under the processor clock; print."""
    started = time.process_time()
    views = [list(texts) for texts in texts_of_views]
    seconds = time.process_time() - started
    digests = [hashlib.sha256(json.dumps(view).encode()).hexdigest()[:16] for view in views]
    chars = sum(len(text) for view in views for text in view)
    line = {"work_seconds": seconds, "digests": digests, "chars": chars, **more}
    print(json.dumps(line))
