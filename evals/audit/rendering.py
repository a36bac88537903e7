"""The sections of an audit as plain text and as Markdown."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from compaction.errors import one_line
from evals.audit.tables import Grid
from evals.audit.text import Section

WIDTH: Final = 100
"""Of sentences and tables where the terminal does not say otherwise."""
MIN_WIDTH: Final = 20
"""A terminal that says less says it wrongly."""
INDENT: Final = "  "
MAX_LABEL_CHARS: Final = 80


def as_text(sections: Sequence[Section], width: int | None = None) -> str:
    """Return the sections for a terminal so wide; no name in them can steer it.

    Args:
        sections: What is said.
        width: Columns, at least `MIN_WIDTH`; longer names go on in the next line. None: a pipe,
            where names stay whole so that they can be searched for.
    """
    page = _Page(width=max(width or WIDTH, MIN_WIDTH), breaks_words=width is not None)
    return "\n".join(line for section in sections for line in _text_lines(section, page)) + "\n"


class _Page(NamedTuple):
    width: int
    breaks_words: bool


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the sections as Markdown; no name in them can be markup."""
    return "\n".join(line for section in sections for line in _markdown_lines(section)) + "\n"


def _text_lines(section: Section, page: _Page) -> Iterator[str]:
    title = _folded(one_line(section.title), page)
    longest = min(page.width, max(map(len, title), default=0))
    yield from ("", *title, ("=" if section.level < 3 else "-") * longest)
    for finding in section.findings:
        yield from _folded(one_line(finding), page, "- ")
    if section.grid is not None:
        yield ""
        yield from _aligned(section.grid, page)


def _folded(text: str, page: _Page, mark: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        page.width,
        initial_indent=mark,
        subsequent_indent=INDENT,
        break_long_words=page.breaks_words,
        break_on_hyphens=False,
    )


def _aligned(grid: Grid, page: _Page) -> Iterator[str]:
    """Yield a table; its names stand on lines of their own if it would be too wide with them.

    Where even its numbers are too wide, each stands behind its head.
    """
    n = grid.terminal_columns
    heads, *rows = [grid.heads[:n], *([_short(cell) for cell in row[:n]] for row in grid.rows)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if sum(widths) + len(INDENT) * (len(widths) - 1) <= page.width:
        for row in (heads, *rows):
            yield INDENT.join((row[0].ljust(widths[0]), *_right(row, widths))).rstrip()
    elif sum(widths[1:]) + len(INDENT) * len(widths) <= page.width:
        for row in (heads, *rows):
            yield from _folded(row[0], page)
            yield (INDENT * 2 + INDENT.join(_right(row, widths))).rstrip()
    else:
        for row in rows:
            yield from _folded(row[0], page)
            pairs = zip(heads[1:], row[1:], strict=True)
            for head, cell in pairs:
                yield from _folded(f"{head}: {cell}", page, INDENT * 2) if cell else ()


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
