"""Whether an audit measured what it must: contestants whose result is known beforehand."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from evals.audit.values import BoundaryAudit, Contestant

TOLERANCE: Final = 1e-6
"""Of the solver, in needs."""

Pair = tuple[BoundaryAudit, Contestant]


def checks_of(found: Sequence[BoundaryAudit]) -> Iterator[str]:
    """Yield a line for each check that the boundaries allow, with at how many of them it is met."""
    twice = [(each, each.contestants[0]) for each in found]
    yield _told(
        "the recorded compaction, judged by two ways, kept the same",
        twice,
        lambda each, one: one.reached == each.needs.kept,
    )
    yield from _if_any(
        "identity reaches every need",
        _of(found, "identity"),
        lambda _, one: one.reached == one.asked,
    )
    yield from _if_any(
        "drop_all can give nothing back",
        _of(found, "drop_all"),
        lambda _, one: one.recoverable == 0,
    )
    yield from _if_any(
        "truncation stays below what whole messages can reach",
        [pair for pair in _of(found, "truncate") if _is_bounded(*pair)],
        lambda each, one: one.reached <= _bound(each) + TOLERANCE,
    )


def _of(found: Sequence[BoundaryAudit], strategy: str) -> list[Pair]:
    """Return the boundaries at which a control was asked, with the control."""
    return [
        (boundary, one)
        for boundary in found
        for one in boundary.contestants
        if one.is_control and one.error is None and one.label.partition("(")[0] == strategy
    ]


def _is_bounded(boundary: BoundaryAudit, one: Contestant) -> bool:
    return one.is_within_budget and boundary.best_possible_fraction is not None


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
    verdict = "met" if n_met == len(pairs) else "NOT MET"
    return f"{verdict}: {expected} (at {n_met:,} of {len(pairs):,})."
