"""Worker processes that end with the process that started them."""

import os
import signal
from multiprocessing import parent_process
from threading import Thread


def live_with_parent() -> None:
    """Let this worker end when its parent does, and at Ctrl-C without a word: the parent speaks.

    A worker that outlived its parent would work beside the run that comes next.
    """
    Thread(target=_die_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
