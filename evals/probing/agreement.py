"""How far two graders agree beyond chance, and whether two measurements give the same order.

The order is Spearman's rho with mid-ranks, from counts of value pairs by cluster, so that
resampling whole clusters adds counts up and ranks nothing anew. Source: Spearman (1904), American
Journal of Psychology 15:72; for the bootstrap see `evals.stats`.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evals.stats import (
    DRAWS,
    MIN_CLUSTERS,
    SEED,
    Interval,
    StatisticsError,
    clustered,
    t_interval,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_UNDEFINED_FRACTION: Final = 0.05
"""Of the draws: in those all values of one side are equal. With more there is no interval."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """How far two measurements agree on the order: 1 fully, 0 not, -1 the other way round."""

    rho: float | None
    """None where one side has one value only."""
    n: int
    by_cluster: tuple[float | None, ...]
    """Of each cluster alone, in the order of their first pair."""
    interval: Interval | None
    """95 %: cluster bootstrap from `MIN_CLUSTERS` clusters on; below it Student's over the values
    of the clusters, at least two, to look at only. Cut to -1 to 1."""

    @property
    def n_clusters(self) -> int:
        return len(self.by_cluster)

    @property
    def allows_claims(self) -> bool:
        return self.n_clusters >= MIN_CLUSTERS


def rank_correlation(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[Hashable]
) -> Correlation:
    """Return the rank correlation of pairs that belong to clusters.

    Raises:
        StatisticsError: unequal lengths, or a value that is no number.
    """
    import numpy as np

    if not len(first) == len(second) == len(clusters):
        raise StatisticsError(
            f"{len(first)} and {len(second)} values and {len(clusters)} clusters: "
            "there must be one each for every pair"
        )
    if not len(first):
        return Correlation(None, 0, (), None)
    pairs = np.asarray([first, second], dtype=float)
    if not np.isfinite(pairs).all():
        raise StatisticsError("values must be finite; leave out what was not measured")
    tables = _tables(pairs, clusters)
    rho = _defined(_rho(tables.sum(axis=0, keepdims=True)))[0]
    by_cluster = tuple(_defined(_rho(tables)))
    return Correlation(rho, len(first), by_cluster, _interval(rho, tables, by_cluster))


def _tables(pairs: "Floats", clusters: Sequence[Hashable]) -> "Floats":
    """Count the pairs of each cluster by their two levels, both ascending."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]
    (first, row), (second, column) = (np.unique(side, return_inverse=True) for side in pairs)
    shape = (len(numbers), len(first), len(second))
    at = np.ravel_multi_index((np.asarray(places), row, column), shape)
    counts: Floats = np.bincount(at, minlength=int(np.prod(shape))).astype(float)
    return counts.reshape(shape)


def _rho(tables: "Floats") -> "Floats":
    """Return rho of each table of counts; not a number where one side does not vary."""
    import numpy as np

    total = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    across, down = (_centred_ranks(counts, total) for counts in (rows, columns))
    shared = np.einsum("kij,ki,kj->k", tables, across, down)
    spread = (rows * across**2).sum(axis=1) * (columns * down**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: Floats = np.where(spread > 0, shared / np.sqrt(spread), np.nan)
    return rho


def _centred_ranks(counts: "Floats", total: "Floats") -> "Floats":
    """Return the mid-rank of each level minus the mean rank."""
    before = counts.cumsum(axis=1) - counts
    centred: Floats = before + (counts + 1) / 2 - (total[:, None] + 1) / 2
    return centred


def _interval(
    rho: float | None, tables: "Floats", by_cluster: Sequence[float | None]
) -> Interval | None:
    import numpy as np

    if rho is None:
        return None
    n_clusters = len(tables)
    if n_clusters < MIN_CLUSTERS:
        found = [value for value in by_cluster if value is not None]
        few = t_interval(clustered(found, range(len(found)))) if found else None
        return few and few._replace(low=max(-1.0, few.low), high=min(1.0, few.high))
    draws = np.random.default_rng(SEED).multinomial(
        n_clusters, np.full(n_clusters, 1 / n_clusters), size=DRAWS
    )
    drawn = _rho(np.einsum("dk,kij->dij", draws.astype(float), tables, optimize=True))
    defined = drawn[np.isfinite(drawn)]
    if len(defined) < (1 - MAX_UNDEFINED_FRACTION) * DRAWS:
        return None
    low, high = np.quantile(defined, (0.025, 0.975))
    return Interval(float(low), float(high), 0.95, "percentile bootstrap")


def _defined(values: "Floats") -> list[float | None]:
    return [float(value) if value == value else None for value in values]


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Return Cohen's kappa of two graders; None without pairs or if both always say the same.

    Source: Cohen, A coefficient of agreement for nominal scales (1960).
    """
    if not pairs:
        return None
    n = len(pairs)
    agree = sum(first == second for first, second in pairs) / n
    first_yes = sum(first for first, _ in pairs) / n
    second_yes = sum(second for _, second in pairs) / n
    chance = first_yes * second_yes + (1 - first_yes) * (1 - second_yes)
    return None if chance == 1 else (agree - chance) / (1 - chance)
