"""Power of paired evaluations: what a corpus can show, and how large one would have to be.

Source: Miller (2024), Adding Error Bars to Evals, section 5, https://arxiv.org/abs/2411.00640.
"""

from evals.stats import Clustered, StatisticsError


def minimum_detectable_effect(
    differences: Clustered, *, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """Return the smallest true difference that a one-sided test of this corpus would find.

    (z(1 - alpha) + z(power)) * standard deviation of the cluster means / sqrt(n clusters).

    Returns:
        None for fewer than 2 clusters.

    Source: Miller (2024), section 5.
    """
    if differences.n_clusters < 2:
        return None
    return float(_z_sum(alpha, power) * spread_of(differences) / differences.n_clusters**0.5)


def spread_of(data: Clustered) -> float:
    """Return the standard deviation of the cluster means; of at least 2 clusters."""
    return float((data.sums / data.weights).std(ddof=1))


def sessions_needed(
    spread: float, margin: float, *, alpha: float = 0.05, power: float = 0.8
) -> int:
    """Return how many sessions a one-sided test at this margin takes.

    Args:
        spread: Standard deviation of the difference between sessions.
        margin: In the same unit; above 0.
        alpha: Chance of a wrong "yes".
        power: Chance of a right one.
    """
    if margin <= 0:
        raise StatisticsError(f"margin must be > 0, got {margin}")
    exact = (_z_sum(alpha, power) * spread / margin) ** 2
    return max(2, -int(-exact // 1))


def _z_sum(alpha: float, power: float) -> float:
    from scipy import stats

    return float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(power))
