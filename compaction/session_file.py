"""A file of JSON lines that only grows, and what a killed process may leave at its end.

Each record is written with one call; a line that was cut short is set aside in a file beside, never
dropped. Two writers are noticed by the size of the file.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from compaction.errors import SessionError
from compaction.messages import Json


class Line(NamedTuple):
    number: int
    """Counts from 1."""
    record: Json


class SessionFile:
    """Appends records to one file. Not for two processes at once."""

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self.path = path
        self.torn_line: int | None = None
        """Number of the half line found at the end by `read`; it is set aside before a write."""
        self._sync = sync
        self._whole_bytes = 0
        self._ends_whole = True

    @property
    def torn_path(self) -> Path:
        """Where half lines are kept."""
        return self.path.with_name(self.path.name + ".torn")

    def read(self) -> Iterator[Line]:
        """Yield the whole lines; the file is not changed.

        Raises:
            SessionError: it cannot be read, or a line that is whole is no JSON object.
        """
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise SessionError(f"cannot read {self.path}: {error.strerror}") from error
        *lines, last = raw.split(b"\n")
        self.torn_line, self._ends_whole, self._whole_bytes = None, True, len(raw)
        for number, line in enumerate(lines, 1):
            yield Line(number, self._parsed(number, line))
        if not last:
            return
        number = len(lines) + 1
        try:
            record = self._parsed(number, last)
        except SessionError:
            self.torn_line, self._whole_bytes = number, len(raw) - len(last)
        else:
            self._ends_whole = False
            yield Line(number, record)

    def append(self, record: Json) -> None:
        """Write one line, completely or not at all.

        Raises:
            SessionError: it could not be written, or something else wrote to the file.
        """
        text = json.dumps(record, ensure_ascii=False)
        line = (b"" if self._ends_whole else b"\n") + text.encode("utf-8", "surrogatepass") + b"\n"
        try:
            self._set_torn_line_aside()
            self._write(line)
        except OSError as error:
            raise SessionError(f"cannot write {self.path}: {error.strerror}") from error
        self._whole_bytes += len(line)
        self._ends_whole = True

    def _write(self, line: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size != self._whole_bytes:
                raise SessionError(
                    f"{self.path} has {size} bytes, expected {self._whole_bytes}: "
                    "something else wrote to it; load it again"
                )
            try:
                written = file.write(line)
                if written != len(line):
                    raise OSError(28, "No space left on device")
                if self._sync:
                    os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

    def _set_torn_line_aside(self) -> None:
        if self.torn_line is None:
            return
        with self.path.open("rb") as file:
            file.seek(self._whole_bytes)
            torn = file.read()
        with self.torn_path.open("ab") as file:
            file.write(torn + b"\n")
        os.truncate(self.path, self._whole_bytes)
        self.torn_line = None

    def _parsed(self, number: int, line: bytes) -> Json:
        try:
            record = json.loads(line.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise SessionError(f"{self.path}, line {number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise SessionError(f"{self.path}, line {number}: not a JSON object")
        return record
