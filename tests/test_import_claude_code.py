"""Claude Code sessions against hand counts, and the traps of the layout one by one."""

import json
from pathlib import Path

import pytest

from evals.importers.claude_code_segments import CLEARED_TEXT
from evals.loading import load_file

FIXTURES = Path(__file__).parent / "fixtures" / "claude_code"
SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "data" / "claude_code"


def usage_sums(transcript):
    usages = [r.usage for s in transcript.segments for r in s.requests if r.usage]
    return sum(u.input_tokens for u in usages), sum(u.output_tokens for u in usages)


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def record(uuid, parent, role, content, **fields):
    message = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": f"msg_{uuid}", "model": "m", "usage": {"output_tokens": 1}}
    common = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/p"}
    return {**common, "message": {**message, **fields.pop("message", {})}, **fields}


def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (session,) = load_file(FIXTURES / "session.jsonl")

    assert [len(segment.messages) for segment in session.segments] == [9, 11, 3]
    assert [len(segment.requests) for segment in session.segments] == [2, 1, 1]
    assert [r.position for r in session.segments[0].requests] == [3, 7]
    assert usage_sums(session) == (1110 + 1155 + 965 + 307, 80 + 20 + 15 + 30)
    assert session.segments[0].requests[0].usage.cached_input_tokens == 1000
    assert session.segments[0].requests[0].usage.cache_write_tokens == 100
    assert (session.session, session.project) == ("5e551001-aaaa", "/home/dev/shop")
    assert session.segments[0].requests[0].time == 1772359205


def test_lines_of_one_response_are_one_message_and_its_results_follow_it():
    messages = load_file(FIXTURES / "session.jsonl")[0].segments[0].messages

    answer, first, second, queued = messages[3:7]
    assert [call.call_id for call in answer.tool_calls] == ["toolu_1", "toolu_2"]
    assert answer.text == "I read both files."
    assert answer.reasoning == "Look at both files."
    assert json.loads(answer.extra)["thinking_blocks"][0]["signature"] == "c2ln"
    assert [first.tool_call_id, second.tool_call_id] == ["toolu_1", "toolu_2"]
    assert [part.kind for part in second.parts] == ["text", "image"]
    assert queued.role == "user"
    assert queued.text == "Keep the rounding mode."


def test_an_image_of_the_user_and_the_error_of_a_result_are_kept():
    messages = load_file(FIXTURES / "session.jsonl")[0].segments[0].messages

    assert [part.kind for part in messages[2].parts] == ["text", "image"]
    assert messages[2].parts[1].to_openai()["image_url"]["url"].startswith("data:image/png;base64,")
    assert json.loads(messages[8].extra) == {"is_error": True}


def test_a_microcompaction_repeats_the_history_with_the_named_results_cleared():
    _, after, _ = load_file(FIXTURES / "session.jsonl")[0].segments

    assert (after.opened_by.kind, after.opened_by.trigger) == ("micro", "auto")
    assert (after.opened_by.tokens_before, after.opened_by.tokens_saved) == (1155, 40)
    assert after.messages[4].text == CLEARED_TEXT
    assert after.messages[5].text == "rate = 0.19"


def test_a_compaction_starts_with_its_summary():
    after = load_file(FIXTURES / "session.jsonl")[0].segments[2]

    assert after.opened_by.trigger == "manual"
    assert after.opened_by.summary == after.messages[0].text
    assert after.messages[0].text.startswith("This session is being continued")
    assert after.messages[0].role == "user"


def test_api_errors_are_no_messages_and_synthetic_answers_no_requests():
    after = load_file(FIXTURES / "session.jsonl")[0].segments[1]

    assert [message.text for message in after.messages[-2:]] == [
        "The tax is applied twice.",
        "No response requested.",
    ]
    assert [request.position for request in after.requests] == [9]


def test_everything_that_is_no_message_is_reported_with_its_line():
    (session,) = load_file(FIXTURES / "session.jsonl")

    unexpected = {item.where: item.reason for item in session.skipped if not item.expected}
    assert set(unexpected) == {"line 26", "line 27"}
    assert "moon-phase" in unexpected["line 26"]
    assert "cut off" in unexpected["line 27"]
    expected = [f"{item.where}: {item.reason}" for item in session.skipped if item.expected]
    assert "line 19: 2 records glued on one line, all read" in expected
    assert "line 25: record written twice, read once" in expected
    assert any(text.startswith("line 12: queue") and "(2 records" in text for text in expected)


def test_a_rewind_leaves_a_branch_that_counts_its_own_answers_only():
    main, branch, *_ = load_file(FIXTURES / "branches.jsonl")

    assert [m.text for m in main.messages[:3]] == [
        "Write a poem.",
        "Roses are red.",
        "Make it rhyme.",
    ]
    assert main.n_requests == 3
    assert [m.text for m in branch.messages][-2:] == [
        "Make it longer.",
        "Roses are red, violets are blue.",
    ]
    assert [r.position for r in branch.segments[0].requests] == [3]
    assert any("taken back" in item.reason for item in main.skipped)


def test_sub_agents_are_transcripts_of_the_same_session():
    main, _, inline, reported = load_file(FIXTURES / "branches.jsonl")

    assert [m.text for m in inline.messages] == ["Find a rhyme for red.", "Bed."]
    assert [m.text for m in reported.messages] == ["Count syllables.", "Seven."]
    assert main.cluster == inline.cluster == reported.cluster
    assert usage_sums(main) == (3 * 1110, 5 + 7 + 11)
    assert usage_sums(inline) == (51, 2)
    assert usage_sums(reported) == (40, 1)


def test_a_sub_agent_with_a_file_of_its_own_is_not_counted_twice(tmp_path):
    session = tmp_path / "branches.jsonl"
    session.write_bytes((FIXTURES / "branches.jsonl").read_bytes())
    own = tmp_path / "branches" / "subagents" / "agent-a7.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text(
        json.dumps(record("1", None, "assistant", "Seven.", isSidechain=True, agentId="a7"))
    )

    names = [transcript.name for transcript in load_file(session)]

    assert not any("a7" in name for name in names)
    assert [transcript.name for transcript in load_file(own)] == ["s/agent-a7"]


def test_a_call_without_result_stays_open_and_a_result_without_call_is_reported(tmp_path):
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    lost = {"type": "tool_result", "tool_use_id": "t9", "content": "?"}
    path = write(
        tmp_path / "s.jsonl",
        [
            record("1", None, "user", "go"),
            record("2", "1", "user", [lost]),
            record("3", "2", "assistant", [use]),
        ],
    )

    (transcript,) = load_file(path)

    assert [m.role for m in transcript.messages] == ["user", "tool", "assistant"]
    assert [s.where for s in transcript.skipped if not s.expected] == ["line 2"]


def test_instructions_beside_a_parallel_result_stay_in_the_conversation(tmp_path):
    """A skill's text hangs on one result while the answer goes on from the other."""
    use = [{"type": "tool_use", "id": f"t{i}", "name": "Skill", "input": {}} for i in (1, 2)]
    results = [{"type": "tool_result", "tool_use_id": f"t{i}", "content": "ok"} for i in (1, 2)]
    path = write(
        tmp_path / "s.jsonl",
        [
            record("1", None, "user", "go"),
            record("2", "1", "assistant", use),
            record("3", "2", "user", results[:1]),
            record("4", "3", "user", "skill text", isMeta=True),
            record("5", "2", "user", results[1:]),
            record("6", "5", "assistant", "done"),
        ],
    )

    (transcript,) = load_file(path)

    roles = [m.role for m in transcript.messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_a_file_that_starts_after_a_compaction_has_one_segment(tmp_path):
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "0", "sessionId": "s"}
    path = write(
        tmp_path / "s.jsonl",
        [
            boundary,
            record("1", "0", "user", "what happened before", isCompactSummary=True),
            record("2", "1", "assistant", "on we go"),
        ],
    )

    (transcript,) = load_file(path)

    assert [segment.opened_by for segment in transcript.segments] == [None]
    assert len(transcript.messages) == 2


@pytest.mark.parametrize(
    ("name", "messages", "requests", "calls"),
    [
        # MANIFEST.md counts the raw messages: of 76 one is a result that a resumed session wrote
        # twice; the two larger files hold one queued message each that is no record of its own.
        ("cc-1.0.95-zh", [75], [32], 31),
        ("cc-2.1.12-microcompact", [95, 118], [45, 12], 55),
        ("cc-2.1.36-compact-boundary-parallel10", [112, 36], [36, 14], 85),
        ("cc-2.1.47-user-image", [59], [24], 30),
        ("cc-2.1.62-pr-link", [33], [15], 17),
        ("cc-2.1.7-glued-records", [89], [42], 41),
    ],
)
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no sample data beside the repository")
def test_real_sessions_agree_with_their_manifest(name, messages, requests, calls):
    (transcript,) = load_file(SAMPLES / f"{name}.jsonl")

    assert [len(segment.messages) for segment in transcript.segments] == messages
    assert [len(segment.requests) for segment in transcript.segments] == requests
    made = {call.call_id for m in transcript.messages for call in m.tool_calls}
    assert len(made) == calls
    assert [item for item in transcript.skipped if not item.expected] == []


def typed(uuid, parent, text, at, **fields):
    return record(uuid, parent, "user", text, timestamp=f"2026-01-01T10:{at}Z", **fields)


def answered(uuid, parent, content, at, **fields):
    return record(uuid, parent, "assistant", content, timestamp=f"2026-01-01T10:{at}Z", **fields)


def requests_of(path):
    (transcript,) = load_file(path)
    return [request for segment in transcript.segments for request in segment.requests]


def test_a_request_was_sent_when_its_last_input_was_there(tmp_path):
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    records = [
        typed("1", None, "Read it.", "00:00"),
        answered("2", "1", [call], "00:10"),
        typed("3", "2", [result], "00:11"),
        # A session that goes on writes old records anew, with the time of that.
        typed("3", "2", [result], "09:00"),
        answered("4", "3", [{"type": "text", "text": "Done."}], "09:00"),
    ]

    first, second = requests_of(write(tmp_path / "a.jsonl", records))

    assert (first.time - first.sent_time, second.time - second.sent_time) == (10, 9 * 60 - 11)
    assert second.sent_time - first.time == 1


def test_what_is_typed_into_another_session_or_after_an_exit_is_sent_after_a_restart(tmp_path):
    def talk(number, at, said="Go on.", **fields):
        user, answer = f"u{number}", f"a{number}"
        before = f"a{number - 1}" if number else None
        text = [{"type": "text", "text": f"Part {number}."}]
        return [
            typed(user, before, said, f"{at}:00", **fields),
            answered(answer, user, text, f"{at}:10", **fields),
        ]

    left = typed("x", "a1", "<command-name>/exit</command-name>", "01:30", sessionId="s")
    records = [
        *talk(0, "00", sessionId="s"),
        *talk(1, "01", sessionId="s"),
        left,
        *talk(2, "02", sessionId="s"),
        *talk(3, "03", sessionId="s"),
        *talk(4, "04", sessionId="t"),
        *talk(5, "05", sessionId="t"),
    ]
    records[5]["parentUuid"] = "x"

    found = requests_of(write(tmp_path / "a.jsonl", records))

    assert [request.is_restart for request in found] == [False, False, True, False, True, False]
