"""Why calls to a model failed, beside what it answered, until they are answered after all.

The reason goes into the row that lacks the answer. No text of a conversation is kept.
"""

import json
from pathlib import Path
from typing import Final

from compaction.errors import ModelError
from evals.recording.secret_shapes import redact_secrets

FAILURES_FILE: Final = "failures.json"
MAX_REASON_CHARS: Final = 300


class FailedCalls:
    """Digest of a request -> why the last try failed; one file for all recordings of a model."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def reason(self, digest: str) -> str | None:
        return self._read().get(digest)

    def note(self, outcomes: dict[str, ModelError | None]) -> None:
        """Take in what became of some calls; None: answered. Without failures there is no file."""
        before = self._read()
        after = {digest: text for digest, text in before.items() if digest not in outcomes}
        for digest, error in outcomes.items():
            if error is not None:
                after[digest] = redact_secrets(" ".join(str(error).split()))[:MAX_REASON_CHARS]
        if after == before:
            return
        if not after:
            self._path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        partial.write_text(json.dumps(dict(sorted(after.items())), indent=0) + "\n", "ascii")
        partial.replace(self._path)

    def _read(self) -> dict[str, str]:
        try:
            known = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return {str(key): str(text) for key, text in known.items()}
