"""opencode sessions, export and database, against hand counts."""

import json

import pytest

from evals.importers.opencode import CLEARED_TEXT, QUESTION_TEXT
from evals.loading import load_file
from tests.import_cases import FIXTURES, calls, expected, shape, unexpected, usage_sums, usages

FOLDER = FIXTURES / "opencode"
both = pytest.mark.parametrize("name", ["export.json", "database.json"])


@both
def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand(name):
    (session,) = load_file(FOLDER / name)

    assert session.format == "opencode"
    assert shape(session) == [(8, 3), (9, 1), (5, 1)]
    assert calls(session) == (4, 1)
    # 100+30+10, 50+140, 10+200, 90 and 70 in; 20+5, 200-190, 4, 7 and 3 out.
    assert [(u.input_tokens, u.output_tokens) for u in usages(session)] == [
        *((140, 25), (190, 10), (210, 4)),
        *((90, 7), (70, 3)),
    ]
    assert usage_sums(session)[3:] == (370, 10)
    assert (session.name, session.session, session.project) == ("ses_1", "ses_0", "prj_1")
    assert session.segments[0].requests[0].model == "claude-x"
    assert session.segments[0].requests[0].time == 1772355602


def test_both_layouts_give_the_same_conversation():
    (export,) = load_file(FOLDER / "export.json")
    (database,) = load_file(FOLDER / "database.json")

    assert export.digest == database.digest


def test_steps_of_one_answer_are_requests_of_their_own():
    messages = load_file(FOLDER / "export.json")[0].segments[0].messages

    asked, first, read, shot, second, failed, *_ = messages
    assert [part.kind for part in asked.parts] == ["text", "text", "image"]
    assert "banner" not in asked.text
    assert (first.text, first.reasoning) == ("Looking.", "Two tools.")
    assert [call.call_id for call in first.tool_calls] == ["k1", "k2"]
    assert (read.text, [part.kind for part in shot.parts]) == ("alpha", ["text", "image"])
    assert second.tool_calls[0].call_id == "k3"
    assert (failed.text, failed.to_openai()["is_error"]) == ("no file", True)


def test_a_pruned_output_is_a_notice_from_the_first_request_after_it():
    before, after, _ = load_file(FOLDER / "export.json")[0].segments

    assert before.messages[2].text == "alpha"
    assert (after.opened_by.kind, after.opened_by.trigger) == ("micro", "prune")
    assert after.messages[2].text == CLEARED_TEXT
    assert after.messages[3:8] == before.messages[3:8]


def test_a_compaction_leaves_question_summary_and_tail():
    after = load_file(FOLDER / "export.json")[0].segments[2]

    assert (after.opened_by.trigger, after.opened_by.tokens_before) == ("auto", 97)
    assert after.opened_by.summary == "## Goal\nLook."
    assert [m.text for m in after.messages] == [
        *(QUESTION_TEXT, "## Goal\nLook."),
        *("", "Continue", "On."),
    ]
    assert after.messages[2].tool_calls[0].call_id == "k4"
    assert [request.position for request in after.requests] == [4]


def test_what_was_not_sent_is_reported():
    (session,) = load_file(FOLDER / "export.json")

    assert unexpected(session) == {}
    assert expected(session) == [
        "messages[0]: text that the user was shown only",
        "messages[4]: failed (APIError): not sent",
        "messages[7]: the call that wrote the summary: no request",
    ]


def test_unknown_parts_and_parts_without_a_message_are_reported(tmp_path):
    document = json.loads((FOLDER / "database.json").read_text())
    document["parts"].append({"id": "z", "message_id": "gone", "data": "{}"})
    document["parts"].append({"id": "z", "message_id": "msg_10", "data": '{"type": "hologram"}'})
    path = tmp_path / "database.json"
    path.write_text(json.dumps(document))

    (session,) = load_file(path)

    assert unexpected(session)["parts"] == "1 parts of messages that are not in the file"
    assert "part of unknown type 'hologram'" in unexpected(session).values()
