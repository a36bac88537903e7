"""Confirming a choice on sessions that it was not made on.

A grid is many tries: the best of them looks better than it is. So one half of the sessions
discovers, the other confirms, and settings that are tested together share their error.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from evals.bounded import lower_bound, mean_above_p, sessions_to_exceed
from evals.stats import MIN_CLUSTERS, clustered, holm

ALPHA: Final = 0.05
"""One-sided, over all settings that are tested together."""


@dataclass(frozen=True, slots=True)
class Tested:
    """One setting on the held-out half."""

    label: str
    reach: float
    n: int
    n_engaged: int
    """Of these, on how many it did anything; on none nothing is confirmed."""
    lower: float
    """What the mean of all sessions is above, at 95 %, one-sided."""
    p_holm: float
    """Of "the reach is at most the wanted one minus the margin", adjusted (Holm)."""
    is_confirmed: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    n_discovery: int
    """Sessions."""
    n_held_out: int
    margin: float
    tests: tuple[Tested, ...]
    """By rising cost on the discovery half; at least one."""


def halves(clusters: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split sessions into a discovery and a confirming half, the same at every call.

    They are dealt in the order of a digest of their names, so that neither order nor size decides;
    of an odd number the discovery half has one more.
    """
    ordered = sorted(set(clusters), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return ordered[::2], ordered[1::2]


def sessions_to_confirm(min_reach: float, margin: float) -> int | None:
    """Return how many sessions the held-out half must have at least.

    Returns:
        None if no number is enough: a reach of 1 without a margin.
    """
    needed = sessions_to_exceed(min_reach - margin, level=1 - ALPHA)
    return None if needed is None else max(MIN_CLUSTERS, needed)


def confirm(
    family: Mapping[str, pd.DataFrame],
    min_reach: float,
    margin: float,
    *,
    n_discovery: int,
    n_held_out: int,
) -> Confirmation:
    """Test each of a family of settings against the wanted reach on the held-out half.

    Args:
        family: Label -> `reach`, `engaged` and `cluster` by transcript of that half.
        min_reach: The wanted reach.
        margin: How far below it still counts.
        n_discovery: Sessions of the discovery half.
        n_held_out: Sessions of this half.
    """
    data = {
        label: clustered(each["reach"].tolist(), each["cluster"].tolist())
        for label, each in family.items()
    }
    limit = min_reach - margin
    engaged = {label: int(each["engaged"].sum()) for label, each in family.items()}
    adjusted = holm({label: mean_above_p(each, limit, floor=0.0) for label, each in data.items()})
    tests = (
        Tested(
            label,
            each.mean,
            len(family[label]),
            engaged[label],
            lower_bound(each, floor=0.0),
            adjusted[label],
            adjusted[label] <= ALPHA and engaged[label] > 0,
        )
        for label, each in data.items()
    )
    return Confirmation(n_discovery, n_held_out, margin, tuple(tests))
