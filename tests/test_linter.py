import json
import os

import pytest
from hypothesis import given
from typer.testing import CliRunner

from compaction.contract.generators import conversations
from compaction.contract.linter import RULES, lint
from compaction.errors import TranscriptError
from compaction.messages import Message, messages_to_openai
from compaction.pairing import pair
from evals.cli import app
from evals.strict import conversations_of


def call(key, arguments="{}", name="read"):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*keys):
    return {"role": "assistant", "content": None, "tool_calls": [call(key) for key in keys]}


def result(key, content="text"):
    return {"role": "tool", "tool_call_id": key, "content": content}


USER = {"role": "user", "content": "go"}
SYSTEM = {"role": "system", "content": "Be brief."}
DONE = {"role": "assistant", "content": "Done."}

FAULTY = {
    "an orphan result": ([USER, result("a"), DONE], [("orphan_result", "/1/tool_call_id")]),
    "a dangling call": ([USER, calls("a"), DONE], [("dangling_call", "/1/tool_calls")]),
    "dangling calls at the end": ([USER, calls("a", "b")], [("dangling_call", "/1/tool_calls")]),
    "a partial group": (
        [USER, calls("a", "b"), result("b"), DONE],
        [("partial_group", "/1/tool_calls")],
    ),
    "a result twice": (
        [calls("a"), result("a"), result("a")],
        [("duplicate_result", "/2/tool_call_id")],
    ),
    "an id twice in one message": (
        [calls("a", "a"), result("a"), result("a")],
        [("duplicate_id", "/0/tool_calls/1/id")],
    ),
    "an id again before its result": (
        [calls("a"), calls("a"), result("a"), result("a")],
        [
            ("duplicate_id", "/1/tool_calls/0/id"),
            ("between_call_and_result", "/1"),
        ],
    ),
    "a result before its call": (
        [USER, result("a"), calls("a"), DONE],
        [("result_before_call", "/1/tool_call_id")],
    ),
    "a user message between": (
        [calls("a"), USER, result("a")],
        [("between_call_and_result", "/1")],
    ),
    "a user message before two results": (
        [calls("a", "b"), USER, result("a"), result("b")],
        [("between_call_and_result", "/1")],
    ),
    "an id again, answered once": (
        [calls("a"), USER, calls("a"), result("a")],
        [("dangling_call", "/0/tool_calls"), ("duplicate_id", "/2/tool_calls/0/id")],
    ),
    "an answer between two results": (
        [calls("a", "b"), result("a"), DONE, result("b")],
        [("between_call_and_result", "/2")],
    ),
    "instructions in a group": (
        [calls("a", "b"), result("a"), SYSTEM, result("b")],
        [("system_in_tool_group", "/2")],
    ),
    "a call without an id": (
        [{**DONE, "tool_calls": [{**call("a"), "id": None}]}],
        [("missing_id", "/0/tool_calls/0/id")],
    ),
    "a result without an id": (
        [{"role": "tool", "content": "text"}],
        [("missing_id", "/0/tool_call_id")],
    ),
    "arguments that are cut off": (
        [{**DONE, "tool_calls": [call("a", '{"path": "x')]}, result("a")],
        [("bad_arguments", "/0/tool_calls/0/function/arguments")],
    ),
    "arguments that are a list": (
        [{**DONE, "tool_calls": [call("a", "[1]")]}, result("a")],
        [("bad_arguments", "/0/tool_calls/0/function/arguments")],
    ),
    "arguments that are an object": (
        [{**DONE, "tool_calls": [call("a", {"path": "x"})]}, result("a")],
        [("bad_arguments", "/0/tool_calls/0/function/arguments")],
    ),
    "a call without a function": (
        [{**DONE, "tool_calls": [{"id": "a"}]}, result("a")],
        [("bad_call", "/0/tool_calls/0")],
    ),
    "a call that is a text": (
        [{**DONE, "tool_calls": ["read"]}],
        [("bad_call", "/0/tool_calls/0")],
    ),
    "calls that are no list": (
        [{**DONE, "tool_calls": {"id": "a"}}, DONE],
        [("bad_call", "/0/tool_calls")],
    ),
    "an empty answer": (
        [USER, {"role": "assistant", "content": ""}],
        [("empty_assistant", "/1/content")],
    ),
    "an answer of empty parts": (
        [{"role": "assistant", "content": [{"type": "text", "text": ""}], "tool_calls": []}],
        [("empty_assistant", "/0/content")],
    ),
    "an unknown role": ([{"role": "robot", "content": "x"}], [("unknown_role", "/0/role")]),
    "no role": ([{"content": "x"}], [("unknown_role", "/0/role")]),
    "a text among messages": ([USER, "hello"], [("not_a_message", "/1")]),
}

LEGAL = {
    "results out of order": [USER, calls("a", "b", "c"), result("c"), result("a"), result("b")],
    "an id again in a later turn": [calls("a"), result("a"), USER, calls("a"), result("a"), DONE],
    "an id again in the next round": [calls("a"), result("a"), calls("a"), result("a")],
    "content as parts": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}, DONE],
    "a refusal": [USER, {"role": "assistant", "content": None, "refusal": "No."}],
    "a refusal among parts": [
        USER,
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ],
    "a custom tool": [
        {**DONE, "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "x"}}]},
        result("a"),
    ],
    "a legacy function": [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ],
    "late instructions": [USER, DONE, SYSTEM, USER, DONE],
    "an empty result": [calls("a"), result("a", "")],
    "nothing": [],
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_named_once_with_its_place(name):
    messages, expected = FAULTY[name]

    assert [(item.rule, item.pointer) for item in lint(messages)] == expected


def test_every_rule_names_a_fault():
    assert {rule for _, expected in FAULTY.values() for rule, _ in expected} == RULES.keys()


@pytest.mark.parametrize("name", LEGAL)
def test_what_is_odd_but_legal_passes(name):
    assert lint(LEGAL[name]) == []


@given(messages=conversations())
def test_generated_conversations_have_open_calls_at_the_end_and_empty_answers_at_most(messages):
    open_calls = {at for at, _ in pair(messages).open_calls}
    found = {(item.rule, item.index) for item in lint(messages)}

    assert {at for rule, at in found if rule in ("dangling_call", "partial_group")} == open_calls
    assert {rule for rule, _ in found} <= {"dangling_call", "partial_group", "empty_assistant"}


@given(messages=conversations())
def test_values_and_dicts_are_judged_alike(messages):
    assert lint(messages) == lint(messages_to_openai(messages))


def run(tmp_path, content, *options, name="conversation.json"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return CliRunner().invoke(app, ["doctor", "--strict", *options, str(path)]), path


@pytest.mark.parametrize("name", FAULTY)
def test_strict_exits_with_1_and_names_the_file_and_the_place(tmp_path, name):
    messages, expected = FAULTY[name]
    shown = [*messages, USER, DONE] if name.startswith(("no role", "a text", "dangl")) else messages

    done, path = run(tmp_path, json.dumps({"messages": shown}))

    assert done.exit_code == 1
    for rule, pointer in expected:
        assert f"{path}: {pointer}: {rule}:" in done.output


@pytest.mark.parametrize("name", [name for name in LEGAL if LEGAL[name]])
def test_strict_exits_with_0_on_legal_conversations(tmp_path, name):
    done, _ = run(tmp_path, json.dumps(LEGAL[name]))

    assert (done.exit_code, done.output) == (0, "1 files, 1 conversations, 0 faults\n")


def test_strict_reads_lines_of_messages_and_lines_of_conversations(tmp_path):
    lines = "\n".join(map(json.dumps, [USER, calls("a"), result("a"), DONE]))
    bodies = "\n".join(json.dumps({"messages": [USER, answer]}) for answer in (DONE, calls("b")))

    whole, _ = run(tmp_path, lines, name="messages.jsonl")
    several, path = run(tmp_path, bodies, name="bodies.jsonl")

    assert whole.output == "1 files, 1 conversations, 0 faults\n"
    assert f"{path}:2: /1/tool_calls: dangling_call:" in several.output
    assert several.output.endswith("1 files, 2 conversations, 1 faults\n")


def test_strict_prints_json(tmp_path):
    done, path = run(tmp_path, json.dumps([USER, result("a"), DONE]), "--json")

    assert json.loads(done.output) == [
        {
            "where": str(path),
            "rule": "orphan_result",
            "index": 1,
            "pointer": "/1/tool_call_id",
            "explanation": "there is no call 'a'",
        }
    ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_strict_waits_for_no_pipe(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)

    with pytest.raises(TranscriptError, match="a pipe or a device"):
        list(conversations_of(pipe))


def test_strict_says_what_is_no_conversation(tmp_path):
    done, path = run(tmp_path, "no conversation at all", name="notes.txt")

    assert done.exit_code == 1
    assert str(path) in done.output


def test_a_fault_of_a_message_value_has_its_place():
    messages = [Message("user", "go"), Message("tool", "x", tool_call_id="a")]

    assert [(item.rule, item.index) for item in lint(messages)] == [("orphan_result", 1)]
