"""Anthropic requests against hand counts; compaction blocks; pairs with answers."""

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

FOLDER = FIXTURES / "anthropic_messages"


def test_results_come_before_the_rest_of_their_turn():
    (transcript,) = load_file(FOLDER / "history.json")

    assert [m.role for m in transcript.messages] == ["user", "assistant", "tool", "tool", "user"]
    assert shape(transcript) == [(5, 1)]
    assert calls(transcript) == (2, 0)
    assert transcript.messages[1].reasoning == "Two files."
    assert json.loads(transcript.messages[3].extra) == {"is_error": True}


@pytest.mark.parametrize("is_beside", [False, True])
def test_the_model_that_was_asked_for_made_the_answers_before(tmp_path, is_beside):
    body = json.loads((FOLDER / "request.json").read_text())
    body.pop("model", None)
    model = {"model": "claude-opus-4-5"}
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"request": body, **model} if is_beside else body | model))

    (transcript,) = load_file(path)

    requests = [request for segment in transcript.segments for request in segment.requests]
    assert [request.model for request in requests] == ["claude-opus-4-5"] * 2


def test_a_compaction_block_opens_a_segment_with_its_summary():
    (transcript,) = load_file(FOLDER / "request.json")

    assert shape(transcript) == [(7, 2), (3, 0)]
    opened_by = transcript.segments[1].opened_by
    assert (opened_by.kind, opened_by.trigger) == ("full", "auto")
    assert opened_by.summary == "The port in a is 8443."
    assert transcript.segments[1].messages[0].text == "You read files."
    assert [p.kind for p in transcript.segments[1].messages[-1].parts] == ["image", "text"]
    assert transcript.tools == (
        {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}},
    )


def test_requests_with_answers_repeat_nothing_and_the_cache_is_input():
    (transcript,) = load_file(FOLDER / "exchanges.jsonl")

    assert shape(transcript) == [(7, 2)]
    assert usage_sums(transcript) == (2, 420 + 465, 30 + 8, 300 + 400, 100 + 40)
    assert [r.time for r in transcript.segments[0].requests] == [1767323045, 1767323055]


def test_a_request_of_plain_text_is_told_by_its_system_prompt(tmp_path):
    path = tmp_path / "r.json"
    messages = [{"role": "user", "content": "Hi"}]
    path.write_text(json.dumps({"model": "m", "system": "Be kind.", "messages": messages}))

    (transcript,) = load_file(path)

    assert transcript.format == "anthropic-messages"
    assert [m.role for m in transcript.messages] == ["system", "user"]


def test_a_response_alone_is_refused_with_the_reason(tmp_path):
    response = json.loads((FOLDER / "exchanges.jsonl").read_text().splitlines()[0])["response"]
    path = write_lines(tmp_path / "r.jsonl", [response])

    with pytest.raises(UnknownFormatError, match="without the request"):
        load_file(path)


def test_a_message_of_another_role_is_named(tmp_path):
    document = json.loads((FOLDER / "request.json").read_text())
    document["messages"][2]["role"] = "moon"
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))

    with pytest.raises(TranscriptError, match=r"messages\[2\]"):
        load_file(path)


@needs_samples
def test_a_real_request_agrees_with_its_manifest():
    (transcript,) = load_file(
        SAMPLES / "anthropic_messages" / "crewai-research-19msgs.request.json"
    )

    assert shape(transcript) == [(19 + 1, 9)]
    assert calls(transcript) == (9, 0)
    assert unexpected(transcript) == {}
