"""What is said below the tables of a comparison: what moved, what it takes to know more, what not.

Lines that several settings have in common are said once, at the end.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from evals.stats import MIN_CLUSTERS, TIE
from reports.compare import Comparison, Moved
from reports.differences import Difference
from reports.measures import Measure
from reports.wording import amount, clean, listed, percent, plural, points

ALWAYS_SHOWN: Final = frozenset({"reach", "saving_fraction", "saved_usd_fraction"})
"""Measures with a line of their own even where they are the same on every transcript."""
EXPLANATION: Final = (
    "Difference: candidate minus baseline; of savings, of all transcripts together. A side that "
    "did nothing, or removed no facts, kept all. p: adjusted (Holm) where there is a verdict. "
    "Verdict: by the 90 % interval beside it; of shares a bound that allows for losses not seen. "
    "More: compaction-evals compare --help"
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
    return f"Margins: {margins}. {EXPLANATION}"


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
        if each.has_moved and each.n_clusters >= MIN_CLUSTERS
    ]
    if texts:
        yield (
            "Smallest loss that so many sessions would rule out in four of five cases, of a "
            f"candidate that is as good (one-sided, 5 %): {', '.join(texts)}."
        ).replace("session", comparison.clusters_are)
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


def _size(measure: Measure, size: float | None) -> str:
    """Write a size, with as many digits as it takes to be above 0 where it is."""
    if size is None:
        return "none"
    if not measure.is_fraction:
        return amount(size)
    text = percent(size)
    return f"{text if float(text) or size <= TIE else f'{100 * size:.2g}'} points"


def _names(names: Sequence[str]) -> str:
    return f"{listed([clean(name, 60) for name in names])} ({plural(len(names), 'transcript')})"


def level(measure: Measure, value: float) -> str:
    return f"{percent(value)} %" if measure.is_fraction else amount(value)


def change(measure: Measure, value: float) -> str:
    if measure.is_fraction:
        return points(value)
    text = amount(value)
    return f"+{text}" if value > 0 else text
