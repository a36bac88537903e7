"""What a log itself says of its cache and its bill.

Where usage was recorded it shows losses that no rule can foresee: an agent that was restarted with
other instructions, a server that had dropped the prefix. They would have happened under every
strategy, so a replay takes them over; and it shows that a prefix outlived its lifetime.
"""

from dataclasses import dataclass, replace
from typing import Final

from compaction.llm import Usage
from evals.cost import Bill, Limits, usage_charge
from evals.money.prices import PriceVector
from evals.prepare import Prepared

LOST_BELOW: Final = 0.9
"""A request that read less than this share of the one before shows a loss. Steps and breakpoints
account for a few hundred tokens only. This project's definition."""


@dataclass(frozen=True, slots=True)
class BillCheck:
    """Recorded usage beside the same requests as simulated, at the same prices."""

    requests: int
    recorded_usd: float
    simulated_usd: float
    inherited_tokens: int
    """Read by the first request, out of a cache that an earlier conversation had filled."""

    @property
    def error_fraction(self) -> float:
        return self.simulated_usd / self.recorded_usd - 1


def recorded_limits(prepared: Prepared, model: str) -> Limits:
    """Return for each request how much the cache held at most, None where the log does not tell.

    What was read, if that shows a loss, else no limit. Of the first request nothing is told, since
    a conversation is priced from an empty cache on. Without a read or a write anywhere the log
    shows a client that did not cache, or does not log it, and no loss.

    Args:
        prepared: The transcript.
        model: As the transcript names it; each model has a cache of its own.
    """
    usages = _usages(prepared, model)
    if not any(usage.cached_input_tokens or usage.cache_write_tokens for usage in usages if usage):
        return ()
    limits: list[float | None] = []
    before: Usage | None = None
    for usage in usages:
        if usage is None or before is None:
            limits.append(None)
        else:
            read = usage.cached_input_tokens
            is_lost = read < LOST_BELOW * before.input_tokens
            limits.append(float(read) if is_lost else float("inf"))
        before = usage or before
    return limits


def check_bill(
    prepared: Prepared, model: str, prices: PriceVector, simulated: Bill
) -> BillCheck | None:
    """Compare a simulated bill with the recorded one; None without any.

    Usage that says nothing of the cache, though the simulation uses it, is no bill: then the costs
    that the log recorded itself are the bill, if it has them all.

    Args:
        prepared: The transcript.
        model: As the transcript names it; requests of other models are left out.
        prices: For both.
        simulated: The transcript without compaction.
    """
    usages = _with_writes(_usages(prepared, model), prices)
    pairs = [
        (usage, costs) for usage, costs in zip(usages, simulated.charges, strict=True) if usage
    ]
    recorded_usd: float | None = sum(usage_charge(usage, prices).total for usage, _ in pairs)
    if not is_cache_told(prepared) and any(s.read or s.written for s in simulated.splits):
        recorded_usd = _own_costs(prepared, model)
    if not recorded_usd:
        return None
    return BillCheck(
        requests=len(pairs),
        recorded_usd=recorded_usd,
        simulated_usd=sum(costs.total for _, costs in pairs),
        inherited_tokens=pairs[0][0].cached_input_tokens,
    )


def is_cache_told(prepared: Prepared) -> bool:
    """Whether the usage of any request says what was read or written, be it nothing."""
    usages = (request.recorded.usage for request in prepared.requests)
    return any(usage.is_cache_logged for usage in usages if usage is not None)


def _own_costs(prepared: Prepared, model: str) -> float | None:
    """Return what the log itself says that the requests with usage cost; None if one is missing."""
    costs = [
        request.recorded.cost_usd
        for request in prepared.requests
        if request.recorded.usage is not None and request.recorded.model == model
    ]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _usages(prepared: Prepared, model: str) -> list[Usage | None]:
    return [
        request.recorded.usage if request.recorded.model == model else None
        for request in prepared.requests
    ]


def _with_writes(usages: list[Usage | None], prices: PriceVector) -> list[Usage | None]:
    """Fill in what was written to the cache where the log lacks it.

    Some clients do not log it. If it is logged nowhere although the provider bills it and something
    was read, what was not read was written.
    """
    given = [usage for usage in usages if usage]
    has_reads = any(usage.cached_input_tokens for usage in given)
    has_writes = any(usage.cache_write_tokens for usage in given)
    if not prices.caching.bills_writes or has_writes or not has_reads:
        return usages
    return [
        usage and replace(usage, cache_write_tokens=usage.input_tokens - usage.cached_input_tokens)
        for usage in usages
    ]
