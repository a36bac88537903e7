"""The `doctor` command: a table of what was read, and each reason why something was not."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from compaction.errors import one_line
from compaction.messages import Json
from evals.calibration import Calibration
from evals.checkup import Checked, FileCheck, check_files
from evals.printed_json import printed_json
from evals.transcripts import Skipped

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_LINES: Final = 10
"""Reasons shown for a file; --json has them all."""
TABLE_CHARS: Final = 140
"""Below it a table would cut paths into pieces; each file is a paragraph then."""
MIN_CHARS: Final = 20
"""Of a line, however narrow the terminal is."""
HEADS: Final = (
    "file",
    "format",
    "transcripts",
    "messages",
    "requests",
    "calls",
    "open",
    "usage",
    "compacted",
    "calibration",
    "skipped",
)
EXIT_NOT_UNDERSTOOD: Final = 1
EXIT_INTERRUPTED: Final = 130


def examine(paths: Sequence[Path], *, as_json: bool, calibrate: bool = True) -> int:
    """Check the files below `paths`, print the findings, and return the exit code.

    Interrupted, it prints what it has found so far.

    Raises:
        TranscriptError: a path does not exist, or is a run folder.
    """
    from rich.console import Console

    n_files, checks = check_files(paths, calibrate=calibrate)
    found: list[FileCheck] = []
    is_whole = True
    try:
        for check in _with_progress(checks, n_files, Console(stderr=True)):
            found.append(check)
    except KeyboardInterrupt:
        is_whole = False
        sys.stderr.write(f"stopped after {len(found)} of {n_files} files\n")
    if as_json:
        report = {"is_complete": is_whole, "files": [to_json(check) for check in found]}
        sys.stdout.write(printed_json(report, indent=2) + "\n")
    else:
        _print(found, Console())
    if not is_whole:
        return EXIT_INTERRUPTED
    is_understood = all(check.is_understood for check in found)
    return 0 if is_understood and found else EXIT_NOT_UNDERSTOOD


def to_json(check: FileCheck) -> Json:
    """Return everything known of a file, with its sums."""
    return {
        **asdict(check),
        "is_understood": check.is_understood,
        "messages": _sum(check, "messages"),
        "requests": _sum(check, "requests"),
        "calls": _sum(check, "calls"),
        "unanswered_calls": _sum(check, "unanswered_calls"),
        "segments": _sum(check, "segments"),
        "usage_coverage_fraction": _coverage(check),
        "recorded_compactions": sum(len(item.compactions) for item in check.transcripts),
    }


def _with_progress(
    checks: Iterator[FileCheck], n_files: int, console: "Console"
) -> Iterator[FileCheck]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    is_shown = console.is_terminal and n_files > 1
    with Progress(*columns, console=console, transient=True, disable=not is_shown) as bar:
        task = bar.add_task("", total=n_files)
        for check in checks:
            bar.update(task, advance=1, description=one_line(Path(check.path).name[:40]))
            yield check


def _print(found: Sequence[FileCheck], console: "Console") -> None:
    read = [check for check in found if check.refusal is None]
    if read and console.width >= TABLE_CHARS:
        console.print(_table(read), markup=False, highlight=False)
    else:
        for path, kind, *cells in map(_cells, read):
            # Soft wrap keeps a path in one piece, for whoever copies or greps it.
            console.print(path, markup=False, highlight=False, soft_wrap=True)
            pairs = zip(HEADS[2:], cells, strict=True)
            text = "; ".join([kind, *(f"{head} {cell}" for head, cell in pairs)])
            for line in wrap(text, max(console.width - 2, MIN_CHARS), break_on_hyphens=False):
                console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    for check in found:
        for line in _reasons(check):
            console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)
    n_bad = sum(not check.is_understood for check in found)
    n_foreign = sum(check.is_foreign for check in found)
    console.print(
        f"{len(found)} files: {len(read)} read, {n_foreign} no conversation, "
        f"{n_bad} not wholly understood",
        highlight=False,
    )


def _table(checks: Sequence[FileCheck]) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, head in enumerate(HEADS):
        is_number = 2 <= number < len(HEADS) - 2
        table.add_column(head, justify="right" if is_number else "left", overflow="fold")
    for check in checks:
        table.add_row(*_cells(check))
    return table


def _cells(check: FileCheck) -> list[str]:
    coverage = _coverage(check)
    unexpected = len(check.not_understood)
    expected = len(check.skipped) - unexpected
    return [
        one_line(check.path),
        one_line(" ".join([check.format or "", *check.versions[:2]])),
        str(len(check.transcripts)),
        str(_sum(check, "messages")),
        str(_sum(check, "requests")),
        str(_sum(check, "calls")),
        str(_sum(check, "unanswered_calls")),
        "-" if coverage is None else f"{coverage:.0%}",
        _compactions(check),
        _calibration([fit for item in check.transcripts for fit in item.calibrations]),
        f"{unexpected} + {expected} expected" if unexpected else f"{expected} expected",
    ]


def _compactions(check: FileCheck) -> str:
    kinds = [item.kind for checked in check.transcripts for item in checked.compactions]
    if not kinds:
        return "-"
    n_micro = kinds.count("micro")
    segments = _sum(check, "segments")
    micro = f" ({n_micro} micro)" if n_micro else ""
    return f"{len(kinds)}{micro}, {segments} segments"


def _calibration(fits: Sequence[Calibration]) -> str:
    """Write the medians over segments: slope, tokens of the unrecorded prefix, error."""
    if not fits:
        return "-"
    slope, prefix = median(f.slope for f in fits), median(f.offset_tokens for f in fits)
    errors = [f.error_fraction for f in fits if f.error_fraction is not None]
    error = f" error {median(errors):.1%}" if errors else ""
    return f"x{slope:.2f} +{prefix:,.0f}{error}"


def _reasons(check: FileCheck) -> Iterator[str]:
    if check.refusal is not None:
        kind = "no conversation" if check.is_foreign else "refused"
        yield f"{kind}: {check.refusal}"
        return
    ordered = sorted(check.skipped, key=lambda item: item.expected)
    for item in ordered[:MAX_LINES]:
        yield f"{check.path}: {_reason(item)}"
    if len(ordered) > MAX_LINES:
        yield f"{check.path}: and {len(ordered) - MAX_LINES} more reasons (--json has them all)"


def _reason(item: Skipped) -> str:
    return f"{item.where}: {item.reason}" + ("" if item.expected else " [not understood]")


def _sum(check: FileCheck, name: str) -> int:
    return sum(_count(item, name) for item in check.transcripts)


def _count(item: Checked, name: str) -> int:
    value = getattr(item, name)
    return value if isinstance(value, int) else 0


def _coverage(check: FileCheck) -> float | None:
    """Return the share of requests with usage; None without requests."""
    requests = _sum(check, "requests")
    return _sum(check, "requests_with_usage") / requests if requests else None
