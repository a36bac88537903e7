"""A test and a bound for means of values with a floor, right for few sessions and any shape.

Reach has a floor of 0, and a tail that a sample may not show: if one session in 20 loses
everything, 20 sessions show none of them more than one time in three, and whatever looks only at
the sample (bootstrap, sign flips, t) takes their mean for safe. Here the sample is joined by one
session at the floor, and the weights of all of them are drawn from the flat Dirichlet
distribution. For values of 0 and 1 this is the binomial bound of Clopper and Pearson.

Only the weights of the sessions among each other are drawn: that of the added one is a beta
variable, whose part is worked out. So sessions that are all alike have exact numbers.

Sources: Gaffke (2005), Mathematical Methods of Statistics 14:451; Learned-Miller and Thomas (2019),
https://arxiv.org/abs/1905.06208. `tests/test_bounded.py` simulates its errors.
"""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evals.stats import (
    DRAWS,
    MIN_CLUSTERS,
    TIE,
    VERDICT_LEVEL,
    Clustered,
    Interval,
    StatisticsError,
    generator,
)

if TYPE_CHECKING:
    from evals.stats import Floats

MIN_P: Final = 1 / (DRAWS + 1)
PRECISION: Final = 1e-7
"""Of a bound, in the unit of the values, which are shares."""


def mean_above_p(data: Clustered, limit: float, *, floor: float) -> float:
    """Return the one-sided p of "the mean is at most `limit`"; at least `MIN_P`.

    Args:
        data: One value per transcript; sessions are drawn as a whole.
        limit: In the unit of the values.
        floor: What the mean of a session can not fall below.

    Raises:
        StatisticsError: a session is below the floor.
    """
    return max(MIN_P, _Drawn(data, floor).p_at_most(limit))


def lower_bound(data: Clustered, *, floor: float, level: float = 0.95) -> float:
    """Return what the mean is above at this one-sided level; it is never below the floor.

    Raises:
        StatisticsError: a session is below the floor.
    """
    drawn = _Drawn(data, floor)
    low, high = floor, max(floor, data.mean)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if drawn.p_at_most(middle) <= 1 - level else (low, middle)
    return low


def bounded_interval(
    data: Clustered, *, floor: float, ceiling: float, level: float = VERDICT_LEVEL
) -> Interval | None:
    """Return a two-sided interval of which each end is a bound at (1 + level) / 2.

    Returns:
        None for fewer than `MIN_CLUSTERS` clusters: too few for a claim.

    Raises:
        StatisticsError: a session is below the floor or above the ceiling.
    """
    if data.n_clusters < MIN_CLUSTERS:
        return None
    one_sided = (1 + level) / 2
    low = lower_bound(data, floor=floor, level=one_sided)
    high = -lower_bound(Clustered(-data.sums, data.weights), floor=-ceiling, level=one_sided)
    return Interval(low, high, level, "bounded")


def sessions_to_exceed(limit: float, *, level: float = 0.95) -> int | None:
    """Return how few sessions can put a mean of shares above a limit: none of them loses anything.

    Returns:
        None if no number can, from a limit of 1 on.
    """
    if limit >= 1:
        return None
    return 1 if limit <= 0 else math.ceil(math.log(1 - level) / math.log(limit) - TIE)


def exceeded_by(n: int, *, level: float = 0.95) -> float:
    """Return the highest limit that so many sessions can put a mean of shares above, or reach."""
    return float((1 - level) ** (1 / n))


class _Drawn:
    """Means of the sessions under drawn weights, to be joined by one session at the floor."""

    def __init__(self, data: Clustered, floor: float) -> None:
        if bool((data.sums < (floor - TIE) * data.weights).any()):
            raise StatisticsError(f"a session is below the floor of {floor:g}")
        drawn = _weights(data.n_clusters)
        self.sums, self.totals = drawn @ data.sums, drawn @ data.weights
        self.n, self.floor, self.unknown = data.n_clusters, floor, float(data.weights.mean())

    def p_at_most(self, limit: float) -> float:
        """Return how often the mean of all is at most a limit.

        That is where the weight of the added session, relative to those of the others together, is
        at least `excess`; it is an exponential variable over the sum of n of them.
        """
        import numpy as np

        room = (limit + TIE - self.floor) * self.unknown
        if room <= 0:
            return 0.0
        excess = np.maximum(self.sums - (limit + TIE) * self.totals, 0.0) / room
        return float(np.exp(-self.n * np.log1p(excess)).mean())


@lru_cache(maxsize=2)  # a grid of settings is tested on the same sessions
def _weights(n: int) -> "Floats":
    """Return draws from the flat Dirichlet distribution."""
    drawn: Floats = generator().exponential(size=(DRAWS, n))
    drawn /= drawn.sum(axis=1, keepdims=True)
    return drawn
