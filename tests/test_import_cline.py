"""Cline sessions and the older history against hand counts."""

import pytest

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

FOLDER = FIXTURES / "cline"


def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (session,) = load_file(FOLDER / "session.json")

    assert session.format == "cline"
    assert shape(session) == [(6, 2), (5, 1)]
    assert calls(session) == (3, 1)
    assert usage_sums(session) == (3, 300 + 400 + 90, 40 + 10 + 8, 400, 20)
    assert (session.session, session.name) == ("1772_abc", "1772_abc/lead")
    assert session.segments[0].requests[0].time == 1772355602
    assert session.segments[0].requests[0].model == "claude-x"
    assert unexpected(session) == {}


def test_files_images_reasoning_and_parallel_results_are_kept():
    messages = load_file(FOLDER / "session.json")[0].segments[0].messages

    system, asked, answer, first, second, _ = messages
    assert system.text == "You are Cline."
    assert [part.kind for part in asked.parts] == ["text", "text", "image"]
    assert '<file_content path="/p/a">\nalpha' in asked.text
    assert answer.reasoning == "Edit both."
    assert [call.call_id for call in answer.tool_calls] == ["t1", "t2"]
    assert (first.text, [part.kind for part in second.parts]) == ("ok", ["text", "image"])


def test_an_answer_from_before_the_compaction_is_no_request_after_it():
    after = load_file(FOLDER / "session.json")[0].segments[1]

    assert (after.opened_by.summary, after.opened_by.tokens_before) == ("Fixed a.", 410)
    assert [m.role for m in after.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert [request.position for request in after.requests] == [4]


def test_a_rewritten_session_opens_with_its_compaction():
    (session,) = load_file(FOLDER / "compacted.json")

    (segment,) = session.segments
    assert (segment.opened_by.kind, segment.opened_by.trigger) == ("full", "manual_compaction")
    # What all requests together used is not the size of the context before.
    assert segment.opened_by.tokens_before is None
    assert segment.opened_by.summary.startswith("<SYSTEM_NOTICE>")
    assert usage_sums(session) == (1, 80, 3, 0, 0)


def test_the_older_history_is_a_bare_list_with_times():
    (session,) = load_file(FOLDER / "api_conversation_history.json")

    assert (session.format, shape(session)) == ("cline", [(4, 2)])
    assert usage_sums(session) == (1, 120, 12, 80, 0)
    assert session.segments[0].requests[1].time == 1772355604


@pytest.mark.parametrize(
    ("name", "segments", "n_calls", "sums"),
    [
        # The messages of MANIFEST.md and the system prompt.
        ("session.messages", [(33, 16)], (11, 0), (16, 630254, 4395, 534435, 0)),
        ("agentic.compaction", [(4, 0)], (0, 0), (0, 0, 0, 0, 0)),
        ("basic.compaction", [(11, 0)], (0, 0), (0, 0, 0, 0, 0)),
    ],
)
@needs_samples
def test_real_sessions_agree_with_their_manifest(name, segments, n_calls, sums):
    (session,) = load_file(SAMPLES / "cline" / f"{name}.json")

    assert shape(session) == segments
    assert calls(session) == n_calls
    assert usage_sums(session) == sums
    assert unexpected(session) == {}


@needs_samples
def test_the_usage_of_the_real_session_is_what_its_compaction_says_was_used_before():
    """The compacted file names 630,254 input, 4,395 output and 534,435 cached tokens."""
    (session,) = load_file(SAMPLES / "cline" / "session.messages.json")
    (compacted,) = load_file(SAMPLES / "cline" / "agentic.compaction.json")

    assert usage_sums(session)[1:4] == (630254, 4395, 534435)
    assert compacted.segments[0].opened_by.tokens_before == 21919
    assert compacted.cluster == session.cluster
