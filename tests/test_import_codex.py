"""Codex rollouts against hand counts, and the traps of the layout one by one."""

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
    usages,
    write_lines,
)

FOLDER = FIXTURES / "codex"


def record(kind, **payload):
    return {"timestamp": "2026-03-01T09:00:00Z", "type": kind, "payload": payload}


def said(role, text):
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return record("response_item", type="message", role=role, content=[part])


def counted(total, last):
    keys = ("input_tokens", "output_tokens")
    info = {
        "total_token_usage": dict(zip(keys, total, strict=True)),
        "last_token_usage": dict(zip(keys, last, strict=True)) if last else None,
    }
    return record("event_msg", type="token_count", info=info)


def test_a_rollout_has_the_messages_requests_and_usage_that_were_counted_by_hand():
    (rollout,) = load_file(FOLDER / "rollout.jsonl")

    assert rollout.format == "codex"
    assert shape(rollout) == [(11, 3), (6, 2)]
    assert calls(rollout) == (3, 0)
    # The answer that was interrupted has no count: 1000, 1100, then 400 and 500.
    assert usage_sums(rollout) == (4, 3000, 120, 1500, 0)
    assert [usage and usage.input_tokens for usage in usages(rollout)] == [
        *(1000, 1100, None),
        *(400, 500),
    ]
    assert (rollout.session, rollout.project) == ("0f00aaaa-1", "/home/dev/shop")
    assert rollout.segments[0].requests[0].model == "gpt-x"
    assert rollout.segments[0].requests[0].time == 1772355603


def test_parallel_calls_are_one_message_with_reasoning_and_results_that_keep_images():
    messages = load_file(FOLDER / "rollout.jsonl")[0].segments[0].messages

    assert [m.role for m in messages[:4]] == ["system", "developer", "user", "user"]
    assert messages[0].text == "You are Codex."
    assert [part.kind for part in messages[3].parts] == ["text", "image"]
    answer, patched, read = messages[4:7]
    assert (answer.text, answer.reasoning) == ("I read both.", "Read both.")
    assert [(c.call_id, c.kind) for c in answer.tool_calls] == [
        ("c1", "function"),
        ("c2", "custom"),
    ]
    assert (patched.tool_call_id, read.tool_call_id) == ("c2", "c1")
    assert [part.kind for part in read.parts] == ["text", "image"]


def test_a_compaction_starts_with_the_replacement_history():
    after = load_file(FOLDER / "rollout.jsonl")[0].segments[1]

    assert (after.opened_by.kind, after.opened_by.summary) == ("full", None)
    # The call that compacted was the last one counted: 1300 in and 30 out.
    assert after.opened_by.tokens_before == 1330
    assert [m.role for m in after.messages[:3]] == ["system", "user", "assistant"]
    assert "gBBB" in json.dumps(after.messages[2].to_openai())
    assert [r.position for r in after.requests] == [3, 5]


def test_nothing_is_dropped_without_a_word():
    (rollout,) = load_file(FOLDER / "rollout.jsonl")

    assert unexpected(rollout) == {
        "line 33": "item of unknown type 'hologram', kept as a part of the answer",
        "line 36": "record of unknown type 'world_state'",
    }
    assert "line 8: token count without news (3 records, the first one here)" in expected(rollout)
    assert "line 7: event user_message: for the screen, not sent" in expected(rollout)


def test_counts_before_their_answers_go_with_them_and_results_between_calls_do_not_split_it():
    (rollout,) = load_file(FOLDER / "counts_before.jsonl")

    assert shape(rollout) == [(7, 2), (6, 1)]
    assert [usage.input_tokens for usage in usages(rollout)] == [100, 150, 90]
    answer = rollout.segments[0].messages[2]
    assert [call.call_id for call in answer.tool_calls] == ["a", "b"]


def test_a_local_compaction_keeps_the_messages_of_the_user_and_its_count_is_no_answers():
    (rollout,) = load_file(FOLDER / "counts_before.jsonl")

    after = rollout.segments[1]
    lost = "token count of a call whose answer is not in the log"
    assert expected(rollout) == [f"line 17: {lost}"]
    assert after.opened_by.summary == "They counted to two."
    assert after.opened_by.tokens_before == 230
    texts = ["<environment_context>\n/p", "Count.", "Compact please.", "They counted to two."]
    assert [m.text for m in after.messages[:4]] == texts


def test_a_fork_is_one_observation_with_its_parent():
    (rollout,) = load_file(FOLDER / "counts_before.jsonl")

    assert (rollout.name, rollout.session) == ("0f00bbbb", "0f00cccc-3")


def test_the_oldest_files_hold_items_without_an_envelope():
    (rollout,) = load_file(FOLDER / "bare_items.jsonl")

    assert shape(rollout) == [(4, 2)]
    assert calls(rollout) == (1, 0)
    assert unexpected(rollout) == {}


def test_a_running_total_is_never_added_up(tmp_path):
    path = write_lines(
        tmp_path / "r.jsonl",
        [
            said("user", "a"),
            said("assistant", "b"),
            counted((10, 2), None),
            said("user", "c"),
            said("assistant", "d"),
            counted((25, 5), None),
        ],
    )

    (rollout,) = load_file(path)

    assert usage_sums(rollout)[:3] == (2, 25, 5)


def test_a_rollback_goes_on_from_what_was_left(tmp_path):
    path = write_lines(
        tmp_path / "r.jsonl",
        [
            *(said("user", "a"), said("assistant", "b")),
            *(said("user", "c"), said("assistant", "d")),
            record("event_msg", type="thread_rolled_back", num_turns=1),
            *(said("user", "e"), said("assistant", "f")),
        ],
    )

    (rollout,) = load_file(path)

    assert [[m.text for m in s.messages] for s in rollout.segments] == [list("abcd"), list("abef")]
    assert [len(s.requests) for s in rollout.segments] == [2, 1]


@pytest.mark.parametrize(
    ("name", "segments", "n_calls", "sums", "entries"),
    [
        ("0.39.0-vscode", [(40, 19)], (19, 0), (19, 270530, 12551, 136832, 0), 30),
        ("0.140.0-orphan-calls", [(37, 11)], (23, 2), (10, 266714, 2958, 230656, 0), 35),
        (
            "0.142.0-compacted-orphans",
            [(349, 118), (169, 55)],
            (318, 2),
            (172, 19562425, 57203, 18707456, 0),
            491,
        ),
    ],
)
@needs_samples
def test_real_rollouts_agree_with_their_manifest(name, segments, n_calls, sums, entries):
    """The sums are those of the last running total; MANIFEST.md counts texts and calls alike."""
    (rollout,) = load_file(SAMPLES / "codex" / f"rollout-{name}.jsonl")

    assert shape(rollout) == segments
    assert calls(rollout) == n_calls
    assert usage_sums(rollout) == sums
    assert unexpected(rollout) == {}
    lines = (SAMPLES / "codex" / f"rollout-{name}.jsonl").read_text().split("\n")
    items = [json.loads(line)["payload"] for line in lines if '"response_item"' in line[:80]]
    said = [item["content"] for item in items if item["type"] == "message"]
    assert len(said) + n_calls[0] == entries
    kept = [m for m in rollout.messages if not m.is_result and m.role != "system"]
    if len(segments) == 1:
        assert sum(len(m.parts) for m in kept) == sum(map(len, said))


def test_an_answer_with_reasoning_that_is_encrypted_is_known(tmp_path):
    def reasoning():
        return record("response_item", type="reasoning", summary=[], encrypted_content="gAAA")

    records = [
        said("user", "Go on."),
        reasoning(),
        said("assistant", "Yes."),
        said("user", "Go on."),
        said("assistant", "Yes."),
    ]

    (rollout,) = load_file(write_lines(tmp_path / "a.jsonl", records))

    found = [request.is_reasoned for request in rollout.segments[0].requests]
    assert found == [True, False]
