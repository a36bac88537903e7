"""Statistics of paired evaluations: intervals, paired tests, verdicts, power.

The unit is the transcript; transcripts of one session (sub-agents, forks) are one cluster, drawn
and flipped together. On a fixed corpus a deterministic strategy has exact numbers: every interval
here is about the sampling of sessions. Definitions: DESIGN section 10.

Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 13 and 14; Miller,
Adding Error Bars to Evals (2024), https://arxiv.org/abs/2411.00640, for clusters and pairing.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from compaction.errors import CompactionError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MIN_CLUSTERS: Final = 10
"""Below this the values of the transcripts are shown and no claim is made. DESIGN section 10."""
MIN_CLUSTERS_BCA: Final = 20
"""From here on BCa holds its level. At 10 sessions and 95 % it covers 79 to 90 %, Student's t 78 to
94 %, the wider of both 81 to 95 %, by shape: `tests/test_stats.py` simulates it."""
DRAWS: Final = 10_000
SEED: Final = 20_240_917
MAX_EXACT_CLUSTERS: Final = 13
"""2 ** 13 sign patterns are fewer than `DRAWS`: all are looked at."""
VERDICT_LEVEL: Final = 0.9
"""Of the two-sided interval that decides a verdict: a one-sided test at 5 %."""
TIE: Final = 1e-9
"""Differences of metrics up to this are rounding."""

Method = Literal["BCa bootstrap", "BCa bootstrap or t", "percentile bootstrap", "t", "bounded"]
Verdict = Literal["non-inferior", "inferior", "inconclusive", "not supported"]


class StatisticsError(CompactionError):
    """A statistic was asked of numbers that cannot give it."""


class Interval(NamedTuple):
    low: float
    high: float
    level: float
    """Between 0 and 1."""
    method: Method


@dataclass(frozen=True, slots=True)
class Clustered:
    """One value per transcript, added up by cluster: all that resampling needs."""

    sums: "Floats"
    """Of the values (numerators, for a ratio), per cluster."""
    weights: "Floats"
    """Transcripts per cluster (denominators, for a ratio)."""

    @property
    def n_clusters(self) -> int:
        return len(self.sums)

    @property
    def mean(self) -> float:
        """Mean over transcripts, or the ratio of the sums."""
        return float(self.sums.sum() / self.weights.sum())

    @property
    def spread(self) -> float:
        """Standard deviation between clusters: over the root of their number it is the standard
        error of the mean. Of a ratio, or of clusters of unlike size, by its linear part (delta
        method). Of at least 2 clusters.
        """
        n = self.n_clusters
        left = self.sums - self.mean * self.weights
        return float(n / self.weights.sum() * ((left**2).sum() / (n - 1)) ** 0.5)


def clustered(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    weights: Sequence[float] | None = None,
) -> Clustered:
    """Add values up by cluster, clusters in the order of their first transcript.

    Args:
        values: One per transcript.
        clusters: The cluster of each.
        weights: Denominators of a ratio of sums; 1 each for a mean.

    Raises:
        StatisticsError: no values, unequal lengths, a value that is no number, or a cluster
            without weight.
    """
    import numpy as np

    if len(values) == 0:
        raise StatisticsError("no values")
    given = [1.0] * len(values) if weights is None else weights
    if not len(values) == len(clusters) == len(given):
        raise StatisticsError(
            f"{len(values)} values, {len(clusters)} clusters and {len(given)} weights: "
            "there must be one each for every transcript"
        )
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    sums, totals = (
        np.bincount(places, weights=np.asarray(each, dtype=float)).astype(np.float64)
        for each in (values, given)
    )
    if not (np.isfinite(sums).all() and np.isfinite(totals).all()):
        raise StatisticsError("values must be finite; leave out what was not measured")
    if totals.min() <= 0:
        raise StatisticsError("every cluster must weigh more than 0; leave out what is empty")
    return Clustered(sums, totals)


def bootstrap_interval(data: Clustered, *, level: float = 0.95) -> Interval | None:
    """Return the cluster bootstrap interval of the mean (or ratio of sums).

    `DRAWS` draws of whole clusters with a fixed seed, BCa; below `MIN_CLUSTERS_BCA` clusters each
    end is the farther one of BCa and Student's t, within the means of the clusters.

    Returns:
        None for fewer than `MIN_CLUSTERS` clusters: too few for a claim.
    """
    if data.n_clusters < MIN_CLUSTERS:
        return None
    is_small = data.n_clusters < MIN_CLUSTERS_BCA
    method: Method = "BCa bootstrap or t" if is_small else "BCa bootstrap"
    if _is_constant(data):
        return Interval(data.mean, data.mean, level, method)
    low, high = _bca(data, level)
    if is_small:
        means = data.sums / data.weights
        half = _t_half(data, level)
        low = min(low, max(data.mean - half, float(means.min())))
        high = max(high, min(data.mean + half, float(means.max())))
    return Interval(low, high, level, method)


def _bca(data: Clustered, level: float) -> tuple[float, float]:
    from scipy import stats

    has_equal_weights = bool((data.weights == data.weights[0]).all())
    found = stats.bootstrap(
        (data.sums / data.weights,) if has_equal_weights else (data.sums, data.weights),
        _mean if has_equal_weights else _ratio,
        paired=not has_equal_weights,
        n_resamples=DRAWS,
        batch=1_000,
        vectorized=True,
        confidence_level=level,
        method="BCa",
        rng=generator(),
    ).confidence_interval
    return float(found.low), float(found.high)


def _t_half(data: Clustered, level: float) -> float:
    """Return half of Student's interval."""
    from scipy import stats

    n = data.n_clusters
    return float(stats.t.ppf((1 + level) / 2, n - 1) * data.spread / n**0.5)


def t_interval(data: Clustered, *, level: float = 0.95) -> Interval | None:
    """Return Student's interval of the mean of the cluster means; for few clusters, to look at.

    Returns:
        None for fewer than 2 clusters.
    """
    if data.n_clusters < 2:
        return None
    means = data.sums / data.weights
    if bool(abs(means - means.mean()).max() <= TIE):
        return Interval(float(means.mean()), float(means.mean()), level, "t")
    from scipy import stats

    error = stats.sem(means)
    low, high = stats.t.interval(level, data.n_clusters - 1, loc=means.mean(), scale=error)
    return Interval(float(low), float(high), level, "t")


def sign_flip_p(differences: Clustered) -> float:
    """Return the two-sided p of "no difference" by flipping the sign of each cluster's sum.

    Exact up to `MAX_EXACT_CLUSTERS` clusters, else `DRAWS` random flips with a fixed seed; a p of
    random flips is at least 1 / (DRAWS + 1).
    """
    if bool((abs(differences.sums) <= TIE).all()):
        return 1.0
    if differences.n_clusters == 1:
        return 1.0  # both signs are as far from zero
    import numpy as np
    from scipy import stats

    is_exact = differences.n_clusters <= MAX_EXACT_CLUSTERS
    found = stats.permutation_test(
        (differences.sums,),
        _mean,
        permutation_type="samples",
        n_resamples=2**differences.n_clusters if is_exact else DRAWS,
        vectorized=True,
        batch=1_000,
        rng=generator(),
    )
    return min(1.0, float(np.asarray(found.pvalue)))


def mcnemar_p(n_only_first: int, n_only_second: int) -> float:
    """Return the exact two-sided p that two paired yes/no outcomes are equally frequent.

    Args:
        n_only_first: Pairs where only the first is true.
        n_only_second: Pairs where only the second is true.

    Source: McNemar (1947), Psychometrika 12:153, in its exact binomial form.
    """
    if n_only_first + n_only_second == 0:
        return 1.0
    from scipy import stats

    total = n_only_first + n_only_second
    return float(stats.binomtest(n_only_first, total, 0.5).pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p adjusted for looking at all of them: the family-wise error stays at the level.

    Source: Holm (1979), Scandinavian Journal of Statistics 6:65.
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    for rank, (name, p) in enumerate(ordered):
        highest = max(highest, min(1.0, (len(ordered) - rank) * p))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def verdict_of(interval: Interval | None, *, margin: float) -> Verdict:
    """Say whether the first is worse than the second by more than a margin set beforehand.

    Non-inferior if the interval of the difference (higher is better) lies above minus the margin,
    inferior if it lies below; at `VERDICT_LEVEL` both are one-sided tests at 5 %. Which interval:
    `evals.bounded` for shares, since no sample shows the losses that it missed.

    Returns:
        "not supported" without an interval: fewer than `MIN_CLUSTERS` clusters.

    Source: Piaggio and others, CONSORT for non-inferiority trials (2012), JAMA 308:2594.
    """
    if interval is None:
        return "not supported"
    if interval.low > -margin + TIE or (margin == 0 and interval.low >= 0):
        return "non-inferior"
    return "inferior" if interval.high < -margin - TIE else "inconclusive"


def _mean(values: "Floats", axis: int = -1) -> "Floats":
    mean: Floats = values.mean(axis=axis)
    return mean


def _ratio(sums: "Floats", weights: "Floats", axis: int = -1) -> "Floats":
    ratio: Floats = sums.sum(axis=axis) / weights.sum(axis=axis)
    return ratio


def _is_constant(data: Clustered) -> bool:
    return bool((abs(data.sums - data.mean * data.weights) <= TIE * data.weights).all())


def generator() -> "np.random.Generator":
    """Return the generator of every draw here: the same numbers at every call."""
    import numpy as np

    return np.random.default_rng(SEED)
