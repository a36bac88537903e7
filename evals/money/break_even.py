"""When compaction pays: closed forms, without a replay.

A compaction removes R tokens and makes the S tokens behind the first change be processed again.
Once, that costs S (w - r) more than reading them would have; from then on every request saves R r.
Here r is the price of a token read from the cache and w that of one written to it (of an uncached
one, where writing is free). All prices are in USD per million tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import median
from typing import Final

PER: Final = 1_000_000
"""Tokens that a price is for."""


def break_even_requests(
    removed_tokens: float,
    rewritten_tokens: float,
    *,
    read_usd: float,
    write_usd: float,
    calls_usd: float = 0.0,
) -> float:
    """Return after how many requests a compaction is repaid, the one that it was made for counted.

    N* = (S (w - r) + A) / (R r), with A the price of the model calls that made it. Infinite if it
    removed nothing, or if reading is free.

    Source: both sides of the saving after N requests, N R r = S (w - r) + A. For A = 0 the ratio
    (w - r) / r is what distil's docs/research/policy-simulator.md tabulates by provider.
    """
    saved_usd = removed_tokens * read_usd / PER
    if saved_usd <= 0:
        return inf
    once_usd = rewritten_tokens * (write_usd - read_usd) / PER + calls_usd
    return max(0.0, once_usd / saved_usd)


def optimal_trigger_tokens(
    reset_tokens: float, growth_tokens: float, *, once_usd: float, read_usd: float
) -> float:
    """Return the prompt size at which compacting costs least per request.

    h* = s - g + sqrt(g^2 + 2 g A / r), with s the size after a compaction, g the growth per
    request and A what one compaction costs once.

    Source: from s to h there are N = 1 + (h - s) / g requests, which read
    s N + (h - s)^2 / (2 g) tokens; the derivative of (A + r that) / N by h is zero at h*. Exact
    where growth comes in exponentially distributed steps; for even growth the cheapest whole number
    of requests is at most one away. Also in the README of kleedaisuki/context-compaction-lab.
    """
    extra = 2 * growth_tokens * once_usd * PER / read_usd
    return reset_tokens - growth_tokens + sqrt(growth_tokens**2 + extra)


def absorbed_requests(saved_usd: float, removed_tokens: float, request_usd: float) -> float | None:
    """Return how many extra requests per 1,000 removed tokens would use up what was saved.

    lambda* = saved / (removed thousands x mean price of a request). Negative if nothing was saved,
    None if nothing was removed.

    Source: distil's docs/research/policy-simulator.md calls it the break-even of a behaviour
    penalty; its own live estimate of the penalty is 1.03 [0.23, 1.80] for a digest.
    """
    if removed_tokens <= 0 or request_usd <= 0:
        return None
    return saved_usd / (removed_tokens / 1_000 * request_usd)


@dataclass(frozen=True, slots=True)
class Repayment:
    """One compaction, and how long what it made was used."""

    break_even_requests: float
    used_requests: int
    """Requests until the next compaction or the end, the first one counted."""

    @property
    def is_repaid(self) -> bool:
        return self.used_requests >= self.break_even_requests


def repaid_fraction(repayments: Sequence[Repayment]) -> float | None:
    """Return the share of compactions that were used long enough to be repaid."""
    if not repayments:
        return None
    return sum(each.is_repaid for each in repayments) / len(repayments)


def typical_break_even(repayments: Sequence[Repayment]) -> float | None:
    """Return the median break-even; None without compactions, or if that one is never repaid."""
    if not repayments:
        return None
    middle = median(each.break_even_requests for each in repayments)
    return None if middle == inf else middle
