"""What a finished run says on the terminal: a line for each thing that went wrong."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from compaction.contract.invariants import RULES
from compaction.errors import one_line
from evals.loading import LoadReport
from evals.results import Row

if TYPE_CHECKING:
    from rich.console import Console

    from evals.running import Finished

MAX_LINES: Final = 10
"""Of one kind on the terminal; files have them all."""


def verdict(finished: "Finished", console: "Console") -> int:
    """Say what went wrong, a line each.

    Returns:
        0, or 1 if a cell failed, a strategy broke an invariant, or a file was not understood.
    """
    failed, broken = 0, 0
    unrecorded: Counter[str] = Counter()
    for row in finished.read_rows():
        if row.status == "error":
            failed += 1
            if failed <= MAX_LINES:
                _line(console, f"failed: {row.label} on {_place(row)}: {row.error}")
        elif row.status == "unrecorded":
            unrecorded[row.error or ""] += 1
        elif row.violations and not row.is_control:
            broken += 1
            if broken <= MAX_LINES:
                rules = "; ".join(_broken_rule(rule, n) for rule, n in row.violated.items())
                _line(console, f"broken: {row.label} on {_place(row)}: {rules}")
    if failed > MAX_LINES:
        _line(console, f"failed: {failed - MAX_LINES} more cells, see rows.jsonl")
    if broken > MAX_LINES:
        _line(console, f"broken: {broken - MAX_LINES} more cells, see report.html")
    _say_unrecorded(unrecorded, console)
    return 1 if failed or broken or finished.found.refused else 0


def _say_unrecorded(reasons: Counter[str], console: "Console") -> None:
    """Name what is missing and how to record it; nothing failed, so it changes no exit code."""
    for reason, cells in reasons.most_common(MAX_LINES):
        _line(console, f"unrecorded: {cells} cells: {reason}")
    if len(reasons) > MAX_LINES:
        _line(console, f"unrecorded: {len(reasons) - MAX_LINES} more reasons, see rows.jsonl")


def say_replaced(
    console: "Console", before: frozenset[str], command: str, cells: Iterable[str]
) -> None:
    """Say that the report of another run stood here, and how to get it back."""
    if gone := len(before.difference(cells)):
        text = (
            f"replaced: the report was of another run, {gone} of its {len(before)} cells are not "
        )
        again = f"in this one; their rows are kept, and it is made again by: {command}"
        _line(console, text + again)


def _broken_rule(rule: str, n_requests: int) -> str:
    places = "1 request" if n_requests == 1 else f"{n_requests} requests"
    return f"{rule} at {places} ({RULES.get(rule, 'a rule of another version')})"


def say_refused(console: "Console", found: LoadReport) -> None:
    for item in found.refused:
        _line(console, f"not read: {item.reason}")
    if found.passed_over:
        first, *more = found.passed_over
        rest = f" and {len(more)} more, see run.json" if more else ""
        _line(console, f"passed over, no conversation: {first.path}{rest}")
    if found.without_requests:
        source, *others = found.without_requests
        rest = f" and {len(others)} more" if others else ""
        _line(console, f"noted: no request to a model in {source}{rest}: nothing to replay there")
    for note in found.noted[:MAX_LINES]:
        _line(console, f"noted: {note}")
    if len(found.noted) > MAX_LINES:
        _line(console, f"noted: {len(found.noted) - MAX_LINES} more, see run.json")


def _place(row: Row) -> str:
    """Return file and transcript: names are unique within a file only."""
    return row.source if row.transcript in row.source else f"{row.source} ({row.transcript})"


def _line(console: "Console", text: str) -> None:
    console.print(one_line(text), markup=False, highlight=False, soft_wrap=True)
