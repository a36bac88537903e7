"""Responses items and requests against hand counts; server-side compaction; pairs with answers."""

import json

import pytest

from compaction.errors import TranscriptError
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from tests.import_cases import (
    FIXTURES,
    SAMPLES,
    calls,
    needs_samples,
    shape,
    unexpected,
    usage_sums,
    write_lines,
)

FOLDER = FIXTURES / "openai_responses"


def test_items_of_one_answer_are_one_message():
    (transcript,) = load_file(FOLDER / "items.json")

    assert shape(transcript) == [(5, 2)]
    answer, first, second = transcript.messages[1:4]
    assert [call.call_id for call in answer.tool_calls] == ["c1", "c2"]
    assert answer.reasoning == "Two files to read."
    assert [first.tool_call_id, second.tool_call_id] == ["c1", "c2"]
    assert [part.kind for part in second.parts] == ["text", "image"]
    assert calls(transcript) == (2, 0)


def test_the_model_that_was_asked_for_made_the_answers_before(tmp_path):
    items = json.loads((FOLDER / "items.json").read_text())
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "gpt-5.6", "input": items}))

    (transcript,) = load_file(path)

    assert [request.model for request in transcript.segments[0].requests] == ["gpt-5.6"] * 2


def test_items_one_a_line_are_the_same_conversation():
    assert load_file(FOLDER / "items.jsonl")[0].digest == load_file(FOLDER / "items.json")[0].digest


def test_a_compaction_inside_an_answer_ends_one_segment_and_starts_the_next():
    (transcript,) = load_file(FOLDER / "request.json")

    assert shape(transcript) == [(8, 3), (3, 0)]
    first, second = transcript.segments
    assert first.messages[-1] == second.messages[1]
    assert first.messages[-1].text == "The host is db-3."
    assert [segment.messages[0].text for segment in transcript.segments] == ["You read files."] * 2
    assert (second.opened_by.kind, second.opened_by.trigger) == ("full", "auto")
    assert transcript.tools[0]["function"]["name"] == "read"


def test_a_compaction_that_ends_an_answer_only_opens_the_next_segment(tmp_path):
    items = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"type": "compaction", "encrypted_content": "x"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d"},
    ]
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "m", "input": items}))

    (transcript,) = load_file(path)

    assert shape(transcript) == [(2, 1), (3, 1)]
    assert transcript.segments[1].opened_by.trigger is None


def test_requests_with_answers_repeat_nothing():
    (transcript,) = load_file(FOLDER / "exchanges.jsonl")

    assert shape(transcript) == [(4, 2)]
    assert usage_sums(transcript) == (2, 50 + 70, 5 + 6, 10, 0)
    assert transcript.segments[0].requests[1].time == 1767323050


def test_text_as_input_is_one_user_message(tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "m", "input": "Hello"}))

    (transcript,) = load_file(path)

    assert [(m.role, m.text) for m in transcript.messages] == [("user", "Hello")]


@pytest.mark.parametrize("kind", ["response", "response.compaction"])
def test_a_response_alone_is_refused_with_the_reason(tmp_path, kind):
    item = {"type": "message", "role": "assistant", "content": []}
    path = write_lines(tmp_path / "r.jsonl", [{"object": kind, "output": [item]}])

    with pytest.raises(UnknownFormatError, match="without the request"):
        load_file(path)


def test_a_damaged_answer_is_reported_and_the_others_are_read(tmp_path):
    lines = [json.loads(x) for x in (FOLDER / "exchanges.jsonl").read_text().splitlines()]
    path = write_lines(tmp_path / "r.jsonl", [lines[0], {**lines[1], "response": {"output": 3}}])

    (transcript,) = load_file(path)

    assert shape(transcript) == [(2, 1)]
    assert len(unexpected(transcript)) == 1


def test_a_request_without_items_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"model": "m", "input": []}))

    with pytest.raises(TranscriptError, match="no items"):
        load_file(path)


@needs_samples
@pytest.mark.parametrize(
    ("name", "segments", "n_calls"),
    [
        ("compact-stateful", [(6, 3), (2, 0)], (0, 0)),
        # 11 items: instructions, and the reasoning and the server's search are parts of answers.
        ("tool-search-deferred-11items", [(9, 3)], (3, 0)),
    ],
)
def test_real_requests_agree_with_their_manifest(name, segments, n_calls):
    (transcript,) = load_file(SAMPLES / "openai_responses" / f"{name}.request.json")

    assert shape(transcript) == segments
    assert calls(transcript) == n_calls
    assert unexpected(transcript) == {}
