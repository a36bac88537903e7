"""OpenAI chat logs and tau-bench results against hand counts."""

import json
from pathlib import Path

import pytest

from compaction.errors import TranscriptError
from evals.importers import openai_chat
from evals.importers.files import head_of
from evals.loading import load_file

FIXTURES = Path(__file__).parent / "fixtures"
CHAT = FIXTURES / "openai_chat"
TAU = FIXTURES / "tau_bench"
SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="no sample data beside this")


def n_calls(transcript):
    return sum(len(message.tool_calls) for message in transcript.messages)


@pytest.mark.parametrize("name", ["messages.json", "messages.json.gz", "one_message_a_line.jsonl"])
def test_a_message_list_has_a_request_for_each_answer(name):
    (transcript,) = load_file(CHAT / name)

    assert len(transcript.messages) == 10
    assert [r.position for r in transcript.segments[0].requests] == [2, 5, 7, 9]
    assert n_calls(transcript) == 3
    assert transcript.skipped == ()


def test_messages_come_back_as_they_were():
    raw = json.loads((CHAT / "messages.json").read_text())

    assert [m.to_openai() for m in load_file(CHAT / "messages.json")[0].messages] == raw


def test_a_request_body_keeps_its_tools():
    (transcript,) = load_file(CHAT / "request.json")

    assert [tool["function"]["name"] for tool in transcript.tools] == ["look_up"]
    assert (len(transcript.messages), transcript.n_requests) == (7, 2)


def test_a_completion_log_ends_with_its_response():
    (transcript,) = load_file(CHAT / "completion_log.json")

    last = transcript.segments[0].requests[-1]
    assert len(transcript.messages) == 8
    assert last.position == 7
    assert (last.model, last.time) == ("gpt-test-1", 1770000001.5)
    assert (last.usage.input_tokens, last.usage.output_tokens) == (90, 12)
    assert last.usage.cached_input_tokens == 64
    assert [item.where for item in transcript.skipped] == ["response"]


@pytest.mark.parametrize(
    "given",
    [{"model": "gpt-4.1"}, {"kwargs": {"model": "gpt-4.1"}}, {"response": {"model": "gpt-4.1"}}],
)
def test_the_model_is_read_wherever_it_stands(tmp_path, given):
    body = json.loads((CHAT / "request.json").read_text())
    body.pop("model", None)
    if "response" in given:
        answer = {"role": "assistant", "content": "Done."}
        given = {"response": {**given["response"], "choices": [{"message": answer}]}}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(body | given))

    (transcript,) = load_file(path)

    assert {request.model for request in transcript.segments[0].requests} == {"gpt-4.1"}


def test_a_line_each_is_a_conversation_and_others_are_reported():
    first, second, third = load_file(CHAT / "conversations.jsonl")

    assert [len(t.messages) for t in (first, second, third)] == [6, 10, 6]
    assert [t.name for t in (first, second, third)] == ["first", "line 2", "line 3"]
    assert [item.where for item in first.skipped] == ["line 4"]


def test_a_result_without_a_call_is_loaded_and_named():
    (transcript,) = load_file(CHAT / "orphan_result.json")

    (item,) = transcript.skipped
    assert len(transcript.messages) == 11
    assert (item.where, item.expected) == ("messages[2]", False)


def test_an_unknown_role_is_refused_with_file_and_index():
    with pytest.raises(TranscriptError, match=r"unknown_role\.json:1: messages\[1\].*'robot'"):
        load_file(CHAT / "unknown_role.json")


def test_a_truncated_document_is_refused_with_its_line():
    with pytest.raises(TranscriptError, match=r"truncated\.json:26: not JSON.*ends too early"):
        load_file(CHAT / "truncated.json")


@pytest.mark.parametrize(
    "document",
    [
        {"system": "s", "messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]},
        {"messages": [{"role": "user", "content": "x"}], "tools": [{"input_schema": {}}]},
        [{"from": "human", "value": "x"}],
        {"name": "a package", "version": "1"},
    ],
)
def test_other_formats_are_not_taken_for_chat(tmp_path, document):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document, indent=1))

    assert not openai_chat.matches(head_of(path, "file.json"))


def test_rows_of_a_list_on_one_line_are_conversations(tmp_path):
    rows = [{"messages": [{"role": "user", "content": text}]} for text in "ab"]
    path = tmp_path / "file.json"
    path.write_text(json.dumps(rows))

    assert [t.messages[0].text for t in load_file(path)] == ["a", "b"]


def test_tau_runs_are_named_by_task_and_trial():
    first, second = load_file(TAU / "tau.json")

    assert [first.name, second.name] == ["task 3 trial 0", "task 3 trial 1"]
    assert [first.extra["reward"], second.extra["reward"]] == [1.0, 0.0]
    assert [len(first.messages), len(second.messages)] == [10, 6]


def test_tau2_calls_become_legal_and_the_users_own_tools_are_left_out():
    (transcript,) = load_file(TAU / "tau2.json")

    assert [m.role for m in transcript.messages] == [
        "assistant",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert [call.arguments for call in transcript.messages[2].tool_calls] == ['{"phone": "1"}'] * 2
    assert [m.tool_call_id for m in transcript.messages[3:5]] == ["k1", "k2"]
    assert [s.where for s in transcript.skipped] == ["messages[6]", "messages[7]"]
    assert all(item.expected for item in transcript.skipped)


def test_tau2_requests_have_usage_and_the_scripted_greeting_is_none():
    requests = load_file(TAU / "tau2.json")[0].segments[0].requests

    assert [r.position for r in requests] == [2, 5, 7]
    assert sum(r.usage.input_tokens for r in requests) == 300 + 340 + 360
    assert sum(r.usage.output_tokens for r in requests) == 20 + 9 + 7
    assert {r.model for r in requests} == {"gpt-test"}
    assert requests[0].time == 1754065682


@needs_samples
@pytest.mark.parametrize(
    ("name", "conversations", "messages", "calls", "left_out"),
    [
        # Numbers of MANIFEST.md; tau2's user-side messages are left out: 93 calls, 105 results.
        ("openai_chat/crewai-react-26msgs.request.json", 1, 26, 5, 0),
        ("openai_chat/gpt-4o-airline.subset.json", 16, 632, 163, 0),
        ("tau2_bench/gpt-4.1_retail.subset.json", 4, 165, 42, 0),
        ("tau2_bench/gpt-4.1_telecom.subset.json", 6, 448, 143, 198),
    ],
)
def test_real_logs_agree_with_their_manifest(name, conversations, messages, calls, left_out):
    transcripts = load_file(SAMPLES / name)

    skipped = [item for transcript in transcripts for item in transcript.skipped]
    user_calls = 105 if left_out else 0
    assert len(transcripts) == conversations
    assert sum(len(t.messages) for t in transcripts) + left_out == messages
    assert sum(n_calls(t) for t in transcripts) + user_calls == calls
    assert len(skipped) == left_out
    assert all(item.expected for item in skipped)


@needs_samples
def test_prompt_tokens_of_tau2_grow_by_what_was_kept_only():
    """The user's own calls were never sent: the growth is what the agent and the user said."""
    transcript = load_file(SAMPLES / "tau2_bench/gpt-4.1_telecom.subset.json")[0]
    segment = transcript.segments[0]
    gaps = [
        (after.usage.input_tokens - before.usage.input_tokens, before.usage.output_tokens)
        for before, after in zip(segment.requests, segment.requests[1:], strict=False)
        if after.position == before.position + 2
    ]

    assert len(gaps) > 10
    assert all(growth >= output for growth, output in gaps)


@needs_samples
def test_the_openhands_log_has_its_response_and_usage():
    (transcript,) = load_file(SAMPLES / "openhands/litellm-completion-log.claude.json")

    last = transcript.segments[0].requests[-1]
    # 12 logged messages of MANIFEST.md and the response with its sixth call.
    assert (len(transcript.messages), n_calls(transcript)) == (13, 6)
    assert (last.usage.input_tokens, last.usage.output_tokens) == (6729, 199)
    assert len(transcript.tools) == 3
