"""Means over transcripts with an interval about their sampling, or the plain range for few.

Transcripts of one session (sub-agents, forks) are one cluster and are drawn together. Source:
Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile interval).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pandas as pd

MIN_CLUSTERS: Final = 10
"""Below this no interval is made. This project's definition."""
DRAWS: Final = 10_000
SEED: Final = 20_240_917
LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A macro mean and how far it can be trusted; all None and 0 where nothing was measured."""

    mean: float | None = None
    n: int = 0
    """Transcripts with a value."""
    n_clusters: int = 0
    least: float | None = None
    most: float | None = None
    low: float | None = None
    """Ends of the 95 % interval; None for fewer than `MIN_CLUSTERS` clusters."""
    high: float | None = None

    @property
    def allows_claims(self) -> bool:
        return self.n_clusters >= MIN_CLUSTERS


def estimate(values: pd.Series, clusters: pd.Series) -> Estimate:
    """Estimate the mean of one value per transcript; missing values are left out."""
    present = values.dropna()
    if present.empty:
        return Estimate()
    groups = present.groupby(clusters.loc[present.index].astype(str))
    low, high = _interval(groups.sum(), groups.count())
    return Estimate(
        mean=float(present.mean()),
        n=len(present),
        n_clusters=groups.ngroups,
        least=float(present.min()),
        most=float(present.max()),
        low=low,
        high=high,
    )


def _interval(sums: pd.Series, counts: pd.Series) -> tuple[float | None, float | None]:
    n = len(sums)
    if n < MIN_CLUSTERS:
        return None, None
    means = pd.Series(_totals(sums) / (_totals(counts) if counts.ne(1).any() else n))
    edge = (1 - LEVEL) / 2
    return float(means.quantile(edge)), float(means.quantile(1 - edge))


def _totals(values: pd.Series) -> Any:
    """Return the total of each draw, as an array of `DRAWS` numbers."""
    n = len(values)
    return values.to_numpy(dtype=float).take(_draws(n)).reshape(DRAWS, n).sum(axis=1)


@lru_cache(maxsize=2)
def _draws(n: int) -> Any:
    """Return `DRAWS` times n positions below n, one draw after the other; the same every time."""
    return pd.Series(range(n)).sample(n * DRAWS, replace=True, random_state=SEED).to_numpy("int32")
