"""List prices from `genai-prices`, which brings its data and is imported at the first price."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

from evals.money.caching import rule_for
from evals.money.prices import PriceVector, Rates, Tier

NOON: Final = 12
"""Some prices depend on the hour: those at this hour, UTC, are taken."""

_RATE_KEYS: Final = {
    "input": "input_mtok",
    "read": "cache_read_mtok",
    "write": "cache_write_mtok",
    "write_1h": "cache_write_1h_mtok",
    "output": "output_mtok",
}
_FAST: Final = "-fast"
"""Ending of a model's name that stands for its dearer, faster variant."""
_FAST_CONTEXT: Final = {"speed": "fast"}
_DECORATION: Final = re.compile(r"\[.*\]$|:(?!\d).*$|^(us|eu|apac|global)\.|^anthropic\.")
"""Of names in logs: `claude-opus-4-6[1m]`, `...:thinking`, `us.anthropic.claude-...`."""


@lru_cache(maxsize=256)
def list_price(name: str, as_of: str, *, keeps_an_hour: bool = False) -> PriceVector | None:
    """Return the list price of a model on a day, or None if the list does not have it.

    Args:
        name: As a log or a user writes it; dated names and names with a provider in front are
            understood.
        as_of: ISO date.
        keeps_an_hour: Whether cache writes are priced for Anthropic's longer lifetime.
    """
    from genai_prices.data_snapshot import get_snapshot

    day = date.fromisoformat(as_of)
    at = datetime(day.year, day.month, day.day, NOON, tzinfo=UTC)
    for spelling in spellings(name):
        try:
            provider, model = get_snapshot().find_provider_model(spelling, None, None, None)
        except LookupError:
            continue
        variants = [variant.when for variant in model.price_variants or ()]
        is_fast = spelling.endswith(_FAST) and _FAST_CONTEXT in variants
        prices = model.get_prices(at, _FAST_CONTEXT if is_fast else None)
        found = _by_limit(prices)
        if found is None:
            continue
        has_read_price = prices.cache_read_mtok is not None
        rule = rule_for(model.id, has_read_price=has_read_price, keeps_an_hour=keeps_an_hour)
        write = "write_1h" if rule.name == "anthropic-1h" else "write"
        (_, base), *tiers = ((limit, _rates(values, write)) for limit, values in found)
        return PriceVector(
            model=model.id + (_FAST if is_fast else ""),
            rates=base,
            caching=rule,
            tiers=tuple(Tier(limit, rates) for limit, rates in tiers),
            provider=provider.id,
            source=f"genai-prices {version('genai-prices')}",
            as_of=as_of,
        )
    return None


def _by_limit(prices: Any) -> list[tuple[int, Mapping[str, float | None]]] | None:
    """Return what holds above each number of input tokens, 0 first; None if it has no price."""
    given = {name: getattr(prices, key) for name, key in _RATE_KEYS.items()}
    if given["input"] is None or given["output"] is None:
        return None
    limits = {tier.start for price in given.values() for tier in getattr(price, "tiers", ())}
    return [
        (limit, {name: _price_above(limit, price) for name, price in given.items()})
        for limit in (0, *sorted(limits))
    ]


def _price_above(limit: int, price: Any) -> float | None:
    """Return the price per million of a request whose input is just longer than `limit`."""
    if price is None:
        return None
    applicable = getattr(price, "base", price)
    for tier in getattr(price, "tiers", ()):
        if limit >= tier.start:
            applicable = tier.price
    return float(applicable)


def _rates(prices: Mapping[str, float | None], write: str) -> Rates:
    """Return rates; what has no price of its own costs what uncached input does."""
    uncached, output = prices["input"] or 0.0, prices["output"] or 0.0
    read, written = prices["read"], prices[write]
    return Rates(
        input=uncached,
        read=uncached if read is None else read,
        write=uncached if written is None else written,
        output=output,
    )


def listed_models() -> list[str]:
    """Return the models of the makers, without those that sell what others make."""
    from genai_prices.data_snapshot import get_snapshot

    return [
        model.id
        for provider in get_snapshot().providers
        if provider.model_match is not None
        for model in provider.models
    ]


def spellings(name: str) -> Iterator[str]:
    """Yield a model's name as it stands and then without what gateways and clients add to it."""
    lowered = name.strip().lower()
    yield lowered
    bare = lowered.rsplit("/", 1)[-1]
    while (shorter := _DECORATION.sub("", bare)) != bare:
        bare = shorter
    if bare and bare != lowered:
        yield bare
