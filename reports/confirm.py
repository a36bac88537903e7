"""Confirming a choice on sessions that it was not made on.

A grid is many tries: the best of them looks better than it is. So one half of the sessions
discovers, the other confirms, and the settings that are confirmed together share their error.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from evals.stats import Verdict, clustered, holm, sign_flip_p, verdict_of

ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class Tested:
    """One setting on the held-out half."""

    label: str
    reach: float
    n: int
    p_holm: float
    """One-sided, of "the reach is at most the wanted one minus the margin", adjusted (Holm)."""
    verdict: Verdict

    @property
    def is_confirmed(self) -> bool:
        return self.verdict == "non-inferior" and self.p_holm <= ALPHA


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
    tests = tuple(
        Tested(
            label,
            float(family[label]["reach"].mean()),
            len(family[label]),
            adjusted[label],
            verdict_of(above[label], margin=margin),
        )
        for label in family
    )
    return Confirmation(n_discovery, n_held_out, margin, tests)


def _one_sided_p(each: pd.DataFrame, limit: float) -> float:
    """Return the p of "the mean is at most `limit`"; flips are symmetric, so half of two-sided."""
    data = clustered((each["reach"] - limit).tolist(), each["cluster"].tolist())
    p = sign_flip_p(data)
    return p / 2 if data.mean > 0 else 1 - p / 2
