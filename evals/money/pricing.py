"""What all settings of a transcript share about money."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from compaction.messages import Json, canonical_json
from evals.cost import Bill, Limits, uncompacted_bill
from evals.money.bill_json import by_kind, by_request
from evals.money.price_choice import Priced
from evals.money.recorded_bill import BillCheck, check_bill, recorded_limits
from evals.prepare import Prepared
from evals.results import Row, RunFolder


@dataclass(frozen=True)
class Pricing:
    """The prices of a transcript and what it costs without compaction."""

    priced: Priced
    limits: Limits
    before: Bill
    before_by_rule: Bill
    """By the caching rule alone: what the log says of its cache is not looked at."""
    check: BillCheck | None
    """None unless usage was recorded, with the model that is priced."""

    @cached_property
    def before_by_request(self) -> Json:
        return by_request(self.before)

    @cached_property
    def before_by_kind(self) -> Json:
        return by_kind(self.before)


def price_transcript(prepared: Prepared, priced: Priced) -> Pricing:
    """Price a transcript as recorded.

    What the log says of its cache holds for the model that it was recorded with, and no other.
    """
    vector, name = priced.vector, priced.recorded_as
    by_rule = uncompacted_bill(prepared, vector)
    if name is None:
        return Pricing(priced, (), by_rule, by_rule, None)
    limits = recorded_limits(prepared, name, vector)
    before = uncompacted_bill(prepared, vector, limits) if limits else by_rule
    check = check_bill(prepared, {name: vector, **priced.others}, before)
    return Pricing(priced, limits, before, by_rule, check)


def prices_used(rows: Iterable[Row], folder: RunFolder) -> list[Json]:
    """Return the prices that the cells of a run were scored with, each once."""
    named = {(row.priced_model, row.caching_rule): row.cell_id for row in rows if row.priced_model}
    sidecars = (folder.sidecar(cell_id) for cell_id in named.values())
    used = [sidecar["cost"]["prices"] for sidecar in sidecars if sidecar]
    return sorted(used, key=lambda prices: (prices["model"], canonical_json(prices)))
