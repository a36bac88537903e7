"""Whether an audit measured what it must: contestants whose result is known beforehand."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from evals.audit.values import BoundaryAudit, Contestant
from evals.audit.words import counted
from evals.fidelity.placebo import FEW_BY_CHANCE, MAX_CHANCE_FRACTION

TOLERANCE: Final = 1e-6
"""Of the solver, in needs."""
MET: Final = "met"
NOT_MET: Final = "NOT MET"

Pair = tuple[BoundaryAudit, Contestant]


def checks_of(found: Sequence[BoundaryAudit]) -> Iterator[str]:
    """Yield a line for each check that the boundaries allow, with how often it is met."""
    yield _told(
        "the recorded compaction, judged by two ways, kept the same",
        [(each, each.contestants[0]) for each in found],
        lambda each, one: one.reached == each.needs.kept,
    )
    yield from _if_any(
        "the whole history (identity) keeps every need",
        _named(found, "identity"),
        lambda _, one: one.reached == one.asked,
    )
    yield from _if_any(
        "drop_all keeps nothing but what stands in the messages that it sends",
        _named(found, "drop_all"),
        lambda _, one: one.recoverable == 0 and one.reached <= one.held,
    )
    yield from _if_any(
        "no strategy that only selects messages is above the most that they can reach",
        [pair for pair in _asked(found) if _is_bounded(*pair)],
        lambda each, one: one.reached <= _bound(each) + TOLERANCE,
    )
    yield from _if_any(
        "a strategy that is asked twice does the same twice",
        [pair for pair in _asked(found) if pair[1].is_repeatable is not None],
        lambda _, one: one.is_repeatable is True,
    )
    yield from _of_chance(found)


def _asked(found: Sequence[BoundaryAudit]) -> list[Pair]:
    """Return who did not fail, with each boundary."""
    return [
        (boundary, one) for boundary in found for one in boundary.contestants if one.error is None
    ]


def _named(found: Sequence[BoundaryAudit], control: str) -> list[Pair]:
    return [
        (boundary, one)
        for boundary, one in _asked(found)
        if one.is_control and one.label.partition("(")[0] == control
    ]


def _is_bounded(boundary: BoundaryAudit, one: Contestant) -> bool:
    is_known = boundary.best_possible_fraction is not None
    return one.is_selection and one.is_within_budget and is_known


def _bound(boundary: BoundaryAudit) -> float:
    return (boundary.best_possible_fraction or 0.0) * boundary.needs.asked


def _if_any(
    expected: str, pairs: Sequence[Pair], is_met: Callable[[BoundaryAudit, Contestant], bool]
) -> Iterator[str]:
    if pairs:
        yield _told(expected, pairs, is_met)


def _told(
    expected: str, pairs: Sequence[Pair], is_met: Callable[[BoundaryAudit, Contestant], bool]
) -> str:
    n_met = sum(is_met(*pair) for pair in pairs)
    verdict = MET if n_met == len(pairs) else NOT_MET
    return f"{verdict}: {expected} ({n_met:,} of {len(pairs):,} times)."


def _of_chance(found: Sequence[BoundaryAudit]) -> Iterator[str]:
    asked: Counter[str] = Counter()
    by_chance: Counter[str] = Counter()
    sources = set()
    for boundary in found:
        if boundary.chance is not None and boundary.chance.asked:
            asked.update(boundary.chance.asked)
            by_chance.update(boundary.chance.found)
            sources.add(boundary.chance.source)
    if not asked:
        return
    above = [n for n in asked if by_chance[n] > max(FEW_BY_CHANCE, MAX_CHANCE_FRACTION * asked[n])]
    classes = ", ".join(f"{name} {by_chance[name]:,} of {asked[name]:,}" for name in sorted(asked))
    yield (
        f"{NOT_MET if above else MET}: unrelated text of equal size holds at most "
        f"{MAX_CHANCE_FRACTION:.0%} of the references of a class, or {FEW_BY_CHANCE} ({classes}; "
        f"{counted(len(sources), 'text')})."
    )
