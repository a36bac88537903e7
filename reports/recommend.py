"""Which setting of a run to use: the cheapest that reaches enough, and how far that can be trusted.

Provenances are never pooled. What a setting costs and reaches is `reports.candidates`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pandas as pd

from evals.power import bounded_detectable_mean
from evals.stats import MIN_CLUSTERS
from reports.candidates import NOT_ENGAGED, Candidate, Unit, candidate_of, fault_of, unit_of
from reports.choosing import (
    choose,
    closeness,
    dearness,
    near_equal,
    pareto_set,
    reaches,
    sessions_to_name,
    sessions_to_name_and_confirm,
)
from reports.configuration import Configuration, configurations
from reports.confirm import Confirmation
from reports.costs import priced_models
from reports.frames import Cluster, Run
from reports.measure_again import measure_command, measured_sizes
from reports.scope import scope

DEFAULT_MIN_REACH: Final = 0.9
"""This project's default: nine of ten needs over long gaps. Set what your agent needs."""
DEFAULT_MARGIN: Final = 0.05
"""How far below the wanted reach still counts as reaching it, on the half that confirms."""


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
    by_mean: Candidate | None
    """The cheapest whose mean reaches enough."""
    pareto: tuple[tuple[Candidate, ...], ...]
    """By rising cost; those equal in cost and reach stand together."""
    near: tuple[Candidate, ...]
    """Near-equal to the chosen one, which is among them."""
    confirmation: Confirmation | None
    """None below `n_to_confirm` sessions, or if half of them name none."""
    n_to_name: int | None
    """Sessions with needs for the bound to be enough if none loses anything; None if no number
    is."""
    n_to_confirm: int | None
    """For one half to name a setting and the other to confirm it."""
    left_out: tuple[LeftOut, ...]
    reason_for_none: str | None = None
    """Where no setting can be judged at all."""
    configurations: tuple[Configuration, ...] = ()
    """Of the chosen setting, of its own framework first."""
    measure: Mapping[str, str] = field(default_factory=dict)
    """Framework -> the command that measures the sizes of its configuration that were shares."""
    scope: str | None = None
    """From how many projects the sessions come, where that is known."""
    priced_as: str | None = None
    """The models whose prices the dollars are of."""
    clusters_are: Cluster = "session"

    @property
    def n_deciding(self) -> int:
        """Sessions whose bound decides: all, or the discovery half."""
        return self.n_clusters if self.confirmation is None else self.confirmation.n_discovery

    @property
    def detectable(self) -> float | None:
        """The true reach from which on the bound of the chosen or closest setting is enough 4 times
        in 5, given how it scatters; None if so few sessions cannot show any.
        """
        candidate = self.chosen or self.nearest
        if candidate is None or not self.allows_claims or self.min_reach <= 0:
            return None
        return bounded_detectable_mean(self.n_deciding, candidate.data.spread, self.min_reach)

    @property
    def is_for_want_of_sessions(self) -> bool:
        """Whether so few sessions could name nothing, whatever they showed."""
        needed = self.n_to_name
        return self.allows_claims and (needed is None or self.n_deciding < needed)

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


def _of_provenance(
    run: Run, provenance: str, min_reach: float, margin: float
) -> Recommendation | None:
    rows = run.rows[(run.rows["provenance"] == provenance) & ~run.rows["is_control"]]
    if rows.empty:
        return None
    unit = unit_of(rows)
    with_needs = rows.loc[rows["needs"] > 0]
    candidates, left_out = _candidates(rows, unit)
    usable = [each for each in candidates if each.n]
    chosen, confirmation = choose(usable, min_reach, margin)
    nearest = max(usable, key=closeness, default=None) if chosen is None else None
    forms = () if chosen is None else _configurations(chosen, rows)
    reaching = [each for each in usable if reaches(each.reach, min_reach)]
    return Recommendation(
        provenance=provenance,
        unit=unit,
        min_reach=min_reach,
        n_transcripts=int(rows["key"].nunique()),
        n_with_needs=int(with_needs["key"].nunique()),
        n_clusters=int(with_needs["cluster"].nunique()),
        cost_before=candidates[0].cost_before if candidates else 0.0,
        chosen=chosen,
        nearest=nearest,
        by_mean=min(reaching, key=dearness, default=None),
        pareto=pareto_set(usable),
        near=near_equal(chosen, usable) if chosen is not None else (),
        confirmation=confirmation,
        n_to_name=sessions_to_name(min_reach),
        n_to_confirm=sessions_to_name_and_confirm(min_reach, margin),
        left_out=left_out,
        reason_for_none=None if candidates else _why_none(rows, left_out),
        configurations=forms,
        measure={} if chosen is None else _measure(run, chosen, forms, min_reach),
        scope=scope(run, provenance),
        priced_as=priced_models(rows[rows["scored"]].drop_duplicates("key"))
        if unit == "usd"
        else None,
        clusters_are=run.clusters_are,
    )


def _candidates(
    rows: pd.DataFrame, unit: Unit
) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    n_transcripts = rows["key"].nunique()
    candidates: list[Candidate] = []
    left_out: list[LeftOut] = []
    for label, group in rows.groupby("label", sort=False):
        reason = fault_of(group, n_transcripts)
        if reason is None:
            candidates.append(candidate_of(str(label), group, unit))
        else:
            left_out.append(LeftOut(str(label), reason))
    return tuple(candidates), tuple(left_out)


def _configurations(chosen: Candidate, rows: pd.DataFrame) -> tuple[Configuration, ...]:
    return configurations(
        chosen.strategy,
        chosen.resolved,
        given={name: chosen.resolved.get(name) for name in chosen.parameters},
        shares=chosen.shares,
        scales=chosen.scales,
        measured=measured_sizes(rows, chosen.strategy, chosen.parameters),
    )


def _measure(
    run: Run, chosen: Candidate, forms: Sequence[Configuration], min_reach: float
) -> dict[str, str]:
    commands = {
        form.framework: measure_command(
            run.manifest, chosen.strategy, chosen.parameters, form.sizes, min_reach=min_reach
        )
        for form in forms
        if form.text
    }
    return {name: command for name, command in commands.items() if command is not None}


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
