"""What it would cost to get again what a view does not show and the recorded agent needed."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from evals.cost import PER, retrieval_usd
from evals.fidelity.need_status import Status
from evals.money.prices import PriceVector
from evals.needs import Need
from evals.prepare import Prepared
from evals.replay import Step

FETCHED: Final[frozenset[Status]] = frozenset({"recoverable", "regenerable", "lost", "undeclared"})
"""What an agent that needs it has to get again: its line is not in the view; what is merely
`mentioned` is not among them."""


class Retrieval(NamedTuple):
    """One request more, that fetches one earlier message again."""

    request: int
    result_tokens: float
    usd: float
    """Of this request; what it brought is carried along after it, see `Refetching.usd`."""


class Refetching:
    """What an agent would fetch again, and carry along until the view is compacted again.

    Needs over long gaps only, as in the headline. Of several sources the latest is fetched; what
    two needs have in one message is fetched once, and not again as long as it is carried.
    """

    def __init__(self, prepared: Prepared, prices: PriceVector) -> None:
        self._prepared = prepared
        self._prices = prices
        self._fetched: set[int] = set()
        self._carried_tokens = 0.0
        self._segment: int | None = None
        self.retrievals: list[Retrieval] = []
        self.carried_usd = 0.0

    @property
    def usd(self) -> float:
        return sum((each.usd for each in self.retrievals), 0.0) + self.carried_usd

    def see(self, step: Step, judged: Iterable[tuple[Need, Status]], *, is_new: bool) -> None:
        """Take in a request and its needs; `is_new` if its view does not follow the one before."""
        if is_new or step.request.segment != self._segment:
            self._fetched.clear()
            self._carried_tokens, self._segment = 0.0, step.request.segment
        rates = self._prices.rates_of(step.tokens + self._carried_tokens)
        self.carried_usd += self._carried_tokens * self._prices.again_usd(rates) / PER
        for source in sorted(_wanted(judged) - self._fetched):
            self._fetch(source, step)

    def _fetch(self, source: int, step: Step) -> None:
        counter, slope = self._prepared.counter, step.segment.calibration.slope
        call = step.history.call_of(source)
        result_tokens = slope * counter.count(step.history[source])
        call_tokens = slope * counter.count_text(call.arguments) if call else 0.0
        prompt_tokens = step.tokens + self._carried_tokens
        brought = call_tokens + result_tokens
        usd = retrieval_usd(prompt_tokens, brought, self._prices, output_tokens=call_tokens)
        self.retrievals.append(Retrieval(step.request.index, result_tokens, usd))
        self._carried_tokens += brought
        self._fetched.add(source)


def _wanted(judged: Iterable[tuple[Need, Status]]) -> set[int]:
    return {
        max(need.sources)
        for need, status in judged
        if need.kind == "need" and need.is_long and need.sources and status in FETCHED
    }
