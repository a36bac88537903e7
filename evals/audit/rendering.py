"""The sections of an audit as plain text and as Markdown."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from compaction.errors import one_line
from evals.audit.tables import Grid
from evals.audit.text import Section

WIDTH: Final = 100
"""Of sentences and tables where the terminal does not say otherwise."""
INDENT: Final = "  "
MAX_LABEL_CHARS: Final = 80


def as_text(sections: Sequence[Section], width: int = WIDTH) -> str:
    """Return the sections for a terminal so wide; no name in them can steer it."""
    return "\n".join(line for section in sections for line in _text_lines(section, width)) + "\n"


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the sections as Markdown; no name in them can be markup."""
    return "\n".join(line for section in sections for line in _markdown_lines(section)) + "\n"


def _text_lines(section: Section, width: int) -> Iterator[str]:
    title = _folded(one_line(section.title), width)
    longest = max(map(len, title))
    yield from ("", *title, ("=" if section.level < 3 else "-") * longest)
    for finding in section.findings:
        yield from _folded(one_line(finding), width, "- ")
    if section.grid is not None:
        yield ""
        yield from _aligned(section.grid, width)


def _folded(text: str, width: int, mark: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=mark,
        subsequent_indent=INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _aligned(grid: Grid, width: int) -> Iterator[str]:
    """Yield a table; its names stand on lines of their own if it would be too wide with them.

    Where even its numbers are too wide, each stands behind its head.
    """
    n = grid.terminal_columns
    heads, *rows = [grid.heads[:n], *([_short(cell) for cell in row[:n]] for row in grid.rows)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if sum(widths) + len(INDENT) * (len(widths) - 1) <= width:
        for row in (heads, *rows):
            yield INDENT.join((row[0].ljust(widths[0]), *_right(row, widths))).rstrip()
    elif sum(widths[1:]) + len(INDENT) * len(widths) <= width:
        for row in (heads, *rows):
            yield from _folded(row[0], width)
            yield (INDENT * 2 + INDENT.join(_right(row, widths))).rstrip()
    else:
        for row in rows:
            yield from _folded(row[0], width)
            pairs = zip(heads[1:], row[1:], strict=True)
            yield from (f"{INDENT * 2}{head}: {cell}" for head, cell in pairs if cell)


def _right(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    return (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))


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
