"""Power of paired evaluations: what a corpus can show, and how large one would have to be.

Source: Miller (2024), Adding Error Bars to Evals, section 5, https://arxiv.org/abs/2411.00640.
"""

from typing import Final

from evals.bounded import PRECISION, exceeded_by, mean_above_p, sessions_to_exceed
from evals.stats import Clustered, StatisticsError

MAX_SESSIONS: Final = 1_000_000
"""More than this is no plan."""
_GAIN_PRECISION: Final = 1e-4
"""Of a share: a tenth of what is printed."""


def minimum_detectable_effect(
    differences: Clustered, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true difference that a one-sided test of this corpus would find.

    (z(1 - alpha) + z(power)) * standard deviation between clusters / sqrt(n clusters).

    Returns:
        None for fewer than 2 clusters.

    Source: Miller (2024), section 5.
    """
    if differences.n_clusters < 2:
        return None
    return float(_z_sum(alpha, power) * differences.spread / differences.n_clusters**0.5)


def sessions_needed(
    spread: float, margin: float, *, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Return how many sessions a one-sided test at this margin takes, by a normal distribution.

    Args:
        spread: Standard deviation of the difference between sessions.
        margin: In the same unit; above 0.
        alpha: Chance of a wrong "yes".
        power: Chance of a right one.
    """
    _check_margin(margin)
    exact = (_z_sum(alpha, power) * spread / margin) ** 2
    return max(2, -int(-exact // 1))


def bounded_sessions_needed(
    spread: float, margin: float, *, floor: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Return how many sessions the test of `evals.bounded` takes to show a mean above -margin.

    For differences whose true mean is 0. Never fewer than it takes if no session differs
    (`sessions_to_exceed`); with a spread, the weighted sum of the sessions is taken for normal and
    the weight of the one at the floor for exponential, as it is.

    Args:
        spread: Standard deviation of the difference between sessions.
        margin: In the same unit; above 0.
        floor: What the difference of a session can not fall below; below 0.
        alpha: Chance of a wrong "yes".
        power: Chance of a right one.

    Returns:
        None for more than `MAX_SESSIONS`.
    """
    _check_margin(margin)
    room = -floor - margin
    if room <= 0:  # nothing can be lost that the margin does not allow
        return 1

    def is_enough(n: int) -> bool:
        return _is_shown(n, spread, margin, room, alpha=alpha, power=power)

    low = (sessions_to_exceed(1 + margin / floor, level=1 - alpha) or 1) - 1
    high = low + 1
    while not is_enough(high) and spread > 0:
        low, high = high, 2 * high
        if high > MAX_SESSIONS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def bounded_margin(
    n: int, spread: float, *, floor: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the least margin for which so many sessions are enough (`bounded_sessions_needed`).

    Never less than they show if none of them differs.

    Returns:
        None if they show none, because a session can lose no more than the margin allows.
    """
    low, high = -floor * (1 - exceeded_by(n, level=1 - alpha)), -floor - PRECISION

    def is_enough(margin: float) -> bool:
        return _is_shown(n, spread, margin, -floor - margin, alpha=alpha, power=power)

    if spread == 0 or is_enough(low):
        return low
    if not is_enough(high):
        return None
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def bounded_detectable_mean(
    n: int, spread: float, limit: float, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the least true mean of shares that the test of `evals.bounded` finds above a limit.

    Args:
        n: Sessions.
        spread: Standard deviation of the shares between sessions.
        limit: Above 0.
        alpha: Chance of a wrong "yes".
        power: Chance of a right one.

    Returns:
        None if so few sessions cannot show even a mean of 1.
    """
    if (fewest := sessions_to_exceed(limit, level=1 - alpha)) is None or n < fewest:
        return None

    def is_enough(mean: float) -> bool:
        return _is_shown(n, spread, mean - limit, limit, alpha=alpha, power=power)

    # As many as it takes if none of them differs are enough for that, whatever is approximate.
    if not is_enough(1.0):
        return 1.0 if spread == 0 else None
    low, high = limit, 1.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def bounded_detectable_gain(
    differences: Clustered,
    *,
    floor: float,
    ceiling: float,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float | None:
    """Return the least true mean of differences that the test of `evals.bounded` finds above 0.

    The differences themselves are tested, moved to the mean that so many sessions exceed with the
    chance `power`: so nothing is taken for normal but that mean.

    Args:
        differences: Of at least 2 clusters; only how they scatter counts.
        floor: What the difference of a session can not fall below; at most 0.
        ceiling: What the true mean can not exceed.
        alpha: Chance of a wrong "yes".
        power: Chance of a right one.

    Returns:
        None if sessions that scatter so do not show even the ceiling.
    """
    from scipy import stats

    luck = float(stats.norm.ppf(power)) * differences.spread / differences.n_clusters**0.5

    def is_enough(mean: float) -> bool:
        shift = mean - luck - differences.mean
        moved = Clustered(differences.sums + shift * differences.weights, differences.weights)
        least = min(floor, float((moved.sums / moved.weights).min()))
        return mean_above_p(moved, 0.0, floor=least) <= alpha

    if not is_enough(ceiling):
        return None
    low, high = 0.0, ceiling
    while high - low > _GAIN_PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _is_shown(
    n: int, spread: float, margin: float, room: float, *, alpha: float, power: float
) -> bool:
    """Whether n sessions show a mean that is `margin` above a limit, itself `room` above the floor.

    The weighted sum of the sessions is taken for normal, the weight of the one at the floor for
    exponential.
    """
    from scipy import stats

    excess = n * (margin - float(stats.norm.ppf(power)) * spread / n**0.5)
    scale = (n * (spread**2 + margin**2)) ** 0.5
    return float(stats.exponnorm.sf(0.0, room / scale, loc=-excess, scale=scale)) <= alpha


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise StatisticsError(f"margin must be > 0, got {margin}")


def _z_sum(alpha: float, power: float) -> float:
    from scipy import stats

    return float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(power))
