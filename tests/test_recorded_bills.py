"""The recorded bills of real logs, reproduced by leaving them as they are.

`pytest tests/test_recorded_bills.py -m slow -n 0 -s` prints a line for each log: recorded usage at
list prices of its day, what the recording program itself took it to cost, the simulated bill, and
its error by the caching rule alone and with the losses that the log shows. The first request of
some logs read from the cache of an earlier conversation, which a replay from an empty cache cannot;
the last column lets it read as much.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pytest

from evals.cost import charge, uncompacted_bill
from evals.loading import load, survey
from evals.money.price_choice import PriceChoice
from evals.money.price_list import list_price
from evals.money.pricing import price_transcript
from evals.money.prompt_cache import split_of
from evals.money.recorded_bill import BillCheck, check_bill
from evals.prepare import Prepared, prepare

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDERS = ("claude_code", "pi", "codex", "cline")
ALIASES = {"aide-gpt-5": "gpt-5"}
"""Names that no list has; a user would give their prices in a file."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="the sample logs are not here"),
]


@dataclass(frozen=True)
class Checked:
    """One log."""

    name: str
    model: str
    rule: str
    logged_usd: float | None
    by_rule: BillCheck
    with_losses: BillCheck
    n_losses: int
    without_inherited: float
    """Error fraction."""

    def __str__(self) -> str:
        logged = "-" if self.logged_usd is None else f"{self.logged_usd:.3f}"
        check = self.with_losses
        return (
            f"{self.name[:38]:38} {self.model:20} {self.rule:12} {check.requests:4} requests "
            f"{check.recorded_usd:8.3f} recorded {logged:>8} logged {check.simulated_usd:8.3f} "
            f"simulated; error {self.by_rule.error_fraction:+7.1%} by rule, "
            f"{check.error_fraction:+6.1%} with {self.n_losses:2} losses, "
            f"{self.without_inherited:+6.1%} without {check.inherited_tokens} inherited"
        )


@pytest.fixture(scope="module")
def bills() -> list[Checked]:
    return [checked for folder in FOLDERS for checked in _checked_below(DATA / folder)]


def _checked_below(folder: Path) -> Iterator[Checked]:
    for location in survey([folder]).locations:
        transcript = load(location)
        if any(request.usage for segment in transcript.segments for request in segment.requests):
            yield _checked(Path(transcript.source).name, prepare(transcript))


def _checked(name: str, conversation: Prepared) -> Checked:
    times = [request.recorded.time for request in conversation.requests if request.recorded.time]
    day = datetime.fromtimestamp(times[-1], UTC).date().isoformat()
    listed = {alias: list_price(model, day) for alias, model in ALIASES.items()}
    own = [replace(vector, model=alias) for alias, vector in listed.items()]
    choice = PriceChoice(vectors=(*own, *listed.values()), as_of=day)
    priced = choice.of(conversation.transcript)
    pricing = price_transcript(conversation, priced)
    vector, recorded_as = priced.vector, priced.recorded_as
    by_rule = uncompacted_bill(conversation, vector)
    costs = [
        request.recorded.cost_usd
        for request in conversation.requests
        if request.recorded.cost_usd is not None and request.recorded.model == recorded_as
    ]
    return Checked(
        name=name,
        model=vector.model,
        rule=vector.caching.name,
        logged_usd=sum(costs) if costs else None,
        by_rule=check_bill(conversation, recorded_as, vector, by_rule),
        with_losses=pricing.check,
        n_losses=sum(limit is not None and limit < float("inf") for limit in pricing.limits),
        without_inherited=_without_inherited(conversation, pricing),
    )


def _without_inherited(conversation, pricing) -> float:
    """Return the error if the first request reads what it read in the log."""
    vector, check = pricing.priced.vector, pricing.check
    first = conversation.requests[0]
    cold = pricing.before.splits[0]
    warm = split_of(vector.caching, cold.total, min(check.inherited_tokens, cold.total))
    saved = charge(cold, 0, vector).total - charge(warm, 0, vector).total
    assert first.recorded.usage is not None
    return (check.simulated_usd - saved) / check.recorded_usd - 1


def test_bills_are_reproduced_within_five_percent(bills):
    print()
    for bill in bills:
        print(bill)
    by_rule, with_losses, warm = (
        [abs(error) for error in errors]
        for errors in (
            [bill.by_rule.error_fraction for bill in bills],
            [bill.with_losses.error_fraction for bill in bills],
            [bill.without_inherited for bill in bills],
        )
    )
    print(
        f"median of {len(bills)}: {median(by_rule):.1%} by rule, {median(with_losses):.1%} with "
        f"losses, {median(warm):.1%} without inherited"
    )

    assert len(bills) == 12
    assert median(with_losses) < 0.05
    assert median(warm) <= median(with_losses)
    assert sum(error < 0.05 for error in warm) >= 11


def test_what_a_program_took_its_calls_to_cost_is_what_they_cost_at_list_prices(bills):
    """The programs priced their usage themselves; Cline's gateway adds 5 %."""
    logged = {bill.name: bill for bill in bills if bill.logged_usd is not None}

    for name in ("large-session.jsonl", "session-thinking-compaction-glued.jsonl"):
        assert logged[name].with_losses.recorded_usd == pytest.approx(logged[name].logged_usd)
    cline = logged["session.messages.json"]
    assert cline.with_losses.recorded_usd * 1.05 == pytest.approx(cline.logged_usd, rel=1e-3)
    assert len(logged) == 3


def test_logs_that_lost_nothing_are_reproduced_by_the_rule_alone(bills):
    """Nothing of the record of the cache goes into these."""
    sound = (
        *("cc-2.1.12-microcompact", "cc-2.1.62-pr-link", "cc-2.1.7-glued-records"),
        "session.messages",
    )
    found = [bill for bill in bills if bill.name.startswith(sound)]

    assert len(found) == 4
    assert max(abs(bill.by_rule.error_fraction) for bill in found) < 0.02
