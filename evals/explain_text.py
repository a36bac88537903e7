"""An explanation in a terminal: history and view side by side, then the needs of the request."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from compaction.errors import one_line
from compaction.strategy import CompactionEvent
from evals.explain import Explanation, NeedLine, Pair

MAX_CELL_CHARS = 160
"""Of one message on each side; the page has it all."""
MAX_NEEDS = 40
MAX_EVENTS = 10
_STYLES = {
    "edited": "yellow",
    "written": "cyan",
    "summarised": "magenta",
    "gone": "red",
    "whole": "",
}
_WORDS = {
    "summarised": "(only in a written text)",
    "gone": "(gone)",
}


def terminal(found: Explanation, *, show_all: bool = False) -> RenderableType:
    """Return the explanation as tables.

    Args:
        found: What is shown.
        show_all: Show messages sent whole one by one; without, runs of them are one line.
    """
    parts: list[RenderableType] = [Text(headline(found), style="bold")]
    parts += [Text(line, style="dim") for line in event_lines(found)]
    table = Table("#", "role", "said", "sent", box=None, pad_edge=False, show_lines=False)
    for row in rows_of(found.pairs, show_all=show_all):
        table.add_row(*(Text(text, style=row.style) for text in row.cells))
    parts += [table, Text("")]
    parts += [Text(line) for line in need_lines(found)]
    return Group(*parts)


def headline(found: Explanation) -> str:
    return one_line(
        f"{found.transcript} under {found.label}, request {found.request}: "
        f"{found.tokens_before:,.0f} tokens said, {found.tokens_after:,.0f} sent"
    )


def event_lines(found: Explanation) -> Iterator[str]:
    for request, event in found.events[-MAX_EVENTS:]:
        did = f"{event.tier} {event.outcome}{_sizes(event)}{_reason(event)}"
        yield one_line(f"request {request}: {did}")
    if len(found.events) > MAX_EVENTS:
        yield f"and {len(found.events) - MAX_EVENTS} earlier events"


def _sizes(event: CompactionEvent) -> str:
    if event.tokens_before is None or event.tokens_after is None:
        return ""
    return f", {event.tokens_before:,} -> {event.tokens_after:,} tokens"


def _reason(event: CompactionEvent) -> str:
    return f": {event.reason}" if event.reason else ""


class Row:
    """A line of the table."""

    def __init__(self, cells: tuple[str, str, str, str], style: str) -> None:
        self.cells = cells
        self.style = style


def rows_of(pairs: Iterable[Pair], *, show_all: bool) -> Iterator[Row]:
    for fate, group in groupby(pairs, key=lambda pair: pair.fate):
        run = list(group)
        if fate == "whole" and len(run) > 2 and not show_all:
            first, last = run[0].index, run[-1].index
            size = sum(pair.tokens_after for pair in run)
            text = f"{len(run)} messages sent whole, {size:,} tokens"
            yield Row((f"{first}-{last}", "", text, ""), "dim")
            continue
        yield from (_row(pair) for pair in run)


def _row(pair: Pair) -> Row:
    number = "" if pair.index is None else str(pair.index)
    said = f"[for {pair.stands_for or 'nothing'}]" if pair.fate == "written" else _clip(pair.before)
    sent = "(same)" if pair.fate == "whole" else _WORDS.get(pair.fate) or _clip(pair.after)
    return Row((number, pair.role, said, sent), _STYLES.get(pair.fate, ""))


def need_lines(found: Explanation) -> Iterator[str]:
    """Yield a line per need, missing ones first, then where else something was missing."""
    if not found.needs:
        yield "This request used nothing specific from before."
    ordered = sorted(found.needs, key=lambda need: (not need.is_missing, -need.gap))
    for need in ordered[:MAX_NEEDS]:
        yield one_line(need_text(need))
    if len(ordered) > MAX_NEEDS:
        yield f"and {len(ordered) - MAX_NEEDS} more needs"
    others = [at for at, _ in found.missing_at if at != found.request]
    if others:
        listed = ", ".join(map(str, others[:20]))
        yield f"Before it, needs were missing at requests {listed}."


def need_text(need: NeedLine) -> str:
    kind = "" if need.kind == "need" else f" ({need.kind})"
    source = "" if need.source is None else f", last in message {need.source}"
    line = f": {_clip(need.source_line)}" if need.source_line else ""
    return (
        f"{need.status:<14} {need.class_name}{kind} {_clip(need.value)}, "
        f"{need.gap} requests ago{source}{line}{advice(need)}"
    )


def advice(need: NeedLine) -> str:
    """Say what would have kept a need that is missing."""
    if not need.is_missing or need.keep_last_tokens is None:
        return ""
    tokens = f"the newest {need.keep_last_tokens:,} tokens"
    if need.keep_last_results is None:
        return f" | kept by {tokens}"
    return f" | kept by the newest {need.keep_last_results} tool results, or {tokens}"


def _clip(text: str) -> str:
    flat = " ".join(text[: 4 * MAX_CELL_CHARS].split())
    return one_line(flat if len(flat) <= MAX_CELL_CHARS else f"{flat[: MAX_CELL_CHARS - 1]}…")
