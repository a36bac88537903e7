"""The league table: which columns, which rows, in which order, as text with a value to sort by.

One block per provenance. Terminal, Markdown and page show the same blocks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.frames import Run, estimate_of
from reports.intervals import Estimate
from reports.matched import TRUNCATE, curves, reach_at
from reports.wording import MISSING, clean, count, kilo, percent, plural, points, with_n

NOT_ENGAGED: Final = "not engaged"
MAX_TRUNCATE_LINES: Final = 3
"""More sizes of `truncate` than this are summarised in one line below the table."""
SHOWN_SAVINGS: Final = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    value: float | None = None
    """What a table is sorted by; None sorts last."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the league table."""

    title: str
    """With its unit, and with "(n)" where cells carry their number of transcripts."""
    short: str
    """For terminals."""
    metric: str | None
    """Name in the manifest's definitions."""
    importance: int
    """Where there is no room, higher numbers go first."""
    cell: Callable[[Mapping[str, Any]], Cell]


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    is_control: bool
    cells: tuple[Cell, ...]
    n_violations: int


@dataclass(frozen=True, slots=True)
class Block:
    """The settings on the transcripts of one provenance; never pooled with another."""

    provenance: str
    n_transcripts: int
    n_clusters: int
    lines: tuple[Line, ...]
    """Strategies, best first, then controls."""
    notes: tuple[str, ...]


def blocks(run: Run) -> tuple[Block, ...]:
    return tuple(_block(run, provenance) for provenance in run.provenances)


def ranked(settings: pd.DataFrame) -> pd.DataFrame:
    """Sort settings: engaged first, then by reach, then by saving; controls after strategies."""
    if settings.empty:
        return settings
    order = settings.assign(_idle=settings["engaged"] == 0)
    return order.sort_values(
        ["is_control", "_idle", "reach_mean", "saving_ratio", "label"],
        ascending=[True, True, False, False, True],
        kind="stable",
    ).drop(columns="_idle")


def _block(run: Run, provenance: str) -> Block:
    settings = run.settings()
    settings = settings[settings["provenance"] == provenance]
    rows = run.rows[run.rows["provenance"] == provenance]
    points_of_truncate = settings[settings["strategy"] == TRUNCATE]
    shown = settings
    notes = []
    if len(points_of_truncate) > MAX_TRUNCATE_LINES:
        shown = settings[settings["strategy"] != TRUNCATE]
        notes += _truncation(rows, len(points_of_truncate))
    n_transcripts, n_clusters = rows["key"].nunique(), rows["cluster"].astype(str).nunique()
    if not Estimate(n_clusters=n_clusters).allows_claims:
        notes.append(
            f"n too small for claims about other conversations: {plural(n_clusters, 'session')}; "
            "ranges are those of the transcripts, no intervals are given."
        )
    return Block(
        provenance, n_transcripts, n_clusters, tuple(map(_line, _records(shown))), tuple(notes)
    )


def _records(settings: pd.DataFrame) -> list[dict[str, Any]]:
    found = ranked(settings).to_dict("records")
    return [{str(key): value for key, value in line.items()} for line in found]


def _line(line: Mapping[str, Any]) -> Line:
    cells = tuple(column.cell(line) for column in COLUMNS)
    return Line(clean(line["label"]), line["is_control"], cells, int(line["violations"]))


def _truncation(rows: pd.DataFrame, n_sizes: int) -> list[str]:
    of_transcript, parts = curves(rows).values(), []
    for saving in SHOWN_SAVINGS:
        values = [
            value for curve in of_transcript if (value := reach_at(curve, saving)) is not None
        ]
        mean = sum(values) / len(values) if values else None
        parts.append(f"{with_n(percent(mean), len(values))} at {percent(saving, 0)} % saved")
    if not of_transcript:
        return []
    return [f"truncate, {n_sizes} sizes: reach, % (n): {', '.join(parts)}."]


def _saved(line: Mapping[str, Any]) -> Cell:
    return _cell(percent, line["saving_ratio"])


def _saved_mean(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "saving_fraction")
    return Cell(with_n(percent(found.mean), found.n), found.mean)


def _reach(line: Mapping[str, Any]) -> Cell:
    if line["scored"] and not line["engaged"]:
        return Cell(NOT_ENGAGED)
    return _mean(line, "reach")


def _spread(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "reach")
    if found.low is not None:
        return Cell(f"[{percent(found.low)}, {percent(found.high)}]", found.low)
    if found.n < 2:
        return Cell(MISSING)
    return Cell(f"{percent(found.least)} to {percent(found.most)}", found.least)


def _difference(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "reach_difference")
    return Cell(with_n(points(found.mean), found.n), found.mean)


def _facts(line: Mapping[str, Any]) -> Cell:
    return _mean(line, "facts_kept_fraction")


def _lost(line: Mapping[str, Any]) -> Cell:
    if not line["needs"]:
        return Cell(MISSING)
    return Cell(f"{count(line['lost'])} of {count(line['needs'])}", line["lost"])


def _quotes(line: Mapping[str, Any]) -> Cell:
    value = line["quotes_kept"]
    return Cell(with_n(percent(value), line["quotes_n"]), None if pd.isna(value) else value)


def _taken_part(line: Mapping[str, Any]) -> Cell:
    text = f"{line['engaged']}/{line['scored']}/{line['total']}"
    return Cell(text, line["engaged"])


def _mean(line: Mapping[str, Any], name: str) -> Cell:
    found = estimate_of(line, name)
    return Cell(with_n(percent(found.mean), found.n), found.mean)


def _cell(write: Callable[[float | None], str], value: float) -> Cell:
    return Cell(MISSING) if pd.isna(value) else Cell(write(value), float(value))


def _plain(write: Callable[[float | None], str], name: str) -> Callable[[Mapping[str, Any]], Cell]:
    def cell(line: Mapping[str, Any]) -> Cell:
        return _cell(write, line[name]) if line["scored"] else Cell(MISSING)

    return cell


COLUMNS: Final = (
    Column("Saved input, % of tokens", "Saved %", "saving_fraction", 0, _saved),
    Column("Reach, % of needs (n)", "Reach % (n)", "reach", 0, _reach),
    Column("Reach, [95 % interval] or range, %", "[95 %] or range", None, 8, _spread),
    Column(
        "Truncation at same saving, reach %", "Trunc %", None, 1, _plain(percent, "matched_reach")
    ),
    Column("Difference, points (n)", "Diff pts (n)", None, 2, _difference),
    Column("Facts kept, % (n)", "Facts % (n)", "facts_kept_fraction", 2, _facts),
    Column("Peak, k tokens", "Peak k tok", "peak_tokens_after", 3, _plain(kilo, "peak_max_tokens")),
    Column("Lost, of needs", "Lost needs", "lost", 5, _lost),
    Column("Quotes kept, % (n)", "Quotes % (n)", "quote_kept_fraction", 7, _quotes),
    Column("Compactions, requests", "Comp req", "compactions", 6, _plain(count, "compactions")),
    Column("Model calls", "Model calls", "model_calls", 6, _plain(count, "model_calls")),
    Column("Violations", "Viol", "violations", 4, _plain(count, "violations")),
    Column("Engaged/scored/all, transcripts", "Eng/ sc/ all", None, 3, _taken_part),
    Column("Mean saving, % (n)", "Mean saved % (n)", "saving_fraction", 9, _saved_mean),
    Column(
        "Mean peak, k tokens",
        "Mean peak k",
        "peak_tokens_after",
        9,
        _plain(kilo, "peak_mean_tokens"),
    ),
)
"""In the order of the table, after the setting's label."""
