"""The columns of the league table: each turns a row of `settings()` into text and a sort value.

A name stands for one number: saved is over all transcripts, dollars over all with a price, reach
over all with needs where the setting engaged. What stands against truncation is a group of its
own, over the transcripts where truncation was measured at the same saving.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.frames import estimate_of
from reports.intervals import Estimate
from reports.wording import MISSING, clean, count, kilo, percent, points, with_n

NOT_ENGAGED: Final = "not engaged"
VERSUS: Final = "Vs truncation: "
"""Before the title of a column that is over the transcripts compared with truncation."""
Settings = Sequence[Mapping[str, Any]]
"""Rows of `settings()`."""


def _always(settings: Settings) -> bool:
    return True


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
    metric: str
    """Name in the manifest's definitions."""
    importance: int
    """Where there is no room, higher numbers go first."""
    cell: Callable[[Mapping[str, Any]], Cell]
    is_telling: Callable[[Settings], bool] = _always
    """Whether it says of these settings what no other column does; else it is left out."""
    below: str | None = None
    """If set, a page shows it below the cell of the column before, after this text."""


@dataclass(frozen=True, slots=True)
class Line:
    """A setting in the table; its cells are in the order of the block's columns."""

    label: str
    is_control: bool
    cells: tuple[Cell, ...]


def table_of(settings: Settings) -> tuple[tuple[Column, ...], tuple[Line, ...]]:
    """Return the columns that hold anything, and a line per setting."""
    cells = {column: [column.cell(line) for line in settings] for column in COLUMNS}
    columns = tuple(
        column
        for column in COLUMNS
        if not settings
        or (column.is_telling(settings) and any(cell.text != MISSING for cell in cells[column]))
    )
    lines = (
        Line(
            clean(line["label"]),
            line["is_control"],
            tuple(cells[column][at] for column in columns),
        )
        for at, line in enumerate(settings)
    )
    return columns, tuple(lines)


def _of_several(settings: Settings) -> bool:
    return any(line["total"] > 1 for line in settings)


def _any_failed(settings: Settings) -> bool:
    return any(line["compactions_failed"] for line in settings)


def _any_dearer(settings: Settings) -> bool:
    return any(line["dearer"] for line in settings)


def _compares_some(settings: Settings) -> bool:
    """Whether truncation stands beside some of the transcripts of a reach only."""
    return any(0 < line["reach_difference_n"] < line["reach_n"] for line in settings)


def _compares_part(settings: Settings) -> bool:
    """Whether truncation stands beside some of the transcripts of a saving only."""
    return any(0 < line["reach_difference_n"] < line["scored"] for line in settings)


def _dearer(line: Mapping[str, Any]) -> Cell:
    if not (line["engaged"] and line["priced"]):
        return Cell(MISSING)
    return Cell(f"{count(line['dearer'])} of {count(line['priced'])}", float(line["dearer"]))


def _constraints(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "constraints_kept_fraction")
    return Cell(with_n(percent(found.mean), found.n), found.mean)


def _regret(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "regret")
    return Cell(points(found.mean), found.mean)


def _reach(line: Mapping[str, Any]) -> Cell:
    if line["scored"] and not line["engaged"]:
        return Cell(NOT_ENGAGED)
    return _mean(line, "reach")


def _difference(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "reach_difference")
    return Cell(points(found.mean), found.mean)


def _n_compared(line: Mapping[str, Any]) -> Cell:
    n = estimate_of(line, "reach_difference").n
    return Cell(f"{n:,}" if n else MISSING, float(n))


def _difference_spread(line: Mapping[str, Any]) -> Cell:
    return _spread(estimate_of(line, "reach_difference"), points)


def _reach_spread(line: Mapping[str, Any]) -> Cell:
    return _spread(estimate_of(line, "reach"), percent)


def _spread(found: Estimate, write: Callable[[float | None], str]) -> Cell:
    if found.low is not None:
        return Cell(f"[{write(found.low)}, {write(found.high)}]", found.low)
    if found.n < 2:
        return Cell(MISSING)
    return Cell(f"{write(found.least)} to {write(found.most)}", found.least)


def _saved_mean(line: Mapping[str, Any]) -> Cell:
    return _cell(percent, estimate_of(line, "saving_fraction").mean)


def _facts(line: Mapping[str, Any]) -> Cell:
    return _mean(line, "facts_kept_fraction")


def reached_of(line: Mapping[str, Any]) -> float:
    """Return how many needs were reached, over the transcripts on which a setting engaged."""
    others = ("mentioned", "regenerable", "lost", "undeclared")
    return float(line["needs"] - sum(line[name] for name in others))


def _fates(line: Mapping[str, Any]) -> Cell:
    if not line["needs"]:
        return Cell(MISSING)
    parts = (reached_of(line), line["mentioned"], line["regenerable"], line["lost"])
    text = "/".join(map(count, parts))
    if line["undeclared"]:
        text += f", {count(line['undeclared'])} not declared"
    return Cell(text, line["lost"] + line["undeclared"])


def _quotes(line: Mapping[str, Any]) -> Cell:
    value = line["quotes_kept"]
    return Cell(with_n(percent(value), line["quotes_n"]), None if pd.isna(value) else value)


def _taken_part(line: Mapping[str, Any]) -> Cell:
    text = f"{line['engaged']}/{line['scored']}/{line['total']}"
    return Cell(text, line["engaged"])


def _mean(line: Mapping[str, Any], name: str) -> Cell:
    found = estimate_of(line, name)
    return Cell(with_n(percent(found.mean), found.n), found.mean)


def _cell(write: Callable[[float | None], str], value: float | None) -> Cell:
    if value is None or pd.isna(value):
        return Cell(MISSING)
    return Cell(write(value), float(value))


def _plain(write: Callable[[float | None], str], name: str) -> Callable[[Mapping[str, Any]], Cell]:
    def cell(line: Mapping[str, Any]) -> Cell:
        return _cell(write, line[name]) if line["scored"] else Cell(MISSING)

    return cell


_PEAK: Final = _plain(kilo, "peak_max_tokens")
_MEAN_PEAK: Final = _plain(kilo, "peak_mean_tokens")
_FAILED: Final = _plain(count, "compactions_failed")
_SAVED: Final = _plain(percent, "saving_ratio")
_SAVED_USD: Final = _plain(percent, "usd_saving")
_TRUNCATION: Final = _plain(percent, "matched_reach")
_SAVED_THERE: Final = _plain(percent, "compared_saving_ratio")
_REACH_THERE: Final = _plain(percent, "compared_reach_mean")
_FATES: Final = "Needs reached/ only mentioned/ repeatable/ lost"

COLUMNS: Final = (
    Column("Saved, % of tokens", "Saved %", "saving_fraction", 0, _SAVED),
    Column(
        "Mean saving, %",
        "Mean saved %",
        "mean_saving_fraction",
        13,
        _saved_mean,
        is_telling=_of_several,
        below="mean ",
    ),
    Column("Saved, % of dollars", "Saved $ %", "saved_usd_fraction", 2, _SAVED_USD),
    Column(
        "Dearer on, of transcripts",
        "Dearer on",
        "dearer",
        7,
        _dearer,
        is_telling=_any_dearer,
        below="dearer on ",
    ),
    Column("Reach, % of needs (n)", "Reach % (n)", "reach", 1, _reach),
    Column("Reach, [95 %] or range", "Reach [95 %] or range", "reach", 14, _reach_spread, below=""),
    Column(f"{VERSUS}difference, points", "Vs trunc pts", "reach_difference", 3, _difference),
    Column(
        f"{VERSUS}difference, [95 %] or range",
        "Vs trunc [95 %] or range",
        "reach_difference",
        12,
        _difference_spread,
        below="",
    ),
    Column(f"{VERSUS}n", "Vs trunc n", "compared_reach", 4, _n_compared),
    Column(
        f"{VERSUS}saved there, %",
        "Saved there %",
        "compared_reach",
        14,
        _SAVED_THERE,
        is_telling=_compares_part,
        below="saved ",
    ),
    Column(f"{VERSUS}its reach, %", "Trunc %", "matched_reach", 6, _TRUNCATION),
    Column(
        f"{VERSUS}reach there, %",
        "Reach there %",
        "compared_reach",
        9,
        _REACH_THERE,
        is_telling=_compares_some,
        below="beside ",
    ),
    Column("Regret, points", "Regret pts", "regret", 12, _regret),
    Column("Facts kept, % (n)", "Facts % (n)", "facts_kept_fraction", 8, _facts),
    Column(
        "Constraints kept, % (n)", "Constr % (n)", "constraints_kept_fraction", 13, _constraints
    ),
    Column("Largest peak, k tokens", "Peak k tok", "peak_tokens_after", 8, _PEAK),
    Column(
        "Mean peak, k tokens",
        "Mean peak k",
        "mean_peak_tokens_after",
        13,
        _MEAN_PEAK,
        is_telling=_of_several,
        below="mean ",
    ),
    Column(_FATES, "Reached/ named/ again/ lost", "lost", 9, _fates),
    Column("Quotes kept, % (n)", "Quotes % (n)", "quote_kept_fraction", 11, _quotes),
    Column("Requests compacted", "Comp req", "compactions", 10, _plain(count, "compactions")),
    Column("Model calls", "Model calls", "model_calls", 10, _plain(count, "model_calls")),
    Column(
        "Failed steps", "Failed steps", "compactions_failed", 5, _FAILED, is_telling=_any_failed
    ),
    Column("Violations", "Viol", "violations", 5, _plain(count, "violations")),
    Column("Engaged/ scored/ all", "Eng/ sc/ all", "engaged", 8, _taken_part),
)
"""In the order of the table, after the setting's label."""
