"""The columns of the league table: each turns a row of `settings()` into text and a sort value.

Saved, reach, truncation and difference of a row are over the same transcripts, so that they
subtract; what is over others says so in its title.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.frames import estimate_of
from reports.intervals import Estimate
from reports.wording import MISSING, clean, count, kilo, percent, points, with_n

NOT_ENGAGED: Final = "not engaged"
NOT_COMPARED: Final = "*"
"""Marks a saving or reach that is not over transcripts compared with truncation."""


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
    of_several: bool = False
    """Repeats another column where every setting has one transcript, so it is left out there."""
    below: str | None = None
    """If set, a page shows it below the cell of the column before, after this text."""


@dataclass(frozen=True, slots=True)
class Line:
    """A setting in the table; its cells are in the order of the block's columns."""

    label: str
    is_control: bool
    cells: tuple[Cell, ...]


def table_of(
    settings: Sequence[Mapping[str, Any]],
) -> tuple[tuple[Column, ...], tuple[Line, ...]]:
    """Return the columns that hold anything, and a line per setting."""
    is_compared = any(line["is_compared"] for line in settings)
    usable = (*(_COMPARED_ONLY if is_compared else _ALL_ONLY), *_REST)
    cells = {column: [column.cell(line) for line in settings] for column in usable}
    columns = tuple(column for column in usable if _is_telling(column, cells[column], settings))
    lines = (
        Line(
            clean(line["label"]),
            line["is_control"],
            tuple(cells[column][at] for column in columns),
        )
        for at, line in enumerate(settings)
    )
    return columns, tuple(lines)


def _is_telling(
    column: Column, cells: Iterable[Cell], settings: Sequence[Mapping[str, Any]]
) -> bool:
    if column.metric == _ONLY_WHERE_ANY:
        return any(cell.value for cell in cells)
    if column.of_several and all(line["total"] < 2 for line in settings):
        return False
    return not settings or any(cell.text != MISSING for cell in cells)


def _starred(text: str, line: Mapping[str, Any]) -> str:
    return text if line["is_compared"] or text == MISSING else text + NOT_COMPARED


def _saved(line: Mapping[str, Any]) -> Cell:
    found = _cell(percent, line["shown_saving"])
    return Cell(_starred(found.text, line), found.value) if line["engaged"] else found


def _saved_usd(line: Mapping[str, Any]) -> Cell:
    return _cell(percent, line["shown_usd_saving"]) if line["engaged"] else Cell(MISSING)


def _constraints(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "constraints_kept_fraction")
    return Cell(with_n(percent(found.mean), found.n), found.mean)


def _regret(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "regret")
    return Cell(points(found.mean), found.mean)


def _reach(line: Mapping[str, Any]) -> Cell:
    if line["scored"] and not line["engaged"]:
        return Cell(NOT_ENGAGED)
    found = _cell(percent, line["shown_reach"])
    return Cell(_starred(found.text, line), found.value)


def _difference(line: Mapping[str, Any]) -> Cell:
    found = estimate_of(line, "reach_difference")
    return Cell(points(found.mean), found.mean)


def _n_compared(line: Mapping[str, Any]) -> Cell:
    n = estimate_of(line, "reach_difference").n
    return Cell(f"{n:,}" if n else MISSING, float(n))


def _difference_spread(line: Mapping[str, Any]) -> Cell:
    return _spread(estimate_of(line, "reach_difference"), points)


def _reach_spread(line: Mapping[str, Any]) -> Cell:
    name = "compared_reach" if line["is_compared"] else "reach"
    return _spread(estimate_of(line, name), percent)


def _spread(found: Estimate, write: Callable[[float | None], str]) -> Cell:
    if found.low is not None:
        return Cell(f"[{write(found.low)}, {write(found.high)}]", found.low)
    if found.n < 2:
        return Cell(MISSING)
    return Cell(f"{write(found.least)} to {write(found.most)}", found.least)


def _saved_all(line: Mapping[str, Any]) -> Cell:
    return _cell(percent, line["saving_ratio"])


def _reach_all(line: Mapping[str, Any]) -> Cell:
    if line["scored"] and not line["engaged"]:
        return Cell(NOT_ENGAGED)
    return _mean(line, "reach")


def _saved_mean(line: Mapping[str, Any]) -> Cell:
    return _cell(percent, estimate_of(line, "saving_fraction").mean)


def _facts(line: Mapping[str, Any]) -> Cell:
    return _mean(line, "facts_kept_fraction")


def lost_of(line: Mapping[str, Any]) -> str:
    """Write how many of the needs are lost, over the transcripts on which a setting engaged."""
    text = f"{count(line['lost'])} of {count(line['needs'])}"
    if line["undeclared"]:
        text += f", {count(line['undeclared'])} not declared"
    return text


def _lost(line: Mapping[str, Any]) -> Cell:
    return (
        Cell(lost_of(line), line["lost"] + line["undeclared"]) if line["needs"] else Cell(MISSING)
    )


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


_ONLY_WHERE_ANY: Final = "compactions_failed"
_PEAK: Final = _plain(kilo, "peak_max_tokens")
_MEAN_PEAK: Final = _plain(kilo, "peak_mean_tokens")
_FAILED: Final = _plain(count, "compactions_failed")
_TRUNCATION: Final = _plain(percent, "matched_reach")

_MEAN_SAVING: Final = Column(
    "Mean saving, %",
    "Mean saved %",
    "mean_saving_fraction",
    13,
    _saved_mean,
    of_several=True,
    below="mean ",
)
_COMPARED_ONLY: Final = (
    Column("Saved, % of tokens", "Saved %", "saving_fraction", 0, _saved),
    Column("Reach, % of needs", "Reach %", "reach", 1, _reach),
    Column("Reach, [95 %] or range", "Reach [95 %] or range", "reach", 14, _reach_spread, below=""),
    Column("Truncation, reach %", "Trunc %", "matched_reach", 4, _TRUNCATION),
    Column("Difference, points", "Diff pts", "reach_difference", 2, _difference),
    Column(
        "Difference, [95 %] or range",
        "Diff [95 %] or range",
        "reach_difference",
        12,
        _difference_spread,
        below="",
    ),
    Column("n of these", "n", "compared_reach", 5, _n_compared),
    Column("Saved, all, %", "Saved all %", "saving_fraction", 7, _saved_all, of_several=True),
    _MEAN_SAVING,
    Column("Reach, all, % (n)", "Reach all % (n)", "reach", 6, _reach_all, of_several=True),
)
"""These need truncation beside the strategy."""
_ALL_ONLY: Final = (
    Column("Saved, % of tokens", "Saved %", "saving_fraction", 0, _saved_all),
    _MEAN_SAVING,
    Column("Reach, % of needs (n)", "Reach % (n)", "reach", 1, _reach_all),
    Column("Reach, [95 %] or range", "Reach [95 %] or range", "reach", 14, _reach_spread, below=""),
)
"""Instead of those, where nothing was compared with truncation."""
_REST: Final = (
    Column("Saved, % of dollars", "Saved $ %", "saved_usd_fraction", 3, _saved_usd),
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
        of_several=True,
        below="mean ",
    ),
    Column("Lost, of needs", "Lost needs", "lost", 9, _lost),
    Column("Quotes kept, % (n)", "Quotes % (n)", "quote_kept_fraction", 11, _quotes),
    Column("Requests compacted", "Comp req", "compactions", 10, _plain(count, "compactions")),
    Column("Model calls", "Model calls", "model_calls", 10, _plain(count, "model_calls")),
    Column("Failed steps", "Failed steps", _ONLY_WHERE_ANY, 4, _FAILED),
    Column("Violations", "Viol", "violations", 3, _plain(count, "violations")),
    Column("Engaged/ scored/ all", "Eng/ sc/ all", "engaged", 8, _taken_part),
)
COLUMNS: Final = (*_COMPARED_ONLY, *_REST)
"""In the order of the table, after the setting's label."""
