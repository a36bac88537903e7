"""A comparison as a terminal table, as Markdown for a pull request, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evals.bounded import sessions_to_exceed
from evals.stats import MIN_CLUSTERS, TIE
from reports.compare import Comparison, Moved
from reports.differences import Difference
from reports.gate import Gate
from reports.measures import Measure
from reports.tables import escaped
from reports.wording import MISSING, amount, clean, listed, percent, plural, points

NO_GATE: Final = Gate()
HEADS: Final = (
    "Measure",
    "Baseline",
    "Candidate",
    "Difference",
    "95 % interval",
    "Better/same/worse",
    "n (sessions)",
    "p",
    "Verdict",
)
WRAPPED: Final = ("95 % interval", "Verdict")
"""What may take several lines of a table; all else must stay whole."""
TABLE_CHARS: Final = 120
"""Width from which on no cell of the table is cut."""
EXPLANATION: Final = (
    "Difference: candidate minus baseline, mean over the transcripts that both scored; of saved "
    "input and dollars what all of these save together, of what they take together; fractions in "
    "percentage points. A side that saved less than 1 % on a transcript counts with what it kept: "
    "all, if it did nothing; where neither saved more and both kept the same, there is nothing to "
    "compare. Interval: bootstrap over sessions, of fewer than 20 the wider of it and "
    "Student's t. p: sign flips, two-sided; where there is a verdict it is adjusted (Holm) for all "
    "of those here, else it stands as it is. Verdict: non-inferior if the whole 90 % interval, "
    "which stands beside it, is better than minus the margin, inferior if the whole of it is "
    "worse; each by itself, not adjusted. Of shares that is no bootstrap but a bound (Gaffke) that "
    "holds for few sessions and rare losses: as if one more session had lost all, or gained what "
    "the baseline lacked in its worst. So it takes "
    f"{sessions_to_exceed(0.95)} sessions to show a margin of 5 points and "
    f"{sessions_to_exceed(0.98)} to show one of 2, even if nothing is lost. Savings have no limit "
    "below, so there it is the bootstrap, which knows no losses but those it saw. Violations have "
    "no verdict: any new one fails the comparison."
)
FEW: Final = (
    f"Below {MIN_CLUSTERS} sessions there is no interval and no verdict: the numbers are exact for "
    "these transcripts and support no claim about others."
)


def terminal(
    found: Sequence[Comparison], left_out: Sequence[str] = (), *, width: int = TABLE_CHARS
) -> RenderableType:
    """Return a table per pair of settings, or lines where a table has no room."""
    parts: list[RenderableType] = []
    for comparison in found:
        shown = _table(comparison) if width >= TABLE_CHARS else _lines(comparison)
        parts += [Text(title(comparison), style="bold"), shown]
        parts += [Text(line, style="dim") for line in notes(comparison)]
        parts.append(Text(""))
    parts += map(Text, left_out)
    return Group(*parts, Text(EXPLANATION, style="dim"))


def _table(comparison: Comparison) -> Table:
    first, *others = _heads(comparison)
    table = Table(first, box=None, pad_edge=False, title_justify="left")
    for head in others:
        table.add_column(head, justify="right", overflow="fold", no_wrap=head not in WRAPPED)
    for each in comparison.differences:
        table.add_row(*cells(each))
    return table


def _heads(comparison: Comparison) -> list[str]:
    return [head.replace("session", comparison.clusters_are) for head in HEADS]


def _lines(comparison: Comparison) -> Group:
    parts: list[RenderableType] = []
    for each in comparison.differences:
        name, baseline, candidate, difference, interval, counts, n, p, verdict = cells(each)
        spread = "" if interval == MISSING else f" (95 % interval {interval})"
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
    for comparison in found:
        parts += ["", f"### {escaped(title(comparison))}", ""]
        parts.append("| " + " | ".join(_heads(comparison)) + " |")
        parts.append("|---|" + "---:|" * (len(HEADS) - 1))
        for each in comparison.differences:
            parts.append("| " + " | ".join(map(escaped, cells(each))) + " |")
        parts += ["", *(f"- {escaped(line)}" for line in notes(comparison))]
    if left_out:
        parts += ["", *(f"- {escaped(line)}" for line in left_out)]
    return "\n".join([*parts, "", f"<sub>{EXPLANATION}</sub>"]) + "\n"


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
    interval = MISSING
    if found.low is not None and found.high is not None:
        interval = f"{_change(measure, found.low)} to {_change(measure, found.high)}"
    return (
        measure.title,
        _level(measure, found.baseline),
        _level(measure, found.candidate),
        _change(measure, found.difference),
        interval,
        f"{found.wins}/{found.ties}/{found.losses}",
        f"{found.n} ({found.n_clusters})",
        MISSING if found.low is None else _p(found.p_holm),
        MISSING if found.verdict is None else _verdict(found),
    )


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield what the table does not show, a line each."""
    if comparison.new_failures:
        yield f"Failed in the candidate only: {_names(comparison.new_failures)}."
    if comparison.new_violations:
        yield f"Broke rules that the baseline kept: {_names(comparison.new_violations)}."
    if comparison.moved:
        measure = comparison.moved[0].measure
        moved = ", ".join(map(_moved, comparison.moved))
        yield f"{measure.title} moved most on: {moved}."
    if idle := _idle(comparison):
        yield f"Not engaged there, so counted with what it kept (all, if it did nothing): {idle}."
    yield from _outcomes(comparison)
    yield from _power(comparison)
    if comparison.scope is not None:
        yield comparison.scope
    if any(each.n_clusters < MIN_CLUSTERS for each in comparison.differences):
        yield FEW.replace("session", comparison.clusters_are)
    for reason, names in _unmatched(comparison).items():
        yield f"Not compared, {reason}: {_names(names)}."


def _idle(comparison: Comparison) -> str:
    sides = {"baseline": comparison.idle_baseline, "candidate": comparison.idle_candidate}
    n_most = max((x.n for x in comparison.differences if x.measure.needs_engagement), default=0)
    return ", ".join(
        f"the {side} on "
        + (f"all {plural(n_most, 'transcript')}" if len(names) == n_most > 1 else _names(names))
        for side, names in sides.items()
        if names
    )


def _outcomes(comparison: Comparison) -> Iterator[str]:
    for each in comparison.outcomes:
        if each.only_baseline or each.only_candidate:
            yield (
                f"Transcripts that {each.name} in one of them only: {each.only_baseline} in the "
                f"baseline, {each.only_candidate} in the candidate, of {each.n}; exact McNemar "
                f"p = {each.p:.3f}."
            )


def _power(comparison: Comparison) -> Iterator[str]:
    texts = [
        f"{each.measure.title} {_size(each.measure, each.detectable)}"
        for each in comparison.differences
        if each.detectable is not None and each.detectable > TIE
    ]
    if texts:
        yield (
            "Smallest difference that this corpus would show in four of five cases (one-sided, "
            f"5 %): {', '.join(texts)}."
        )
    undecided = [each for each in comparison.differences if each.verdict == "inconclusive"]
    needs = [_needed(each) for each in undecided if each.measure.margin]
    if needs:
        yield (
            f"Inconclusive; {comparison.clusters_are}s that would show in four of five cases that "
            f"a candidate which is as good is not inferior: {'; '.join(needs)}."
        )


def _needed(found: Difference) -> str:
    n = "more than a million" if found.needed is None else f"{found.needed:,}"
    text = f"{found.measure.title} {n}"
    if found.least_margin is None:
        return text
    least = percent(found.least_margin)
    return f"{text} (at best these {found.n_clusters:,} show a margin of {least} points)"


def _unmatched(comparison: Comparison) -> dict[str, list[str]]:
    by_reason: dict[str, list[str]] = {}
    for each in comparison.unmatched:
        by_reason.setdefault(each.reason, []).append(each.transcript)
    return by_reason


def _verdict(found: Difference) -> str:
    margin = found.measure.margin
    if found.verdict_low is None or found.verdict_high is None or margin is None:
        return str(found.verdict)
    ends = (_change(found.measure, end) for end in (found.verdict_low, found.verdict_high))
    allowed = f", margin {percent(margin, 0)} points" if margin else ""
    by = " bootstrap" if found.verdict_by == "bootstrap" else ""
    return f"{found.verdict} (90 %{by}: {' to '.join(ends)}{allowed})"


def _p(value: float) -> str:
    return "<0.001" if value < 0.0005 else f"{value:.3f}"


def _moved(each: Moved) -> str:
    return f"{clean(each.transcript, 60)} {_change(each.measure, each.difference)}"


def _size(measure: Measure, size: float) -> str:
    """Write a size that is above 0, with as many digits as it takes to be."""
    if not measure.is_fraction:
        return amount(size)
    text = percent(size)
    return f"{text if float(text) else f'{100 * size:.2g}'} points"


def _names(names: Sequence[str]) -> str:
    return f"{listed([clean(name, 60) for name in names])} ({plural(len(names), 'transcript')})"


def _level(measure: Measure, value: float) -> str:
    return f"{percent(value)} %" if measure.is_fraction else amount(value)


def _change(measure: Measure, value: float) -> str:
    if measure.is_fraction:
        return points(value)
    text = amount(value)
    return f"+{text}" if value > 0 else text
