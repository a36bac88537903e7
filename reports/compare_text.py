"""A comparison as a terminal table, as Markdown for a pull request, and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evals.stats import MIN_CLUSTERS
from reports.compare import Comparison, Difference, Moved
from reports.measures import Measure
from reports.tables import escaped
from reports.wording import MISSING, clean, count, listed, percent, plural, points

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
TABLE_CHARS: Final = 112
"""Width from which on no cell of the table is cut."""
EXPLANATION: Final = (
    "Difference: candidate minus baseline, mean over the transcripts that both scored; fractions "
    "in percentage points. Interval: bootstrap over sessions, of fewer than "
    "20 the wider of it and Student's t. p: sign flips, two-sided; where "
    "there is a verdict it is adjusted (Holm) for all of those here, else it stands as it is. "
    "Verdict: non-inferior if the whole 90 % interval, which stands beside it, is better than "
    "minus the margin, inferior if the whole of it is worse; each by itself, not adjusted. Losses "
    "that are rare and large hide in few sessions: where one in ten loses half, non-inferior is "
    "wrong in about 3 of 10 comparisons of 10 sessions, and in 1 of 10 of 20."
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
    table = Table(*HEADS[:1], box=None, pad_edge=False, title_justify="left")
    for head in HEADS[1:]:
        table.add_column(head, justify="right")
    for each in comparison.differences:
        table.add_row(*cells(each))
    return table


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
    found: Sequence[Comparison], failed: Sequence[str] = (), left_out: Sequence[str] = ()
) -> str:
    """Return a comment for a pull request; `failed` are the conditions that were met."""
    verdict = "**Compaction gate: failed**" if failed else "Compaction gate: passed"
    parts = [verdict, *(f"- {escaped(line)}" for line in failed)]
    for comparison in found:
        parts += ["", f"### {escaped(title(comparison))}", ""]
        parts.append("| " + " | ".join(HEADS) + " |")
        parts.append("|---|" + "---:|" * (len(HEADS) - 1))
        for each in comparison.differences:
            parts.append("| " + " | ".join(map(escaped, cells(each))) + " |")
        parts += ["", *(f"- {escaped(line)}" for line in notes(comparison))]
    if left_out:
        parts += ["", *(f"- {escaped(line)}" for line in left_out)]
    return "\n".join([*parts, "", f"<sub>{EXPLANATION}</sub>"]) + "\n"


def as_json(
    found: Sequence[Comparison], failed: Sequence[str] = (), left_out: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "failed": list(failed),
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
        f"{found.p_holm:.3f}" if found.low is not None else MISSING,
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
    yield from _outcomes(comparison)
    yield from _power(comparison)
    if any(each.n_clusters < MIN_CLUSTERS for each in comparison.differences):
        yield FEW
    for reason, names in _unmatched(comparison).items():
        yield f"Not compared, {reason}: {_names(names)}."


def _outcomes(comparison: Comparison) -> Iterator[str]:
    for each in comparison.outcomes:
        if each.only_baseline or each.only_candidate:
            yield (
                f"Transcripts that {each.name} in one of them only: {each.only_baseline} in the "
                f"baseline, {each.only_candidate} in the candidate, of {each.n}; exact McNemar "
                f"p = {each.p:.3f}."
            )


def _power(comparison: Comparison) -> Iterator[str]:
    detectable = [each for each in comparison.differences if each.detectable is not None]
    if detectable:
        texts = [f"{each.measure.title} {_size(each)}" for each in detectable if each.detectable]
        if texts:
            yield (
                "Smallest difference that this corpus would show in four of five cases: "
                f"{', '.join(texts)}."
            )
    undecided = [each for each in comparison.differences if each.needed is not None]
    if undecided:
        needs = ", ".join(f"{each.measure.title} {each.needed:,}" for each in undecided)
        yield f"Inconclusive; sessions that would show a difference of the margin: {needs}."


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
    return f"{found.verdict} (90 %: {' to '.join(ends)}{allowed})"


def _moved(each: Moved) -> str:
    return f"{clean(each.transcript, 60)} {_change(each.measure, each.difference)}"


def _size(found: Difference) -> str:
    if found.detectable is None:
        return MISSING
    if found.measure.is_fraction:
        return f"{percent(found.detectable)} points"
    return count(found.detectable)


def _names(names: Sequence[str]) -> str:
    return f"{listed([clean(name, 60) for name in names])} ({plural(len(names), 'transcript')})"


def _level(measure: Measure, value: float) -> str:
    return f"{percent(value)} %" if measure.is_fraction else _amount(value)


def _change(measure: Measure, value: float) -> str:
    if measure.is_fraction:
        return points(value)
    text = _amount(value)
    return f"+{text}" if value > 0 else text


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.4g}"
