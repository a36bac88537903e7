"""The recorded bills of real logs, reproduced by leaving them as they are.

`pytest tests/test_recorded_bills.py -m slow -n 0 -s` prints a line for each log: how many requests
the comparison is of, recorded usage at list prices of its day, the bill by the caching rule alone
and with the losses that the log shows, and their errors; then each request that lost what it could
have read, with the seconds since the one before. The first request reads what it read in the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import pytest

from compaction.llm import Usage
from evals.cost import uncompacted_bill, usage_charge
from evals.loading import load, survey
from evals.money.price_choice import PriceChoice, Priced
from evals.money.price_list import list_price
from evals.money.prices import PriceVector
from evals.money.pricing import price_transcript
from evals.money.recorded_bill import LOST_BELOW, BillCheck
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
class Loss:
    """A request that read less than the rule says."""

    request: int
    seconds: float
    """Since the request before."""
    read_tokens: int
    could_read_tokens: float


@dataclass(frozen=True)
class Checked:
    """One log."""

    name: str
    priced: Priced
    check: BillCheck
    n_requests: int
    logged_usd: float | None
    """What the recording program took its calls to cost."""
    as_logged_usd: float
    """Usage at list prices, with the output tokens that were logged."""
    n_restarts: int
    losses: tuple[Loss, ...]
    reads: tuple[int, ...]
    """Tokens that each request read in the log."""

    def __str__(self) -> str:
        check, vector = self.check, self.priced.vector
        return (
            f"{self.name[:38]:38} {vector.model:20} {vector.caching.name:12} "
            f"{check.requests:4} of {self.n_requests:4} requests ({check.covered_fraction:6.1%}) "
            f"{check.recorded_usd:7.3f} recorded {check.by_rule_usd:7.3f} by rule "
            f"{check.simulated_usd:7.3f} with losses; error {check.rule_error_fraction:+6.1%} by "
            f"rule, {check.lost_fraction:5.1%} lost in {len(check.lost_at):2} requests, "
            f"{check.error_fraction:+5.1%} left, {check.shown_error_fraction:+5.1%} as in the "
            f"tables; {self.n_restarts} restarts, "
            f"{check.inherited_tokens} inherited"
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
    of_model = [
        request.recorded
        for request in conversation.requests
        if request.recorded.usage is not None and request.recorded.model == priced.recorded_as
    ]
    costs = [recorded.cost_usd for recorded in of_model if recorded.cost_usd is not None]
    return Checked(
        name=name,
        priced=priced,
        check=price_transcript(conversation, priced).check,
        n_requests=len(conversation.requests),
        logged_usd=sum(costs) if costs else None,
        as_logged_usd=sum(_as_logged_usd(each.usage, priced.vector) for each in of_model),
        n_restarts=sum(request.recorded.is_restart for request in conversation.requests),
        losses=tuple(_losses(conversation, priced)),
        reads=tuple(
            request.recorded.usage.cached_input_tokens if request.recorded.usage else 0
            for request in conversation.requests
        ),
    )


def _as_logged_usd(usage: Usage, prices: PriceVector) -> float:
    """Price usage; without a count of what was written, all that was not read was."""
    if prices.caching.bills_writes and not usage.cache_write_tokens:
        usage = replace(usage, cache_write_tokens=usage.input_tokens - usage.cached_input_tokens)
    return usage_charge(usage, prices).total


def _losses(conversation: Prepared, priced: Priced) -> Iterator[Loss]:
    """Yield the losses of a log, found without the code that is tested."""
    by_rule = uncompacted_bill(conversation, priced.vector, model=priced.recorded_as)
    requests = [r for r in conversation.requests if r.recorded.model == priced.recorded_as]
    before = None
    for request, split in zip(requests, by_rule.splits, strict=True):
        usage = request.recorded.usage
        if usage is None:
            continue
        if before is not None:
            read = usage.cached_input_tokens
            is_lost = read < LOST_BELOW * before.recorded.usage.input_tokens
            if is_lost and split.read > read:
                sent = request.recorded.sent_time or request.recorded.time
                seconds = sent - before.recorded.time
                yield Loss(request.index, seconds, read, split.read)
        before = request


def test_bills_are_reproduced_within_five_percent(bills):
    print()
    for bill in bills:
        print(bill)
        for loss in bill.losses:
            print(
                f"    request {loss.request:3} read {loss.read_tokens:6} of "
                f"{loss.could_read_tokens:9.0f} tokens, {loss.seconds:6.1f} s after the one before"
            )
    by_rule = [abs(bill.check.rule_error_fraction) for bill in bills]
    with_losses = [abs(bill.check.error_fraction) for bill in bills]
    print(
        f"median of {len(bills)}: {median(by_rule):.1%} by rule, {median(with_losses):.1%} with "
        "losses"
    )

    assert len(bills) == 12
    assert median(with_losses) < 0.005
    assert max(with_losses) < 0.03
    assert median(by_rule) < 0.05
    assert sum(error < 0.05 for error in by_rule) == 8


def test_dollars_of_the_tables_are_off_where_a_log_began_with_a_warm_cache_or_another_model(bills):
    """Tables start from an empty cache and price all requests as those of one model."""
    shown = [abs(bill.check.shown_error_fraction) for bill in bills]
    print(f"median as in the tables {median(shown):.1%}, largest {max(shown):.1%}")

    assert median(shown) < 0.05
    for bill in bills:
        check = bill.check
        if not check.inherited_tokens and not bill.priced.others:
            assert check.shown_error_fraction == pytest.approx(check.error_fraction)
        else:
            assert check.shown_error_fraction > check.error_fraction
    assert sum(error > 0.05 for error in shown) == 2


def test_what_the_rule_does_not_foresee_was_lost_within_its_lifetime(bills):
    """Of the error by the rule alone, all but 5 % of the recorded dollars of any log."""
    for bill in bills:
        check = bill.check
        left = check.rule_error_fraction + check.lost_fraction - check.error_fraction
        assert left == pytest.approx(check.outlived_usd / check.recorded_usd, abs=1e-9)
        assert abs(check.rule_error_fraction + check.lost_fraction) < 0.05
        assert check.lost_at == tuple(loss.request for loss in bill.losses)
        ttl = bill.priced.vector.caching.ttl_seconds
        assert all(loss.seconds <= ttl for loss in bill.losses)


def test_a_provider_forgets_a_prompt_and_knows_it_again_seconds_later(bills):
    """A read that drops and comes back is no change of the prompt: nothing foresees it."""
    (codex,) = (bill for bill in bills if bill.name.startswith("rollout-0.142.0"))
    reads = {loss.request: loss.read_tokens for loss in codex.losses}

    # 17,792 tokens at the second and the fourth, and so they had been kept in between.
    assert [reads[number] for number in (3, 4)] == [2_432, 17_792]
    assert codex.reads[2] == 17_792
    (aide,) = (bill for bill in bills if bill.name.startswith("rollout-0.39.0"))
    assert len(aide.losses) == 14
    assert max(loss.seconds for loss in aide.losses) < 60


def test_what_a_program_took_its_calls_to_cost_is_what_they_cost_at_list_prices(bills):
    """The programs priced their usage themselves; Cline's gateway adds 5 %."""
    logged = {bill.name: bill for bill in bills if bill.logged_usd is not None}

    for name in ("large-session.jsonl", "session-thinking-compaction-glued.jsonl"):
        assert logged[name].as_logged_usd == pytest.approx(logged[name].logged_usd)
    cline = logged["session.messages.json"]
    assert cline.as_logged_usd * 1.05 == pytest.approx(cline.logged_usd, rel=1e-3)
    assert len(logged) == 3


def test_bills_cover_the_requests_to_other_models_too(bills):
    cline = next(bill for bill in bills if bill.name == "session.messages.json")

    assert list(cline.priced.others) == ["mistralai/voxtral-small-24b-2507"]
    assert (cline.check.requests, cline.n_requests) == (16, 16)
    assert cline.check.covered_fraction == 1.0


def test_logs_that_lost_nothing_are_reproduced_by_the_rule_alone(bills):
    """Nothing of the record of the cache goes into these but what the first request inherited."""
    sound = (
        *("cc-2.1.12-microcompact", "cc-2.1.47", "cc-2.1.62-pr-link", "cc-2.1.7-glued-records"),
        "session.messages",
    )
    found = [bill for bill in bills if bill.name.startswith(sound)]

    assert len(found) == 5
    assert [bill.name for bill in bills if not bill.losses] == [bill.name for bill in found]
    assert max(abs(bill.check.rule_error_fraction) for bill in found) < 0.02
