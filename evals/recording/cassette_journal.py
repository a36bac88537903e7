"""An unfinished recording: every answer is on disk before the next request is sent.

The file lies beside the cassette that it becomes, one JSON object per line, in the compact layout.
"""

from pathlib import Path
from typing import Any

from compaction.errors import SessionError
from compaction.messages import Json
from compaction.session_file import SessionFile
from evals.recording.cassette_files import CassetteError
from evals.recording.cassette_layout import GrowingLayout

FORMAT = "compaction-evals/unfinished-cassette"


class CassetteJournal:
    """The interactions kept so far.

    A line that a kill cut short is no interaction; a second writer is noticed.
    """

    def __init__(self, cassette: Path) -> None:
        self.path = cassette.with_name(f"{cassette.name}.unfinished")
        self._file = SessionFile(self.path)
        self._layout = GrowingLayout()
        self._has_header = False

    def load(self) -> list[dict[str, Any]]:
        """Return the interactions of the process before, oldest first.

        Raises:
            CassetteError: the file is damaged or something else.
        """
        if not self.path.exists():
            return []
        try:
            rows = [line.record for line in self._file.read()]
            if rows and rows[0].get("format") != FORMAT:
                raise ValueError("no unfinished cassette")
            self._has_header = bool(rows)
            return [self._layout.unpack(row) for row in rows[1:]]
        except (SessionError, KeyError, TypeError, ValueError, IndexError) as error:
            raise CassetteError(
                f"{self.path}: cannot be continued ({error}); delete it to record from the start"
            ) from error

    def append(self, entry: Json) -> None:
        """Keep one interaction, a cleaned one.

        Raises:
            CassetteError: it could not be written, or another process writes here.
        """
        try:
            if not self._has_header:
                self._file.append({"format": FORMAT})
                self._has_header = True
            self._file.append(self._layout.pack(entry))
        except SessionError as error:
            raise CassetteError(str(error)) from error

    def discard(self) -> None:
        """Delete the file, once the cassette holds all of it."""
        self.path.unlink(missing_ok=True)
        self._file.torn_path.unlink(missing_ok=True)
