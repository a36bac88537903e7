import hashlib
import itertools
import json
import re
from pathlib import Path

import pytest

from compaction.llm import ModelCall, OpenAIChat
from compaction.messages import Message
from evals.cassettes import load_cassette
from evals.recorder import recorder
from evals.recording import RecordRequest, record

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "datasets" / "settlement-incident"
SCENARIO = ROOT / "tests" / "scenarios" / "settlement-service" / "scenario.yaml"
KINDS = {
    "goal",
    "constraint",
    "decision",
    "value",
    "path",
    "identifier",
    "error",
    "preference",
    "correction",
    "open task",
}


@pytest.fixture(scope="module")
def interactions():
    return load_cassette(FOLDER / "cassette.json")


@pytest.fixture(scope="module")
def messages(interactions):
    """The normalised transcript: the longest request and the closing reply."""
    last = interactions[-1]
    return [*last.request_body["messages"], reply_of(last)]


@pytest.fixture(scope="module")
def facts():
    return json.loads((FOLDER / "facts.json").read_text("utf-8"))


def reply_of(interaction):
    return interaction.response_json()["choices"][0]["message"]


def spoken(message):
    calls = message.get("tool_calls") or ()
    arguments = (str(json.loads(call["function"]["arguments"])) for call in calls)
    return "\n".join([message.get("content") or "", *arguments])


def plain(text):
    return " ".join(text.replace("\\n", " ").replace("`", "").split())


def test_every_request_continues_the_one_before(interactions):
    for before, after in itertools.pairwise(interactions):
        history = before.request_body["messages"]
        longer = after.request_body["messages"]
        assert longer[: len(history)] == history
        reply = reply_of(before)
        assert longer[len(history)]["content"] == reply["content"]
        assert longer[len(history)].get("tool_calls") == reply.get("tool_calls")


def test_every_call_is_answered_once_and_in_order(messages):
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    results = [message["tool_call_id"] for message in messages if message["role"] == "tool"]

    assert calls == results
    assert len(set(calls)) == len(calls)


def test_the_conversation_is_large_enough_for_thresholds(interactions, messages):
    parallel = [m for m in messages if len(m.get("tool_calls") or ()) > 1]
    large = [m for m in messages if m["role"] == "tool" and len(m["content"]) > 30_000]

    assert len(interactions) >= 80
    assert interactions[-1].response_json()["usage"]["prompt_tokens"] > 60_000
    assert len(parallel) >= 20
    assert len(large) >= 2
    assert (FOLDER / "cassette.json").stat().st_size < 1_000_000


def test_no_machine_path_or_timing_is_in_the_recording():
    text = (FOLDER / "cassette.json").read_text("ascii")

    assert not re.search(r"/tmp/|/home/|/root/|/usr/|127\.0\.0\.1|recording-", text)
    assert not re.search(r"Ran \d+ tests? in", text)


def test_all_ten_kinds_of_fact_are_there(facts):
    assert {fact["kind"] for fact in facts} == KINDS
    assert len(facts) >= 24
    assert len({fact["id"] for fact in facts}) == len(facts)


def test_every_evidence_is_verbatim_where_it_says(facts, messages):
    for fact in facts:
        assert fact["evidence"] in (messages[fact["stated_at"]]["content"] or ""), fact["id"]


def test_every_value_has_a_form_in_its_evidence(facts):
    for fact in facts:
        assert fact["values"], fact["id"]
        for forms in fact["values"]:
            assert any(form in fact["evidence"] for form in forms), (fact["id"], forms)


def test_a_fact_is_needed_only_after_it_was_said(facts, interactions):
    sizes = [len(i.request_body["messages"]) for i in interactions]

    needed = [fact for fact in facts if "needed_at" in fact]

    assert len(needed) >= 24
    for fact in needed:
        assert sizes[fact["needed_at"]] > fact["stated_at"], fact["id"]


def test_most_needed_facts_are_named_by_the_answer_that_needs_them(facts, interactions):
    """The others are used in other words: a limit as a constant, a rule as code."""
    needed = [fact for fact in facts if "needed_at" in fact]

    named = [
        fact["id"]
        for fact in needed
        if all(
            any(
                plain(form) in plain(spoken(reply_of(interactions[fact["needed_at"]])))
                for form in v
            )
            for v in fact["values"]
        )
    ]

    assert len(named) / len(needed) > 0.75


def test_a_superseded_fact_points_at_a_later_one_with_another_value(facts):
    by_id = {fact["id"]: fact for fact in facts}
    stale = [fact for fact in facts if "superseded_by" in fact]

    assert len(stale) == 2
    for fact in stale:
        newer = by_id[fact["superseded_by"]]
        assert newer["stated_at"] > fact["stated_at"]
        assert newer["values"] != fact["values"]


def test_every_fact_has_a_question_that_its_value_answers(facts):
    for fact in facts:
        assert fact["question"].endswith("?"), fact["id"]
        assert all(fact["answers"]), fact["id"]


@pytest.mark.parametrize("name", ["cassette.json", "facts.json"])
def test_the_data_card_names_the_digest_and_size_of_each_file(name):
    card = (FOLDER / "README.md").read_text("utf-8")
    raw = (FOLDER / name).read_bytes()

    assert f"| `{name}` | {len(raw):,} bytes, SHA-256 `{hashlib.sha256(raw).hexdigest()}` |" in card


def test_the_data_card_counts_what_is_there(interactions, messages, facts):
    card = (FOLDER / "README.md").read_text("utf-8")
    usages = [i.response_json()["usage"] for i in interactions]
    chars = sum(
        len(m["content"] or "")
        + sum(1 + len(c["function"]["arguments"]) for c in m.get("tool_calls") or ())
        for m in messages
    )

    for number in (
        f"| requests (model calls) | {len(interactions)} |",
        f"| {len(messages)}: 1 system, 4 user",
        f"| {chars:,} characters |",
        f"| {max(u['prompt_tokens'] for u in usages):,} tokens |",
        f"| {sum(u['prompt_tokens'] for u in usages):,} input tokens",
        f"| {len(facts)}, all ten kinds",
    ):
        assert number in card, number


def test_the_cassette_answers_the_client_offline(interactions):
    model = OpenAIChat(
        "scripted-agent", base_url="http://localhost:9/v1", max_retries=0, temperature=0.0
    )
    with recorder(FOLDER / "cassette.json"):
        replies = []
        for interaction in (interactions[0], interactions[-1]):
            body = interaction.request_body
            sent = tuple(Message.from_openai(message) for message in body["messages"])
            replies.append(model.complete(ModelCall(sent, tools=tuple(body["tools"]))).text)

    assert replies == [reply_of(interactions[0])["content"], reply_of(interactions[-1])["content"]]


@pytest.mark.slow
def test_recording_again_gives_the_same_conversation(interactions, tmp_path):
    asked = RecordRequest(scenario=SCENARIO, cassette=tmp_path / "cassette.json")
    again = record(asked, say=print)

    assert load_cassette(again.cassette) == interactions
    assert again.requests == len(interactions)


def test_no_python_lies_below_the_datasets():
    assert not list((ROOT / "datasets").rglob("*.py"))
