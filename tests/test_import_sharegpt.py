"""ShareGPT rows of both forms against hand counts."""

import json

import pytest

from evals.loading import load_file
from tests.import_cases import FIXTURES, SAMPLES, calls, needs_samples, shape, unexpected

FOLDER = FIXTURES / "sharegpt"


def test_turns_are_messages_and_results_are_shared_out_over_parallel_calls():
    first, short = load_file(FOLDER / "turns.json")

    assert shape(first) == [(9, 3)]
    assert calls(first) == (3, 0)
    assert [m.text for m in first.messages if m.is_result] == ["8443", "8444", '{"port": 8443}']
    assert first.messages[0].role == "system"
    assert [tool["function"]["name"] for tool in first.tools] == ["read"]
    assert (first.name, short.name, shape(short)) == ("1", "short", [(2, 1)])
    assert unexpected(first) == {"turn 7": "a turn of unknown kind 'moon'"}


def test_the_model_of_a_row_made_its_answers(tmp_path):
    turns = [{"from": "human", "value": "Go."}, {"from": "gpt", "value": "Yes."}]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([{"conversations": turns, "model": "gpt-4"}]))

    (transcript,) = load_file(path)

    assert [request.model for request in transcript.segments[0].requests] == ["gpt-4"]


def test_typed_parts_are_reasoning_text_and_calls():
    first, second = load_file(FOLDER / "parts.jsonl")

    assert shape(first) == [(6, 2)]
    assert calls(first) == (2, 0)
    assert [m.reasoning for m in first.messages if m.role == "assistant"] == ["Two files.", "Done."]
    assert [m.text for m in first.messages if m.is_result] == ["8443", "8444"]
    assert calls(second) == (1, 1)


def test_a_single_text_for_two_calls_answers_the_first(tmp_path):
    turns = json.loads((FOLDER / "turns.json").read_text())[0]["conversations"][:3]
    turns[2]["value"] = "8443"
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"conversations": turns}]))

    (transcript,) = load_file(path)

    assert calls(transcript) == (2, 1)


@needs_samples
@pytest.mark.parametrize(
    ("name", "rows", "messages", "n_calls"),
    [
        ("glaive_toolcall_en.subset.json", 90, 896, 79),
        # 153 messages with 34 that call: 44 calls, and two results shared out over 2, 3 and 2.
        ("reason_tool_use_25.jsonl", 25, 153 + 1 + 2 + 1, 44),
    ],
)
def test_real_rows_agree_with_their_manifest(name, rows, messages, n_calls):
    transcripts = load_file(SAMPLES / "sharegpt" / name)

    assert len(transcripts) == rows
    assert sum(len(t.messages) for t in transcripts) == messages
    assert sum(len(m.tool_calls) for t in transcripts for m in t.messages) == n_calls
    assert [unexpected(t) for t in transcripts] == [{}] * rows
