"""Dollars: of a request, of the views of a conversation, of fetching something again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, overload

from compaction.history import Entries, Entry
from compaction.llm import Usage
from evals.money.prices import PriceVector
from evals.money.prompt_cache import Limit, PromptCache, Sent
from evals.money.splits import Scale, Split, cached_length, split_of
from evals.prepare import Prepared, PreparedRequest, PreparedSegment

PER: Final = 1_000_000
"""Tokens that a rate is for."""


Limits = Sequence[Limit | None]
"""By request, where the record tells."""


class Charge(NamedTuple):
    """What one request costs, in USD."""

    uncached: float
    written: float
    read: float
    output: float

    @property
    def input(self) -> float:
        return self.uncached + self.written + self.read

    @property
    def total(self) -> float:
        return self.input + self.output


def charge(split: Split, output_tokens: float, prices: PriceVector) -> Charge:
    """Price a request; the tier is chosen by its whole input."""
    rates = prices.rates_of(split.total)
    return Charge(
        split.uncached * rates.input / PER,
        split.written * rates.write / PER,
        split.read * rates.read / PER,
        output_tokens * rates.output / PER,
    )


def usage_charge(usage: Usage, prices: PriceVector) -> Charge:
    """Price what a provider reported."""
    read = min(usage.cached_input_tokens, usage.input_tokens)
    written = min(usage.cache_write_tokens, usage.input_tokens - read)
    split = Split(usage.input_tokens - read - written, written, read)
    return charge(split, usage.output_tokens, prices)


@dataclass(frozen=True)
class Bill:
    """The requests of a conversation with what each costs; all of one length."""

    splits: tuple[Split, ...]
    charges: tuple[Charge, ...]

    @cached_property
    def usd(self) -> float:
        return sum(each.total for each in self.charges)

    @cached_property
    def read_fraction(self) -> float | None:
        """Tokens read from the cache, of all input tokens."""
        tokens = sum(split.total for split in self.splits)
        return sum(split.read for split in self.splits) / tokens if tokens else None


class Meter:
    """Sends the views of a conversation through a simulated cache and prices them."""

    def __init__(self, prepared: Prepared, prices: PriceVector, limits: Limits = ()) -> None:
        self._prepared = prepared
        self._limits = limits
        self._prices = prices
        self._cache = PromptCache(prices.caching, prepared.counter.count)
        self._splits: list[Split] = []
        self._charges: list[Charge] = []

    def send(
        self,
        request: PreparedRequest,
        segment: PreparedSegment,
        entries: Sequence[Entry],
        tokens: float,
        *,
        unchanged: int,
    ) -> Sent:
        """Take in what was sent at a request, `tokens` long."""
        recorded = request.recorded
        sent = self._cache.send(
            entries,
            tokens,
            scale_of(segment, self._prepared),
            unchanged=unchanged,
            time=recorded.time,
            asked=recorded.sent_time,
            unreadable_from=self._unreadable_from(request),
            limit=self._limits[request.index] if self._limits else None,
            answer=segment.history[recorded.position],
        )
        self._splits.append(sent.split)
        self._charges.append(charge(sent.split, request.output_tokens, self._prices))
        return sent

    def _unreadable_from(self, request: PreparedRequest) -> int | None:
        """Return where the prompt differs from what was sent before, whatever the view."""
        if request.recorded.is_restart:
            return 0
        return request.reasoned_from if self._prices.caching.drops_reasoning else None

    @property
    def bill(self) -> Bill:
        return Bill(tuple(self._splits), tuple(self._charges))


def scale_of(segment: PreparedSegment, prepared: Prepared) -> Scale:
    calibration = segment.calibration
    return Scale(calibration.size(prepared.fixed_tokens), calibration.slope)


def uncompacted_bill(
    prepared: Prepared, prices: PriceVector, limits: Limits = (), model: str | None = None
) -> Bill:
    """Price a conversation as it was recorded, from an empty cache on.

    With a model only its requests, which no others share a cache with.
    """
    meter = Meter(prepared, prices, limits)
    for segment in prepared.segments:
        unchanged, whole = 0, segment.history.entries()
        for request in segment.requests:
            if model not in (None, request.recorded.model):
                continue
            sent = _First(whole, request.recorded.position)
            meter.send(request, segment, sent, request.tokens, unchanged=unchanged)
            unchanged = len(sent)
    return meter.bill


class _First(Sequence[Entry]):
    """The first entries of many: to copy them for each request takes the square of their number."""

    def __init__(self, entries: Entries, length: int) -> None:
        self._entries = entries
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(index, slice):
            return [self._entries[at] for at in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._entries[index % self._length]


def retrieval_usd(
    prefix_tokens: float, brought_tokens: float, prices: PriceVector, *, output_tokens: float = 0.0
) -> float:
    """Price a request that fetches something again: all of the prompt, and what it adds to it.

    The prompt was sent a moment ago, so it is read from the cache as far as the rule allows.

    Args:
        prefix_tokens: The prompt.
        brought_tokens: The call and its result: new input of the request after it.
        prices: Of the model.
        output_tokens: The call.
    """
    read = cached_length(prices.caching, prefix_tokens)
    split = split_of(prices.caching, prefix_tokens + brought_tokens, read)
    return charge(split, output_tokens, prices).total
