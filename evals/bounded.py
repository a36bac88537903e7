"""A test and a bound for means of values with a floor, right for few sessions and any shape.

Reach has a floor of 0, and a tail that a sample may not show: if one session in 20 loses
everything, 20 sessions show none of them more than one time in three, and whatever looks only at
the sample (bootstrap, sign flips, t) takes their mean for safe. Here the sample is joined by one
session at the floor, and the weights of all of them are drawn from the flat Dirichlet
distribution. For values of 0 and 1 this is the binomial bound of Clopper and Pearson.

Sources: Gaffke (2005), Mathematical Methods of Statistics 14:451; Learned-Miller and Thomas (2019),
https://arxiv.org/abs/1905.06208. `tests/test_bounded.py` simulates its errors.
"""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evals.stats import DRAWS, TIE, Clustered, StatisticsError, generator

if TYPE_CHECKING:
    from evals.stats import Floats

MIN_P: Final = 1 / (DRAWS + 1)


def mean_above_p(data: Clustered, limit: float, *, floor: float) -> float:
    """Return the one-sided p of "the mean is at most `limit`"; at least `MIN_P`.

    Args:
        data: One value per transcript; sessions are drawn as a whole.
        limit: In the unit of the values.
        floor: What the mean of a session can not fall below.

    Raises:
        StatisticsError: a session is below the floor.
    """
    below = int((_drawn_means(data, floor) <= limit + TIE).sum())
    return (below + 1) / (DRAWS + 1)


def lower_bound(data: Clustered, *, floor: float, level: float = 0.95) -> float:
    """Return what the mean is above at this one-sided level; it is never below the floor.

    Raises:
        StatisticsError: a session is below the floor.
    """
    import numpy as np

    return float(np.quantile(_drawn_means(data, floor), 1 - level))


def sessions_to_exceed(limit: float, *, level: float = 0.95) -> int | None:
    """Return how few sessions can put a mean of shares above a limit: none of them loses anything.

    Returns:
        None if no number can, from a limit of 1 on.
    """
    if limit >= 1:
        return None
    return 1 if limit <= 0 else math.ceil(math.log(1 - level) / math.log(limit) - TIE)


@lru_cache(maxsize=2)  # a grid of settings is tested on the same sessions
def _weights(n: int) -> "Floats":
    drawn: Floats = generator().exponential(size=(DRAWS, n))
    return drawn


def _drawn_means(data: Clustered, floor: float) -> "Floats":
    if bool((data.sums < (floor - TIE) * data.weights).any()):
        raise StatisticsError(f"a session is below the floor of {floor:g}")
    drawn = _weights(data.n_clusters + 1)
    known, unknown = drawn[:, :-1], drawn[:, -1] * data.weights.mean()
    means: Floats = (known @ data.sums + unknown * floor) / (known @ data.weights + unknown)
    return means
