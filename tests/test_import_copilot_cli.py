"""Copilot CLI events and the older export against hand counts."""

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
    write_lines,
)

FOLDER = FIXTURES / "copilot_cli"


def event(number, kind, **data):
    return {"type": kind, "data": data, "id": f"e{number}", "parentId": f"e{number - 1}"}


def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    session, agent = load_file(FOLDER / "events.jsonl")

    assert session.format == "copilot-cli"
    assert [shape(session), shape(agent)] == [[(7, 2), (5, 1)], [(2, 1)]]
    assert calls(session) == (3, 1)
    assert usage_sums(session) == (1, 900, 30, 800, 50)
    assert session.extra["output_tokens"] == [30, 9, 2]
    assert session.extra["model_metrics"]["claude-x"]["usage"]["inputTokens"] == 2000
    assert (session.session, session.project) == ("94aa0000-1111", "/home/dev/shop")
    assert session.segments[0].requests[0].model == "claude-x"
    assert session.segments[0].requests[0].time == 1772355603


def test_what_was_sent_is_kept_with_images_reasoning_and_all_calls():
    messages = load_file(FOLDER / "events.jsonl")[0].segments[0].messages

    _, looked, answer, found, hurry, failed, _ = messages
    assert looked.text.startswith("<now/>")
    assert [part.kind for part in looked.parts] == ["text", "image"]
    assert answer.reasoning == "See both."
    assert [(c.call_id, c.kind) for c in answer.tool_calls] == [
        *(("c1", "function"), ("c2", "function")),
        ("c4", "custom"),
    ]
    assert (found.tool_call_id, found.text) == ("c2", "Found.")
    assert (hurry.role, failed.tool_call_id, failed.text) == ("user", "c1", "no file")
    assert failed.to_openai()["is_error"] is True


def test_a_sub_agent_is_a_transcript_of_the_same_session():
    session, agent = load_file(FOLDER / "events.jsonl")

    assert [m.text for m in agent.messages] == ["Find", "Found."]
    assert agent.name == "94aa0000/agent-c2"
    assert session.cluster == agent.cluster


def test_a_compaction_starts_with_system_prompt_summary_and_what_was_not_removed():
    after = load_file(FOLDER / "events.jsonl")[0].segments[1]

    opened_by = after.opened_by
    assert (opened_by.tokens_before, opened_by.tokens_saved) == (950, 750)
    assert opened_by.summary == "They looked."
    assert [m.text for m in after.messages] == [
        *("You are Copilot.", "They looked."),
        *("No file.", "On", "Ok."),
    ]
    assert [request.position for request in after.requests] == [4]


def test_what_was_not_read_is_reported():
    session, _ = load_file(FOLDER / "events.jsonl")

    assert unexpected(session) == {
        "line 13": "a tool ran that no answer asked for: not in the conversation",
        "line 22": "event hologram.on: not sent",
    }
    assert "line 5: event written twice, read once" in expected(session)
    assert "line 16: system prompt logged again" in expected(session)
    assert any(text.startswith("line 4: attachment 'file'") for text in expected(session))


def test_truncation_rewind_and_failed_compaction(tmp_path):
    path = write_lines(
        tmp_path / "events.jsonl",
        [
            event(1, "user.message", content="a"),
            event(2, "assistant.message", content="b", toolRequests=[]),
            event(3, "session.compaction_complete", success=False, error="x"),
            event(4, "user.message", content="c"),
            event(5, "session.truncation", messagesRemovedDuringTruncation=2),
            event(6, "assistant.message", content="d", toolRequests=[]),
            event(7, "user.message", content="e"),
            event(8, "session.snapshot_rewind", upToEventId="e7", eventsRemoved=1),
            event(9, "user.message", content="f"),
        ],
    )

    (session,) = load_file(path)

    assert [[m.text for m in s.messages] for s in session.segments] == [
        *(["a", "b", "c"], ["c", "d", "e"]),
        ["c", "d", "f"],
    ]
    assert session.segments[1].opened_by.trigger == "truncation"
    assert session.segments[2].opened_by is None
    assert "line 3: a compaction that failed: nothing changed" in expected(session)


def test_the_older_export_is_a_chat():
    (session,) = load_file(FOLDER / "export.json")

    assert shape(session) == [(4, 2)]
    assert calls(session) == (1, 0)
    assert expected(session) == ["timeline: repeats the messages for the screen"]


@needs_samples
def test_the_real_session_agrees_with_its_manifest():
    """23 messages of MANIFEST.md: a system prompt logged twice, two tools that nobody asked for."""
    (session,) = load_file(SAMPLES / "copilot_cli" / "events-1.0.34.jsonl")

    assert shape(session) == [(23 - 3, 6)]
    assert calls(session) == (11, 0)
    assert set(unexpected(session)) == {"line 35"}
    usage = session.extra["model_metrics"]["claude-sonnet-4.6"]["usage"]
    assert sum(session.extra["output_tokens"]) == usage["outputTokens"] == 2848
