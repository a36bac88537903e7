"""Confirming a choice on sessions that it was not made on.

A grid is many tries: the best of them looks better than it is. So one half of the sessions
discovers, the other confirms, and the settings that are confirmed together share their error.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from evals.stats import (
    Verdict,
    bootstrap_interval,
    clustered,
    holm,
    sign_flip_p,
    verdict_of,
)

ALPHA: Final = 0.05
CONFIRMING_ALPHA: Final = 0.025
"""One-sided. Reach has a long tail below, so a test at 5 % is wrong in up to 9 % of such corpora of
20 sessions; at this level it is wrong in up to 6 % (`tests/test_recommend.py` simulates both)."""


@dataclass(frozen=True, slots=True)
class Tested:
    """One setting on the held-out half."""

    label: str
    reach: float
    n: int
    p_holm: float
    """One-sided, of "the reach is at most the wanted one minus the margin", adjusted (Holm)."""
    verdict: Verdict
    lower: float | None
    """The low end of the two-sided 95 % interval of the reach; None for too few sessions."""
    is_confirmed: bool
    """Whether that end is above the wanted reach minus the margin, and p small enough."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    n_discovery: int
    """Sessions."""
    n_held_out: int
    margin: float
    tests: tuple[Tested, ...]
    """By rising cost on the discovery half; empty if that half put none forward."""


def halves(clusters: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split sessions into a discovery and a confirming half, the same at every call.

    They are dealt in the order of a digest of their names, so that neither order nor size decides;
    of an odd number the discovery half has one more.
    """
    ordered = sorted(set(clusters), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return ordered[::2], ordered[1::2]


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
        family: Label -> `reach` and `cluster` by transcript of that half.
        min_reach: The wanted reach.
        margin: How far below it still counts.
        n_discovery: Sessions of the discovery half.
        n_held_out: Sessions of this half.
    """
    above = {
        label: clustered((each["reach"] - min_reach).tolist(), each["cluster"].tolist())
        for label, each in family.items()
    }
    p = {label: _one_sided_p(family[label], min_reach - margin) for label in family}
    adjusted = holm(p)
    tests = []
    for label, each in family.items():
        interval = bootstrap_interval(above[label])
        is_above = interval is not None and interval.low > -margin
        tests.append(
            Tested(
                label,
                float(each["reach"].mean()),
                len(each),
                adjusted[label],
                verdict_of(above[label], margin=margin),
                None if interval is None else min_reach + interval.low,
                is_above and adjusted[label] <= CONFIRMING_ALPHA,
            )
        )
    return Confirmation(n_discovery, n_held_out, margin, tuple(tests))


def _one_sided_p(each: pd.DataFrame, limit: float) -> float:
    """Return the p of "the mean is at most `limit`"; flips are symmetric, so half of two-sided."""
    data = clustered((each["reach"] - limit).tolist(), each["cluster"].tolist())
    p = sign_flip_p(data)
    return p / 2 if data.mean > 0 else 1 - p / 2
