"""What is said below the tables of a comparison: what moved, what it takes to know more, what not.

Lines that several settings have in common are said once, at the end.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from evals.bounded import sessions_to_exceed
from evals.stats import MIN_CLUSTERS, MIN_CLUSTERS_BCA, TIE
from reports.compare import Comparison, Moved
from reports.differences import Difference
from reports.measures import Measure, measure_named
from reports.wording import amount, clean, listed, percent, plural, points

ALWAYS_SHOWN: Final = frozenset({"reach", "saving_fraction", "saved_usd_fraction"})
"""Measures with a line of their own even where they are the same on every transcript."""
QUOTES: Final = measure_named("quote_kept_fraction")
QUOTES_MARGIN: Final = (
    " That of quotes is less, because an edit fails if a byte of what it quotes is missing."
)
EXPLANATION: Final = (
    "Difference: candidate minus baseline, mean over the transcripts that both scored; of saved "
    "input and dollars what all of these save together, of what they take together; fractions in "
    "percentage points. A side that saved less than 1 % on a transcript counts with what it kept: "
    "all, if it did nothing; where neither saved more and both kept the same, there is nothing to "
    "compare. 95 % bootstrap: over sessions; below "
    f"{MIN_CLUSTERS_BCA} of them each end is the farther one of it and of Student's t. p: sign "
    "flips, two-sided; where there is a verdict it is adjusted (Holm) for all of those here, else "
    "it stands as it is. Verdict: non-inferior if the whole 90 % interval, which stands beside it, "
    "is better than minus the margin, inferior if the whole of it is worse; each by itself, not "
    "adjusted. Of shares that is no bootstrap but a bound (Gaffke) that holds for few sessions and "
    "rare losses: as if one more session had lost all, or gained what the baseline lacked in its "
    f"worst. So it takes {sessions_to_exceed(0.95)} sessions to show a margin of 5 points and "
    f"{sessions_to_exceed(0.98)} to show one of 2, even if nothing is lost, and the 90 % interval "
    "may be wider than the 95 % bootstrap. Savings have no limit below, so there it is the "
    "bootstrap, which knows no losses but those it saw. Violations have no verdict: any new one "
    "fails the comparison."
)
IDLE: Final = (
    "Nothing was compacted: neither side saved 1 % on any transcript, so this tells nothing about "
    "what compaction loses."
)
FEW: Final = (
    f"Below {MIN_CLUSTERS} sessions there is no interval and no verdict: the numbers are exact for "
    "these transcripts and support no claim about others."
)


def shown_of(comparison: Comparison) -> list[Difference]:
    """Return what has a line in the table; the rest is the same on every transcript."""
    return [
        each
        for each in comparison.differences
        if each.has_moved or each.measure.name in ALWAYS_SHOWN
    ]


def explanation(found: Sequence[Comparison]) -> str:
    """Return how to read the tables, with the margins that were used."""
    sizes: dict[str, list[str]] = {}
    measures = {each.measure.title: each.measure for one in found for each in one.differences}
    for name, measure in measures.items():
        if measure.margin is not None:
            is_points = measure.is_fraction
            size = f"{100 * measure.margin:g} points" if is_points else amount(measure.margin)
            sizes.setdefault(size, []).append(name)
    if not sizes:
        return EXPLANATION
    margins = "; ".join(f"{size} of {listed(names)}" for size, names in sizes.items())
    why = QUOTES_MARGIN if measures.get(QUOTES.title) == QUOTES else ""
    return f"Margins: {margins}.{why} {EXPLANATION}"


def notes_of(found: Sequence[Comparison]) -> tuple[list[list[str]], list[str]]:
    """Return the lines of each comparison, and those that several have."""
    count = Counter(line for comparison in found for line in _left_out(comparison))
    own = [
        [*_said(comparison), *(line for line in _left_out(comparison) if count[line] == 1)]
        for comparison in found
    ]
    shared = []
    for line, n in count.items():
        if 1 < n < len(found):
            names = [clean(each.candidate) for each in found if line in _left_out(each)]
            shared.append(f"{line} So under {listed(names)}.")
        elif n > 1:
            shared.append(line)
    return own, [*shared, *dict.fromkeys(line for each in found for line in _claims(each))]


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield what the table of one comparison does not show, a line each."""
    (own,), shared = notes_of([comparison])
    yield from (*own, *shared)


def _said(comparison: Comparison) -> Iterator[str]:
    if comparison.new_failures:
        yield f"Failed in the candidate only: {_names(comparison.new_failures)}."
    if comparison.new_violations:
        yield f"Broke rules that the baseline kept: {_names(comparison.new_violations)}."
    if comparison.moved:
        measure = comparison.moved[0].measure
        moved = ", ".join(map(_moved, comparison.moved))
        yield f"{measure.title} moved most on: {moved}."
    same = [each for each in comparison.differences if each not in shown_of(comparison)]
    if same and not any(each.has_moved for each in comparison.differences):
        yield "Every measure is the same on every transcript."
    elif same:
        yield f"The same on every transcript: {', '.join(map(_same, same))}."
    if comparison.is_idle:
        yield IDLE
    elif idle := _idle(comparison):
        yield f"Not engaged there, so counted with what it kept (all, if it did nothing): {idle}."
    yield from _outcomes(comparison)
    if any(each.has_moved for each in comparison.differences):
        yield from _power(comparison)


def _claims(comparison: Comparison) -> Iterator[str]:
    """Yield what the numbers are about, and whether they support a claim."""
    if comparison.scope is not None:
        yield comparison.scope
    if any(each.n_clusters < MIN_CLUSTERS for each in comparison.differences):
        yield FEW.replace("session", comparison.clusters_are)


def _left_out(comparison: Comparison) -> Iterator[str]:
    for reason, names in _unmatched(comparison).items():
        yield f"Not compared, {reason}: {_names(names)}."


def _idle(comparison: Comparison) -> str:
    sides = {"the baseline": comparison.idle_baseline, "the candidate": comparison.idle_candidate}
    if comparison.idle_baseline == comparison.idle_candidate:
        sides = {"both": comparison.idle_baseline}
    n = comparison.n_compared
    return ", ".join(
        f"{side} on " + (f"all {plural(n, 'transcript')}" if len(names) == n > 1 else _names(names))
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


def _same(found: Difference) -> str:
    return f"{found.measure.title} {level(found.measure, found.baseline)} (n {found.n:,})"


def _unmatched(comparison: Comparison) -> dict[str, list[str]]:
    by_reason: dict[str, list[str]] = {}
    for each in comparison.unmatched:
        by_reason.setdefault(each.reason, []).append(each.transcript)
    return by_reason


def _moved(each: Moved) -> str:
    return f"{clean(each.transcript, 60)} {change(each.measure, each.difference)}"


def _size(measure: Measure, size: float) -> str:
    """Write a size that is above 0, with as many digits as it takes to be."""
    if not measure.is_fraction:
        return amount(size)
    text = percent(size)
    return f"{text if float(text) else f'{100 * size:.2g}'} points"


def _names(names: Sequence[str]) -> str:
    return f"{listed([clean(name, 60) for name in names])} ({plural(len(names), 'transcript')})"


def level(measure: Measure, value: float) -> str:
    return f"{percent(value)} %" if measure.is_fraction else amount(value)


def change(measure: Measure, value: float) -> str:
    if measure.is_fraction:
        return points(value)
    text = amount(value)
    return f"+{text}" if value > 0 else text
