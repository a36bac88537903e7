"""The settings that no other beats, as a table or, where it has no room, as lines."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.candidates import Beside, Candidate
from reports.recommend import Recommendation
from reports.wording import MISSING, clean, percent, tokens

HEADS: Final = (
    "Setting",
    "Cost",
    "Dearer",
    "Saved",
    "Reach",
    "Bound",
    "Worst",
    "Truncation",
    "Best",
    "Eng/n",
)
TABLE_CHARS: Final = 120


class FrontTable:
    """What `recommend` prints below its sentences."""

    def __init__(self, each: Recommendation) -> None:
        self._lines = tuple(_lines(each))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= TABLE_CHARS:
            yield _table(self._lines)
            return
        for label, *cells in self._lines:
            yield Text(label)
            named = zip(HEADS[1:], cells, strict=True)
            known = [f"{head.lower()} {text}" for head, text in named if text != MISSING]
            yield Padding(Text(", ".join(known)), (0, 0, 0, 2))


def cost_text(value: float, unit: str) -> str:
    return f"${value:,.2f}" if unit == "usd" else f"{tokens(value)} tokens"


def _lines(each: Recommendation) -> Iterator[tuple[str, ...]]:
    for group in each.pareto:
        for at, item in enumerate(group):
            mark = ("= " if at else "") + ("> " if item is each.chosen else "")
            yield (
                f"{mark}{clean(item.label)}",
                cost_text(item.cost, each.unit),
                f"{item.n_dearer}/{item.n_all}",
                percent(item.saving),
                percent(item.reach),
                percent(item.lower),
                percent(item.worst[1]),
                _other(item.truncation, item),
                _other(item.oracle, item),
                f"{item.n_judged}/{item.n}",
            )


def _table(lines: tuple[tuple[str, ...], ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(HEADS[0], overflow="fold")
    for head in HEADS[1:]:
        table.add_column(head, justify="right", no_wrap=True)
    for label, *cells in lines:
        table.add_row(Text(label), *cells)
    return table


def _other(found: Beside | None, item: Candidate) -> str:
    if found is None:
        return MISSING
    if found.n == item.n:
        return percent(found.other)
    return f"{percent(found.other)} (of {percent(found.reach)}, {found.n})"
