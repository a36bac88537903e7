"""How much of a spread is between things asked and how much comes from asking again."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of one observation, in squared units of it."""

    between: float
    """Between groups: questions, transcripts, summaries."""
    within: float
    """Between replicates of one group."""


def components(groups: Sequence[Sequence[float]]) -> Components | None:
    """Return the variance components of a one-way random model; None without replicates.

    Method of moments, group sizes may differ; a negative estimate is 0. Source: Searle, Casella
    and McCulloch, Variance Components (1992), chapter 3.
    """
    filled = [group for group in groups if group]
    n_groups, n = len(filled), sum(map(len, filled))
    if n_groups < 2 or n == n_groups:
        return None
    means = [fmean(group) for group in filled]
    grand = sum(map(sum, filled)) / n
    spread = sum(
        (value - mean) ** 2 for group, mean in zip(filled, means, strict=True) for value in group
    )
    within = spread / (n - n_groups)
    of_means = sum(
        len(group) * (mean - grand) ** 2 for group, mean in zip(filled, means, strict=True)
    )
    size = (n - sum(len(group) ** 2 for group in filled) / n) / (n_groups - 1)
    return Components(max(0.0, (of_means / (n_groups - 1) - within) / size), within)
