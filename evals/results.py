"""Run folders: one row per cell the moment it is scored, a sidecar per cell, and a manifest.

`rows.jsonl` is append-only; a row is written in one piece, so a killed process leaves whole rows
and at most one broken last line, which the next run drops and does again. Everything a report
shows comes from here.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from compaction.atomic import write_atomically
from compaction.errors import CompactionError
from compaction.messages import Json, canonical_json, digest_of

ROWS_FILE: Final = "rows.jsonl"
RUN_FILE: Final = "run.json"
CELLS_FOLDER: Final = "cells"
ROW_VERSION: Final = 1
"""Raised when a column changes its meaning; older rows are then stale."""
ENGAGED_FRACTION: Final = 0.01
"""Below this saving a strategy did nothing worth a fidelity number. This project's definition."""

Status = Literal["ok", "error"]


class ResultsError(CompactionError):
    """A run folder cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell: one transcript under one setting. None means: not measured or not defined.

    Every `*_tokens` is by the measuring counter, calibrated to the recorded usage where there is
    any; counts are plain numbers; every `*_fraction` and `reach` lies between 0 and 1.
    """

    # What was run.
    cell_id: str
    transcript: str
    transcript_digest: str
    source: str
    format: str
    provenance: str
    cluster: str
    strategy: str
    strategy_version: str
    parameters: Mapping[str, str]
    """What the user set, as written (`token_threshold: 50%`)."""
    resolved: Mapping[str, Any]
    """Every parameter with the value it had in this cell."""
    label: str
    """Strategy and set parameters in one short text; equal for equal settings."""
    is_control: bool = False
    replicate: int = 0
    row_version: int = ROW_VERSION

    # How it went.
    status: Status = "ok"
    error: str | None = None
    """One line: what failed, at which request."""
    seconds: float = 0.0

    # The transcript.
    messages: int = 0
    requests: int = 0
    segments: int = 0
    calibration_slope: float | None = None
    calibration_offset_tokens: float | None = None
    calibration_error_fraction: float | None = None
    """Median absolute error on held-out requests; None where no usage was recorded."""

    # What it saves.
    engaged: bool = False
    input_tokens_before: float | None = None
    input_tokens_after: float | None = None
    saving_fraction: float | None = None
    peak_tokens_before: float | None = None
    peak_tokens_after: float | None = None
    compactions: int = 0
    compactions_failed: int = 0
    first_failure: str | None = None
    """Why the first of them failed."""
    model_calls: int = 0
    model_input_tokens: int | None = None
    model_output_tokens: int | None = None

    # What it loses: needs over long gaps, unless the name says otherwise.
    reach: float | None = None
    """Headline: source, restated or recoverable; macro over requests."""
    reach_all_gaps: float | None = None
    needs: int = 0
    needs_all_gaps: int = 0
    requests_with_needs: int = 0
    visible_source: int = 0
    restated: int = 0
    mentioned: int = 0
    recoverable: int = 0
    regenerable: int = 0
    lost: int = 0
    undeclared: int = 0
    """Neither visible nor declared recoverable, in a strategy that declares nothing about it."""
    quote_needs: int = 0
    quote_kept_fraction: float | None = None
    pinned_needs: int = 0
    pinned_kept_fraction: float | None = None
    derived_needs: int = 0
    placebo_fraction: float | None = None

    # What it loses: annotated key facts.
    facts: int = 0
    facts_unverifiable: int = 0
    facts_removed: int = 0
    """Judged facts whose source no longer stands whole in the view."""
    facts_kept_fraction: float | None = None
    """Headline: kept or recoverable, of `facts_removed`."""
    facts_tail_kept_fraction: float | None = None
    """Kept, of the facts whose source still stands whole."""
    facts_kept: int = 0
    facts_recoverable: int = 0
    facts_contradicted: int = 0
    facts_stale: int = 0
    facts_lost: int = 0

    # Whether it is safe.
    violations: int = 0
    violated: Mapping[str, int] = field(default_factory=dict)
    """Rule -> how many requests broke it."""
    not_declared: tuple[str, ...] = ()
    """Promises that the strategy says nothing about, so that nothing was checked."""

    @classmethod
    def from_json(cls, raw: Json) -> "Row":
        """Read a row; columns of a newer program are ignored.

        Raises:
            TypeError: not an object, or a column is missing.
        """
        if not isinstance(raw, dict):
            raise TypeError(f"a row is an object, not {type(raw).__name__}")
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in raw.items() if key in known}
        return cls(**{**values, "not_declared": tuple(raw.get("not_declared", ()))})

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Metric:
    """How a column is to be read. Written into `run.json`, so a report needs no code of ours."""

    name: str
    title: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    definition: str


class RunFolder:
    """A folder that a run is written to, and that any number of reports read."""

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

    def rows(self) -> Iterator[Row]:
        """Yield the rows in the order of their writing; the last row of a cell counts.

        Raises:
            ResultsError: a line before the last one is not a row.
        """
        latest: dict[str, Row] = {}
        for row in self._all_rows():
            latest.pop(row.cell_id, None)
            latest[row.cell_id] = row
        yield from latest.values()

    def append(self, row: Row) -> None:
        line = canonical_json(row.to_json()) + "\n"
        try:
            with self.rows_path.open("ab") as file:
                file.write(line.encode("utf-8", "replace"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ResultsError(f"cannot write {self.rows_path}: {error.strerror}") from error

    def write_sidecar(self, cell_id: str, content: Json) -> None:
        """Write what a cell's row does not hold; before the row, so that no row lacks its own."""
        self._write(self.path / CELLS_FOLDER / f"{cell_id}.json", canonical_json(content))

    def sidecar(self, cell_id: str) -> Json | None:
        return _read_json(self.path / CELLS_FOLDER / f"{cell_id}.json")

    def write_manifest(self, content: Json) -> None:
        self._write(self.path / RUN_FILE, json.dumps(content, indent=1, ensure_ascii=False))

    def manifest(self) -> Json:
        """Return what `write_manifest` wrote.

        Raises:
            ResultsError: there is no run in this folder.
        """
        content = _read_json(self.path / RUN_FILE)
        if content is None:
            raise ResultsError(
                f"{self.path} is not a run folder: it has no {RUN_FILE}; name the folder that a "
                "finished run has written"
            )
        return content

    def _all_rows(self) -> Iterator[Row]:
        if not self.rows_path.exists():
            return
        try:
            lines = self.rows_path.read_bytes().split(b"\n")
        except OSError as error:
            raise ResultsError(f"cannot read {self.rows_path}: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield Row.from_json(json.loads(line))
            except (ValueError, TypeError, AttributeError) as error:
                if number == len(lines):
                    return
                raise ResultsError(
                    f"{self.rows_path}, line {number} is not a row: {error}; "
                    "delete that line and run again"
                ) from error

    def _write(self, path: Path, text: str) -> None:
        try:
            write_atomically(path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from error


def cell_id_of(content: Mapping[str, Any]) -> str:
    """Return the name of a cell: a digest of everything that determines its row."""
    return digest_of(canonical_json(content))


def corpus_digest(digests: Iterable[str]) -> str:
    """Return one name for a set of transcripts, whatever their order."""
    return digest_of(canonical_json(sorted(set(digests))))


def _cut_unfinished_line(path: Path) -> None:
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(content.rfind(b"\n") + 1)


def _read_json(path: Path) -> Json | None:
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ResultsError(f"cannot read {path}: {error}") from error
    if not isinstance(content, dict):
        raise ResultsError(f"{path} does not hold a JSON object")
    return content
