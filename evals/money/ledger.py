"""What each compaction of a cell cost at once, what it removed, and how long that was used."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from compaction.history import History
from evals.money.break_even import (
    PER,
    Repayment,
    break_even_requests,
    optimal_trigger_tokens,
)
from evals.money.prices import PriceVector
from evals.money.prompt_cache import Sent
from evals.prepare import Prepared
from evals.replay import Step


@dataclass(frozen=True, slots=True)
class Compaction:
    """A request whose view no longer begins with the one before, or that took a model call."""

    request: int
    segment: int
    number: int
    """Counts the requests of the segment."""
    removed_tokens: float
    """Of what the request would have had, had the view only been appended to."""
    rewritten_tokens: float
    """Neither read from the cache nor new since the request before, as far as the cache held it."""
    tokens_after: float
    once_usd: float
    """Above what it would have cost to read what was kept; with the model calls."""
    calls_usd: float
    break_even_requests: float


@dataclass(frozen=True, slots=True)
class _Before:
    """The request before, in the same segment."""

    history: History
    uncompacted_tokens: float
    tokens: float
    messages: int


class Ledger:
    """Compares each view with the one before, had that only been appended to."""

    def __init__(self, prepared: Prepared, prices: PriceVector) -> None:
        self._prepared = prepared
        self._prices = prices
        self._before: _Before | None = None
        self._requests: Counter[int] = Counter()
        self._growths: list[float] = []
        self.compactions: list[Compaction] = []
        self.breaks: list[int] = []
        """Requests whose view no longer begins with the view before."""
        self.removed_tokens = 0.0

    def see(self, step: Step, sent: Sent, calls_usd: float) -> None:
        """Take in a request, how its input is billed, and what model calls for it cost."""
        segment = step.request.segment
        number = self._requests[segment]
        before = self._before if number else None
        removed = step.request.tokens - step.tokens
        is_break = False
        if before is not None:
            growth = step.request.tokens - before.uncompacted_tokens
            self._growths.append(growth)
            removed = before.tokens + growth - step.tokens
            is_break = sent.kept < before.messages
        self.removed_tokens += max(0.0, removed)
        if is_break:
            self.breaks.append(step.request.index)
        if is_break or calls_usd > 0:
            lost_reads = sent.could_read - sent.split.read if before else 0.0
            self.compactions.append(
                self._compaction(
                    step,
                    number=number,
                    removed=removed,
                    rewritten=_rewritten(step, sent, before, self._prepared) if before else 0.0,
                    # Of what can no longer be read, what was removed need not be written again.
                    net_rewritten=lost_reads - removed if before else 0.0,
                    calls_usd=calls_usd,
                )
            )
        self._requests[segment] += 1
        self._before = _Before(step.history, step.request.tokens, step.tokens, len(step.view))

    @property
    def rewritten_tokens(self) -> float:
        return sum((each.rewritten_tokens for each in self.compactions), 0.0)

    @property
    def repayments(self) -> Sequence[Repayment]:
        """Return the compactions with how many requests used what each made."""
        ends = [
            after.number if after.segment == each.segment else self._requests[each.segment]
            for each, after in zip(self.compactions, self.compactions[1:], strict=False)
        ]
        if self.compactions:
            ends.append(self._requests[self.compactions[-1].segment])
        return [
            Repayment(each.break_even_requests, end - each.number)
            for each, end in zip(self.compactions, ends, strict=True)
        ]

    @property
    def retriggered_fraction(self) -> float | None:
        """Return the share of compactions after which the next request compacts again.

        Of one segment both; None without compactions. Source: reference/methods.md section 5, E5.
        """
        followed = sum(
            after.segment == each.segment and after.number == each.number + 1
            for each, after in zip(self.compactions, self.compactions[1:], strict=False)
        )
        return followed / len(self.compactions) if self.compactions else None

    @property
    def best_trigger_tokens(self) -> float | None:
        """Return the size at which summaries of this kind cost least; None without any."""
        summaries = [each for each in self.compactions if each.calls_usd > 0]
        read_usd = self._prices.again_usd(self._prices.rates)
        if not summaries or not self._growths or read_usd <= 0:
            return None
        return optimal_trigger_tokens(
            fmean(each.tokens_after for each in summaries),
            fmean(self._growths),
            once_usd=fmean(each.once_usd for each in summaries),
            read_usd=read_usd,
        )

    def _compaction(
        self,
        step: Step,
        *,
        number: int,
        removed: float,
        rewritten: float,
        net_rewritten: float,
        calls_usd: float,
    ) -> Compaction:
        rates = self._prices.rates_of(step.tokens)
        read_usd = self._prices.again_usd(rates)
        write_usd = rates.write if self._prices.caching.bills_writes else rates.input
        once_usd = max(0.0, net_rewritten * (write_usd - read_usd) / PER + calls_usd)
        return Compaction(
            request=step.request.index,
            segment=step.request.segment,
            number=number,
            removed_tokens=removed,
            rewritten_tokens=rewritten,
            tokens_after=step.tokens,
            once_usd=once_usd,
            calls_usd=calls_usd,
            break_even_requests=break_even_requests(
                removed,
                net_rewritten,
                read_usd=read_usd,
                write_usd=write_usd,
                calls_usd=calls_usd,
            ),
        )


def _rewritten(step: Step, sent: Sent, before: _Before, prepared: Prepared) -> float:
    """Return how many tokens were processed again, at most those that the cache had held.

    What of them could no longer be read is the limit: where a log tells that the cache was lost, or
    a provider reads whole steps only, nothing that the strategy did is to blame.
    """
    lost_reads = sent.could_read - sent.split.read
    if lost_reads <= 0:
        return 0.0
    new_counted = 0
    for entry in reversed(step.view.entries):
        if entry.origin.first < len(before.history):
            break
        new_counted += prepared.counter.count(entry.message)
    new_tokens = step.segment.calibration.slope * new_counted
    return max(0.0, min(lost_reads, step.tokens - sent.split.read - new_tokens))
