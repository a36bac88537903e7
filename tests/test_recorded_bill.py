"""What a log says of its cache, on logs made for it."""

from dataclasses import replace

import pytest

from compaction.llm import Usage
from evals.cost import uncompacted_bill
from evals.money.price_choice import Priced
from evals.money.pricing import price_transcript
from evals.money.recorded_bill import check_bill, recorded_limits
from evals.prepare import prepare
from evals.transcripts import RecordedRequest, Segment, Transcript
from tests.cost_cases import prices
from tests.needs_cases import says, user

INF = float("inf")
MODEL = "test-model"


def recorded(*usages: Usage | None, models: str = "") -> Transcript:
    """Return a log with a request for each usage; `models` names those that another one made."""
    messages, requests = [], []
    for number, usage in enumerate(usages):
        messages += [user(f"Go on with part {number}. " * 200), says("Yes.")]
        model = "another" if models[number : number + 1] == "x" else MODEL
        requests.append(RecordedRequest(2 * number + 1, float(number), model, usage))
    return Transcript("t", (Segment(tuple(messages), tuple(requests)),))


def usage(total: int, read: int = 0, written: int | None = None) -> Usage:
    return Usage(total, 10, read, total - read if written is None else written)


def limits(*usages: Usage | None, models: str = "") -> list[float | None]:
    return list(recorded_limits(prepare(recorded(*usages, models=models)), MODEL))


def test_a_request_that_read_less_than_the_one_before_shows_a_loss():
    found = limits(usage(10_000), usage(11_000, 10_000), usage(12_000, 500), usage(13_000, 0))

    assert found == [None, INF, 500, 0]


def test_a_tenth_less_is_no_loss_yet():
    assert limits(usage(10_000), usage(11_000, 9_000)) == [None, INF]
    assert limits(usage(10_000), usage(11_000, 8_999)) == [None, 8_999]


def test_a_request_without_usage_tells_nothing():
    found = limits(usage(10_000), None, usage(12_000, 10_000))

    assert found == [None, None, INF]


def test_a_log_without_reads_and_writes_tells_of_no_losses():
    assert limits(usage(10_000, written=0), usage(11_000, written=0)) == []


def test_a_log_that_only_wrote_lost_all_of_it():
    assert limits(usage(10_000), usage(11_000)) == [None, 0]


def test_each_model_has_a_cache_of_its_own():
    found = limits(usage(10_000), usage(900), usage(11_000, 10_000), models="-x-")

    assert found == [None, None, INF]


def test_a_loss_in_the_log_happens_in_the_replay_too():
    log = recorded(usage(4_000), usage(5_000, 4_000), usage(6_000, 0), usage(7_000, 6_000))
    conversation = prepare(log)

    told = price_transcript(conversation, Priced(prices(), "recorded", MODEL))
    untold = price_transcript(conversation, Priced(prices(), "given"))

    assert [split.read > 0 for split in told.before.splits] == [False, True, False, True]
    assert [split.read > 0 for split in untold.before.splits] == [False, True, True, True]
    assert (untold.limits, untold.check) == ((), None)


def test_the_bill_is_compared_at_the_same_prices():
    log = recorded(usage(4_000), usage(5_000, 4_000))
    conversation = prepare(log)
    bill = uncompacted_bill(conversation, prices())

    check = check_bill(conversation, MODEL, prices(), bill)

    # (4,000 + 1,000) x 12.5 + 4,000 x 1 + 2 x 10 x 50 millionths.
    assert check.recorded_usd == pytest.approx(0.0675)
    assert check.simulated_usd == pytest.approx(bill.usd)
    assert check.error_fraction == pytest.approx(bill.usd / 0.0675 - 1)
    assert (check.requests, check.inherited_tokens) == (2, 0)


def test_what_the_first_request_read_was_inherited():
    conversation = prepare(recorded(usage(4_000, 3_000), usage(5_000, 4_000)))

    check = check_bill(conversation, MODEL, prices(), uncompacted_bill(conversation, prices()))

    assert check.inherited_tokens == 3_000


def test_writes_that_a_client_does_not_log_are_billed_all_the_same():
    silent = prepare(recorded(usage(4_000, written=0), usage(5_000, 4_000, written=0)))
    bill = uncompacted_bill(silent, prices())

    assert check_bill(silent, MODEL, prices(), bill).recorded_usd == pytest.approx(0.0675)
    # Where the provider bills no writes, what was not read is uncached input.
    free = prices("gemini", write=10.0)
    assert check_bill(silent, MODEL, free, bill).recorded_usd == pytest.approx(0.055)


def test_a_log_that_tells_nothing_of_its_cache_has_the_bill_that_it_recorded_itself():
    untold = [replace(usage(n, written=0), is_cache_logged=False) for n in (4_000, 5_000)]
    log = recorded(*untold)
    segment = log.segments[0]
    costs = (0.02, 0.03)
    with_costs = [
        replace(request, cost_usd=cost)
        for request, cost in zip(segment.requests, costs, strict=True)
    ]
    told, half = (
        prepare(replace(log, segments=(replace(segment, requests=tuple(requests)),)))
        for requests in (with_costs, (with_costs[0], segment.requests[1]))
    )
    automatic = prices("openai", write=10.0)
    bill = uncompacted_bill(told, automatic)
    assert any(split.read for split in bill.splits)

    check = check_bill(told, MODEL, automatic, bill)

    assert check.recorded_usd == pytest.approx(0.05)
    assert check_bill(half, MODEL, automatic, bill) is None
    assert check_bill(prepare(log), MODEL, automatic, bill) is None
    # Nor is it known what was written, where only that has a price of its own.
    written = [split._replace(written=split.total, read=0.0) for split in bill.splits]
    assert check_bill(prepare(log), MODEL, prices(), replace(bill, splits=tuple(written))) is None
    uncached = tuple(split._replace(uncached=split.total, read=0.0) for split in bill.splits)
    known = check_bill(prepare(log), MODEL, automatic, replace(bill, splits=uncached))
    assert known.recorded_usd == pytest.approx(0.091)


def test_a_client_that_read_and_wrote_nothing_paid_for_all_of_it():
    log = prepare(recorded(usage(4_000, written=0), usage(5_000, written=0)))
    bill = uncompacted_bill(log, prices())

    check = check_bill(log, MODEL, prices(), bill)

    # 9,000 x 10 + 2 x 10 x 50 millionths; the simulation caches.
    assert check.recorded_usd == pytest.approx(0.091)
    assert any(split.written for split in bill.splits)


def test_without_usage_of_the_model_there_is_nothing_to_compare():
    conversation = prepare(recorded(None, None))

    assert (
        check_bill(conversation, MODEL, prices(), uncompacted_bill(conversation, prices())) is None
    )
