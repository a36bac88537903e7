"""SWE-agent and mini-swe-agent runs against hand counts."""

import json

import pytest

from compaction.errors import TranscriptError
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

FOLDER = FIXTURES / "swe_agent"


def changed(path, change):
    document = json.loads((FOLDER / "calls.traj").read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_call_ids_are_read_from_a_list_and_from_the_text_of_one():
    (run,) = load_file(FOLDER / "calls.traj")

    assert shape(run) == [(6, 2)]
    assert calls(run) == (2, 0)
    assert [m.tool_call_id for m in run.messages if m.is_result] == ["call_1", "call_submit"]
    assert (run.name, run.project) == ("shop-12", "main")
    assert run.segments[0].requests[0].model == "gpt-test"
    assert run.extra["model_stats"]["tokens_sent"] == 900


def test_fields_of_the_log_are_no_part_of_the_messages():
    (run,) = load_file(FOLDER / "calls.traj")

    assert [message.extra for message in run.messages] == ["{}"] * 6


def test_queries_that_differ_from_the_history_are_reported_and_not_added():
    (run,) = load_file(FOLDER / "calls.traj")

    assert unexpected(run) == {}
    assert [text.split(":")[0] for text in expected(run)] == ["trajectory[1]"]
    assert run.messages[3].text == "round.py\nREADME\nsetup.py"


def test_thought_and_action_as_text_are_messages_and_demonstrations_no_requests():
    (run,) = load_file(FOLDER / "text.traj")

    assert shape(run) == [(7, 2)]
    assert [r.position for r in run.segments[0].requests] == [4, 6]
    assert run.messages[4].text.startswith("DISCUSSION")
    assert load_file(FOLDER / "history_only.traj")[0].digest == run.digest


def test_a_file_without_history_is_put_together_from_its_steps():
    (run,) = load_file(FOLDER / "steps_only.traj")

    assert [(m.role, m.text) for m in run.messages] == [
        ("assistant", "I look."),
        ("user", "round.py"),
        ("assistant", "I submit."),
    ]


def test_a_file_without_history_prefers_the_last_query(tmp_path):
    path = changed(tmp_path / "a.traj", lambda document: document.pop("history"))

    (run,) = load_file(path)

    roles = [m.role for m in run.messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]


def test_a_result_for_two_calls_is_reported(tmp_path):
    def two(document):
        document["history"][3]["tool_call_ids"] = ["call_1", "call_2"]

    (run,) = load_file(changed(tmp_path / "a.traj", two))

    assert "names 2 calls" in unexpected(run)["history[3]"]


def test_a_damaged_history_is_refused_with_the_message(tmp_path):
    def damage(document):
        document["history"][2]["tool_calls"] = "ls"

    with pytest.raises(TranscriptError, match="message 2"):
        load_file(changed(tmp_path / "a.traj", damage))


def test_mini_swe_agent_has_usage_once_a_response_and_no_exit_message():
    (run,) = load_file(FIXTURES / "mini_swe_agent" / "run.traj.json")

    assert shape(run) == [(5, 2)]
    assert usage_sums(run) == (2, 80 + 120, 9 + 4, 0, 0)
    assert [r.time for r in run.segments[0].requests] == [1767323045, 1767323050]
    assert calls(run) == (2, 1)
    assert run.extra == {"version": "2.0.1"}
    assert [text.split(":")[0] for text in expected(run)] == ["messages[5]"]
    assert [message.extra for message in run.messages] == ["{}"] * 5


@needs_samples
@pytest.mark.parametrize(
    ("name", "messages", "requests", "n_calls"),
    [
        ("ctf-web-i_got_id.traj", 43, 21, 0),
        ("marshmallow-1867.function_calling.traj", 28, 13, 13),
        ("mini-swe-agent.github_issue.traj.json", 22, 10, 0),
        ("pydicom-1458.thought_action.traj", 26, 12, 0),
    ],
)
def test_real_runs_agree_with_their_manifest(name, messages, requests, n_calls):
    (run,) = load_file(SAMPLES / "swe_agent" / name)

    assert shape(run) == [(messages, requests)]
    assert sum(len(message.tool_calls) for message in run.messages) == n_calls
    assert unexpected(run) == {}
