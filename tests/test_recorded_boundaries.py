"""Where recorded compactions stand, and what is from before, written, and new."""

import json
from dataclasses import replace

import pytest

from compaction.messages import Message
from evals.audit.boundaries import RecordedBoundary, UnusedBoundary, boundaries_of
from evals.transcripts import RecordedCompaction, Transcript
from tests.audit_cases import (
    AFTER,
    BEFORE,
    FORMATS,
    SUMMARY,
    compacted,
    messages,
    read,
    segment,
)


def only(transcript):
    (found,) = boundaries_of(transcript)
    return found


def kinds(boundary):
    return [entry.origin.kind for entry in boundary.sent]


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("claude-code", ["generated", "whole"]),
        # pi keeps the last answer, Codex the user's messages, Cline its instructions.
        ("pi", ["generated", "whole", "whole"]),
        ("codex", ["whole", "generated", "whole"]),
        ("cline", ["whole", "generated", "whole"]),
    ],
)
def test_each_format_has_a_summary_and_what_it_keeps(name, sent, tmp_path):
    boundary = only(read(FORMATS[name](tmp_path)))

    assert isinstance(boundary, RecordedBoundary)
    assert kinds(boundary) == sent
    assert (boundary.n_new, boundary.is_readable) == (1, True)
    assert len(boundary.kept) == len(sent) - 2
    # Nothing is told twice: 6 messages before (7 with instructions), 12 after.
    assert len(boundary.log) == len(set(boundary.log)) == boundary.n_before + 12


def test_the_joined_conversation_is_what_was_said_before_and_after():
    boundary = only(compacted())

    (joined,) = boundary.said.segments
    assert joined.messages == messages(BEFORE) + messages(AFTER)
    assert [request.position for request in joined.requests] == [7, 9, 11, 13, 15, 17]
    assert boundary.history.messages() == joined.messages[:7]


def test_cleared_results_are_edited_and_everything_else_is_kept():
    before = messages(BEFORE)
    cleared = tuple(m.with_text("[cleared]") if m.is_result else m for m in before)
    micro = RecordedCompaction("micro", "auto")
    after = segment(cleared + messages(AFTER), n_sent=len(cleared), opened_by=micro)

    boundary = only(Transcript("t", (segment(before), after)))

    assert kinds(boundary).count("edited") == 2
    assert (len(boundary.kept), boundary.n_new, boundary.is_readable) == (4, 1, True)


def test_context_that_is_put_in_again_changed_is_new_and_no_summary():
    transcript = compacted()
    first, second = transcript.segments
    rules = Message("user", "Rules, today's version: see /srv/rules.md")
    second = segment((rules, *second.messages), opened_by=second.opened_by)

    boundary = only(replace(transcript, segments=(first, second)))

    assert kinds(boundary) == ["whole", "generated", "whole"]
    assert boundary.n_new == 2
    assert boundary.said.segments[0].messages[6] == rules


def test_a_summary_that_is_nowhere_in_the_log_cannot_be_read():
    transcript = compacted()
    first, second = transcript.segments
    unknown = RecordedCompaction("full")
    kept = messages(BEFORE)[:1]
    second = segment((*kept, *messages(AFTER)), opened_by=unknown)

    boundary = only(replace(transcript, segments=(first, second)))

    assert (boundary.is_readable, boundary.kept) == (False, kept)


def test_a_summary_worded_differently_where_it_was_sent_is_still_the_summary():
    transcript = compacted()
    first, second = transcript.segments
    sent = (Message("user", "So far: the server listens."), *second.messages[1:])
    opened_by = RecordedCompaction("full", summary=SUMMARY)

    boundary = only(replace(transcript, segments=(first, segment(sent, opened_by=opened_by))))

    assert (kinds(boundary)[0], boundary.n_new) == ("generated", 1)


def test_compactions_about_which_nothing_can_be_asked_say_why():
    first, second = compacted().segments
    rewritten = Transcript("t", (second,))
    ended = Transcript("t", (first, segment(second.messages[:2], opened_by=second.opened_by)))

    assert [only(each).reason for each in (rewritten, ended)] == [
        "what was before the compaction is not in the file",
        "nothing was asked after it",
    ]
    assert isinstance(only(rewritten), UnusedBoundary)


def test_two_compactions_with_nothing_between_are_judged_as_one():
    first, second = compacted().segments
    between = segment(second.messages[:1], opened_by=second.opened_by)

    unused, both = boundaries_of(Transcript("t", (first, between, second)))

    assert isinstance(unused, UnusedBoundary)
    assert "judged for both" in unused.reason
    alone = only(compacted())
    assert (both.number, both.n_before, both.kept) == (1, alone.n_before, alone.kept)
    assert both.said.segments[0].messages == alone.said.segments[0].messages
    assert (both.log, both.log_before) == (alone.log, alone.log_before)


def test_a_second_compaction_after_which_nothing_was_asked_judges_nothing():
    first, second = compacted().segments
    ends = [segment(second.messages[:1], opened_by=second.opened_by) for _ in range(2)]

    found = list(boundaries_of(Transcript("t", (first, *ends))))

    assert [each.reason for each in found] == ["nothing was asked after it"] * 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_compaction_in_the_last_line_of_a_log_is_told(name, tmp_path):
    path = FORMATS[name](tmp_path)
    if name == "cline":
        session = json.loads(path.read_text())
        at = next(n for n, each in enumerate(session["messages"]) if "metadata" in each)
        path.write_text(json.dumps({**session, "messages": session["messages"][: at + 1]}))
    else:
        lines = path.read_text().splitlines()
        marks = ("compact_boundary", '"compaction"', '"compacted"')
        at = next(n for n, line in enumerate(lines) if any(mark in line for mark in marks))
        path.write_text("\n".join(lines[: at + 1]))

    assert only(read(path)).reason == "nothing was asked after it"


def test_a_rewind_is_no_compaction():
    first, second = compacted().segments

    assert list(boundaries_of(Transcript("t", (first, replace(second, opened_by=None))))) == []
