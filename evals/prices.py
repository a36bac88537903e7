"""What a model charges, as one value that a run writes down: rates, tiers and caching rule.

The list is `genai-prices`, which comes with its data; it is imported when the first price is asked
for. Files with prices of the user's own are `evals.price_files`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final, Literal

from compaction.errors import CompactionError
from compaction.messages import Json
from evals.caching import CachingRule, rule_for
from evals.transcripts import Transcript

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
"""What a transcript is priced as that names no model of the list. This project's choice."""
NOON: Final = 12
"""Some prices depend on the hour: those at this hour, UTC, are taken."""

Basis = Literal["given", "file", "recorded", "default"]
"""Why a model was chosen: `--price`, the only one in the price file, the transcript, or none."""

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


class PriceError(CompactionError):
    """A model without a price, or a price file that is not one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD for a million tokens."""

    input: float
    read: float
    write: float
    output: float


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates of a whole request whose input is longer than a limit."""

    above_input_tokens: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class PriceVector:
    """Everything that turns tokens of a conversation into dollars."""

    model: str
    rates: Rates
    caching: CachingRule
    tiers: tuple[Tier, ...] = ()
    """Ascending."""
    provider: str = ""
    source: str = ""
    """Whose list it is from, with its version."""
    as_of: str = ""
    """ISO date of the list prices."""

    def rates_of(self, input_tokens: float) -> Rates:
        """Return the rates of a request; the tier is chosen by its whole input."""
        rates = self.rates
        for tier in self.tiers:
            if input_tokens > tier.above_input_tokens:
                rates = tier.rates
        return rates

    def to_json(self) -> Json:
        """Return the form that a run holds and a price file may have."""
        return {
            "model": self.model,
            "provider": self.provider,
            "source": self.source,
            "as_of": self.as_of,
            "usd_per_million_tokens": asdict(self.rates),
            "tiers": [
                {"above_input_tokens": tier.above_input_tokens, **asdict(tier.rates)}
                for tier in self.tiers
            ],
            "caching": {k: v for k, v in asdict(self.caching).items() if v is not None},
        }


@dataclass(frozen=True)
class Priced:
    """The prices of one transcript, and why these."""

    vector: PriceVector
    basis: Basis


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True)
class PriceChoice:
    """What `--price` and `--price-file` ask for."""

    model: str | None = None
    vectors: tuple[PriceVector, ...] = ()
    """From a price file."""
    as_of: str = field(default_factory=_today)
    """ISO date: list prices of that day."""

    def of(self, transcript: Transcript) -> Priced:
        """Return the prices of a transcript.

        The model given; else the one of the price file if it has one only; else the model that most
        requests of the transcript name; else `DEFAULT_MODEL`.

        Raises:
            PriceError: the model given has no price; names close ones.
        """
        keeps_an_hour = _keeps_an_hour(transcript)
        if self.model is not None:
            return Priced(self._known(self.model, keeps_an_hour=keeps_an_hour), "given")
        if len(self.vectors) == 1:
            return Priced(self.vectors[0], "file")
        for name in recorded_models(transcript):
            found = self._find(name, keeps_an_hour=keeps_an_hour)
            if found is not None:
                return Priced(found, "recorded")
        return Priced(self._known(DEFAULT_MODEL, keeps_an_hour=keeps_an_hour), "default")

    def check(self) -> None:
        """Refuse a model without a price before anything is run.

        Raises:
            PriceError: as `of`.
        """
        if self.model is not None:
            self._known(self.model, keeps_an_hour=False)

    def _known(self, name: str, *, keeps_an_hour: bool) -> PriceVector:
        found = self._find(name, keeps_an_hour=keeps_an_hour)
        if found is None:
            known = [*(vector.model for vector in self.vectors), *_model_names()]
            close = get_close_matches(name.lower(), known, n=3)
            hint = f"; is it {' or '.join(close)}?" if close else ""
            raise PriceError(
                f"no price is known for model {name!r}{hint} Own prices: --price-file FILE"
            )
        return found

    def _find(self, name: str, *, keeps_an_hour: bool) -> PriceVector | None:
        own = {vector.model.lower(): vector for vector in self.vectors}
        for spelling in spellings(name):
            if spelling in own:
                return own[spelling]
        return list_price(name, self.as_of, keeps_an_hour=keeps_an_hour)


def recorded_models(transcript: Transcript) -> list[str]:
    """Return the models that the requests of a transcript name, most requests first."""
    names = Counter(
        request.model
        for segment in transcript.segments
        for request in segment.requests
        if request.model
    )
    return [name for name, _ in names.most_common()]


def spellings(name: str) -> Iterator[str]:
    """Yield a model's name as it stands and then without what gateways and clients add to it."""
    lowered = name.strip().lower()
    yield lowered
    bare = lowered.rsplit("/", 1)[-1]
    while (shorter := _DECORATION.sub("", bare)) != bare:
        bare = shorter
    if bare and bare != lowered:
        yield bare


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


def _keeps_an_hour(transcript: Transcript) -> bool:
    """Whether the log shows that the client asked Anthropic for the longer lifetime."""
    return any(
        request.usage is not None and request.usage.cache_write_1h_tokens > 0
        for segment in transcript.segments
        for request in segment.requests
    )


def _model_names() -> list[str]:
    from genai_prices.data_snapshot import get_snapshot

    return [
        model.id
        for provider in get_snapshot().providers
        if provider.model_match is not None
        for model in provider.models
    ]
