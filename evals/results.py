"""Run folders: one row per cell the moment it is scored, a sidecar per cell, and a manifest.

`rows.jsonl` is append-only; a row is written in one piece, so a killed process leaves whole rows
and at most one broken last line, which the next run drops and does again. Everything a report
shows comes from here.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from compaction.atomic import write_atomically
from compaction.errors import CompactionError
from compaction.messages import Json, canonical_json, digest_of
from evals.rows import ROW_VERSION as ROW_VERSION
from evals.rows import Row as Row
from evals.rows import Status as Status

ROWS_FILE: Final = "rows.jsonl"
RUN_FILE: Final = "run.json"
CELLS_FOLDER: Final = "cells"
LOCK_FILE: Final = ".lock"
BLOCK_BYTES: Final = 65_536
ENGAGED_FRACTION: Final = 0.01
"""Below this saving a strategy did nothing worth a fidelity number. This project's definition."""


_KINDS: Final = {
    "cells": list,
    "cells_by_setting": dict,
    "settings": list,
    "metrics": list,
    "refused": list,
    "noted": list,
    "passed_over": list,
    "versions": dict,
}
"""Of what a manifest may hold."""
_WORDS: Final = {list: "list", dict: "object"}


class ResultsError(CompactionError):
    """A run folder cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Metric:
    """How a column is to be read. Written into `run.json`, so a report needs no code of ours."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    definition: str


class Place(NamedTuple):
    """Where the last row of a cell stands in `rows.jsonl`."""

    offset_bytes: int
    is_ok: bool


class RunFolder:
    """A folder that one run writes to at a time, and that any number of reports read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def rows_path(self) -> Path:
        return self.path / ROWS_FILE

    def create(self) -> None:
        """Make the folder; an unfinished last row of a killed process is cut off."""
        try:
            (self.path / CELLS_FOLDER).mkdir(parents=True, exist_ok=True)
            if self.rows_path.exists():
                _cut_unfinished_line(self.rows_path)
        except OSError as error:
            text = f"cannot write to {self.path}: {error.strerror}; choose another run folder"
            raise ResultsError(text) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out until the block ends or the process dies.

        Raises:
            ResultsError: another run writes to this folder.
        """
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / LOCK_FILE)
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise ResultsError(
                f"another run is writing to {self.path}; wait for it, or choose another --out"
            ) from error
        except OSError as error:
            raise ResultsError(f"cannot lock {self.path}: {error.strerror}") from error
        try:
            yield
        finally:
            lock.release()

    def places(self) -> dict[str, Place]:
        """Return cell id -> where its last row stands, in the order of the rows.

        Raises:
            ResultsError: a line before the last one is not a row.
        """
        found: dict[str, Place] = {}
        for offset, row in self._all_rows():
            found.pop(row.cell_id, None)
            found[row.cell_id] = Place(offset, row.status == "ok")
        return found

    def rows(self) -> Iterator[Row]:
        """Yield the rows in the order of their writing; the last row of a cell counts.

        One row is in memory at a time.

        Raises:
            ResultsError: a line before the last one is not a row.
        """
        last = self.places()
        for offset, row in self._all_rows():
            if last[row.cell_id].offset_bytes == offset:
                yield row

    def row_at(self, place: Place) -> Row:
        with self.rows_path.open("rb") as file:
            file.seek(place.offset_bytes)
            return Row.from_json(json.loads(file.readline()))

    def append(self, row: Row) -> Place:
        line = (canonical_json(row.to_json()) + "\n").encode("utf-8", "replace")
        try:
            with self.rows_path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
                return Place(file.tell() - len(line), row.status == "ok")
        except OSError as error:
            raise _unwritten(self.rows_path, error) from error

    def write_sidecar(self, cell_id: str, content: Json) -> None:
        """Write what a cell's row does not hold; before the row, so that no row lacks its own."""
        self._write(self.path / CELLS_FOLDER / f"{cell_id}.json", canonical_json(content))

    def copy_sidecar(self, cell_id: str, new_id: str) -> None:
        """Write the sidecar of one cell for another of which all is the same."""
        cells = self.path / CELLS_FOLDER
        try:
            write_atomically(cells / f"{new_id}.json", (cells / f"{cell_id}.json").read_bytes())
        except OSError as error:
            raise _unwritten(cells, error) from error

    def sidecar(self, cell_id: str) -> Json | None:
        return _read_json(self.path / CELLS_FOLDER / f"{cell_id}.json")

    def write_manifest(self, content: Json) -> None:
        self._write(self.path / RUN_FILE, json.dumps(content, indent=1, ensure_ascii=False))

    def manifest(self) -> Json:
        """Return what `write_manifest` wrote.

        Raises:
            ResultsError: there is no run in this folder.
        """
        content = _read_json(self.path / RUN_FILE) if self.path.is_dir() else None
        if content is None:
            raise ResultsError(
                f"{self.path} is not a run folder: it has no {RUN_FILE}; name the folder that a "
                "finished run has written"
            )
        if "command" not in content:
            raise ResultsError(
                f"{self.path / RUN_FILE} is not the record of a run: it names no command; "
                "name the folder that a run has written"
            )
        for key, kind in _KINDS.items():
            if not isinstance(content.get(key), kind | None):
                raise ResultsError(
                    f"{self.path / RUN_FILE} is damaged: {key} is no {_WORDS[kind]}; "
                    "delete it and run again"
                )
        return content

    def _all_rows(self) -> Iterator[tuple[int, Row]]:
        """Yield every row with its offset; an unfinished last line is not a row."""
        if not self.rows_path.exists():
            return
        offset = 0
        try:
            with self.rows_path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip() and (row := self._row(line, number)) is not None:
                        yield offset, row
                    offset += len(line)
        except OSError as error:
            raise ResultsError(f"cannot read {self.rows_path}: {error.strerror}") from error

    def _row(self, line: bytes, number: int) -> Row | None:
        try:
            return Row.from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            if not line.endswith(b"\n"):
                return None
            raise ResultsError(
                f"{self.rows_path}, line {number} is not a row: {error}; "
                "delete that line and run again"
            ) from error

    def _write(self, path: Path, text: str) -> None:
        try:
            write_atomically(path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> ResultsError:
    return ResultsError(
        f"cannot write {path}: {error.strerror}; what was scored is kept: make room, or allow "
        "writing there, and run again"
    )


def cell_id_of(content: Mapping[str, Any]) -> str:
    """Return the name of a cell: a digest of everything that determines its row."""
    return digest_of(canonical_json(content))


def incomplete(manifest: Mapping[str, Any], present: Collection[str]) -> str | None:
    """Return what a run folder lacks and how to continue, in one line; None if it lacks nothing.

    Args:
        manifest: Of the run.
        present: Ids of the cells that have a row.
    """
    again = f"to continue: {manifest.get('command') or 'run the same command again'}"
    expected = manifest.get("cells")
    if expected is not None:
        missing = len(set(expected) - set(present))
        if not missing:
            return None
        rows = f"{missing} of {len(expected)} rows are missing in {ROWS_FILE}"
        return f"incomplete: {rows}; {again}"
    planned = manifest.get("planned_cells")
    most = "" if planned is None else f" of at most {planned}"
    return f"incomplete: the run has not ended, {len(present)}{most} cells are there; {again}"


def corpus_digest(digests: Iterable[str]) -> str:
    """Return one name for a set of transcripts, whatever their order."""
    return digest_of(canonical_json(sorted(set(digests))))


def _cut_unfinished_line(path: Path) -> None:
    """Cut off what follows the last line break; looks for it from the end, in blocks."""
    with path.open("rb") as file:
        size = start = file.seek(0, os.SEEK_END)
        whole = 0
        while start > 0 and not whole:
            stop, start = start, max(0, start - BLOCK_BYTES)
            file.seek(start)
            whole = start + file.read(stop - start).rfind(b"\n") + 1
            whole = whole if whole > start else 0
    if whole < size:
        with path.open("r+b") as file:
            file.truncate(whole)


def _read_json(path: Path) -> Json | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path} is damaged ({error}); delete it and run again") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path} does not hold a JSON object; delete it and run again")
    return content
