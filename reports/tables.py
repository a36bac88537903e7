"""The table in a terminal of any width, and the same content as GitHub Markdown."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from rich.box import HORIZONTALS
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports import asked
from reports.answer import Answer, answers
from reports.bills import HEADS as BILL_HEADS
from reports.bills import TITLE as BILLS_TITLE
from reports.bills import bill_rows, named_bills
from reports.columns import NOT_ENGAGED, Column, Line
from reports.costs import cost_blocks, price_lines, short_price_lines
from reports.each_transcript import HEADS as EACH_HEADS
from reports.each_transcript import TITLE as EACH_TITLE
from reports.each_transcript import each_table
from reports.faults import FAILED_STEPS, Faults, alarm, fault_groups
from reports.frames import Run
from reports.league import Block, blocks
from reports.lost import HEADS, HOW_TO, is_text_shown, lost_of
from reports.needs_table import TITLE as NEEDS_TITLE
from reports.needs_table import needs_table
from reports.recorded import HEADS as RECORDED_HEADS
from reports.recorded import recorded_compactions
from reports.self_checks import SelfCheck, said_of, self_checks
from reports.story import CAVEATS, SHORT_CAVEATS, definitions, footer, headline
from reports.summaries import HEADS as SUMMARY_HEADS
from reports.summaries import NOTE as SUMMARIES_NOTE
from reports.summaries import TITLE as SUMMARIES_TITLE
from reports.summaries import summaries
from reports.validity import HEADS as STATUS_HEADS
from reports.validity import TITLE as VALIDITY_TITLE
from reports.validity import Validity
from reports.wording import MISSING, count, plural, spans

MAX_LABEL_WIDTH: Final = 40
MIN_LABEL_WIDTH: Final = 24
"""Below 100 columns; less where the most important columns would have no room."""
ALWAYS: Final = ((0, 1), (60, 4))
"""From a terminal's width on: columns of at most this importance come before long labels."""
_GAP: Final = 2
"""Spaces between two columns of a terminal table."""


def terminal(
    run: Run, *, width: int, show_faults: bool = True, only_costs: bool = False
) -> RenderableType:
    """Return the tables for `width` columns; what has no room is in the other reports.

    Args:
        run: What was run.
        width: Of the terminal, in columns.
        show_faults: List failed cells and broken rules; not where a caller has a line for each.
        only_costs: Show the tables of costs instead.
    """
    parts: list[RenderableType] = []
    if (loud := alarm(run)) is not None:
        parts += [Text(loud, style="bold red"), Text("")]
    prices = price_lines(run) if only_costs else short_price_lines(run)
    parts.append(Text("\n".join((*headline(run), *prices, *named_bills(run)))))
    if only_costs:
        return Group(*parts, *_costs(run, width))
    for block, answer in _answered(run):
        if block is not None:
            parts += [Text(""), Text(block.title, style="bold"), _table(block, width)]
            parts += [Text(note, style="dim") for note in (*_dropped(block, width), *block.notes)]
        parts.append(Text(answer.text))
        parts += [Text(note, style="dim") for note in answer.notes]
    if (said := asked.asked(run)) is not None:
        parts += [Text(""), Text(f"{asked.TITLE}: see report.md. {said.notes[0]}")]
        parts += _validity_lines(said.validity)
    parts += _terminal_faults(run, show_all=show_faults)
    parts += check_lines(self_checks(run))
    return Group(*parts, Text(""), Text(SHORT_CAVEATS, style="dim"))


def _costs(run: Run, width: int) -> Iterator[RenderableType]:
    found = cost_blocks(run)
    if not found:
        yield Text("No transcript has a price, so there is no table of costs.")
    for block in found:
        yield from (Text(""), Text(block.title, style="bold"), _table(block, width))
        yield from (Text(note, style="dim") for note in (*_dropped(block, width), *block.notes))


def markdown(run: Run) -> str:
    """Return the whole report as GitHub Markdown; the same run gives the same text."""
    loud = alarm(run)
    parts = ["# Compaction report", *([] if loud is None else [f"**{escaped(loud)}**"])]
    for answer in answers(run):
        parts += [escaped(answer.text), _bullets(map(escaped, answer.all_notes))]
    parts += map(escaped, (*headline(run), *price_lines(run)))
    for block in blocks(run):
        parts += [f"## {escaped(block.title)}", markdown_table(block)]
        parts += [_bullets(map(escaped, block.notes))]
        parts += _needs_section(run, block.provenance)
        parts += _each_section(run, block.provenance)
    for block in cost_blocks(run):
        parts += [f"## {escaped(block.title)}", markdown_table(block)]
        parts += [_bullets(map(escaped, block.notes))]
    parts += _bill_section(run)
    parts += _asked_section(run)
    parts += _summaries_section(run)
    parts += _recorded_section(run)
    for title, faults, none in fault_groups(run):
        parts += _fault_section(title, faults, none)
    parts += _lost_section(run)
    parts += _self_check_section(run)
    parts += ["## What the columns mean", _bullets(_definition_lines(run))]
    parts += ["## Caveats", _bullets(map(escaped, CAVEATS))]
    parts += ["## How this was made", _bullets(_footer_lines(run))]
    return "\n\n".join(part for part in parts if part) + "\n"


def fitting_columns(block: Block, width: int) -> tuple[Column, ...]:
    """Return the columns that fit beside the labels, the most important ones; zeros go first."""
    label_width = _label_width(block, width)
    at = {column: place for place, column in enumerate(block.columns)}

    def least_last(column: Column) -> tuple[bool, int]:
        is_zero = all(line.cells[at[column]].text in ("0", MISSING) for line in block.lines)
        return is_zero, column.importance

    shown = sorted(block.columns, key=least_last)
    while shown and label_width + sum(_room(block, column) for column in shown) > width:
        shown.pop()
    return tuple(column for column in block.columns if column in shown)


def _answered(run: Run) -> Iterator[tuple[Block | None, Answer]]:
    return zip_longest(blocks(run), answers(run))


def _dropped(block: Block, width: int) -> Iterator[str]:
    """Yield a line that says how much has no room."""
    n_hidden = len(block.columns) - len(fitting_columns(block, width))
    if n_hidden:
        yield f"{plural(n_hidden, 'more column')} in report.md."


def _terminal_faults(run: Run, *, show_all: bool) -> Iterator[RenderableType]:
    for title, faults, _ in fault_groups(run):
        if faults.n_all and (show_all or title == FAILED_STEPS):
            lines = [f"{item.label} on {item.transcript}: {item.text}" for item in faults.shown]
            lines += [*(f"{rule}: {text}" for rule, text in faults.rules), *_rest(faults)]
            yield Text("")
            yield Text(f"{title}: {faults.n_all:,}", style="bold red")
            yield from (Text(f"  {line}") for line in lines)


def _table(block: Block, width: int) -> Table:
    columns, room = fitting_columns(block, width), _label_width(block, width)
    table = Table(
        box=HORIZONTALS, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True
    )
    table.add_column("Setting", width=room, overflow="fold")
    for column in columns:
        table.add_column(
            column.short, justify="right", width=_room(block, column) - _GAP, overflow="fold"
        )
    for line, following in zip(block.lines, (*block.lines[1:], None), strict=True):
        cells = [_shown(block, line, column) for column in columns]
        ends = following is not None and following.is_control and not line.is_control
        style = "dim" if line.is_control else ""
        table.add_row(Text(_broken(line.label, room)), *map(Text, cells), style=style)
        if ends:
            table.add_section()
    return table


def _shown(block: Block, line: Line, column: Column) -> str:
    return line.cells[block.columns.index(column)].text


def _room(block: Block, column: Column) -> int:
    cells = (_shown(block, line, column) for line in block.lines)
    words = (word for text in (column.short, *cells) for word in _words(text))
    return max(map(len, words), default=0) + _GAP


def _broken(label: str, room: int) -> str:
    """Break a label that has no room before its parameters."""
    return label if len(label) <= room else label.replace("(", "(\n", 1)


def _words(text: str) -> list[str]:
    """Split where a cell may be broken: words take a line each, numbers stay whole."""
    head, comma, tail = text.partition(", ")
    if text == NOT_ENGAGED or text[:1].isalpha():
        return text.split()
    return [head + comma.strip(), *tail.split()] if tail[-1:].isalpha() else [text]


def _label_width(block: Block, width: int) -> int:
    longest = max((len(line.label) for line in block.lines), default=0)
    room = MIN_LABEL_WIDTH if width < 100 else MAX_LABEL_WIDTH
    least = max(importance for from_width, importance in ALWAYS if width >= from_width)
    wanted = (column for column in block.columns if column.importance <= least)
    left = width - sum(_room(block, column) for column in wanted)
    return max(min(longest, room, left), len("Setting"))


def markdown_table(block: Block, *, metrics: Collection[str] | None = None) -> str:
    """Return a league table; with `metrics`, only the first column of each of these."""
    names = [column.metric for column in block.columns]
    wanted = dict.fromkeys(names) if metrics is None else metrics
    firsts = {names.index(name) for name in wanted if name in names}
    shown = [at for at in range(len(names)) if metrics is None or at in firsts]
    header = ["Setting", *(block.columns[at].title for at in shown)]
    rules = [":---", *("---:" for _ in shown)]
    lines = [header, rules]
    for line in block.lines:
        name = _code(line.label) + (" (control)" if line.is_control else "")
        lines.append([name, *(escaped(line.cells[at].text) for at in shown)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fault_section(title: str, faults: Faults, none: str) -> Iterator[str]:
    if not faults.n_all and not none:
        return
    yield f"## {title}"
    if not faults.n_all:
        yield none
        return
    lines = [
        f"{_code(item.label)} on {_code(item.transcript)}: {escaped(item.text)}"
        for item in faults.shown
    ]
    yield _bullets([*lines, *_rest(faults)])
    yield _bullets(f"{_code(rule)}: {_prose(text)}" for rule, text in faults.rules)


def _grid(heads: Sequence[str], rows: Iterable[Sequence[str]], *, n_names: int = 1) -> str:
    """Return a table of texts that are escaped; the first columns hold names, not numbers."""
    rules = [":---" if at < n_names else "---:" for at in range(len(heads))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rules, *rows))


def _named(row: Sequence[str]) -> list[str]:
    return [_code(row[0]), *map(escaped, row[1:])]


def _needs_section(run: Run, provenance: str) -> Iterator[str]:
    found = needs_table(run, provenance)
    if found is not None:
        yield f"### {NEEDS_TITLE}, {escaped(provenance)}"
        rows = [
            [_code(line.name) if line.is_setting else line.name, *line.cells]
            for line in found.lines
        ]
        yield _grid(found.heads, rows)
        yield _bullets(map(escaped, found.notes))


def _each_section(run: Run, provenance: str) -> Iterator[str]:
    found = each_table(run, provenance)
    if found is not None:
        yield f"### {EACH_TITLE}, {escaped(provenance)}, {_code(found.label)}"
        rows = [[_code(name), _code(file), *cells] for name, file, *cells in found.rows]
        yield _grid(EACH_HEADS, rows, n_names=2)
        if found.n_left_out:
            yield f"And {count(found.n_left_out)} shorter ones; `explain` and the CSV have all."


def _bill_section(run: Run) -> Iterator[str]:
    if rows := bill_rows(run):
        yield f"## {BILLS_TITLE}"
        yield _grid(BILL_HEADS, map(_named, rows))


def _summaries_section(run: Run) -> Iterator[str]:
    found = summaries(run)
    if found is not None:
        yield f"## {SUMMARIES_TITLE}"
        yield _grid(SUMMARY_HEADS, map(_named, found.rows), n_names=2)
        yield SUMMARIES_NOTE


def _recorded_section(run: Run) -> Iterator[str]:
    found = recorded_compactions(run)
    if found.rows:
        yield "## Recorded compactions"
        yield _prose(found.note)
        yield _grid(RECORDED_HEADS, map(_named, found.rows))


def _asked_section(run: Run) -> Iterator[str]:
    found = asked.asked(run)
    if found is not None:
        yield f"## {asked.TITLE}"
        yield _grid(asked.HEADS, map(_named, found.rows))
        yield _bullets(map(_prose, found.notes))
        yield from _validity_section(found.validity)


def _validity_section(found: Validity | None) -> Iterator[str]:
    if found is not None:
        yield f"## {VALIDITY_TITLE}"
        yield _grid(STATUS_HEADS, (list(map(escaped, row)) for row in found.rows), n_names=2)
        yield _bullets(map(escaped, found.notes))


def _validity_lines(found: Validity | None) -> Iterator[RenderableType]:
    """Yield the shares of right answers by status, and how far lost facts go with failure."""
    if found is not None:
        yield Text(VALIDITY_TITLE, style="bold")
        yield from map(Text, found.headline)


def _lost_section(run: Run) -> Iterator[str]:
    yield "## Lost needs"
    if not is_text_shown(run):
        yield HOW_TO
        return
    found = [part for provenance in run.provenances for part in lost_of(run, provenance)]
    if not found:
        yield "None over long gaps."
    for part in found:
        yield f"### {_code(part.transcript)} under {_code(part.label)}"
        header = [f"| {' | '.join(HEADS)} |", f"|{' :--- |' * len(HEADS)}"]
        yield "\n".join([*header, *(f"| {' | '.join(map(_code, need))} |" for need in part.needs)])
        if part.n_hidden:
            yield f"and {part.n_hidden:,} more."


def _self_check_section(run: Run) -> Iterator[str]:
    if found := self_checks(run):
        yield "## Self-checks"
        yield _bullets(
            f"{escaped(each.provenance)}: {escaped(each.expected)}: "
            f"**{'yes' if each.is_met else 'NO'}**, {escaped(each.found)}"
            for each in found
        )


def check_lines(found: Sequence[SelfCheck]) -> Iterator[Text]:
    """Yield one line if all is well, else one more for each check that is not."""
    if not found:
        return
    met, failed = said_of(found)
    yield Text("")
    yield Text(met, style="bold red" if failed else "dim")
    for line in failed:
        yield Text(f"  {line}", style="red")


def _rest(faults: Faults) -> list[str]:
    return [f"and {faults.n_hidden:,} more kinds, see rows.jsonl"] if faults.n_hidden else []


def _definition_lines(run: Run) -> Iterator[str]:
    for title, unit, definition in definitions(run):
        yield f"**{escaped(title)}** ({escaped(unit)}): {_prose(definition)}"


def _footer_lines(run: Run) -> Iterator[str]:
    for name, value in footer(run):
        yield f"{name}: {_code(value)}" if value else f"{name}: not recorded"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def escaped(text: str) -> str:
    """Return text that Markdown shows as it is; underscores inside words need nothing."""
    return re.sub(r"([\\`*\[\]<>|#~@$&])", r"\\\1", text)


def _prose(text: str) -> str:
    return "".join(_code(part) if is_code else escaped(part) for part, is_code in spans(text))


def _code(text: str) -> str:
    """Return a code span that holds any text, in a table too."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    edge = " " if text[:1] == "`" or text[-1:] == "`" else ""
    inside = text.replace("|", "\\|")
    return f"{fence}{edge}{inside}{edge}{fence}"
