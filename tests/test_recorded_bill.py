"""What a log says of its cache, on logs made for it."""

from dataclasses import replace

import pytest

from compaction.history import Entry
from compaction.llm import Usage
from evals.cost import Meter, uncompacted_bill
from evals.money.price_choice import Priced
from evals.money.prices import PriceVector
from evals.money.pricing import price_transcript
from evals.money.prompt_cache import Limit
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
    found = recorded_limits(prepare(recorded(*usages, models=models)), MODEL, prices())
    return [limit and limit.tokens for limit in found]


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
    assert told.before_by_rule == untold.before_by_rule == untold.before
    assert told.before.usd > told.before_by_rule.usd
    assert (untold.limits, untold.check) == ((), None)


def checked(log: Transcript, vector: PriceVector | None = None, **others: PriceVector):
    prepared, vector = prepare(log), vector or prices()
    return check_bill(prepared, {MODEL: vector, **others}, uncompacted_bill(prepared, vector))


def test_the_bill_is_compared_at_the_same_prices():
    log = recorded(usage(4_000), usage(5_000, 4_000))

    check = checked(log)

    # (4,000 + 1,000) x 12.5 + 4,000 x 1 + 2 x 10 x 50 millionths.
    bill = uncompacted_bill(prepare(log), prices())
    assert check.recorded_usd == pytest.approx(0.0675)
    assert check.simulated_usd == pytest.approx(bill.usd)
    assert check.error_fraction == pytest.approx(bill.usd / 0.0675 - 1)
    assert check.rule_error_fraction == check.error_fraction
    assert (check.requests, check.covered_fraction, check.inherited_tokens) == (2, 1.0, 0)
    assert (check.lost_at, check.lost_usd, check.outlived_usd) == ((), 0, 0)


def test_the_first_request_of_a_bill_may_read_what_an_earlier_conversation_had_cached():
    log = recorded(usage(4_000, 3_000), usage(5_000, 4_000))
    conversation = prepare(log)

    check = checked(log)

    # 3,000 tokens are read at 1 and not written at 12.5 USD a million; the bill itself stays cold.
    cold = uncompacted_bill(conversation, prices())
    assert check.inherited_tokens == 3_000
    assert check.simulated_usd == pytest.approx(cold.usd - 3_000 * 11.5e-6)
    assert cold.splits[0].read == 0
    # That one is what tables show, and it has an error of its own.
    assert check.shown_usd == pytest.approx(cold.usd)
    more = 3_000 * 11.5e-6 / check.recorded_usd
    assert check.shown_error_fraction == pytest.approx(check.error_fraction + more)


def exact(*usages: Usage, gap_seconds: float = 1.0, models: str = "") -> Transcript:
    """Return a log whose requests are as long as their usage says, so that only reads differ."""
    log = recorded(*usages, models=models)
    segment = log.segments[0]
    requests = tuple(
        replace(request, time=gap_seconds * number)
        for number, request in enumerate(segment.requests)
    )
    return replace(log, segments=(replace(segment, requests=requests),))


def test_what_was_lost_within_its_lifetime_is_told_apart_from_the_rest_of_the_error():
    sizes = [request.tokens for request in prepare(recorded(*[usage(4_000)] * 3)).requests]
    sizes = [round(size) for size in sizes]
    log = exact(usage(sizes[0]), usage(sizes[1], sizes[0]), usage(sizes[2], 0))

    check = checked(log)

    # The third request could have read the second, of sizes[1] tokens: 11.5 USD a million less.
    simulated = [request.tokens for request in prepare(log).requests]
    assert check.lost_at == (2,)
    assert check.lost_usd == pytest.approx(simulated[1] * 11.5e-6)
    assert check.lost_fraction == check.lost_usd / check.recorded_usd
    lost_and_rest = check.error_fraction - check.lost_fraction
    assert check.rule_error_fraction == pytest.approx(lost_and_rest)
    assert check.rule_error_fraction < -0.2 < -0.001 < check.error_fraction < 0.001


def test_what_expired_was_not_lost_and_what_outlived_its_time_is_no_loss_either():
    log = exact(usage(4_000), usage(5_000, 0), gap_seconds=301)
    kept = exact(usage(4_000), usage(5_000, 4_000), gap_seconds=301)

    assert (checked(log).lost_at, checked(log).outlived_usd) == ((), 0)
    assert checked(log).by_rule_usd == checked(log).simulated_usd
    # By the rule all is written again; the log read the first request's tokens.
    first = prepare(kept).requests[0].tokens
    assert checked(kept).lost_at == ()
    assert checked(kept).outlived_usd == pytest.approx(first * 11.5e-6)


def test_requests_of_other_models_are_in_the_bill_if_they_have_a_price():
    log = recorded(usage(4_000), usage(900), usage(5_000, 4_000), models="-x-")
    cheap = prices("none", model="another", read=10.0, write=10.0)

    without, with_it = checked(log), checked(log, another=cheap)

    # 900 x 10 + 10 x 50 millionths more; 4,000 and 5,000 tokens as above.
    assert without.requests == 2
    assert without.recorded_usd == pytest.approx(0.0675)
    assert with_it.requests == 3
    assert with_it.recorded_usd == pytest.approx(0.0675 + 0.0095)
    assert with_it.covered_fraction == 1.0
    # Tables price that request as the others, and each reads what the one before it sent.
    whole = uncompacted_bill(prepare(log), prices())
    assert with_it.shown_usd == pytest.approx(whole.usd)
    assert without.shown_usd == pytest.approx(whole.usd - whole.charges[1].total)
    # What is left out is told by what it costs as the priced model.
    bill = uncompacted_bill(prepare(log), prices())
    alone = uncompacted_bill(prepare(log), prices(), model=MODEL)
    left_out = bill.charges[1].total
    assert without.covered_fraction == pytest.approx(alone.usd / (alone.usd + left_out))
    assert 0.5 < without.covered_fraction < 0.9


def test_a_request_without_usage_is_not_covered():
    check = checked(recorded(usage(4_000), None, usage(5_000, 4_000)))

    assert check.requests == 2
    assert 0.5 < check.covered_fraction < 0.95


def test_answers_are_priced_as_the_log_holds_them_in_both_bills():
    log = recorded(usage(4_000), usage(5_000, 4_000))
    segment = log.segments[0]
    long = says("The relay drops frames above the limit. " * 100)
    messages = (*segment.messages[:3], long)
    prepared = prepare(replace(log, segments=(replace(segment, messages=messages),)))

    check = check_bill(prepared, {MODEL: prices()}, uncompacted_bill(prepared, prices()))

    # Usage says 10 tokens, the answer holds several hundred.
    counted = prepared.requests[1].output_tokens
    assert counted > 500
    assert check.recorded_usd == pytest.approx(0.0675 + (counted - 10) * 50e-6)


def test_writes_that_a_client_does_not_log_are_billed_all_the_same():
    silent = recorded(usage(4_000, written=0), usage(5_000, 4_000, written=0))

    assert checked(silent).recorded_usd == pytest.approx(0.0675)
    # Where the provider bills no writes, what was not read is uncached input.
    free = prices("gemini", write=10.0)
    assert checked(silent, free).recorded_usd == pytest.approx(0.055)


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
        replace(log, segments=(replace(segment, requests=tuple(requests)),))
        for requests in (with_costs, (with_costs[0], segment.requests[1]))
    )
    automatic = prices("openai", write=10.0)

    assert checked(told, automatic).recorded_usd == pytest.approx(0.05)
    assert checked(half, automatic) is None
    assert checked(log, automatic) is None
    # Nor is it known what was written, where only that has a price of its own.
    first = replace(segment, messages=segment.messages[:2], requests=segment.requests[:1])
    assert checked(replace(log, segments=(first,))) is None
    # Where nothing is cached, usage that does not tell of a cache is the whole bill.
    assert checked(log, prices("none")).recorded_usd == pytest.approx(0.091)


def test_a_client_that_read_and_wrote_nothing_paid_for_all_of_it():
    log = recorded(usage(4_000, written=0), usage(5_000, written=0))

    # 9,000 x 10 + 2 x 10 x 50 millionths; the simulation caches.
    assert checked(log).recorded_usd == pytest.approx(0.091)
    assert any(split.written for split in uncompacted_bill(prepare(log), prices()).splits)


def test_without_usage_of_the_model_there_is_nothing_to_compare():
    assert checked(recorded(None, None)) is None


def test_a_view_last_used_hours_ago_is_read_only_where_the_log_shows_it():
    """A strategy goes back to a view that it left in the morning, and the log never sent it."""
    log = exact(*[usage(4_000)] * 4)
    conversation = prepare(log)
    sizes = [round(request.tokens) for request in conversation.requests]
    hours = (0.0, 32_000.0, 32_010.0, 32_020.0)

    def morning_read_later(*reads: int) -> list[float]:
        usages = [usage(size, read) for size, read in zip(sizes, (0, *reads), strict=True)]
        told = exact(*usages)
        requests = tuple(
            replace(request, time=at)
            for request, at in zip(told.segments[0].requests, hours, strict=True)
        )
        prepared = prepare(replace(told, segments=(replace(told.segments[0], requests=requests),)))
        pricing = price_transcript(prepared, Priced(prices(), "recorded", MODEL))
        meter = Meter(prepared, prices(), pricing.limits)
        segment = prepared.segments[0]
        history = segment.history.entries()
        morning = [history[0]]
        other = [Entry(user("Another view. " * 400), history[0].origin), *history[1:3]]
        views = (morning, other, [*morning, *history[3:5]], [*morning, *history[3:7]])
        return [
            meter.send(request, segment, view, 4_000.0, unchanged=0).split.read
            for request, view in zip(segment.requests, views, strict=True)
        ]

    # Nothing was read after the night, and then all of the prompt of ten seconds before: within
    # its lifetime, so it tells nothing of the morning's.
    within = morning_read_later(0, sizes[1], sizes[2])
    assert within[:3] == [0, 0, 0]
    assert within[3] > 3_000


def test_a_prompt_outlives_the_night_only_as_the_log_shows():
    """The strategy changes nothing until the last request."""
    sizes = [round(request.tokens) for request in prepare(exact(*[usage(4_000)] * 2)).requests]
    kept = exact(usage(sizes[0]), usage(sizes[1], sizes[0]), gap_seconds=32_000)
    gone = exact(usage(sizes[0]), usage(sizes[1], 0), gap_seconds=32_000)
    partly = exact(usage(sizes[0]), usage(sizes[1], 500), gap_seconds=32_000)

    def found(log: Transcript) -> tuple[list[Limit | None], float]:
        pricing = price_transcript(prepare(log), Priced(prices(), "recorded", MODEL))
        return list(pricing.limits), pricing.before.splits[1].read

    first = prepare(kept).requests[0].tokens
    assert found(kept) == ([None, Limit(INF, is_outlived=True)], pytest.approx(first))
    assert found(gone) == ([None, Limit(0, is_outlived=False)], 0)
    assert found(partly) == ([None, Limit(500, is_outlived=True)], 500)
