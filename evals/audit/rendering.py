"""The sections of an audit as plain text and as Markdown."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from compaction.errors import one_line
from evals.audit.text import Grid, Section

WIDTH: Final = 100
"""Of sentences on a terminal; tables are as wide as they are."""
MAX_LABEL_CHARS: Final = 80


def as_text(sections: Sequence[Section]) -> str:
    """Return the sections for a terminal; no name in them can steer it."""
    return "\n".join(line for section in sections for line in _text_lines(section)) + "\n"


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the sections as Markdown; no name in them can be markup."""
    return "\n".join(line for section in sections for line in _markdown_lines(section)) + "\n"


def _text_lines(section: Section) -> Iterator[str]:
    title = one_line(section.title)
    yield from ("", title, ("=" if section.level < 3 else "-") * min(len(title), WIDTH))
    for finding in section.findings:
        yield textwrap.fill(
            one_line(finding),
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    if section.grid is not None:
        yield ""
        yield from _aligned(section.grid)


def _aligned(grid: Grid) -> Iterator[str]:
    n = grid.terminal_columns
    rows = [grid.heads[:n], *([_short(cell) for cell in row[:n]] for row in grid.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = row
        cells = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *cells)).rstrip()


def _short(cell: str) -> str:
    text = one_line(cell)
    return text if len(text) <= MAX_LABEL_CHARS else f"{text[: MAX_LABEL_CHARS - 1]}…"


def _markdown_lines(section: Section) -> Iterator[str]:
    yield from (f"{'#' * section.level} {_escaped(section.title)}", "")
    if section.findings:
        yield from (f"- {_escaped(finding)}" for finding in section.findings)
        yield ""
    if section.grid is not None:
        yield _table_row(section.grid.heads)
        yield "|---|" + "---:|" * (len(section.grid.heads) - 1)
        yield from map(_table_row, section.grid.rows)
        yield ""


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Escape what Markdown or the HTML in it could read as markup."""
    plain = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{char}" if char in "\\`*_[]|#~$" else char for char in plain)
