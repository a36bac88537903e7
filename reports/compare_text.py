"""A comparison as a terminal table, as Markdown for a pull request, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.compare import Comparison
from reports.compare_notes import change, explanation, level, notes_of, shown_of
from reports.differences import Difference
from reports.gate import Gate
from reports.tables import escaped
from reports.wording import MISSING, clean, plural

NO_GATE: Final = Gate()
HEADS: Final = (
    "Measure",
    "Baseline",
    "Candidate",
    "Difference",
    "95 % bootstrap",
    "Better/same/worse",
    "n (sessions)",
    "p",
    "Verdict",
)
WRAPPED: Final = ("95 % bootstrap", "Verdict")
"""What may take several lines of a table; all else must stay whole."""
TABLE_CHARS: Final = 120
"""Width from which on no cell of the table is cut."""


def terminal(
    found: Sequence[Comparison], left_out: Sequence[str] = (), *, width: int = TABLE_CHARS
) -> RenderableType:
    """Return a table per pair of settings, or lines where a table has no room."""
    parts: list[RenderableType] = []
    said, shared = notes_of(found)
    for comparison, lines in zip(found, said, strict=True):
        shown = _table(comparison) if width >= TABLE_CHARS else _lines(comparison)
        parts += [Text(title(comparison), style="bold"), shown]
        parts += [Text(line, style="dim") for line in lines]
        parts.append(Text(""))
    parts += map(Text, (*shared, *left_out))
    return Group(*parts, Text(explanation(found), style="dim"))


def _table(comparison: Comparison) -> Table:
    first, *others = _heads(comparison)
    table = Table(first, box=None, pad_edge=False, title_justify="left")
    for head in others:
        table.add_column(head, justify="right", overflow="fold", no_wrap=head not in WRAPPED)
    for each in shown_of(comparison):
        table.add_row(*cells(each))
    return table


def _heads(comparison: Comparison) -> list[str]:
    return [head.replace("session", comparison.clusters_are) for head in HEADS]


def _lines(comparison: Comparison) -> Group:
    parts: list[RenderableType] = []
    for each in shown_of(comparison):
        name, baseline, candidate, difference, interval, counts, n, p, verdict = cells(each)
        if not each.has_moved:
            sessions = plural(each.n_clusters, comparison.clusters_are)
            parts.append(Text(f"{name}: {baseline}, identical on all {each.n:,} ({sessions})"))
            parts += [Padding(Text(verdict), (0, 0, 0, 2))] if verdict != MISSING else []
            continue
        spread = "" if interval == MISSING else f" (95 % bootstrap {interval})"
        parts.append(Text(f"{name}: {baseline} to {candidate}, {difference}{spread}"))
        known = [f"better/same/worse {counts}", f"n {n}"]
        known += [f"p {p}"] if p != MISSING else []
        known += [verdict] if verdict != MISSING else []
        parts.append(Padding(Text("; ".join(known)), (0, 0, 0, 2)))
    return Group(*parts)


def markdown(
    found: Sequence[Comparison], gate: Gate = NO_GATE, left_out: Sequence[str] = ()
) -> str:
    """Return a comment for a pull request."""
    parts = [_verdict_line(gate), *(f"- {escaped(line)}" for line in gate.failed)]
    said, shared = notes_of(found)
    for comparison, lines in zip(found, said, strict=True):
        parts += ["", f"### {escaped(title(comparison))}", ""]
        parts.append("| " + " | ".join(_heads(comparison)) + " |")
        parts.append("|---|" + "---:|" * (len(HEADS) - 1))
        for each in shown_of(comparison):
            parts.append("| " + " | ".join(map(escaped, cells(each))) + " |")
        parts += ["", *(f"- {escaped(line)}" for line in lines)]
    if shared or left_out:
        parts += ["", *(f"- {escaped(line)}" for line in (*shared, *left_out))]
    return "\n".join([*parts, "", f"<sub>{explanation(found)}</sub>"]) + "\n"


def _verdict_line(gate: Gate) -> str:
    if gate.failed:
        return "**Compaction gate: failed**"
    if not gate.conditions:
        return "Compaction gate: no condition was given (--fail-on); nothing newly failed or broke."
    return f"Compaction gate: passed ({escaped(', '.join(gate.conditions))})"


def as_json(
    found: Sequence[Comparison], gate: Gate = NO_GATE, left_out: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "conditions": list(gate.conditions),
        "failed": list(gate.failed),
        "left_out": list(left_out),
        "comparisons": [
            {**asdict(comparison), "is_regression": comparison.is_regression}
            for comparison in found
        ],
    }


def title(comparison: Comparison) -> str:
    names = (clean(comparison.baseline), clean(comparison.candidate))
    what = names[0] if names[0] == names[1] else f"{names[0]} (baseline) and {names[1]}"
    return f"{what}, {comparison.provenance} transcripts"


def cells(found: Difference) -> tuple[str, ...]:
    measure = found.measure
    p = found.p if found.p_holm is None else found.p_holm
    return (
        measure.title,
        level(measure, found.baseline),
        level(measure, found.candidate),
        change(measure, found.difference),
        _interval(found),
        f"{found.wins}/{found.ties}/{found.losses}",
        f"{found.n} ({found.n_clusters})",
        MISSING if p is None else _p(p),
        MISSING if found.verdict is None else _verdict(found),
    )


def _interval(found: Difference) -> str:
    if found.low is None or found.high is None:
        return MISSING
    if not found.has_moved:
        return f"identical on all {found.n:,}"
    return f"{change(found.measure, found.low)} to {change(found.measure, found.high)}"


def _verdict(found: Difference) -> str:
    if found.verdict_low is None or found.verdict_high is None:
        return str(found.verdict)
    ends = (change(found.measure, end) for end in (found.verdict_low, found.verdict_high))
    by = " bootstrap" if found.verdict_by == "bootstrap" else ""
    return f"{found.verdict} (90 %{by}: {' to '.join(ends)})"


def _p(value: float) -> str:
    return "<0.001" if value < 0.0005 else f"{value:.3f}"
