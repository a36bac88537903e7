"""What asking a model will cost, said before anything is spent, and the limit on it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from compaction.errors import CompactionError, ModelError
from compaction.extractive import ExtractiveModel
from compaction.llm import ChatModel, ModelCall, ModelReply
from compaction.tokens import TOKENS_PER_REQUEST, TiktokenCounter
from evals.money.price_list import list_price
from evals.money.prices import PriceVector, Rates
from evals.probing.answers import RecordedChat, request_digest

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
FREE: Final = Rates(0.0, 0.0, 0.0, 0.0)
MILLION: Final = 1_000_000
SUMMARY: Final = "summary"
STAND_IN: Final = "stand-in"
"""Stands for the model of a reply that nobody gave; about as long as an answer may be."""


class BudgetError(CompactionError):
    """The next call could cost more than is left of `--max-cost`; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a model charges, and why that is believed."""

    rates: Rates | None
    """None: not known."""
    reason: str

    def usd(self, input_tokens: float, output_tokens: float) -> float | None:
        """Return the price of a call of which nothing is cached."""
        if self.rates is None:
            return None
        return (input_tokens * self.rates.input + output_tokens * self.rates.output) / MILLION


def tariff_of(model: str, base_url: str | None, given: PriceVector | None = None) -> Tariff:
    """Return what a model behind an endpoint charges: given, nothing on loopback, or listed."""
    if given is not None:
        return Tariff(given.rates, f"prices given for {given.model}")
    if base_url is not None and urlsplit(base_url).hostname in LOOPBACK:
        return Tariff(FREE, "on this machine: nothing is charged")
    today = datetime.now(UTC).date().isoformat()
    found = list_price(model, today)
    if found is None:
        return Tariff(None, f"no list price for {model}; give --price MODEL or --price-file FILE")
    return Tariff(found.rates, f"list price of {found.model} on {today}, nothing cached")


def most_tokens(call: ModelCall, counter: TiktokenCounter) -> tuple[int, int]:
    """Return input tokens as counted, and the most that the reply may have."""
    counted = sum(map(counter.count, call.messages)) + TOKENS_PER_REQUEST
    return counted, call.max_output_tokens or 0


class Purse:
    """What was spent and promised; shared by all who ask under one limit."""

    def __init__(self, limit_usd: float | None) -> None:
        self.calls = 0
        """Answers that came."""
        self.spent_usd = 0.0
        self._limit_usd = limit_usd
        self._reserved_usd = 0.0
        self._lock = Lock()

    def reserve(self, most_usd: float) -> None:
        """Set aside the most that a call can cost.

        Raises:
            BudgetError: so much is not left.
        """
        with self._lock:
            committed = self.spent_usd + self._reserved_usd
            if self._limit_usd is not None and committed + most_usd > self._limit_usd:
                raise BudgetError(
                    f"--max-cost {self._limit_usd:g} reached: ${self.spent_usd:.4f} spent, the "
                    f"next call may cost ${most_usd:.4f}; what was recorded is kept, the same "
                    "command with a higher limit goes on"
                )
            self._reserved_usd += most_usd

    def pay(self, reserved_usd: float, usd: float, *, answered: bool) -> None:
        with self._lock:
            self._reserved_usd -= reserved_usd
            self.spent_usd += usd
            self.calls += answered


class LimitedChat:
    """Passes calls on while the dearest that they can be stays within a limit.

    A failed call counts as if it had been paid in full, unless the endpoint turned it away or was
    not reached: nobody knows that it was not.
    """

    def __init__(
        self,
        live: ChatModel,
        tariff: Tariff,
        max_cost_usd: float | None = None,
        *,
        purse: Purse | None = None,
    ) -> None:
        if max_cost_usd is not None and tariff.rates is None:
            raise BudgetError(f"--max-cost cannot be kept: {tariff.reason}")
        self.name = live.name
        self.purse = purse or Purse(max_cost_usd)
        self._live, self._tariff = live, tariff
        self._counter = TiktokenCounter()

    def sharing(self, live: ChatModel) -> "LimitedChat":
        """Return another that spends from the same purse."""
        return LimitedChat(live, self._tariff, purse=self.purse)

    def complete(self, call: ModelCall) -> ModelReply:
        """Return the reply.

        Raises:
            BudgetError: the call could go over the limit.
            ModelError: the model failed.
        """
        most = self._tariff.usd(*most_tokens(call, self._counter)) or 0.0
        self.purse.reserve(most)
        paid, answered = most, False
        try:
            reply = self._live.complete(call)
            answered = True
            if reply.usage is not None:
                usage = reply.usage
                paid = self._tariff.usd(usage.input_tokens, usage.output_tokens) or 0.0
            return reply
        except ModelError as error:
            paid = most if error.fate == "unanswered" else 0.0
            raise
        finally:
            self.purse.pay(most, paid, answered=answered)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


@dataclass
class Estimate:
    """Calls that are not recorded yet, each counted once."""

    calls: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    """At most."""
    _seen: set[str] = field(default_factory=set)
    _counter: TiktokenCounter = field(default_factory=TiktokenCounter)

    def add(self, call: ModelCall, digest: str) -> None:
        if digest in self._seen:
            return
        self._seen.add(digest)
        tokens = most_tokens(call, self._counter)
        self.calls[call.purpose] += 1
        self.input_tokens += tokens[0]
        self.output_tokens += tokens[1]


@dataclass(frozen=True)
class EstimatingChat:
    """Answers from recordings; what is missing is noted, and a stand-in is given for it.

    A missing summary is stood in for by the extractive one, so that views have about their size.
    """

    book: RecordedChat
    estimate: Estimate

    @property
    def name(self) -> str:
        return self.book.name

    def complete(self, call: ModelCall) -> ModelReply:
        found = self.book.find(call)
        if found is not None:
            return found
        digest = request_digest(call, self.book.endpoint)
        self.estimate.add(call, digest)
        if call.purpose != SUMMARY:
            return ModelReply(digest, model=STAND_IN)
        # Two prompts may get the same lines; the views are told apart all the same.
        return ModelReply(f"{ExtractiveModel().complete(call).text}\n{digest[-8:]}")

    def complete_all(
        self, calls: Sequence[ModelCall], *, concurrency: int = 1
    ) -> list[ModelReply | ModelError]:
        return [self.complete(call) for call in calls]

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


def seconds_per_token(replies: Iterable[ModelReply]) -> float | None:
    """Return how long this model took for a token, input and output together; None if unknown."""
    timed = [reply for reply in replies if reply.seconds > 0 and reply.usage is not None]
    tokens = sum(reply.usage.total_tokens for reply in timed if reply.usage)
    return sum(reply.seconds for reply in timed) / tokens if tokens else None
