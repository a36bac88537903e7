"""What a strategy costs and saves in dollars, with the provider's cache taken into account."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from compaction.messages import Json
from evals.cost import Meter
from evals.fidelity.fates import FateTracker
from evals.fidelity.need_status import NeedScorer, Status
from evals.money.bill_json import USD_DIGITS, by_kind, by_request, rounded
from evals.money.break_even import absorbed_requests, repaid_fraction, typical_break_even
from evals.money.ledger import Ledger
from evals.money.own_calls import CallSize, call_size, call_usd
from evals.money.pricing import Pricing
from evals.money.prompt_cache import Sent
from evals.money.retrievals import Refetching
from evals.needs import Need
from evals.replay import Step
from evals.scorers import Cell

PROBABILITIES: Final = {"p50": 0.5, "p100": 1.0}
"""Column suffix -> how likely the agent gets again what it needs and does not see."""


class _OwnCall(NamedTuple):
    request: int
    size: CallSize
    usd: float


class CostScorer:
    """Prices every request of one cell."""

    def __init__(self, cell: Cell, pricing: Pricing, needs: NeedScorer) -> None:
        """Start at the first request.

        Args:
            cell: The cell.
            pricing: Of its transcript.
            needs: Sees each step before this scorer does.
        """
        self._prepared = cell.material.prepared
        self._pricing = pricing
        self._prices = pricing.priced.vector
        self._needs = needs
        self._n_judged = 0
        self._meter = Meter(self._prepared, self._prices, pricing.limits)
        self._by_rule = Meter(self._prepared, self._prices) if pricing.limits else None
        self._ledger = Ledger(self._prepared, self._prices)
        self._calls: list[_OwnCall] = []
        self._refetching = Refetching(self._prepared, self._prices)

    def see(self, step: Step, fates: FateTracker) -> None:
        sent = self._sent(self._meter, step)
        if self._by_rule is not None:
            self._sent(self._by_rule, step)
        self._ledger.see(step, sent, self._own_calls_usd(step))
        is_new = self._ledger.breaks[-1:] == [step.request.index]
        self._refetching.see(step, self._judged_at(step.request.index), is_new=is_new)

    def _sent(self, meter: Meter, step: Step) -> Sent:
        return meter.send(
            step.request, step.segment, step.view.entries, step.tokens, unchanged=step.unchanged
        )

    def columns(self) -> dict[str, Any]:
        before, after = self._pricing.before, self._meter.bill
        own_usd = sum((call.usd for call in self._calls), 0.0)
        after_usd = after.usd + own_usd
        saved_usd = before.usd - after_usd
        before_by_rule, after_by_rule = self._pricing.before_by_rule, self._by_rule or self._meter
        repayments = self._ledger.repayments
        n_requests = len(after.charges)
        return {
            **self._price_columns(),
            "cost_before_usd": before.usd,
            "cost_after_usd": after_usd,
            "saved_usd": saved_usd,
            "saved_usd_fraction": saved_usd / before.usd if before.usd else None,
            "cost_before_by_rule_usd": before_by_rule.usd,
            "saved_by_rule_usd": before_by_rule.usd - (after_by_rule.bill.usd + own_usd),
            **{
                f"net_saved_usd_{name}": saved_usd - probability * self._refetching.usd
                for name, probability in PROBABILITIES.items()
            },
            "retrievals": len(self._refetching.retrievals),
            "own_calls_usd": own_usd,
            "own_input_tokens": sum((call.size.input_tokens for call in self._calls), 0.0),
            "own_output_tokens": sum((call.size.output_tokens for call in self._calls), 0.0),
            "cache_hit_fraction_before": before.read_fraction,
            "cache_hit_fraction": after.read_fraction,
            "cache_breaks": len(self._ledger.breaks),
            "rewritten_tokens": self._ledger.rewritten_tokens,
            "removed_tokens": self._ledger.removed_tokens,
            "break_even_requests": typical_break_even(repayments),
            "repaid_fraction": repaid_fraction(repayments),
            "retriggered_fraction": self._ledger.retriggered_fraction,
            "absorbed_requests": absorbed_requests(
                saved_usd,
                self._ledger.removed_tokens,
                after_usd / n_requests if n_requests else 0.0,
            ),
            "best_trigger_tokens": self._ledger.best_trigger_tokens,
        }

    def sections(self) -> Json:
        after = self._meter.bill
        own_usd = sum(call.usd for call in self._calls)
        return {
            "cost": {
                "prices": self._prices.to_json(),
                "bill": asdict(self._pricing.check) if self._pricing.check else None,
                "before": self._pricing.before_by_request,
                "after": by_request(after),
                "before_usd": self._pricing.before_by_kind,
                "after_usd": {
                    **by_kind(after),
                    "own_calls": round(own_usd, USD_DIGITS),
                    "retrievals": round(self._refetching.usd, USD_DIGITS),
                },
                "own_calls": [
                    [call.request, *rounded(call.size), round(call.usd, USD_DIGITS)]
                    for call in self._calls
                ],
                "retrievals": [
                    [each.request, round(each.result_tokens), round(each.usd, USD_DIGITS)]
                    for each in self._refetching.retrievals
                ],
                "breaks": self._ledger.breaks,
                "compactions": [
                    [
                        each.request,
                        round(each.removed_tokens),
                        round(each.rewritten_tokens),
                        round(each.once_usd, USD_DIGITS),
                        repayment.used_requests,
                    ]
                    for each, repayment in zip(
                        self._ledger.compactions, self._ledger.repayments, strict=True
                    )
                ],
            }
        }

    def _judged_at(self, request: int) -> Sequence[tuple[Need, Status]]:
        """Return the needs of a request; those of later ones may be judged already."""
        judged, first = self._needs.judged, self._n_judged
        while self._n_judged < len(judged) and judged[self._n_judged][0].request <= request:
            self._n_judged += 1
        return judged[first : self._n_judged]

    def _own_calls_usd(self, step: Step) -> float:
        """Note the calls that were made for this request and return what they cost."""
        total = 0.0
        for call, reply in step.model_calls:
            size = call_size(call, reply, self._prepared.counter)
            if reply.usage is None:
                slope = step.segment.calibration.slope
                size = CallSize(slope * size.input_tokens, slope * size.output_tokens)
            usd = call_usd(size, self._prices)
            self._calls.append(_OwnCall(step.request.index, size, usd))
            total += usd
        return total

    def _price_columns(self) -> dict[str, Any]:
        priced, check = self._pricing.priced, self._pricing.check
        return {
            "priced_model": priced.vector.model,
            "price_basis": priced.basis,
            "price_file_used": priced.file_used,
            "caching_rule": priced.vector.caching.name,
            "recorded_usd": check.recorded_usd if check else None,
            "bill_error_fraction": check.error_fraction if check else None,
            "bill_rule_error_fraction": check.rule_error_fraction if check else None,
            "bill_shown_error_fraction": check.shown_error_fraction if check else None,
            "bill_lost_fraction": check.lost_fraction if check else None,
            "bill_requests": check.requests if check else None,
            "bill_covered_fraction": check.covered_fraction if check else None,
            "counted_outputs": sum(each.is_output_counted for each in self._prepared.requests),
        }
