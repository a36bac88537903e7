"""Means over transcripts with an interval about their sampling, or the plain range for few."""

from dataclasses import dataclass

import pandas as pd

from evals.stats import MIN_CLUSTERS, bootstrap_interval, clustered


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
    data = clustered(present.tolist(), clusters.loc[present.index].astype(str).tolist())
    interval = bootstrap_interval(data)
    return Estimate(
        mean=float(present.mean()),
        n=len(present),
        n_clusters=data.n_clusters,
        least=float(present.min()),
        most=float(present.max()),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )
