"""A session: every message ever said, as a tree in a file that only grows.

The tree is the truth; compactions hang beside it and are hints for what to send instead. What one
line holds is in `compaction.session_entries`, how it gets to disk in `compaction.session_file`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

from compaction.errors import MessageError, SessionError
from compaction.messages import INSTRUCTION_ROLES, Json, Message, Messages
from compaction.session_entries import (
    SUMMARY_PREFIX,
    CompactionEntry,
    Entry,
    SessionEntry,
    SessionState,
    entry_from_json,
    entry_to_json,
)
from compaction.session_file import SessionFile

SESSION_FORMAT: Final = "compaction-session/1"


class CompactionCache(TypedDict):
    """What `ContextManager.restore_cache` takes."""

    summary: str
    covered_count: int
    retained_tail: Messages


class Session:
    """A tree of messages with a current place in it, in memory and, given a path, on disk.

    Every change is one appended line; the change is made only if the line was written.
    """

    def __init__(self, path: Path | None = None, *, sync: bool = True) -> None:
        """Start an empty session; the file is made by the first entry.

        Raises:
            SessionError: the file exists; `load` or `open` it.
        """
        if path is not None and path.exists():
            raise SessionError(f"{path} exists; use Session.load to continue it")
        self.entries: dict[str, Entry] = {}
        """All of them, in the order of the file."""
        self.current_id: str | None = None
        self.compaction_floor: str | None = None
        """The message that was current at the latest compaction: no way back before it."""
        self._file = SessionFile(path, sync=sync) if path is not None else None
        self._compactions_at: dict[str | None, list[CompactionEntry]] = {}

    @classmethod
    def load(cls, path: Path, *, sync: bool = True) -> "Session":
        """Read a session; a last line that a kill cut short is left out, see `torn_line`.

        Raises:
            SessionError: the file is missing, damaged or foreign; it names the line.
        """
        session = cls(None)
        file = SessionFile(path, sync=sync)
        for number, record in file.read():
            try:
                session._take(record)
            except (SessionError, MessageError) as error:
                raise SessionError(f"{path}, line {number}: {error}") from error
        session._file = file
        return session

    @classmethod
    def open(cls, path: Path, *, sync: bool = True) -> "Session":
        """Load the session if the file exists, else start it."""
        return cls.load(path, sync=sync) if path.exists() else cls(path, sync=sync)

    @property
    def path(self) -> Path | None:
        return self._file.path if self._file else None

    @property
    def torn_line(self) -> int | None:
        """Number of the half line that `load` left out, until the next write sets it aside."""
        return self._file.torn_line if self._file else None

    def append(self, message: Message) -> SessionEntry:
        """Add a message after the current one and go there."""
        entry = SessionEntry(self._new_id("e"), self.current_id, message)
        self._write(entry_to_json(entry))
        self._add(entry)
        return entry

    def rewind(self, entry_id: str, *, include_floor: bool = True) -> None:
        """Go back to a message; the next one is appended there, as a branch.

        Args:
            entry_id: A message of the tree.
            include_floor: Whether the floor itself is allowed: the summary still fits there. The
                seed's wording forbids it.

        Raises:
            SessionError: no such message, or it is not after the latest compaction.
        """
        if not isinstance(self.entries.get(entry_id), SessionEntry):
            raise SessionError(f"the session has no message {entry_id!r}")
        floor = self.compaction_floor
        if floor is not None:
            path = [entry.entry_id for entry in self._path_to(entry_id)]
            if floor not in path or (entry_id == floor and not include_floor):
                raise SessionError(
                    f"cannot go back to {entry_id!r}: what lies before {floor!r} was compacted"
                )
        self._write({"type": "rewind", "to": entry_id})
        self.current_id = entry_id

    def add_summary_cache(
        self,
        summary: str,
        covered_count: int,
        *,
        tokens_before: int | None = None,
        summary_usage: Mapping[str, int] | None = None,
        summary_model: str | None = None,
    ) -> CompactionEntry:
        """Record that the first `covered_count` messages of the path are condensed.

        Raises:
            SessionError: the path has no such part, or the entry could not be written.
        """
        path = [entry for entry in self.get_current_path() if isinstance(entry, SessionEntry)]
        if not 0 < covered_count <= len(path):
            raise SessionError(f"covered_count must be from 1 to {len(path)}, got {covered_count}")
        entry = CompactionEntry(
            self._new_id("s"),
            self.current_id,
            summary,
            self._replaced(path[:covered_count]),
            tokens_before=tokens_before,
            summary_usage=summary_usage,
            summary_model=summary_model,
        )
        self._write(entry_to_json(entry))
        self._add(entry)
        return entry

    def get_current_path(self) -> tuple[Entry, ...]:
        """Return the entries from the root to the current one; compactions beside it are not in."""
        return self._path_to(self.current_id)

    def get_current_path_messages(self) -> Messages:
        """Return the path as messages; a compaction that lies on it is one of role `system`."""
        return tuple(
            entry.message
            if isinstance(entry, SessionEntry)
            else Message("system", SUMMARY_PREFIX + entry.summary)
            for entry in self.get_current_path()
        )

    def get_full_history_messages(self) -> Messages:
        """Return every message of the path and nothing else: the truth."""
        path = self.get_current_path()
        return tuple(entry.message for entry in path if isinstance(entry, SessionEntry))

    def get_state(self) -> SessionState:
        """Return the path with the condensed parts folded into their summaries."""
        return SessionState.from_entries(self._with_compactions(self.get_current_path()))

    def get_latest_compaction_cache(self) -> CompactionCache | None:
        """Return the deepest compaction at the current path, or None if there is none."""
        compactions = self._compactions()
        if not compactions:
            return None
        latest = compactions[-1]
        path = [e for e in self._path_to(latest.parent_id) if isinstance(e, SessionEntry)]
        covered = latest.covered_count
        if covered is None:
            replaced = set(latest.replaces_entry_ids)
            covered = max((i for i, e in enumerate(path, 1) if e.entry_id in replaced), default=0)
        if not covered:
            return None
        tail = latest.retained_tail
        if tail is None:
            tail = tuple(entry.message for entry in path[covered:])
        return CompactionCache(summary=latest.summary, covered_count=covered, retained_tail=tail)

    def _compactions(self) -> list[CompactionEntry]:
        entries = self._with_compactions(self.get_current_path())
        return [entry for entry in entries if isinstance(entry, CompactionEntry)]

    def _with_compactions(self, path: Sequence[Entry]) -> Iterator[Entry]:
        """Yield the entries of a path, each followed by the compactions that hang from it."""
        on_path = {entry.entry_id for entry in path}
        for entry in path:
            yield entry
            for beside in self._compactions_at.get(entry.entry_id, ()):
                if beside.entry_id not in on_path:
                    yield beside

    def _replaced(self, covered: Sequence[SessionEntry]) -> tuple[str, ...]:
        """Return what a compaction replaces: the one before, and the messages it did not cover."""
        earlier = self._compactions()
        before = tuple(entry.entry_id for entry in earlier[-1:])
        known = {one for entry in earlier for one in entry.replaces_entry_ids}
        ids = (e.entry_id for e in covered if e.message.role not in INSTRUCTION_ROLES)
        return (*before, *(one for one in ids if one not in known))

    def _path_to(self, entry_id: str | None) -> tuple[Entry, ...]:
        path: list[Entry] = []
        while entry_id is not None:
            path.append(self.entries[entry_id])
            entry_id = path[-1].parent_id
        return tuple(reversed(path))

    def _new_id(self, letter: str) -> str:
        number = len(self.entries) + 1
        while f"{letter}{number}" in self.entries:
            number += 1
        return f"{letter}{number}"

    def _write(self, record: Json) -> None:
        if self._file is None:
            return
        if not self.entries and not self._file.path.exists():
            self._file.append({"type": "session", "format": SESSION_FORMAT})
        self._file.append(record)

    def _take(self, record: Json) -> None:
        """Do what a line of the file says."""
        kind = record.get("type")
        if kind == "session":
            if record.get("format") != SESSION_FORMAT or self.entries:
                raise SessionError(f"not in the format {SESSION_FORMAT}: {record.get('format')!r}")
        elif kind == "rewind":
            target = record.get("to")
            if not isinstance(target, str) or target not in self.entries:
                raise SessionError(f"a step back to {target!r}, which no line before has")
            self.current_id = target
        else:
            self._add(entry_from_json(record))

    def _add(self, entry: Entry) -> None:
        if entry.entry_id in self.entries:
            raise SessionError(f"the id {entry.entry_id!r} is there already")
        if entry.parent_id is not None and entry.parent_id not in self.entries:
            raise SessionError(f"the parent {entry.parent_id!r} is on no line before")
        self.entries[entry.entry_id] = entry
        if isinstance(entry, SessionEntry):
            self.current_id = entry.entry_id
        else:
            self._compactions_at.setdefault(entry.parent_id, []).append(entry)
            self.compaction_floor = entry.parent_id
