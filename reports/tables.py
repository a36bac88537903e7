"""The table in a terminal of any width, and the same content as GitHub Markdown."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.box import HORIZONTALS
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from reports.answer import answers
from reports.frames import Run
from reports.league import COLUMNS, NOT_ENGAGED, Block, Column, Line, blocks
from reports.story import (
    CAVEATS,
    SHORT_CAVEATS,
    Faults,
    definitions,
    failures,
    footer,
    headline,
    violations,
)
from reports.wording import plural

MAX_LABEL_WIDTH: Final = 40
MIN_LABEL_WIDTH: Final = 24
_GAP: Final = 2
"""Spaces between two columns of a terminal table."""


def terminal(run: Run, *, width: int) -> RenderableType:
    """Return the tables for `width` columns; what has no room is in the other reports."""
    found = blocks(run)
    parts: list[RenderableType] = [Text("\n".join(headline(run)))]
    for block, answer in zip(found, answers(run), strict=False):
        parts += [Text(""), Text(_title(block), style="bold"), _table(block, width)]
        parts += [Text(note, style="dim") for note in block.notes]
        parts.append(Text(answer))
    for title, faults in (("Failed", failures(run)), ("Broken rules", violations(run))):
        if faults.n_all:
            lines = [f"{item.label} on {item.transcript}: {item.text}" for item in faults.shown]
            parts += [Text(""), Text(f"{title}: {faults.n_all}", style="bold red")]
            parts += [Text(f"  {line}") for line in [*lines, *_rest(faults)]]
    return Group(*parts, Text(""), Text(SHORT_CAVEATS, style="dim"))


def markdown(run: Run) -> str:
    """Return the whole report as GitHub Markdown; the same run gives the same text."""
    parts = ["# Compaction report", *map(_escaped, answers(run)), *map(_escaped, headline(run))]
    for block in blocks(run):
        parts += [f"## {_escaped(_title(block))}", _markdown_table(block)]
        parts += [_escaped(note) for note in block.notes]
    parts += _fault_section("Failures", failures(run), "No cell failed.")
    parts += _fault_section(
        "Broken rules", violations(run), "No strategy broke an invariant on any request."
    )
    parts += ["## What the columns mean", _bullets(_definition_lines(run))]
    parts += ["## Caveats", _bullets(map(_escaped, CAVEATS))]
    parts += ["## How this was made", _bullets(_footer_lines(run))]
    return "\n\n".join(part for part in parts if part) + "\n"


def fitting_columns(lines: Sequence[Line], width: int) -> tuple[Column, ...]:
    """Return the columns that fit beside the labels, the most important ones."""
    label_width = _label_width(lines, width)
    shown = sorted(COLUMNS, key=lambda column: column.importance)
    while shown and label_width + sum(_width(lines, column) + _GAP for column in shown) > width:
        shown.pop()
    return tuple(column for column in COLUMNS if column in shown)


def _table(block: Block, width: int) -> Table:
    columns, room = fitting_columns(block.lines, width), _label_width(block.lines, width)
    table = Table(
        box=HORIZONTALS, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True
    )
    table.add_column("Setting", width=room, overflow="fold")
    for column in columns:
        table.add_column(
            column.short, justify="right", width=_width(block.lines, column), overflow="fold"
        )
    for line, following in zip(block.lines, (*block.lines[1:], None), strict=True):
        cells = [_shown(line, column) for column in columns]
        ends = following is not None and following.is_control and not line.is_control
        style = "dim" if line.is_control else ""
        table.add_row(Text(_broken(line.label, room)), *map(Text, cells), style=style)
        if ends:
            table.add_section()
    return table


def _shown(line: Line, column: Column) -> str:
    return line.cells[COLUMNS.index(column)].text


def _width(lines: Sequence[Line], column: Column) -> int:
    cells = (_shown(line, column) for line in lines)
    words = (word for text in (column.short, *cells) for word in _words(text))
    return max(map(len, words), default=0)


def _broken(label: str, room: int) -> str:
    """Break a label that has no room before its parameters."""
    return label if len(label) <= room else label.replace("(", "(\n", 1)


def _words(text: str) -> list[str]:
    """Split where a cell may be broken: "not engaged" takes two lines, numbers stay whole."""
    return text.split() if text == NOT_ENGAGED or text[:1].isalpha() else [text]


def _label_width(lines: Sequence[Line], width: int) -> int:
    longest = max((len(line.label) for line in lines), default=0)
    room = MIN_LABEL_WIDTH if width < 100 else MAX_LABEL_WIDTH
    return max(min(longest, room), len("Setting"))


def _title(block: Block) -> str:
    return (
        f"{block.provenance.capitalize()}: {plural(block.n_transcripts, 'transcript')} "
        f"in {plural(block.n_clusters, 'session')}"
    )


def _markdown_table(block: Block) -> str:
    header = ["Setting", *(column.title for column in COLUMNS)]
    rules = [":---", *("---:" for _ in COLUMNS)]
    lines = [header, rules]
    for line in block.lines:
        name = _code(line.label) + (" (control)" if line.is_control else "")
        lines.append([name, *(_escaped(cell.text) for cell in line.cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fault_section(title: str, faults: Faults, none: str) -> Iterator[str]:
    yield f"## {title}"
    if not faults.n_all:
        yield none
        return
    lines = [
        f"{_code(item.label)} on {_code(item.transcript)}: {_escaped(item.text)}"
        for item in faults.shown
    ]
    yield _bullets([*lines, *_rest(faults)])


def _rest(faults: Faults) -> list[str]:
    return [f"and {faults.n_hidden:,} more kinds, see rows.jsonl"] if faults.n_hidden else []


def _definition_lines(run: Run) -> Iterator[str]:
    for title, unit, definition in definitions(run):
        yield f"**{_escaped(title)}** ({_escaped(unit)}): {_escaped(definition)}"


def _footer_lines(run: Run) -> Iterator[str]:
    for name, value in footer(run):
        yield f"{name}: {_code(value)}" if value else f"{name}: not recorded"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is; underscores inside words need nothing."""
    return re.sub(r"([\\`*\[\]<>|#~@$&])", r"\\\1", text)


def _code(text: str) -> str:
    """Return a code span that holds any text, in a table too."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    edge = " " if text[:1] == "`" or text[-1:] == "`" else ""
    inside = text.replace("|", "\\|")
    return f"{fence}{edge}{inside}{edge}{fence}"
