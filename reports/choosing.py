"""Choosing among the settings of a run: by one lower bound of reach, then by cost.

The bound is `evals.bounded.lower_bound` wherever a setting is chosen, printed or confirmed.
"""

from collections.abc import Sequence
from typing import Final

from evals.bounded import sessions_to_exceed
from evals.stats import MIN_CLUSTERS, TIE
from reports.candidates import Candidate
from reports.confirm import Confirmation, confirm, halves, sessions_to_confirm

NEAR_FRACTION: Final = 0.01
"""Settings that differ by at most this in cost (relative) and in reach are near-equal."""


def choose(
    candidates: Sequence[Candidate], min_reach: float, margin: float
) -> tuple[Candidate | None, Confirmation | None]:
    """Choose on one half and confirm on the other; on all sessions where a half names none."""
    clusters = sorted({str(name) for each in candidates for name in each.each["cluster"]})
    needed = sessions_to_name_and_confirm(min_reach, margin)
    if needed is None or len(clusters) < needed:
        return cheapest(candidates, min_reach), None
    discovery, held_out = halves(clusters)
    tried = [each.within(discovery) for each in candidates]
    first = cheapest(tried, min_reach)
    if first is None:
        return cheapest(candidates, min_reach), None
    family = [each for each in near_equal(first, tried) if reaches(_guaranteed(each), min_reach)]
    family_labels = [each.label for each in family]
    of_label = {each.label: each for each in candidates}
    found = confirm(
        {label: of_label[label].within(held_out).each for label in family_labels},
        min_reach,
        margin,
        n_discovery=len(discovery),
        n_held_out=len(held_out),
    )
    confirmed = [each.label for each in found.tests if each.is_confirmed]
    return of_label[confirmed[0] if confirmed else first.label], found


def pareto_set(candidates: Sequence[Candidate]) -> tuple[tuple[Candidate, ...], ...]:
    """Return those that no other beats in cost or reach without losing in the other."""
    ordered = sorted(candidates, key=dearness)
    front: list[list[Candidate]] = []
    for each in ordered:
        if not front:
            front.append([each])
            continue
        last = front[-1][0]
        if each.reach > last.reach + TIE:
            if _cost_same(each, last):  # dearer by a rounding only
                front.pop()
            front.append([each])
        elif _cost_same(each, last) and each.reach >= last.reach - TIE:
            front[-1].append(each)
    return tuple(map(tuple, front))


def cheapest(candidates: Sequence[Candidate], min_reach: float) -> Candidate | None:
    """Return the cheapest that reaches enough.

    From `MIN_CLUSTERS` sessions on its 95 % lower bound must; below, its worst transcript.
    """
    for each in sorted(candidates, key=dearness):
        if reaches(min(each.reach, _guaranteed(each)), min_reach):
            return each
    return None


def near_equal(chosen: Candidate, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return those that differ from one by at most `NEAR_FRACTION` in cost and in reach."""
    limit = NEAR_FRACTION + TIE
    return tuple(
        each
        for each in sorted(candidates, key=lambda each: (each.cost, each.label))
        if abs(each.cost - chosen.cost) <= limit * chosen.cost
        and abs(each.reach - chosen.reach) <= limit
    )


def reaches(reach: float, min_reach: float) -> bool:
    return reach + TIE >= min_reach


def dearness(candidate: Candidate) -> tuple[float, float, str]:
    return candidate.cost, -candidate.reach, candidate.label


def closeness(candidate: Candidate) -> tuple[float, float, float]:
    return _guaranteed(candidate), candidate.reach, -candidate.cost


def sessions_to_name(min_reach: float) -> int | None:
    """Return how few sessions can have a bound of so much: as many, if none loses anything.

    Returns:
        None if no number can.
    """
    needed = sessions_to_exceed(min_reach)
    return None if needed is None else max(MIN_CLUSTERS, needed)


def sessions_to_name_and_confirm(min_reach: float, margin: float) -> int | None:
    discovery, held_out = sessions_to_name(min_reach), sessions_to_confirm(min_reach, margin)
    return None if discovery is None or held_out is None else 2 * max(discovery, held_out)


def _guaranteed(candidate: Candidate) -> float:
    lower = candidate.lower
    return candidate.worst[1] if lower is None else lower


def _cost_same(each: Candidate, other: Candidate) -> bool:
    return abs(each.cost - other.cost) <= TIE * max(1.0, abs(other.cost))
