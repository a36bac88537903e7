"""What a log itself says of its cache and its bill.

Where usage was recorded it shows losses that no rule can foresee: an agent that was restarted with
other instructions, a server that had dropped the prefix. They would have happened under every
strategy, so a replay takes them over; and it shows that a prefix outlived its lifetime.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from compaction.llm import Usage
from evals.cost import Bill, Charge, Limits, charge, uncompacted_bill, usage_charge
from evals.money.prices import PriceVector
from evals.money.prompt_cache import Limit
from evals.money.splits import Split, split_of
from evals.prepare import Prepared, PreparedRequest

LOST_BELOW: Final = 0.9
"""A request that read less than this share of the one before shows a loss. Steps and breakpoints
account for a few hundred tokens only. This project's definition."""


@dataclass(frozen=True, slots=True)
class BillCheck:
    """Recorded usage beside the same requests as simulated, at the same prices.

    The first request may read what it read in the log: an earlier conversation had filled the cache
    with it, and a simulation from an empty one is of another bill.
    """

    requests: int
    """Compared: of models with a price, and with usage."""
    covered_fraction: float
    """Of the simulated dollars of all requests of the transcript."""
    recorded_usd: float
    simulated_usd: float
    """With what the log shows of its cache."""
    by_rule_usd: float
    """By the caching rule alone."""
    shown_usd: float
    """The same requests in the bill that tables show: from an empty cache on, all at the prices of
    one model and through one cache."""
    lost_at: tuple[int, ...]
    """Requests that read less than the rule says, the prompt being the same and within its
    lifetime."""
    lost_usd: float
    """What that cost."""
    outlived_usd: float
    """What was saved by reading more than the rule says, as of prompts beyond their lifetime."""
    inherited_tokens: int
    """Read by the first request, out of a cache that an earlier conversation had filled."""

    @property
    def error_fraction(self) -> float:
        return self.simulated_usd / self.recorded_usd - 1

    @property
    def rule_error_fraction(self) -> float:
        return self.by_rule_usd / self.recorded_usd - 1

    @property
    def shown_error_fraction(self) -> float:
        return self.shown_usd / self.recorded_usd - 1

    @property
    def lost_fraction(self) -> float:
        return self.lost_usd / self.recorded_usd


def recorded_limits(prepared: Prepared, model: str, prices: PriceVector) -> Limits:
    """Return for each request what the log tells of the cache, None where it does not.

    What was read is all that it held, if that shows a loss; and the request before had outlived its
    time, if the rule gives less than was read. Of the first request nothing is told, since a
    conversation is priced from an empty cache on. Without a read or a write anywhere the log shows
    a client that did not cache, or does not log it, and no loss.

    Args:
        prepared: The transcript.
        model: As the transcript names it; each model has a cache of its own.
        prices: With the caching rule.
    """
    usages = [
        request.recorded.usage if request.recorded.model == model else None
        for request in prepared.requests
    ]
    if not any(usage.cached_input_tokens or usage.cache_write_tokens for usage in usages if usage):
        return ()
    by_rule = iter(uncompacted_bill(prepared, prices, (), model).splits)
    limits: list[Limit | None] = []
    before: Usage | None = None
    for request, usage in zip(prepared.requests, usages, strict=True):
        split = next(by_rule) if request.recorded.model == model else None
        if usage is None or split is None or before is None:
            limits.append(None)
        else:
            read = usage.cached_input_tokens
            is_lost = read < LOST_BELOW * before.input_tokens
            is_outlived = split.read < read
            limits.append(Limit(float(read) if is_lost else inf, is_outlived))
        before = usage or before
    return limits


def check_bill(
    prepared: Prepared, prices: Mapping[str, PriceVector], before: Bill
) -> BillCheck | None:
    """Compare simulated bills with the recorded ones; None without any.

    Usage that says nothing of the cache, though the simulation uses it, is no bill: then the costs
    that the log recorded itself are the bill, if it has them all.

    Args:
        prepared: The transcript.
        prices: Of each model, as the transcript names it; requests of others are left out. Each
            model has a cache of its own.
        before: All requests at the prices of the transcript: what tables show, and what was left
            out.
    """
    found = (_compare(prepared, model, vector) for model, vector in prices.items())
    parts = [part for part in found if part is not None]
    recorded_usd = sum(part.recorded_usd for part in parts)
    if not recorded_usd:
        return None
    compared = [each for part in parts for each in part.compared]
    seen = {each.request.index for each in compared}
    simulated_usd = sum(each.told.total for each in compared)
    unseen_usd = sum(cost.total for at, cost in enumerate(before.charges) if at not in seen)
    lost = [each for each in compared if each.is_lost]
    return BillCheck(
        requests=len(compared),
        covered_fraction=simulated_usd / (simulated_usd + unseen_usd),
        recorded_usd=recorded_usd,
        simulated_usd=simulated_usd,
        by_rule_usd=sum(each.by_rule.total for each in compared),
        shown_usd=sum(before.charges[at].total for at in seen),
        lost_at=tuple(each.request.index for each in lost),
        lost_usd=sum(each.told.total - each.by_rule.total for each in lost),
        outlived_usd=sum(max(0.0, each.by_rule.total - each.told.total) for each in compared),
        inherited_tokens=sum(part.inherited_tokens for part in parts),
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    """One request as simulated, by what the log tells and by the rule alone."""

    request: PreparedRequest
    told: Charge
    by_rule: Charge

    @property
    def is_lost(self) -> bool:
        return self.told.total > self.by_rule.total


@dataclass(frozen=True, slots=True)
class _Part:
    """The requests with usage of one model."""

    compared: Sequence[_Compared]
    recorded_usd: float
    inherited_tokens: int


def _compare(prepared: Prepared, model: str, prices: PriceVector) -> _Part | None:
    """Compare the requests of one model; None if the log does not tell what they cost."""
    requests = [each for each in prepared.requests if each.recorded.model == model]
    usages = _with_writes([_usage_of(each) for each in requests], prices)
    if not any(usages):
        return None
    limits = recorded_limits(prepared, model, prices)
    told = uncompacted_bill(prepared, prices, limits, model)
    by_rule = uncompacted_bill(prepared, prices, (), model) if limits else told
    recorded_usd: float | None = sum(usage_charge(usage, prices).total for usage in usages if usage)
    if not is_cache_told(prepared) and any(s.read or s.written for s in told.splits):
        recorded_usd = _own_costs(requests)
    if not recorded_usd:
        return None
    inherited = usages[0].cached_input_tokens if usages[0] else 0
    told_usd, by_rule_usd = (
        _inheriting(bill, inherited, requests[0], prices) for bill in (told, by_rule)
    )
    return _Part(
        [
            _Compared(request, *costs)
            for request, usage, *costs in zip(requests, usages, told_usd, by_rule_usd, strict=True)
            if usage
        ],
        recorded_usd,
        inherited,
    )


def _inheriting(
    bill: Bill, tokens: int, request: PreparedRequest, prices: PriceVector
) -> list[Charge]:
    """Return what requests cost if the first one reads so much."""
    cold: Split = bill.splits[0]
    warm = split_of(prices.caching, cold.total, min(tokens, cold.total))
    return [charge(warm, request.output_tokens, prices), *bill.charges[1:]]


def is_cache_told(prepared: Prepared) -> bool:
    """Whether the usage of any request says what was read or written, be it nothing."""
    usages = (request.recorded.usage for request in prepared.requests)
    return any(usage.is_cache_logged for usage in usages if usage is not None)


def _own_costs(requests: Sequence[PreparedRequest]) -> float | None:
    """Return what the log itself says that the requests with usage cost; None if one is missing."""
    costs = [each.recorded.cost_usd for each in requests if each.recorded.usage is not None]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _usage_of(request: PreparedRequest) -> Usage | None:
    """Return usage as recorded, with the answer's tokens where what was logged is less."""
    usage = request.recorded.usage
    return usage and replace(usage, output_tokens=request.output_tokens)


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
