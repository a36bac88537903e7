"""pi sessions, list and tree, against hand counts."""

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
    write_lines,
)

FOLDER = FIXTURES / "pi"


def test_a_session_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (session,) = load_file(FOLDER / "list.jsonl")

    assert session.format == "pi"
    assert shape(session) == [(8, 3), (5, 1)]
    assert calls(session) == (3, 1)
    # Input is 10+100+30, 5+140+10, 7+150+20 and 60.
    assert usage_sums(session) == (4, 532, 32, 390, 60)
    assert session.segments[0].requests[0].time == 1772355605
    assert session.segments[0].requests[0].model == "claude-x"
    assert session.project == "/home/dev/shop"


def test_parallel_calls_reasoning_images_and_errors_are_kept():
    messages = load_file(FOLDER / "list.jsonl")[0].segments[0].messages

    looked, answer, first, second = messages[:4]
    assert [part.kind for part in looked.parts] == ["text", "image"]
    assert answer.reasoning == "Two reads."
    assert [call.call_id for call in answer.tool_calls] == ["t1", "t2"]
    assert answer.tool_calls[1].arguments == '{"path": "b"}'
    assert (first.text, [part.kind for part in second.parts]) == ("alpha", ["text", "image"])
    assert second.to_openai()["is_error"] is True


def test_a_command_of_the_user_is_sent_in_the_words_of_pi_unless_it_was_kept_out():
    (session,) = load_file(FOLDER / "list.jsonl")

    text = "Ran `make`\n```\nfail\n```\n\nCommand exited with code 2"
    assert session.segments[0].messages[4].text == text
    assert "line 9: command that the user kept out of the context" in expected(session)
    assert not any("env" in message.text for message in session.messages)


def test_an_aborted_answer_is_a_request_if_it_said_anything():
    (session,) = load_file(FOLDER / "list.jsonl")

    partial = session.segments[0].messages[5]
    assert (partial.text, partial.tool_calls[0].call_id) == ("It fa", "t3")
    assert "line 7: answer without content (aborted): not sent" in expected(session)


def test_a_compaction_starts_with_its_summary_and_what_was_kept():
    after = load_file(FOLDER / "list.jsonl")[0].segments[1]

    assert after.opened_by.summary == "They read two files."
    assert after.opened_by.tokens_before == 186
    assert after.messages[0].text.endswith("<summary>\nThey read two files.\n</summary>")
    assert [m.text for m in after.messages[1:]] == ["Again.", "Done.", "Thanks.", "Welcome."]
    assert [request.position for request in after.requests] == [4]


def test_glued_and_unknown_lines_are_reported():
    (session,) = load_file(FOLDER / "list.jsonl")

    assert set(unexpected(session)) == {"line 15", "line 16"}
    assert "line 11: 2 records glued on one line, all read" in expected(session)


def test_a_session_that_was_branched_off_is_one_observation_with_its_parent():
    assert load_file(FOLDER / "list.jsonl")[0].session == "91bb0000-2222"


def test_a_tree_has_its_last_path_and_the_branch_that_was_left():
    main, branch = load_file(FOLDER / "tree.jsonl")

    assert [shape(main), shape(branch)] == [[(5, 2), (5, 1)], [(4, 1)]]
    assert usage_sums(main) == (3, 65, 10, 0, 0)
    assert usage_sums(branch) == (1, 20, 5, 0, 0)
    assert main.segments[0].messages[2].text.endswith("A longer one was tried.</summary>")
    assert [m.text for m in main.segments[1].messages[1:]] == [
        *("Rhyme.", "Red, bed."),
        *("Mind the metre.", "Ok."),
    ]
    assert main.cluster == branch.cluster
    assert unexpected(main) == {}


@pytest.mark.parametrize(
    ("name", "segments", "n_calls", "sums", "manifest"),
    [
        # MANIFEST.md counts the answers without content too: 914 and 454 raw messages.
        ("large-session", [(900, 439)], (391, 18), (439, 47526750, 83156, 43229469, 4296232), 914),
        (
            "session-thinking-compaction-glued",
            [(448, 214), (106, 0)],
            (189, 0),
            (214, 26267579, 46995, 25283499, 982512),
            454,
        ),
    ],
)
@needs_samples
def test_real_sessions_agree_with_their_manifest(name, segments, n_calls, sums, manifest):
    (session,) = load_file(SAMPLES / "pi" / f"{name}.jsonl")

    assert shape(session) == segments
    assert calls(session) == n_calls
    assert usage_sums(session) == sums
    empty = manifest - segments[0][0]
    assert any(f"aborted): not sent ({empty} records" in text for text in expected(session))
    assert unexpected(session) == {}


def test_claude_reads_no_cached_message_after_a_change_of_thinking(tmp_path):
    def said(role, content, **fields):
        message = {"role": role, "content": [{"type": "text", "text": content}], **fields}
        return {"type": "message", "timestamp": "2026-01-01T10:00:00Z", "message": message}

    def turn(model="claude-x"):
        usage = {"input": 3, "output": 4, "cacheRead": 5, "cacheWrite": 6}
        return [said("user", "Go on."), said("assistant", "Yes.", model=model, usage=usage)]

    def level(name):
        return {"type": "thinking_level_change", "thinkingLevel": name}

    header = {"type": "session", "id": "s", "cwd": "/p", "thinkingLevel": "off"}
    back_and_forth = [level("low"), level("high"), level("off")]
    asked, answer = turn()
    in_a_turn = [asked, answer, level("low"), answer]
    records = [
        header,
        *turn(),
        *back_and_forth,
        *turn(),
        *in_a_turn,
        *turn(),
        *turn(),
        level("off"),
        *turn("gpt-5"),
    ]

    (session,) = load_file(write_lines(tmp_path / "a.jsonl", records))

    # What is set during a turn holds from the next user message on; of GPT nothing is known.
    found = [request.is_restart for request in session.segments[0].requests]
    assert found == [False, False, False, False, True, False, False]
