"""The columns about money, on conversations small enough to price by hand."""

import json
from dataclasses import dataclass, field, fields, replace

import pytest

from compaction.extractive import ExtractiveModel
from compaction.history import View, generated
from compaction.llm import ModelCall, ModelReply, ScriptedChat, Usage
from compaction.strategy import CallRecord, CompactionEvent, Promises
from evals.cost import uncompacted_bill
from evals.facts import find_facts
from evals.money.caching import rule_named
from evals.money.price_choice import PriceChoice, Priced
from evals.money.pricing import Pricing, price_transcript, prices_used
from evals.money.prompt_cache import Limit
from evals.needs import find_needs
from evals.prepare import prepare
from evals.results import Row, RunFolder
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate
from evals.transcripts import RecordedRequest, Segment, Transcript
from tests.cost_cases import prices
from tests.needs_cases import prepared, result, says, steps, user

PER = 1_000_000
CACHED = replace(prices(), caching=replace(rule_named("anthropic-5m"), min_tokens=1))
"""10 USD a million uncached, 1 read, 12.5 written, 50 output; any prompt is cached."""
LOG = "/srv/billing/ledger_export.log"
TALK = (
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"the nightly export writes every booking into {LOG} before midnight"),
    *steps(4),
    says(f"I open {LOG}."),
)


@dataclass(frozen=True)
class Rule:
    """A strategy made of one function; it may yield model calls."""

    make: object
    promises: Promises = field(default_factory=lambda: Promises(mode="viewing"))
    name: str = "rule"
    version: str = "1"

    def start(self, context):
        return _RuleCompactor(self.make)


class _RuleCompactor:
    def __init__(self, make):
        self._make = make

    def steps(self, history, request):
        yield from ()
        view = self._make(history)
        if isinstance(view, View):
            return view
        return (yield from view)

    def record_usage(self, usage):
        pass

    def recover(self, handle):
        return None


def unchanged(history):
    return View.of(history)


def without_the_log(history):
    """Clear the first result once the history has seven messages."""
    entries = list(history.entries())
    if len(entries) >= 7:
        entries[2] = entries[2].edited(entries[2].message.with_text("[cleared]"), "rule")
    return View(tuple(entries), (CompactionEvent("rule", "applied"),))


def scored(strategy, *, conversation=None, vector=CACHED, model=None):
    conversation = conversation or prepared(*TALK)
    material = Material(
        conversation,
        find_needs(conversation),
        find_facts(conversation),
        price_transcript(conversation, Priced(vector, "given")),
    )
    return score(material, strategy, model or ExtractiveModel())


def test_without_compaction_nothing_is_saved_and_all_but_the_news_is_read():
    found = scored(Rule(unchanged)).columns

    sizes = [request.tokens for request in prepared(*TALK).requests]
    read, output = sum(sizes[:-1]), [r.output_tokens for r in prepared(*TALK).requests]
    usd = (sizes[-1] * 12.5 + read * 1 + sum(output) * 50) / PER
    assert found["cost_before_usd"] == found["cost_after_usd"] == pytest.approx(usd)
    assert (found["saved_usd"], found["saved_usd_fraction"]) == (0, 0)
    assert found["cache_hit_fraction"] == pytest.approx(read / sum(sizes))
    assert found["cache_hit_fraction_before"] == found["cache_hit_fraction"]
    assert (found["cache_breaks"], found["rewritten_tokens"], found["retrievals"]) == (0, 0, 0)
    assert (found["break_even_requests"], found["repaid_fraction"]) == (None, None)
    assert (found["priced_model"], found["price_basis"]) == ("test-model", "given")
    assert (found["caching_rule"], found["recorded_usd"]) == ("anthropic-5m", None)


def test_clearing_a_result_breaks_the_cache_behind_it():
    conversation = prepared(*TALK)
    count = conversation.counter.count
    cleared = TALK[2].with_text("[cleared]")
    removed = count(TALK[2]) - count(cleared)
    sizes = [request.tokens for request in conversation.requests]

    found = scored(Rule(without_the_log)).columns

    # The fourth request is the first whose history has seven messages. In front of the cleared
    # result it finds only what the first request had stored: all else is written, in place of
    # reading what the third had sent. From then on every request is smaller.
    after = [*sizes[:3], *(size - removed for size in sizes[3:])]
    written = sizes[2] + (after[5] - sizes[0])
    read = sizes[0] + sizes[1] + sizes[0] + after[3] + after[4]
    output = sum(request.output_tokens for request in conversation.requests)
    usd = (written * 12.5 + read * 1 + output * 50) / PER
    assert found["cost_after_usd"] == pytest.approx(usd)
    assert found["saved_usd"] == pytest.approx(found["cost_before_usd"] - usd)
    assert found["saved_usd"] < 0
    assert (found["cache_breaks"], found["removed_tokens"]) == (1, removed)
    rewritten = sizes[2] - sizes[0] - removed
    assert found["rewritten_tokens"] == rewritten
    # N* = S (w - r) / (R r), and three requests used it.
    assert found["break_even_requests"] == pytest.approx(rewritten * 11.5 / removed)
    assert found["repaid_fraction"] == 0
    assert found["absorbed_requests"] == pytest.approx(
        found["saved_usd"] / (removed / 1_000 * usd / 6)
    )
    assert found["best_trigger_tokens"] is None


def test_what_was_needed_and_cleared_is_fetched_with_the_whole_prompt():
    conversation = prepared(*TALK)
    count = conversation.counter.count
    removed = count(TALK[2]) - count(TALK[2].with_text("[cleared]"))
    last = conversation.requests[-1].tokens - removed

    found = scored(Rule(without_the_log)).columns

    call = conversation.counter.count_text(TALK[1].tool_calls[0].arguments)
    retrieval = (last * 1 + (call + count(TALK[2])) * 12.5 + call * 50) / PER
    assert found["retrievals"] == 1
    assert found["net_saved_usd_p50"] == pytest.approx(found["saved_usd"] - retrieval / 2)
    assert found["net_saved_usd_p100"] == pytest.approx(found["saved_usd"] - retrieval)


OTHER = "/srv/billing/archive_index.db"
BOTH = (
    *TALK[:2],
    result("c1", f"the nightly export writes into {LOG} and then closes {OTHER} for the day"),
    *TALK[3:],
)


def test_what_was_fetched_is_read_by_later_requests_and_not_fetched_again():
    longer = (*BOTH, *steps(4), says(f"I open {OTHER}."))
    short, long = (
        scored(Rule(without_the_log), conversation=prepared(*talk)) for talk in (BOTH, longer)
    )
    count = prepared(*BOTH).counter
    carried = count.count(BOTH[2]) + count.count_text(BOTH[1].tool_calls[0].arguments)

    fetched = [each.sidecar["cost"]["after_usd"]["retrievals"] for each in (short, long)]

    assert long.columns["lost"] + long.columns["regenerable"] == 2
    assert (short.columns["retrievals"], long.columns["retrievals"]) == (1, 1)
    later = long.columns["requests"] - short.columns["requests"]
    assert fetched[1] - fetched[0] == pytest.approx(later * carried * 1 / PER)


def test_what_was_fetched_is_fetched_again_after_the_view_changed():
    def twice(history):
        view = without_the_log(history)
        if len(history) < len(BOTH) + 8:
            return view
        entries = list(view.entries)
        entries[4] = entries[4].edited(entries[4].message.with_text("[cut]"), "rule")
        return View(tuple(entries))

    talk = (*BOTH, *steps(4), says(f"I open {OTHER}."))

    assert scored(Rule(twice), conversation=prepared(*talk)).columns["retrievals"] == 2


def test_what_has_just_been_seen_is_not_fetched():
    """The gap of the need is 2; the headline is about more than 3."""
    talk = (*TALK[:3], *steps(1), says("", ("c2", "open", {"path": LOG})), result("c2", "ok"))

    def cleared(history):
        entries = list(history.entries())
        if len(entries) >= 5:
            entries[2] = entries[2].edited(entries[2].message.with_text("[cleared]"), "rule")
        return View(tuple(entries))

    found = scored(Rule(cleared), conversation=prepared(*talk)).columns

    assert (found["needs_all_gaps"], found["needs"], found["retrievals"]) == (1, 0, 0)


def test_tokens_are_those_of_the_provider_as_far_as_it_reported_them():
    """Its prompts are twice the counted tokens and 1,000 more."""
    counted = [request.counted_tokens for request in prepared(*TALK).requests]
    requests = tuple(
        replace(request.recorded, usage=Usage(2 * size + 1_000, 10))
        for request, size in zip(prepared(*TALK).requests, counted, strict=True)
    )
    conversation = prepare(Transcript("t", (Segment(TALK, requests),)))
    count = conversation.counter.count
    assert conversation.segments[0].calibration.slope == pytest.approx(2)

    cleared = scored(Rule(without_the_log), conversation=conversation)
    summed = scored(
        summarising(), conversation=conversation, model=ScriptedChat(["All done."])
    ).columns

    ((_, result_tokens, _),) = cleared.sidecar["cost"]["retrievals"]
    assert result_tokens == 2 * count(TALK[2])
    assert summed["own_input_tokens"] == pytest.approx(2 * count(user("Summarise.")))


def test_two_needs_of_one_message_are_fetched_at_once():
    talk = (*BOTH[:-1], says(f"I open {LOG} and {OTHER}."))

    found = scored(Rule(without_the_log), conversation=prepared(*talk)).columns

    assert (found["lost"] + found["regenerable"], found["retrievals"]) == (2, 1)


def summarising():
    """Return a strategy that has everything summarised at the sixth request."""

    def make(history):
        return View.of(history) if len(history) < 11 else summarised(history)

    def summarised(history):
        asked = ModelCall((user("Summarise."),), subject=history.messages())
        reply = yield asked
        entry = generated("user", reply.text, history.entries(), "rule")
        call = CallRecord.of(asked, reply)
        return View((entry,), (CompactionEvent("rule", "applied", model_calls=(call,)),))

    return Rule(make, Promises(mode="rewriting"))


def test_a_call_that_changed_nothing_rewrites_nothing():
    """The provider reads whole steps of 16 tokens; the rest of one is no strategy's doing."""

    def make(history):
        return View.of(history) if len(history) < 11 else failing(history)

    def failing(history):
        yield ModelCall((user("Summarise."),), subject=history.messages())
        return View.of(history)

    in_steps = replace(rule_named("openai"), min_tokens=1, step_tokens=16)
    sizes = [request.tokens for request in prepared(*TALK).requests]
    assert sizes[4] % 16

    found = scored(
        Rule(make), vector=replace(CACHED, caching=in_steps), model=ScriptedChat(["Done."])
    ).columns

    assert found["own_calls_usd"] > 0
    assert (found["cache_breaks"], found["rewritten_tokens"]) == (0, 0)


def test_what_the_log_says_was_lost_is_not_rewritten_by_the_strategy():
    """At the fourth request, where the result is cleared, the cache held two tokens only."""
    known = prepared(*TALK).requests
    usages = [Usage(request.counted_tokens, 10) for request in known]
    reads = [0, *(usage.input_tokens for usage in usages[:-1])]
    reads[3] = 2
    requests = tuple(
        replace(
            request.recorded,
            model="test-model",
            usage=replace(usage, cached_input_tokens=read),
        )
        for request, usage, read in zip(known, usages, reads, strict=True)
    )
    conversation = prepare(Transcript("t", (Segment(TALK, requests),)))
    material = Material(
        conversation,
        find_needs(conversation),
        find_facts(conversation),
        price_transcript(conversation, Priced(CACHED, "recorded", recorded_as="test-model")),
    )

    found = score(material, Rule(without_the_log), ExtractiveModel()).columns

    assert (found["cache_breaks"], found["rewritten_tokens"]) == (1, 0)
    # What was removed would have been written: S is below zero, and it pays at once.
    assert (found["break_even_requests"], found["repaid_fraction"]) == (0, 1)


@pytest.mark.parametrize(("positions", "expected"), [((7,), 0), ((7, 9), 1 / 2), ((7, 11), 0)])
def test_a_compaction_is_retriggered_if_the_next_request_compacts_again(positions, expected):
    """Whenever the history has so many messages, one more message of it is cleared for good."""

    def make(history):
        entries = list(history.entries())
        for at, position in enumerate(positions):
            if len(entries) >= position:
                entry = entries[2 + 2 * at]
                entries[2 + 2 * at] = entry.edited(entry.message.with_text("[cleared]"), "rule")
        return View(tuple(entries))

    found = scored(Rule(make)).columns

    assert found["cache_breaks"] == len(positions)
    assert found["retriggered_fraction"] == expected


def test_without_compaction_nothing_is_retriggered():
    assert scored(Rule(unchanged)).columns["retriggered_fraction"] is None


def test_the_strategys_own_calls_are_charged_as_reported():
    model = ScriptedChat([ModelReply("All done.", usage=Usage(900, 40))])

    found = scored(summarising(), model=model)

    # 900 x 10 and 40 x 50 millionths, once: the second compactor is given the same answer.
    columns, after = found.columns, found.sidecar["cost"]["after"]
    assert columns["own_calls_usd"] == pytest.approx(0.011)
    assert (columns["own_input_tokens"], columns["own_output_tokens"]) == (900, 40)
    assert columns["cost_after_usd"] == pytest.approx(sum(after["usd"]) + 0.011)
    assert found.sidecar["cost"]["own_calls"] == [[5, 900, 40, 0.011]]


def test_calls_without_usage_are_counted_and_priced_as_the_model_would_be():
    counter = prepared(*TALK).counter

    found = scored(summarising(), model=ScriptedChat(["All done."])).columns

    sent, made = counter.count(user("Summarise.")), counter.count_text("All done.")
    assert (found["own_input_tokens"], found["own_output_tokens"]) == (sent, made)
    assert found["own_calls_usd"] == pytest.approx((sent * 10 + made * 50) / PER)
    assert found["model_input_tokens"] is None


def test_a_summary_has_an_optimal_trigger():
    found = scored(summarising(), model=ScriptedChat(["All done."])).columns

    assert found["best_trigger_tokens"] > 0
    assert found["cache_breaks"] == 1


def test_prices_without_a_cache_charge_every_token():
    uncached = replace(CACHED, caching=rule_named("none"))

    found = scored(Rule(without_the_log), vector=uncached).columns

    output = sum(request.output_tokens for request in prepared(*TALK).requests)
    usd = (found["input_tokens_after"] * 10 + output * 50) / PER
    assert found["cost_after_usd"] == pytest.approx(usd)
    assert found["saved_usd"] > 0
    assert found["cache_hit_fraction"] == 0


def test_where_nothing_is_cached_a_compaction_is_repaid_at_the_full_price():
    """The price file has a read price, and a caching rule by which nothing is ever read."""
    uncached = replace(CACHED, caching=rule_named("none"))
    model = ScriptedChat([ModelReply("All done.", usage=Usage(900, 40))])

    found = scored(summarising(), vector=uncached, model=model).columns

    removed = found["removed_tokens"]
    assert found["own_calls_usd"] == pytest.approx(0.011)
    assert found["break_even_requests"] == pytest.approx(0.011 * PER / (removed * 10))
    sizes = [request.tokens for request in prepared(*TALK).requests]
    growth = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
    after = sizes[-1] - removed
    trigger = after - growth + (growth**2 + 2 * growth * 0.011 * PER / 10) ** 0.5
    assert found["best_trigger_tokens"] == pytest.approx(trigger)


def test_every_column_of_a_row_about_money_is_given():
    columns = scored(Rule(without_the_log)).columns
    names = [item.name for item in fields(Row)]
    money = names[names.index("priced_model") : names.index("best_trigger_tokens") + 1]

    assert [name for name in money if name not in columns] == []


def test_the_sidecar_tells_each_request_and_adds_up_to_the_row():
    found = scored(Rule(without_the_log))
    cost = json.loads(json.dumps(found.sidecar["cost"]))

    after, n_requests = cost["after"], found.columns["requests"]
    assert {len(after[name]) for name in ("uncached", "written", "read", "usd")} == {n_requests}
    tokens = sum(sum(after[name]) for name in ("uncached", "written", "read"))
    assert tokens == pytest.approx(found.columns["input_tokens_after"], abs=n_requests)
    paid = {**cost["after_usd"]}
    retrievals = paid.pop("retrievals")
    assert sum(paid.values()) == pytest.approx(found.columns["cost_after_usd"], abs=1e-6)
    assert sum(cost["before_usd"].values()) == pytest.approx(found.columns["cost_before_usd"])
    assert retrievals == pytest.approx(
        found.columns["saved_usd"] - found.columns["net_saved_usd_p100"], abs=1e-6
    )
    assert cost["breaks"] == [3]
    (row,) = cost["compactions"]
    request, removed, rewritten, once_usd, used_requests = row
    assert (request, used_requests) == (3, 3)
    assert (removed, rewritten) == (
        found.columns["removed_tokens"],
        found.columns["rewritten_tokens"],
    )
    assert once_usd == pytest.approx(rewritten * 11.5 / PER)
    assert cost["prices"]["model"] == "test-model"


def test_a_row_and_its_sidecar_tell_of_the_recorded_bill():
    # The second request lost 5,000 tokens; the answer to the third counts more than the 2 logged.
    answer = "the nightly export writes every booking before midnight and says so in the log"
    messages = (user("a"), says("b"), user("c"), says("d"), user("e"), says(answer), says("f"))
    usages = (Usage(5_000, 10, 0, 5_000), Usage(5_100, 10, 0, 5_100), Usage(5_200, 2, 5_100, 100))
    requests = [RecordedRequest(2 * at + 1, 1.0, "m", each) for at, each in enumerate(usages)]
    segment = Segment(messages, (*requests, RecordedRequest(6, 2.0, "m")))
    conversation = prepare(Transcript("t", (segment,)))
    pricing = price_transcript(conversation, Priced(CACHED, "recorded", "m"))
    material = Material(conversation, find_needs(conversation), find_facts(conversation), pricing)

    found = score(material, Rule(unchanged), ExtractiveModel())

    columns, bill = found.columns, json.loads(json.dumps(found.sidecar["cost"]["bill"]))
    check = pricing.check
    assert (columns["bill_requests"], bill["requests"]) == (3, 3)
    assert columns["bill_error_fraction"] == check.error_fraction
    assert columns["bill_rule_error_fraction"] == check.rule_error_fraction < check.error_fraction
    assert columns["bill_shown_error_fraction"] == check.shown_error_fraction
    assert columns["bill_lost_fraction"] == check.lost_usd / columns["recorded_usd"] > 0.3
    assert columns["bill_covered_fraction"] == check.covered_fraction < 1
    assert bill["lost_at"] == [1]
    # That answer, and that of the last request, which has no usage.
    assert columns["counted_outputs"] == 2


def shortened(history):
    """Clear the first result from the first request that has it on."""
    entries = list(history.entries())
    if len(entries) > 2:
        entries[2] = entries[2].edited(entries[2].message.with_text("[cleared]"), "rule")
    return View(tuple(entries))


def test_a_loss_of_the_log_is_paid_with_compaction_too_and_by_the_rule_alone_it_is_not():
    conversation = prepared(*TALK)
    sizes = [request.tokens for request in conversation.requests]
    count = conversation.counter.count
    removed = count(TALK[2]) - count(TALK[2].with_text("[cleared]"))
    lost = (None, Limit(), Limit(), Limit(0.0), Limit(), Limit())
    bill, by_rule = (uncompacted_bill(conversation, CACHED, each) for each in (lost, ()))
    pricing = Pricing(Priced(CACHED, "given"), lost, bill, by_rule, None)
    material = Material(conversation, find_needs(conversation), find_facts(conversation), pricing)

    found = score(material, Rule(shortened), ExtractiveModel()).columns

    # The fourth request writes at 12.5 what it could have read at 1: all that the third sent.
    assert found["cost_before_usd"] == pytest.approx(by_rule.usd + sizes[2] * 11.5 / PER)
    assert found["cost_before_by_rule_usd"] == by_rule.usd
    more = found["saved_usd"] - found["saved_by_rule_usd"]
    assert more == pytest.approx(removed * 11.5 / PER)
    # From the second request on, written once and read by the four after it.
    assert found["saved_by_rule_usd"] == pytest.approx(removed * (12.5 + 4) / PER)


def test_where_the_log_tells_of_no_cache_the_rule_alone_is_all_there_is():
    found = scored(summarising(), model=ScriptedChat(["All done."])).columns

    assert found["own_calls_usd"] > 0
    assert found["saved_by_rule_usd"] == found["saved_usd"] != 0
    assert found["cost_before_by_rule_usd"] == found["cost_before_usd"]


@pytest.fixture(scope="module")
def generated_talk():
    return prepare(generate(61, round_chars=2_000))


@pytest.mark.parametrize(
    ("strategy", "parameter", "model"),
    [
        ("xun", "token_threshold", "claude-sonnet-5-5"),
        ("my_pi_agent", "context_budget", "gpt-6.1-sol"),
        ("three_layer", "context_limit_chars", "gpt-5.4"),
        ("truncate", "keep_tokens", "deepseek-v4-flash"),
    ],
)
def test_every_input_token_is_billed_once(strategy, parameter, model, generated_talk):
    setting = Setting(strategy, {parameter: "50%"})
    vector = PriceChoice(model, as_of="2026-11-30").of(generated_talk.transcript).vector

    found = scored(bind(setting, generated_talk), conversation=generated_talk, vector=vector)

    after, columns = found.sidecar["cost"]["after"], found.columns
    billed = [after[name] for name in ("uncached", "written", "read")]
    assert columns["cache_breaks"] > 0
    assert sum(map(sum, billed)) == pytest.approx(
        columns["input_tokens_after"], abs=columns["requests"]
    )
    assert min(map(min, billed)) >= 0
    assert columns["cost_after_usd"] > 0


def test_prices_of_a_run_are_named_once(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create()
    rows = []
    for number, vector in enumerate((CACHED, CACHED, prices(model="other"))):
        cost = scored(Rule(unchanged), vector=vector)
        folder.write_sidecar(str(number), cost.sidecar)
        rows.append(_row(str(number), cost.columns))

    assert [each["model"] for each in prices_used(rows, folder)] == ["other", "test-model"]


def _row(cell_id, columns):
    names = {item.name for item in fields(Row)}
    return Row(
        cell_id=cell_id,
        transcript="t",
        transcript_digest="d",
        source="s",
        format="f",
        provenance="recorded",
        cluster="c",
        strategy="rule",
        strategy_version="1",
        parameters={},
        resolved={},
        label="rule",
        **{key: value for key, value in columns.items() if key in names},
    )


def test_a_cell_without_prices_is_scored_without_money():
    conversation = prepared(*TALK)
    material = Material(conversation, find_needs(conversation), find_facts(conversation))

    found = score(material, Rule(unchanged), ExtractiveModel())

    assert "saved_usd" not in found.columns
    assert "cost" not in found.sidecar
