"""Dollars of requests, conversations, retrievals and model calls, worked out by hand."""

from dataclasses import replace

import pytest

from compaction.llm import ModelCall, ModelReply, Usage
from compaction.messages import Message
from compaction.tokens import TiktokenCounter
from evals.cost import Bill, charge, retrieval_usd, uncompacted_bill, usage_charge
from evals.money.caching import rule_named
from evals.money.own_calls import SHORT_CHARS, CallSize, call_size, call_usd
from evals.money.price_list import list_price
from evals.money.prices import Rates, Tier
from evals.money.splits import Split
from evals.prepare import prepare
from evals.transcripts import RecordedRequest, Segment, Transcript
from tests.cost_cases import prices
from tests.needs_cases import prepared, result, says, user

PRICES = prices()
"""10 USD a million uncached, 1 read, 12.5 written, 50 output."""


def test_a_request_is_priced_by_what_its_tokens_are_billed_as():
    # 1,000 x 10 + 2,000 x 12.5 + 40,000 x 1 = 75,000 and 300 x 50 = 15,000 millionths.
    found = charge(Split(1_000, 2_000, 40_000), 300, PRICES)

    assert found == pytest.approx((0.010, 0.025, 0.040, 0.015))
    assert (found.input, found.total) == (pytest.approx(0.075), pytest.approx(0.090))


def test_every_token_pays_the_rate_of_the_tier_of_the_whole_request():
    # Source: genai-prices, calc_price: claude-sonnet-4-5 doubles above 200,000 input tokens.
    tiered = replace(PRICES, tiers=(Tier(200_000, Rates(20, 2, 25, 75)),))

    below = charge(Split(0, 0, 200_000), 1_000, tiered)
    above = charge(Split(0, 0, 200_001), 1_000, tiered)

    assert below.total == pytest.approx(0.2 + 0.05)
    assert above.total == pytest.approx(0.400002 + 0.075)


@pytest.mark.parametrize(
    ("model", "uncached", "read", "output", "usd"),
    [
        # Source: the providers' list prices of 2026-11-30. OpenAI, https://openai.com/api/pricing:
        # 2.50, 0.25 and 15 up to 272,000 tokens of input, above it 5, 0.50 and 22.50 for all of it.
        ("gpt-5.4", 72_000, 200_000, 1_000, 0.180 + 0.050 + 0.015),
        ("gpt-5.4", 72_001, 200_000, 1_000, 0.360005 + 0.100 + 0.0225),
        # Google, https://ai.google.dev/gemini-api/docs/pricing: 1.25, 0.125 and 10 up to 200,000
        # tokens of prompt, above it 2.50, 0.25 and 15.
        ("gemini-2.5-pro", 50_000, 150_000, 1_000, 0.0625 + 0.01875 + 0.010),
        ("gemini-2.5-pro", 50_001, 150_000, 1_000, 0.1250025 + 0.0375 + 0.015),
        # DeepSeek, https://api-docs.deepseek.com/quick_start/pricing, off-peak: 0.15, 0.003, 0.60.
        ("deepseek-v4-flash", 1_000, 9_000, 100, 0.00015 + 0.000027 + 0.00006),
    ],
)
def test_list_prices_of_a_whole_request_by_hand(model, uncached, read, output, usd):
    vector = list_price(model, "2026-11-30")

    assert charge(Split(uncached, 0, read), output, vector).total == pytest.approx(usd)


def test_recorded_usage_is_priced_as_reported():
    # 100 uncached, 900 written, 4,000 read: 0.001 + 0.01125 + 0.004, and 0.0005 output.
    usage = Usage(5_000, 10, cached_input_tokens=4_000, cache_write_tokens=900)

    assert usage_charge(usage, PRICES).total == pytest.approx(0.01675)


def test_usage_that_contradicts_itself_has_no_negative_part():
    usage = Usage(100, 0, cached_input_tokens=400, cache_write_tokens=50)

    assert usage_charge(usage, PRICES) == pytest.approx((0, 0, 0.0001, 0))


def test_a_growing_conversation_reads_what_it_wrote():
    conversation = prepared(user("Go."), says("Yes."), user("On."), says("And on."), user("Stop."))
    cached = replace(PRICES, caching=replace(PRICES.caching, min_tokens=1))
    first, second = (request.tokens for request in conversation.requests)
    output = [request.output_tokens for request in conversation.requests]

    bill = uncompacted_bill(conversation, cached)

    assert bill.splits == (Split(0, first, 0), Split(0, second - first, first))
    by_hand = first * 12.5 + (second - first) * 12.5 + first * 1 + sum(output) * 50
    assert bill.usd == pytest.approx(by_hand / 1_000_000)
    assert bill.read_fraction == pytest.approx(first / (first + second))


def test_a_conversation_is_priced_by_the_recorded_times():
    messages = (user("Go."), says("Yes."), user("On."), says("And on."))
    cached = replace(PRICES, caching=replace(PRICES.caching, min_tokens=1))

    def reads(gap_seconds):
        requests = (RecordedRequest(1, time=0.0), RecordedRequest(3, time=gap_seconds))
        transcript = Transcript("t", (Segment(messages, requests),))
        return uncompacted_bill(prepare(transcript), cached).splits[1].read

    assert reads(300.0) > 0
    assert reads(301.0) == 0


def test_the_recorded_answer_is_what_a_provider_may_have_stored():
    conversation = prepared(user("Go."), says("Yes."), user("On."), says("And on."))
    units = replace(PRICES, caching=rule_named("deepseek"))

    first, second = uncompacted_bill(conversation, units).splits

    assert second.read == first.total + conversation.counter.count(says("Yes."))


def test_instructions_are_read_across_a_recorded_compaction():
    rules = Message("system", "Never guess. " * 50)
    cached = replace(PRICES, caching=replace(PRICES.caching, min_tokens=1))
    before = Segment((rules, user("Go."), says("Yes.")), (RecordedRequest(2),))
    after = Segment((rules, user("Summary."), says("Yes.")), (RecordedRequest(2),))

    conversation = prepare(Transcript("t", (before, after)))

    kept = conversation.counter.count(rules) + conversation.fixed_tokens
    assert uncompacted_bill(conversation, cached).splits[1].read == kept


def test_no_requests_cost_nothing():
    assert (Bill((), ()).usd, Bill((), ()).read_fraction) == (0, None)


def test_a_retrieval_reads_the_whole_prompt_and_writes_the_result():
    # 30,000 read at 1 and 500 written at 12.5: 0.03 + 0.00625.
    assert retrieval_usd(30_000, 500, PRICES) == pytest.approx(0.03625)


def test_a_retrieval_costs_what_one_more_request_adds_to_a_bill():
    """The same conversation, in one case with a call and its result before the last answer."""
    cached = replace(PRICES, caching=replace(PRICES.caching, min_tokens=1))
    start, end = (user("Go on. " * 200), says("Yes."), user("And now? " * 50)), says("Done.")
    fetched = (says("", ("c1", "read_notes", {"number": 17})), result("c1", "a note " * 90))
    short, long = prepared(*start, end), prepared(*start, *fetched, end)
    *_, asked, last = long.requests
    assert asked.tokens == short.requests[-1].tokens

    added = uncompacted_bill(long, cached).usd - uncompacted_bill(short, cached).usd

    assert added == pytest.approx(
        retrieval_usd(
            asked.tokens, last.tokens - asked.tokens, cached, output_tokens=asked.output_tokens
        )
    )


def test_a_retrieval_without_a_cache_pays_for_everything_again():
    uncached = replace(PRICES, caching=rule_named("none"))

    assert retrieval_usd(30_000, 500, uncached) == pytest.approx(0.305)


def test_a_retrieval_from_a_prompt_below_the_minimum_is_not_cached():
    # 1,000 is below the 1,024 of the rule; with the result it is above, and all is written.
    assert retrieval_usd(1_000, 24, PRICES) == pytest.approx(1_024 * 12.5 / 1_000_000)


def test_reported_tokens_of_a_call_are_taken():
    reply = ModelReply("text", usage=Usage(700, 30))

    assert call_size(ModelCall((user("x"),)), reply, TiktokenCounter()) == CallSize(700, 30)


def test_a_call_is_not_cached():
    # 700 x 10 + 30 x 50 millionths.
    assert call_usd(CallSize(700, 30), PRICES) == pytest.approx(0.0085)


def test_a_short_call_is_counted():
    counter = TiktokenCounter()
    asked = user("Summarise this.")

    size = call_size(ModelCall((asked,)), ModelReply("It is so."), counter)

    assert size == CallSize(counter.count(asked), counter.count_text("It is so."))


def test_a_long_prompt_is_measured_by_the_messages_that_it_retells():
    counter = TiktokenCounter()
    lines = [f"line {n}: the export of ledger {n * 7} ended with code {n % 5}" for n in range(400)]
    subject = tuple(user("\n".join(lines[at : at + 40])) for at in range(0, 400, 40))
    told = "\n\n".join(f"user: {message.text}" for message in subject)
    prompt = user(f"Summarise the conversation below in ten lines.\n\n{told}")
    assert len(prompt.text) > SHORT_CHARS

    size = call_size(ModelCall((prompt,), subject=subject), ModelReply("ok"), counter)

    assert size.input_tokens == pytest.approx(counter.count(prompt), rel=0.03)


def test_a_call_that_sends_the_messages_themselves_is_counted_exactly():
    counter = TiktokenCounter()
    subject = tuple(user(f"word{n} " * 3_000) for n in range(3))

    size = call_size(ModelCall(subject, subject=subject), ModelReply("ok"), counter)

    assert size.input_tokens == sum(map(counter.count, subject))


def test_a_model_that_drops_reasoning_reads_up_to_it_once_the_user_speaks_again():
    talk = (user("Find it. " * 400), says("I look. " * 50), says("It is here."))
    later = (user("Go on. " * 300), says("Done."))
    requests = (RecordedRequest(1, is_reasoned=True), RecordedRequest(2), RecordedRequest(4))
    conversation = prepare(Transcript("t", (Segment((*talk, *later), requests),)))
    sizes = [request.tokens for request in conversation.requests]
    keeps = replace(prices("gemini"), caching=replace(rule_named("gemini"), min_tokens=1))
    drops = replace(keeps, caching=replace(keeps.caching, drops_reasoning=True))

    kept, dropped = (
        [split.read for split in uncompacted_bill(conversation, each).splits]
        for each in (keeps, drops)
    )

    # Within its turn the answer with reasoning is sent on as it was; in the next one it is not.
    assert kept == [0, sizes[0], sizes[1]]
    assert dropped == [0, sizes[0], sizes[0]]
