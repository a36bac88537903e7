"""The columns of a row and what its sidecar holds, on conversations small enough to count."""

from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

from compaction.extractive import ExtractiveModel
from compaction.history import View, generated
from compaction.llm import ModelReply, ScriptedChat, Usage
from compaction.strategy import CompactionEvent, Promises
from compaction.tokens import TOKENS_PER_REQUEST, TiktokenCounter
from evals.facts import find_facts
from evals.foreign import load_foreign
from evals.needs import find_needs
from evals.prepare import prepare
from evals.results import Row
from evals.safety import MAX_VIOLATIONS_KEPT
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.transcripts import RecordedRequest, Segment, Transcript
from reports.units import Scale
from tests.needs_cases import in_segments, prepared, result, says, steps, user

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
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
    """A strategy that applies one function from a history to a view."""

    make: object
    promises: Promises = field(default_factory=lambda: Promises(mode="viewing"))
    name: str = "rule"
    version: str = "1"

    def start(self, context):
        return _RuleCompactor(self.make)


class _RuleCompactor:
    def __init__(self, make):
        self._make = make
        self.usages = []

    def steps(self, history, request):
        yield from ()
        return self._make(history)

    def record_usage(self, usage):
        self.usages.append(usage)

    def recover(self, handle):
        return None


def scored(conversation, strategy):
    material = Material(conversation, find_needs(conversation), find_facts(conversation))
    return score(material, strategy, ExtractiveModel())


def only_last(history):
    return View(history.entries(len(history) - 1), (CompactionEvent("rule", "applied"),))


def test_sizes_are_the_sums_of_what_every_request_sends():
    conversation = prepared(*TALK)
    counter = TiktokenCounter()
    sizes = [counter.count(message) for message in TALK]
    sent = [at for at, message in enumerate(TALK) if message.role == "assistant"]

    found = scored(conversation, Rule(only_last)).columns

    before = [sum(sizes[:at]) + TOKENS_PER_REQUEST for at in sent]
    after = [sizes[at - 1] + TOKENS_PER_REQUEST for at in sent]
    assert found["input_tokens_before"] == sum(before)
    assert found["input_tokens_after"] == sum(after)
    assert found["saving_fraction"] == pytest.approx(1 - sum(after) / sum(before))
    assert found["peak_tokens_before"] == max(before)
    assert found["peak_tokens_after"] == max(after)
    assert (found["requests"], found["messages"], found["compactions"]) == (6, 12, 6)


def test_every_column_is_one_of_a_row():
    columns = scored(prepared(*TALK), Rule(only_last)).columns

    assert set(columns) <= {item.name for item in fields(Row)}


def test_violations_are_counted_once_a_request_and_rule_and_kept_in_part():
    """Each view but the first shows a result without its call."""

    def twice(history):
        return View((*history.entries(), *history.entries()))

    talk = (user("Go."), *steps(40), says("Done."))

    found = scored(prepared(*talk), Rule(twice))

    assert found.columns["violated"]["nothing_stands_twice"] == 41
    assert found.columns["violated"]["never_grows"] == 41
    assert found.columns["violations"] == sum(found.columns["violated"].values())
    assert len(found.sidecar["violations"]) == MAX_VIOLATIONS_KEPT == 50
    assert found.sidecar["violations"][0]["request"] == 0


def test_a_strategy_that_grows_has_negative_savings_and_is_not_engaged():
    def longer(history):
        return View((*history.entries(), generated("user", "more and more " * 50, (), "rule")))

    found = scored(prepared(*TALK), Rule(longer)).columns

    assert found["saving_fraction"] < 0
    assert found["engaged"] is False


def test_a_conversation_without_requests_has_an_empty_row():
    found = scored(prepared(user("Hello?")), Rule(only_last)).columns

    assert (found["requests"], found["input_tokens_before"], found["saving_fraction"]) == (0, 0, 0)
    assert (found["reach"], found["facts_kept_fraction"]) == (None, None)
    assert found["engaged"] is False


def test_the_sidecar_places_requests_in_their_segments_and_fates_in_the_transcript():
    segment = TALK[:5]
    conversation = in_segments(segment, segment)

    found = scored(conversation, bind(Setting("drop_all"), conversation)).sidecar

    assert found["requests"]["segment"] == [0, 0, 1, 1]
    assert found["requests"]["position"] == [1, 3, 1, 3]
    assert found["requests"]["first_message"] == [0, 5]
    assert [change[:2] for change in found["fates"]] == [(1, 1), (2, 1), (6, 3), (7, 3)]


def test_calibration_of_the_longest_segment_is_in_the_row():
    messages = (user("Go."), *steps(12), says("Done."))
    counter = TiktokenCounter()
    sizes = [counter.count(message) for message in messages]
    at = [position for position, message in enumerate(messages) if message.role == "assistant"]
    requests = tuple(
        RecordedRequest(
            position, usage=Usage(2 * (sum(sizes[:position]) + TOKENS_PER_REQUEST) + 100, 5)
        )
        for position in at
    )
    conversation = prepare(Transcript("talk", (Segment(messages, requests),)))

    found = scored(conversation, bind(Setting("identity"), conversation)).columns

    assert found["calibration_slope"] == pytest.approx(2.0, rel=0.01)
    assert found["calibration_offset_tokens"] == pytest.approx(100, abs=2)
    assert found["calibration_error_fraction"] == pytest.approx(0, abs=0.01)
    recorded = sum(request.usage.input_tokens for request in requests)
    assert found["input_tokens_before"] == pytest.approx(recorded, rel=0.01)
    assert found["saving_fraction"] == 0.0


@pytest.mark.parametrize("tools", [(), (TOOL,)])
def test_a_provider_is_above_its_size_where_we_are_above_ours(tools):
    """What a trigger is converted to by the columns of a row fires at the same requests."""
    messages = (user("Go."), *steps(12), says("Done."))
    counter = TiktokenCounter()
    sizes = [counter.count(message) for message in messages]
    at = [place for place, message in enumerate(messages) if message.role == "assistant"]
    counted = [sum(sizes[:place]) for place in at]
    sent = [1.5 * size + 900 for size in counted]  # with what the log lacks
    requests = tuple(
        RecordedRequest(place, usage=Usage(round(tokens), 5))
        for place, tokens in zip(at, sent, strict=True)
    )
    conversation = prepare(Transcript("talk", (Segment(messages, requests),), tools=tools))

    row = scored(conversation, bind(Setting("identity"), conversation)).columns
    scale = Scale(
        row["calibration_slope"],
        row["calibration_offset_tokens"],
        row["fixed_tokens"],
        row["estimate_per_counted_token"],
    )

    assert bool(tools) == (scale.fixed_tokens > TOKENS_PER_REQUEST)
    for trigger in range(counted[1], counted[-1], 17):
        there = scale.size(
            trigger + 0.5, "prompt"
        )  # between two sizes, so that no rounding decides
        assert [tokens > there for tokens in sent] == [size > trigger for size in counted]


def test_what_foreign_code_does_not_declare_is_named_and_not_lost(tmp_path):
    code = tmp_path / "mine.py"
    code.write_text("def newest(messages):\n    return messages[:1] + messages[-1:]\n")
    conversation = prepared(
        *(user("Go."), *TALK[1:3], *(says("Next.") for _ in range(4)), TALK[-1])
    )

    found = scored(conversation, load_foreign(f"{code}:newest", {}, timeout_seconds=10)).columns

    assert found["not_declared"] == (
        "keeps_system",
        "keeps_last_user",
        "keep_last_results",
        "recoverable",
    )
    assert (found["needs"], found["undeclared"], found["lost"]) == (1, 1, 0)
    assert found["reach"] == 0.0


def test_what_our_own_strategies_lose_is_lost():
    conversation = prepared(*TALK)

    found = scored(conversation, bind(Setting("drop_all"), conversation)).columns

    assert (found["needs"], found["undeclared"], found["lost"]) == (1, 0, 1)
    assert found["not_declared"] == ()


def test_model_calls_are_counted_and_their_tokens_only_where_they_are_known():
    talk = (user("Go."), *(m for n in range(30) for m in steps(1, start=n)), says("Done."))
    conversation = prepared(*talk)
    strategy = bind(Setting("three_layer", {"context_limit_chars": "50%"}), conversation)
    material = Material(conversation, find_needs(conversation), find_facts(conversation))
    reply = ModelReply("The work goes on.", usage=Usage(700, 30))

    silent = score(material, strategy, ExtractiveModel()).columns
    spoken = score(material, strategy, ScriptedChat([reply] * 20)).columns

    assert silent["model_calls"] == spoken["model_calls"] >= 1
    assert (silent["model_input_tokens"], silent["model_output_tokens"]) == (None, None)
    assert spoken["model_input_tokens"] == 700 * spoken["model_calls"]
    assert spoken["model_output_tokens"] == 30 * spoken["model_calls"]
    assert spoken["compactions_failed"] == 0


KEEPER = Path(__file__).parent / "fixtures" / "foreign" / "keeps_originals.py"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [({}, {"recoverable": 1, "lost": 0, "violations": 0}), ({"lies": True}, {"recoverable": 0})],
)
def test_foreign_code_that_keeps_originals_is_believed_only_if_they_come_back(parameters, expected):
    conversation = prepared(
        user("Find the handle."),
        says("I look.", ("c1", "search", {"query": "it"})),
        result("c1", "the ledger of March is called alpha_ledger_key here"),
        *steps(6),
        says("I use alpha_ledger_key now."),
    )

    columns = scored(conversation, load_foreign(f"{KEEPER}:Keeper", parameters)).columns

    assert {name: columns[name] for name in expected} == expected
    assert bool(columns["violated"].get("handles_resolve")) == bool(parameters)
