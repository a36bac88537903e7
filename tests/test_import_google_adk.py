"""ADK sessions against hand counts: partial events, calls without ids, compactions."""

import json

import pytest

from evals.importers.files import UnknownFormatError
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

SESSION = FIXTURES / "google_adk" / "session.json"


def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (session,) = load_file(SESSION)

    assert shape(session) == [(5, 2), (3, 1)]
    # Thinking is output: 6 + 4.
    assert usage_sums(session) == (3, 40 + 60 + 30, 10 + 5 + 2, 8, 0)
    assert (session.session, session.project) == ("se1", "ports")
    assert session.segments[0].requests[0].model == "gemini-test"
    assert [len(message.parts) for message in session.messages[:1]] == [2]


def test_calls_without_ids_are_paired_by_name_and_order():
    (session,) = load_file(SESSION)

    answer, first, second = session.messages[1:4]
    assert answer.reasoning == "Two files."
    assert [call.call_id for call in answer.tool_calls] == [
        first.tool_call_id,
        second.tool_call_id,
    ]
    assert [json.loads(m.text) for m in (first, second)] == [{"output": "8443"}, {"output": "none"}]
    assert calls(session) == (2, 0)


def test_a_compaction_replaces_the_events_of_its_time_range():
    after = load_file(SESSION)[0].segments[1]

    assert (after.opened_by.summary, after.opened_by.tokens_before) == ("The port is 8443.", 60)
    assert [m.text for m in after.messages] == ["The port is 8443.", "And the host?", "db-3"]
    assert [r.position for r in after.requests] == [2]


def test_an_answer_that_a_compaction_keeps_is_not_counted_again(tmp_path):
    document = json.loads(SESSION.read_text())
    document["events"][6]["actions"]["compaction"]["end_timestamp"] = 1767323004.0
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document))

    (session,) = load_file(path)

    assert shape(session) == [(5, 2), (4, 1)]
    assert session.segments[1].messages[1].text == "It is 8443."


def test_partial_and_empty_events_are_reported():
    (session,) = load_file(SESSION)

    assert unexpected(session) == {}
    assert [text.split(":")[0] for text in expected(session)] == ["event 1", "event 5"]


def test_a_compaction_of_nothing_is_not_understood(tmp_path):
    document = json.loads(SESSION.read_text())
    document["events"][6]["actions"]["compaction"]["end_timestamp"] = 1.0
    path = tmp_path / "session.json"
    path.write_text(json.dumps(document))

    (session,) = load_file(path)

    assert shape(session) == [(7, 3)]
    assert list(unexpected(session)) == ["event 6"]


def test_a_session_without_messages_is_refused(tmp_path):
    path = tmp_path / "session.json"
    event = {"author": "user", "invocation_id": "i", "timestamp": 1.0}
    path.write_text(json.dumps({"id": "s", "events": [event]}))

    with pytest.raises(UnknownFormatError, match="without messages"):
        load_file(path)


@needs_samples
def test_a_real_session_agrees_with_its_manifest():
    (session,) = load_file(SAMPLES / "google_adk" / "flow_complex_spark.session.json")

    assert shape(session) == [(9, 6)]
    assert calls(session) == (2, 0)
    assert unexpected(session) == {}
