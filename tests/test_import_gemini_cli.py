"""Gemini CLI chats in their three layouts against hand counts."""

import json

import pytest

from evals.loading import load_file
from tests.import_cases import (
    FIXTURES,
    SAMPLES,
    calls,
    expected,
    needs_samples,
    shape,
    unexpected,
    usage_sums,
)

FOLDER = FIXTURES / "gemini_cli"


def test_a_chat_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (chat,) = load_file(FOLDER / "chat.json")

    assert chat.format == "gemini-cli"
    assert shape(chat) == [(7, 3)]
    assert calls(chat) == (4, 1)
    # Tool prompts are input (100+3), thoughts are output (20+7).
    assert usage_sums(chat) == (3, 423, 42, 200, 0)
    assert (chat.session, chat.project) == ("93aa0000-1111", "ab12")
    assert chat.segments[0].requests[0].model == "gemini-x"
    assert chat.segments[0].requests[0].time == 1772355602
    assert chat.segments[0].messages[1].reasoning == "**Plan**\nWrite, list."
    assert chat.includes_reasoning is False


def test_calls_recorded_apart_from_their_answer_come_back_to_it():
    messages = load_file(FOLDER / "chat.json")[0].messages

    assert [m.role for m in messages] == [
        "user",
        *["assistant", "tool", "tool"],
        *["assistant"],
        *["tool", "assistant"],
    ]
    assert (messages[4].text, messages[4].tool_calls[0].call_id) == ("Now removing.", "r1")
    assert json.loads(messages[5].text) == {"output": "removed"}


def test_notices_are_reported_as_not_sent():
    (chat,) = load_file(FOLDER / "chat.json")

    assert unexpected(chat) == {}
    assert expected(chat) == [
        "messages[3]: info: shown to the user, not sent",
        "messages[6]: error: shown to the user, not sent",
    ]


def test_a_message_written_again_counts_once_and_the_last_one_wins():
    (chat,) = load_file(FOLDER / "chat.jsonl")

    assert shape(chat) == [(4, 2), (6, 1), (4, 2), (4, 1)]
    assert usage_sums(chat) == (6, 561, 45, 0, 0)
    assert calls(chat) == (1, 0)
    assert [part.kind for part in chat.messages[0].parts] == ["text", "image"]


def test_masking_replacing_and_rewinding_open_segments():
    _, masked, replaced, rewound = load_file(FOLDER / "chat.jsonl")[0].segments

    assert (masked.opened_by.kind, masked.opened_by.trigger) == ("micro", "tool output masking")
    assert "<tool_output_masked>" in masked.messages[2].text
    assert [request.position for request in masked.requests] == [5]
    assert replaced.opened_by.kind == "full"
    assert "They read a and b." in replaced.opened_by.summary
    assert rewound.opened_by is None
    assert [m.text for m in rewound.messages[2:]] == ["Right turn.", "Yes."]


def test_contents_pair_calls_without_id_and_say_what_was_masked():
    (chat,) = load_file(FOLDER / "contents.json")

    assert shape(chat) == [(5, 2)]
    assert calls(chat) == (2, 0)
    assert [m.name for m in chat.messages[2:4]] == ["read", "read"]
    assert chat.messages[1].reasoning == "Both."
    assert any("masked results: 1" in text for text in expected(chat))


@pytest.mark.parametrize("name", ["chat.json", "contents.json"])
def test_a_document_on_one_line_is_the_same(name, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps(json.loads((FOLDER / name).read_text())))

    assert load_file(path)[0].digest == load_file(FOLDER / name)[0].digest


@pytest.mark.parametrize(
    ("name", "segments", "n_calls", "sums", "reported"),
    [
        # 13 records of MANIFEST.md: one is a notice, one the calls of the one before; 9 results.
        ("chat-json-2026-01.json", [(20, 10)], (9, 0), (10, 131375, 1812, 113854, 0), set()),
        # 11 records, two of them notices, and 12 results.
        ("chat-jsonl-upsert-2026-04.jsonl", [(21, 6)], (12, 0), (6, 202586, 4293, 48951, 0), set()),
        # 105 contents, one of which holds two results; one result answers no call.
        (
            "contents-trajectory-tool-masking.json",
            [(106, 52)],
            (45, 0),
            (0, 0, 0, 0, 0),
            {"messages[100]"},
        ),
    ],
)
@needs_samples
def test_real_chats_agree_with_their_manifest(name, segments, n_calls, sums, reported):
    (chat,) = load_file(SAMPLES / "gemini_cli" / name)

    assert shape(chat) == segments
    assert calls(chat) == n_calls
    assert usage_sums(chat) == sums
    assert set(unexpected(chat)) == reported
