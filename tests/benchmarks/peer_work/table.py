"""Rows of measurements as a Markdown table."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

HEADER = (
    "tool",
    "version, Python",
    "what was run",
    "CPU s",
    "of that the views",
    "wall s",
    "what it reports",
    "what it cannot do here",
)


@dataclass(frozen=True)
class Timing:
    cpu_seconds: float
    """User and system time of the process and of those that it waited for."""
    wall_seconds: float
    work_seconds: float | None = None
    """Processor seconds of making the views alone, where the work is a script of ours."""


@dataclass(frozen=True)
class Row:
    tool: str
    version: str
    what: str
    timings: tuple[Timing, ...]
    reports: str
    cannot: str


def table(rows: Sequence[Row]) -> str:
    """Return the Markdown table; times are medians."""
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    for row in rows:
        cpu = _median([item.cpu_seconds for item in row.timings])
        wall = _median([item.wall_seconds for item in row.timings])
        timings = [item.work_seconds for item in row.timings if item.work_seconds is not None]
        times = (cpu, _median(timings), wall)
        lines.append(_line([row.tool, row.version, row.what, *times, row.reports, row.cannot]))
    return "\n".join(lines)


def _median(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f}" if seconds else "-"


def _line(cells: Sequence[str]) -> str:
    cleaned = (" ".join(cell.replace("|", "\\|").split()) or "-" for cell in cells)
    return f"| {' | '.join(cleaned)} |"
