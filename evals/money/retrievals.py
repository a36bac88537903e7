"""What it would cost to get again what a view does not show and the recorded agent needed."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from evals.cost import retrieval_usd
from evals.fidelity.need_status import Status
from evals.money.prices import PriceVector
from evals.needs import Need
from evals.prepare import Prepared
from evals.replay import Step

FETCHED: Final[frozenset[Status]] = frozenset({"recoverable", "regenerable", "lost", "undeclared"})
"""What an agent that needs it has to get again: neither it nor its name is in the view."""


class Retrieval(NamedTuple):
    """One request more, that fetches one earlier message again."""

    request: int
    prompt_tokens: float
    """All of the view, sent once more."""
    result_tokens: float
    usd: float


def retrievals_at(
    step: Step, judged: Iterable[tuple[Need, Status]], prepared: Prepared, prices: PriceVector
) -> list[Retrieval]:
    """Return the retrievals that the needs of a request ask for, one for each source.

    Needs over long gaps only, as in the headline. Of several sources the latest is fetched; what
    two needs have in one message is fetched once.
    """
    sources = {
        max(need.sources)
        for need, status in judged
        if need.kind == "need" and need.is_long and need.sources and status in FETCHED
    }
    found = []
    for source in sorted(sources):
        counted = prepared.counter.count(step.history[source])
        result_tokens = step.segment.calibration.slope * counted
        usd = retrieval_usd(step.tokens, result_tokens, prices)
        found.append(Retrieval(step.request.index, step.tokens, result_tokens, usd))
    return found
