"""One measure of two settings on the transcripts that have it on both sides.

A verdict on a share is that of `evals.bounded`, the test of a recommendation's confirmation too: a
session can lose all, and a sample that shows no such session does not exclude it. Savings have no
limit below, so there the bootstrap decides.
"""

from dataclasses import dataclass
from typing import Final, Literal

import pandas as pd

from evals.bounded import bounded_interval, exceeded_by
from evals.power import (
    bounded_margin,
    bounded_sessions_needed,
    minimum_detectable_effect,
    sessions_needed,
)
from evals.stats import (
    MIN_CLUSTERS,
    TIE,
    VERDICT_LEVEL,
    Clustered,
    Interval,
    Verdict,
    bootstrap_interval,
    clustered,
    sign_flip_p,
    verdict_of,
)
from reports.measures import Measure
from reports.sides import values_of

FLOOR: Final = -1.0
"""Of a difference of shares: the baseline kept all of a session and the candidate nothing."""
CEILING: Final = 1.0
"""The other way round. What these sessions could gain at most is no limit of further ones."""
SAME_TOTAL: Final = 1e-6
"""What two runs took without compaction is the same up to this share of it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure over the transcripts that have it on both sides."""

    measure: Measure
    n: int
    n_clusters: int
    baseline: float
    candidate: float
    difference: float
    """Candidate minus baseline: mean over transcripts, or of the shares saved of all together."""
    low: float | None
    """Ends of the 95 % bootstrap interval; None below `evals.stats.MIN_CLUSTERS` sessions."""
    high: float | None
    p: float | None
    """Of "no difference", by flipping signs; two-sided, not adjusted. None without an interval."""
    p_holm: float | None
    """Adjusted for all verdicts of all settings of the comparison; None where there is none, or not
    enough sessions for one."""
    wins: int
    """Transcripts on which the candidate is better."""
    ties: int
    losses: int
    verdict: Verdict | None
    verdict_by: Literal["bounded", "bootstrap"] | None
    verdict_low: float | None
    """Ends of the 90 % interval that decides, of candidate minus baseline like the other."""
    verdict_high: float | None
    detectable: float | None
    """Smallest loss that this many sessions would rule out in four of five cases if the candidate
    is as good, by the test of the verdict. None if they rule out none, or are too few."""
    needed: int | None
    """Sessions that would show non-inferiority of an equal candidate in four of five cases, by the
    test of the verdict; where these do not decide."""
    least_margin: float | None
    """Where the verdict is bounded and open: the smallest margin that so many sessions could show
    if none of them lost anything."""

    @property
    def has_moved(self) -> bool:
        """Whether any transcript differs."""
        return bool(self.wins or self.losses)

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Of the interval that a condition is about: that of the verdict, else the 95 % one."""
        has_verdict = self.verdict is not None
        return (self.verdict_low, self.verdict_high) if has_verdict else (self.low, self.high)


def difference_of(
    measure: Measure, both: pd.DataFrame, *, is_whole_baseline: bool = False
) -> Difference:
    """Return the difference over the transcripts of `paired`; at least one.

    Args:
        measure: What is compared.
        both: The transcripts.
        is_whole_baseline: The baseline keeps all of any transcript, so nothing can be gained on it.
    """
    change = both["candidate"] - both["baseline"]
    better = change if measure.better == "higher" else -change
    data, gain = _clustered(both, change), _clustered(both, better)
    interval = bootstrap_interval(data)
    ceiling = max(0.0, float((gain.sums / gain.weights).max())) if is_whole_baseline else CEILING
    deciding = None if measure.margin is None else _deciding(measure, gain, ceiling)
    verdict = None if measure.margin is None else verdict_of(deciding, margin=measure.margin)
    low, high = (None, None) if deciding is None else deciding[:2]
    if low is not None and high is not None and measure.better == "lower":
        low, high = -high, -low
    is_open = verdict == "inconclusive" and bool(measure.margin)
    return Difference(
        measure,
        len(both),
        data.n_clusters,
        _level(both, "baseline"),
        _level(both, "candidate"),
        data.mean,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        None if interval is None else sign_flip_p(data),
        None,
        wins=int((better > TIE).sum()),
        ties=int((better.abs() <= TIE).sum()),
        losses=int((better < -TIE).sum()),
        verdict=verdict,
        verdict_by=None if deciding is None else ("bounded" if measure.is_share else "bootstrap"),
        verdict_low=low,
        verdict_high=high,
        detectable=_detectable(measure, data),
        needed=_needed(measure, data) if is_open else None,
        least_margin=1 - exceeded_by(data.n_clusters) if is_open and measure.is_share else None,
    )


def paired(measure: Measure, ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return `baseline`, `candidate`, `weight` and `cluster` of the transcripts that have both.

    Args:
        measure: What is compared.
        ours: Of the baseline (`Side.each`); the same transcripts in the same order as `theirs`.
        theirs: Of the candidate.
    """
    both = values_of(measure, ours, theirs)
    both["cluster"] = ours["cluster"]
    both["weight"] = 1.0
    if measure.saved_of is not None:
        before = ours[measure.saved_of[0]]
        both["weight"] = before.where(before > 0).where(is_same_total(measure, ours, theirs))
    return both.dropna()


def is_same_total(measure: Measure, ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.Series:
    """Return where both sides took the same without compaction: else no saving can be compared."""
    if measure.saved_of is None:
        return pd.Series(data=True, index=ours.index)
    one, other = ours[measure.saved_of[0]], theirs[measure.saved_of[0]]
    return (one - other).abs() <= SAME_TOTAL * one.abs()


def _level(both: pd.DataFrame, side: str) -> float:
    return float((both[side] * both["weight"]).sum() / both["weight"].sum())


def _clustered(both: pd.DataFrame, change: pd.Series) -> Clustered:
    weights = both["weight"]
    return clustered((change * weights).tolist(), both["cluster"].tolist(), weights.tolist())


def _deciding(measure: Measure, gain: Clustered, ceiling: float) -> Interval | None:
    """Return the interval of a verdict.

    A further session can lose all and gain all, whatever was kept in those that were seen.
    """
    if not measure.is_share:
        return bootstrap_interval(gain, level=VERDICT_LEVEL)
    return bounded_interval(gain, floor=FLOOR, ceiling=ceiling)


def _detectable(measure: Measure, data: Clustered) -> float | None:
    if data.n_clusters < MIN_CLUSTERS:
        return None
    if measure.is_share:
        return bounded_margin(data.n_clusters, data.spread, floor=FLOOR)
    return minimum_detectable_effect(data)


def _needed(measure: Measure, data: Clustered) -> int | None:
    if measure.margin is None:
        return None
    if measure.is_share:
        return bounded_sessions_needed(data.spread, measure.margin, floor=FLOOR)
    return sessions_needed(data.spread, measure.margin)
