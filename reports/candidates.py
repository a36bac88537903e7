"""Each setting of a run as a candidate: its cost and its reach over all transcripts.

A setting is judged on all of them: where it did nothing it saved nothing and lost nothing. Cost is
in dollars if every row has them, else in input tokens.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

import pandas as pd

from evals.bounded import lower_bound
from evals.stats import MIN_CLUSTERS, TIE, Clustered, clustered
from reports.aggregates import saving_of
from reports.shares import Share, resolved_and_shares
from reports.units import Scale
from reports.wording import listed, plural

ENGAGED_FRACTION: Final = 0.01
"""As `evals.results.ENGAGED_FRACTION`: a setting that saves less did nothing."""

NOT_ENGAGED: Final = "saved less than 1 % of the input tokens"
NOT_JUDGED: Final = "did nothing on any transcript with needs, so what it loses is not known"

Unit = Literal["usd", "tokens"]
COST_COLUMNS: Final[Mapping[Unit, tuple[str, str]]] = {
    "usd": ("cost_before_usd", "cost_after_usd"),
    "tokens": ("input_tokens_before", "input_tokens_after"),
}
"""Unit -> columns without and with compaction; dollars include the strategy's own model calls."""
_JUDGED: Final = ("reach", "engaged", "matched_reach", "oracle_reach", "cluster")


@dataclass(frozen=True, slots=True)
class Beside:
    """What stands beside a setting's reach, over the transcripts where it is known."""

    reach: float
    """Of the setting, on these transcripts."""
    other: float
    n: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting over all transcripts of a provenance."""

    label: str
    strategy: str
    parameters: Mapping[str, str]
    """As set."""
    resolved: Mapping[str, Any]
    """Every parameter with its value; one that was a share of the peak as it was given."""
    shares: Mapping[str, Share]
    """Parameters that were shares of the peak, with what they came to."""
    scales: tuple[Scale, ...]
    """How others count, of each transcript in which a model was asked anything."""
    cost: float
    """Of all transcripts together."""
    cost_before: float
    saving: float
    """Of input tokens, all transcripts together."""
    each: pd.DataFrame
    """By transcript with needs: `reach`, `engaged`, `cluster`, `matched_reach`, `oracle_reach`."""
    names: Mapping[str, str]
    """Key of a transcript -> its name."""
    costs: pd.DataFrame
    """By transcript: `cost`, `before` (without compaction), `own` (model calls of the setting;
    0 if costs are in tokens), `engaged`, `cluster`."""

    @property
    def reach(self) -> float:
        """Mean over the transcripts with needs."""
        return float(self.each["reach"].mean())

    @property
    def is_dearer(self) -> bool:
        return self.cost >= self.cost_before

    @property
    def is_dearer_by_its_calls(self) -> bool:
        """Whether it would save something if its own model calls were free."""
        return self.is_dearer and self.cost - float(self.costs["own"].sum()) < self.cost_before

    @property
    def n(self) -> int:
        return len(self.each)

    @property
    def n_all(self) -> int:
        """Transcripts with a request, with needs or without."""
        return len(self.costs)

    @property
    def n_engaged(self) -> int:
        """Of `n_all`: those on which it did anything."""
        return int(self.costs["engaged"].sum())

    @property
    def n_judged(self) -> int:
        """Of `n`: those on which it did anything."""
        return int(self.each["engaged"].sum())

    @property
    def judged_reach(self) -> float | None:
        """Mean over the transcripts with needs on which it did anything."""
        judged = self.each.loc[self.each["engaged"], "reach"]
        return float(judged.mean()) if len(judged) else None

    @property
    def worst(self) -> tuple[str, float]:
        """Transcript of the least reach, and that reach."""
        return min(self.values(), key=lambda pair: pair[1])

    @cached_property
    def data(self) -> Clustered:
        """Reach by session."""
        return clustered(self.each["reach"].tolist(), self.each["cluster"].tolist())

    @cached_property
    def lower(self) -> float | None:
        """`evals.bounded.lower_bound` at 95 %, as in the confirmation; None below `MIN_CLUSTERS`.

        So few sessions support no more than `exceeded_by` of them, however much they reach.
        """
        return None if self.data.n_clusters < MIN_CLUSTERS else lower_bound(self.data, floor=0.0)

    @property
    def n_dearer(self) -> int:
        """Of `n_all`: those on which it costs more than no compaction."""
        return int((self.costs["cost"] > self.costs["before"] * (1 + TIE)).sum())

    @cached_property
    def truncation(self) -> Beside | None:
        """Truncation at the same saving, interpolated, where the setting did anything."""
        return self._beside("matched_reach")

    @cached_property
    def oracle(self) -> Beside | None:
        """The most that any choice of whole messages could reach with the same tokens, there."""
        return self._beside("oracle_reach")

    def values(self) -> list[tuple[str, float]]:
        return [(self.names[str(key)], float(value)) for key, value in self.each["reach"].items()]

    def idle(self) -> frozenset[str]:
        """Return the transcripts with needs on which it did nothing."""
        return frozenset(self.names[str(key)] for key in self.each.index[~self.each["engaged"]])

    def within(self, clusters: Iterable[str]) -> "Candidate":
        """Return the same setting on some sessions."""
        mine = set(clusters)
        each = self.each[self.each["cluster"].isin(mine)]
        costs = self.costs[self.costs["cluster"].isin(mine)]
        return replace(
            self,
            cost=float(costs["cost"].sum()),
            cost_before=float(costs["before"].sum()),
            each=each,
            costs=costs,
        )

    def _beside(self, column: str) -> Beside | None:
        judged = self.each[self.each["engaged"]]
        known = judged[["reach", column]].dropna()
        if known.empty:
            return None
        return Beside(float(known["reach"].mean()), float(known[column].mean()), len(known))


def unit_of(rows: pd.DataFrame) -> Unit:
    priced = rows.loc[rows["scored"], list(COST_COLUMNS["usd"])]
    return "usd" if len(priced) and bool(priced.notna().all().all()) else "tokens"


def fault_of(group: pd.DataFrame, n_transcripts: int) -> str | None:
    """Return why a setting cannot be recommended."""
    failed = group.loc[~group["scored"], "key"].nunique()
    missing = n_transcripts - group["key"].nunique()
    gaps = [
        f"{what} on {plural(n, 'transcript')}"
        for what, n in (("failed", failed), ("was not run", missing))
        if n
    ]
    if gaps:
        return " and ".join(gaps)
    broken = group[group["violations"] > 0]
    if len(broken):
        rules = sorted({rule for found in broken["violated"] for rule in found})
        return f"broke {listed(rules, 3)} on {plural(broken['key'].nunique(), 'transcript')}"
    saving = saving_of(group)
    if saving is None or saving < ENGAGED_FRACTION:
        return NOT_ENGAGED
    with_needs = group[group["reach"].notna()]
    return NOT_JUDGED if len(with_needs) and not with_needs["engaged"].any() else None


def _scales(once: pd.DataFrame) -> Iterator[Scale]:
    names = (
        "calibration_slope",
        "calibration_offset_tokens",
        "fixed_tokens",
        "estimate_per_counted_token",
    )
    for values in once[list(names)].itertuples(index=False):
        yield Scale(*(None if pd.isna(value) else float(value) for value in values))


def candidate_of(label: str, group: pd.DataFrame, unit: Unit) -> Candidate:
    before, after = COST_COLUMNS[unit]
    by_key = group.groupby("key", sort=False)
    numbers = ["reach", "matched_reach", "oracle_reach", before, after, "own_calls_usd"]
    means = by_key[numbers].mean()
    means["cluster"] = by_key["cluster"].first().astype(str)
    means["engaged"] = by_key["engaged"].all().astype(bool)
    own = means["own_calls_usd"].fillna(0.0) if unit == "usd" else 0.0
    names = {after: "cost", before: "before"}
    costs = means[[after, before, "engaged", "cluster"]].rename(columns=names).assign(own=own)
    first = group.iloc[0]
    parameters = dict(first["parameters"])
    asked = group[group["requests"] > 0] if bool((group["requests"] > 0).any()) else group
    costs = costs.loc[costs.index.isin(asked["key"])]
    once = asked.drop_duplicates("key")
    resolved, shares = resolved_and_shares(list(once["resolved"]), parameters)
    return Candidate(
        label,
        str(first["strategy"]),
        parameters,
        resolved,
        shares,
        tuple(_scales(once)),
        float(costs["cost"].sum()),
        float(costs["before"].sum()),
        saving_of(group) or 0.0,
        means.loc[means["reach"].notna(), list(_JUDGED)],
        dict(zip(group["key"], group["transcript"], strict=True)),
        costs,
    )
