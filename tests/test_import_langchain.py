"""LangChain dumps of three spellings against hand counts."""

import json

from evals.loading import load_file
from tests.import_cases import (
    FIXTURES,
    SAMPLES,
    calls,
    needs_samples,
    shape,
    unexpected,
    usage_sums,
)

FOLDER = FIXTURES / "langchain"


def test_constructor_messages_have_calls_once_and_usage_once_a_response():
    (transcript,) = load_file(FOLDER / "dump.json")

    assert shape(transcript) == [(6, 2)]
    assert calls(transcript) == (2, 0)
    assert usage_sums(transcript) == (2, 120 + 180, 30 + 7, 100, 5)
    assert transcript.segments[0].requests[0].model == "claude-test"


def test_blocks_that_repeat_calls_or_thinking_are_no_content():
    (transcript,) = load_file(FOLDER / "dump.json")

    answer = transcript.messages[2]
    assert answer.content == "I read."
    assert answer.reasoning == "Two files."
    assert [json.loads(call.arguments) for call in answer.tool_calls] == [
        {"path": "a"},
        {"path": "b"},
    ]
    assert [part.kind for part in transcript.messages[1].parts] == ["text", "image"]
    assert json.loads(transcript.messages[4].extra) == {"is_error": True}


def test_a_message_of_an_unknown_kind_is_reported():
    (transcript,) = load_file(FOLDER / "dump.json")

    assert list(unexpected(transcript)) == ["messages[6]"]


def test_states_one_a_line_are_conversations_by_thread():
    first, second = load_file(FOLDER / "states.jsonl")

    assert (first.name, shape(first)) == ("th-1", [(2, 1)])
    assert (second.name, shape(second)) == ("th-2", [(3, 1)])
    assert calls(second) == (1, 0)
    assert usage_sums(second) == (1, 11, 2, 0, 0)


@needs_samples
def test_a_real_dump_agrees_with_its_manifest():
    (transcript,) = load_file(
        SAMPLES / "langchain" / "summarization_seed_messages.lc-constructor.json"
    )

    assert shape(transcript) == [(6, 3)]
    assert calls(transcript) == (2, 0)
    assert usage_sums(transcript)[0] == 3
    assert transcript.segments[0].requests[0].usage.cache_write_tokens == 6717
    assert unexpected(transcript) == {}
