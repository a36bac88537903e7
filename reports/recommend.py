"""Which setting of a run to use: the cheapest that reaches enough, and how far that can be trusted.

Provenances are never pooled. What a setting costs and reaches is `reports.candidates`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from evals.stats import MIN_CLUSTERS, TIE
from reports.candidates import (
    NOT_ENGAGED,
    Candidate,
    Unit,
    candidate_of,
    fault_of,
    unit_of,
)
from reports.confirm import Confirmation, confirm, halves, sessions_to_confirm
from reports.frames import Cluster, Run
from reports.measure_again import measure_command
from reports.scope import scope

DEFAULT_MIN_REACH: Final = 0.9
"""This project's default: nine of ten needs over long gaps. Set what your agent needs."""
DEFAULT_MARGIN: Final = 0.05
"""How far below the wanted reach still counts as reaching it, on the half that confirms."""
NEAR_FRACTION: Final = 0.01
"""Settings that differ by at most this in cost (relative) and in reach are near-equal."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to choose on the transcripts of one provenance."""

    provenance: str
    unit: Unit
    min_reach: float
    n_transcripts: int
    n_with_needs: int
    n_clusters: int
    """Sessions (or projects: `clusters_are`) with needs; below `MIN_CLUSTERS` nothing is claimed
    about others."""
    cost_before: float
    chosen: Candidate | None
    nearest: Candidate | None
    """Where none reaches enough: the one that comes closest."""
    pareto: tuple[tuple[Candidate, ...], ...]
    """By rising cost; those equal in cost and reach stand together."""
    near: tuple[Candidate, ...]
    """Near-equal to the chosen one, which is among them."""
    confirmation: Confirmation | None
    """None below `n_to_confirm` sessions: no half would carry a claim."""
    n_to_confirm: int | None
    """Sessions with needs for both halves; None if no number could confirm this reach."""
    left_out: tuple[LeftOut, ...]
    reason_for_none: str | None = None
    """Where no setting can be judged at all."""
    measure: str | None = None
    """The command that measures the chosen setting with fixed sizes, if it had shares."""
    scope: str | None = None
    """From how many projects the sessions come, where that is known."""
    clusters_are: Cluster = "session"

    @property
    def allows_claims(self) -> bool:
        return self.n_clusters >= MIN_CLUSTERS

    @property
    def is_confirmed(self) -> bool:
        """Whether held-out sessions confirm what is named."""
        if self.chosen is None or self.confirmation is None:
            return False
        label = self.chosen.label
        return any(each.is_confirmed for each in self.confirmation.tests if each.label == label)

    @property
    def is_refuted(self) -> bool:
        """Whether held-out sessions were asked and do not confirm what is named."""
        return self.chosen is not None and self.confirmation is not None and not self.is_confirmed


def recommend(
    run: Run, *, min_reach: float = DEFAULT_MIN_REACH, margin: float = DEFAULT_MARGIN
) -> tuple[Recommendation, ...]:
    """Recommend a setting for each provenance of a run.

    Args:
        run: With one row per transcript and setting.
        min_reach: Share of needs over long gaps that must stay reachable.
        margin: Of the non-inferiority test on the confirming half.
    """
    found = (_of_provenance(run, name, min_reach, margin) for name in run.provenances)
    return tuple(each for each in found if each is not None)


def pareto_set(candidates: Sequence[Candidate]) -> tuple[tuple[Candidate, ...], ...]:
    """Return those that no other beats in cost or reach without losing in the other."""
    ordered = sorted(candidates, key=lambda each: (each.cost, -each.reach, each.label))
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
    for each in sorted(candidates, key=lambda each: (each.cost, -each.reach, each.label)):
        if each.reach + TIE >= min_reach and _guaranteed(each) + TIE >= min_reach:
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


def _guaranteed(candidate: Candidate) -> float:
    lower = candidate.lower
    return candidate.worst[1] if lower is None else lower


def _closeness(candidate: Candidate) -> tuple[float, float, float]:
    return _guaranteed(candidate), candidate.reach, -candidate.cost


def _cost_same(each: Candidate, other: Candidate) -> bool:
    return abs(each.cost - other.cost) <= TIE * max(1.0, abs(other.cost))


def _of_provenance(
    run: Run, provenance: str, min_reach: float, margin: float
) -> Recommendation | None:
    rows = run.rows[(run.rows["provenance"] == provenance) & ~run.rows["is_control"]]
    if rows.empty:
        return None
    unit = unit_of(rows)
    keys = list(dict.fromkeys(rows["key"]))
    with_needs = rows.loc[rows["needs"] > 0]
    candidates: list[Candidate] = []
    left_out: list[LeftOut] = []
    for label, group in rows.groupby("label", sort=False):
        reason = fault_of(group, len(keys))
        if reason is None:
            candidates.append(candidate_of(str(label), group, unit))
        else:
            left_out.append(LeftOut(str(label), reason))
    before = candidates[0].cost_before if candidates else 0.0
    usable = [each for each in candidates if each.n]
    chosen, confirmation = _choose(usable, min_reach, margin)
    closest = max(usable, key=_closeness, default=None)
    return Recommendation(
        provenance,
        unit,
        min_reach,
        len(keys),
        int(with_needs["key"].nunique()),
        int(with_needs["cluster"].nunique()),
        before,
        chosen,
        closest if chosen is None else None,
        pareto_set(usable),
        near_equal(chosen, usable) if chosen is not None else (),
        confirmation,
        _n_to_confirm(min_reach, margin),
        tuple(left_out),
        None if candidates else _why_none(rows, left_out),
        None if chosen is None else _measure(run, chosen, min_reach),
        scope(run, provenance),
        run.clusters_are,
    )


def _measure(run: Run, chosen: Candidate, min_reach: float) -> str | None:
    return measure_command(
        run.manifest, chosen.strategy, chosen.parameters, chosen.shares, min_reach=min_reach
    )


def _why_none(rows: pd.DataFrame, left_out: Sequence[LeftOut]) -> str:
    """Say why no setting is a candidate."""
    if not rows["scored"].any():
        return "Every cell of every setting failed, so nothing can be said."
    if all(each.reason == NOT_ENGAGED for each in left_out):
        return (
            "No setting saved 1 % of the input tokens or more, so there is nothing to choose: "
            "lower the thresholds, for example to 50% of the peak."
        )
    return (
        "No setting worked without fault on every transcript and saved 1 % of the input tokens or "
        "more, so none is recommended."
    )


def _n_to_confirm(min_reach: float, margin: float) -> int | None:
    held_out = sessions_to_confirm(min_reach, margin)
    return None if held_out is None else 2 * held_out


def _choose(
    candidates: Sequence[Candidate], min_reach: float, margin: float
) -> tuple[Candidate | None, Confirmation | None]:
    """Choose on all sessions, or on one half and confirm on the other where they are enough."""
    clusters = sorted({str(name) for each in candidates for name in each.each["cluster"]})
    needed = _n_to_confirm(min_reach, margin)
    if needed is None or len(clusters) < needed:
        return cheapest(candidates, min_reach), None
    discovery, held_out = halves(clusters)
    tried = [each.within(discovery) for each in candidates]
    first = cheapest(tried, min_reach)
    if first is None:
        return None, Confirmation(len(discovery), len(held_out), margin, ())
    family = [each for each in near_equal(first, tried) if _reaches(each, min_reach)]
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


def _reaches(candidate: Candidate, min_reach: float) -> bool:
    return _guaranteed(candidate) + TIE >= min_reach
