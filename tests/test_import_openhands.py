"""OpenHands events of both generations against hand counts."""

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
    write_lines,
)


def runs():
    return load_file(FIXTURES / "openhands" / "output.jsonl")


def test_a_response_repeated_on_its_events_is_one_message_and_counted_once():
    run, other = runs()

    assert shape(run) == [(8, 2), (8, 1)]
    assert usage_sums(run) == (3, 500 + 620 + 300, 20 + 10 + 5, 0, 0)
    answer = run.messages[3]
    assert [call.call_id for call in answer.tool_calls] == ["k1", "k2"]
    assert answer.text == "I look."
    assert calls(run) == (4, 0)
    assert run.segments[0].requests[0].time == 1767323045
    assert (run.name, run.project, run.extra["version"]) == ("shop__1", "acme/shop", "0.35.0")
    assert shape(other) == [(2, 0)]


def test_images_and_recalled_texts_are_sent():
    run, _ = runs()

    assert [part.kind for part in run.messages[1].parts] == ["text", "image"]
    assert run.messages[2].text == "Use git carefully."
    assert run.tools[0]["function"]["name"] == "execute_bash"


def test_a_condensation_drops_events_and_puts_the_summary_in_their_place():
    after = runs()[0].segments[1]

    assert (after.opened_by.tokens_before, after.opened_by.summary) == (
        620,
        "Listed a and b in /w.",
    )
    assert [m.role for m in after.messages] == [
        *("system", "user", "user", "user", "assistant", "tool", "assistant", "tool"),
    ]
    assert after.messages[3].text == "Listed a and b in /w."
    assert [r.position for r in after.requests] == [6]


@pytest.mark.parametrize("forgotten", [[4], [6]])
def test_an_answer_is_forgotten_with_any_of_its_events_and_its_results_go_with_it(
    tmp_path, forgotten
):
    run = json.loads((FIXTURES / "openhands" / "output.jsonl").read_text().split("\n")[0])
    run["history"][11]["args"]["forgotten_event_ids"] = forgotten

    (read,) = load_file(write_lines(tmp_path / "o.jsonl", [run]))

    assert shape(read) == [(8, 2), (8, 1)]
    assert unexpected(read) == {}


def test_what_steers_the_program_is_reported_and_not_sent():
    run, _ = runs()

    assert unexpected(run) == {}
    assert [text.split(":")[0] for text in expected(run)] == ["event 2", "event 8"]


def test_oldest_events_without_ids_are_paired_in_order():
    (run,) = load_file(FIXTURES / "openhands" / "oldest.json")

    assert [m.role for m in run.messages] == ["user", "assistant", "tool", "assistant"]
    assert [call.name for call in run.messages[1].tool_calls] == ["run"]
    assert json.loads(run.messages[1].tool_calls[0].arguments) == {"command": "ls"}
    assert calls(run) == (1, 0)
    assert run.messages[3].text == "All done."


def test_sdk_calls_of_one_response_are_one_message():
    (run,) = load_file(FIXTURES / "openhands_sdk" / "events.jsonl")

    assert shape(run) == [(7, 2), (6, 1)]
    answer = run.messages[2]
    assert [call.call_id for call in answer.tool_calls] == ["k1", "k2"]
    assert answer.reasoning == "Think first."
    assert [part.kind for part in run.messages[1].parts] == ["text", "image", "text"]
    assert json.loads(run.messages[4].extra) == {"is_error": True}
    assert calls(run) == (3, 0)


def test_sdk_usage_is_the_difference_of_running_totals():
    (run,) = load_file(FIXTURES / "openhands_sdk" / "events.jsonl")

    first, second = run.segments[0].requests
    assert (first.usage.input_tokens, first.usage.cached_input_tokens) == (400, 100)
    assert (second.usage.input_tokens, second.usage.output_tokens) == (500, 20)
    assert second.model == "m-1"
    assert run.segments[1].requests[0].usage is None


def test_sdk_totals_of_other_calls_are_given_to_nobody(tmp_path):
    lines = (FIXTURES / "openhands_sdk" / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    stray = json.loads(lines[2].replace("04:05.0", "04:20.0").replace("400", "450"))
    events.insert(7, stray)

    (run,) = load_file(write_lines(tmp_path / "e.jsonl", events))

    inputs = [request.usage.input_tokens for request in run.segments[0].requests]
    assert inputs == [400, 450]


def test_an_sdk_condensation_opens_a_segment():
    (run,) = load_file(FIXTURES / "openhands_sdk" / "events.jsonl")

    after = run.segments[1]
    assert (after.opened_by.summary, after.opened_by.tokens_before) == ("Listed a.py.", 500)
    roles = [m.role for m in after.messages]
    assert roles == ["system", "user", "user", "assistant", "tool", "assistant"]


def test_unknown_sdk_events_are_not_understood():
    (run,) = load_file(FIXTURES / "openhands_sdk" / "events.jsonl")

    assert unexpected(run) == {"event 14": "MoonEvent: no message"}
    assert [text.split(":")[0] for text in expected(run)] == ["event 3", "event 13"]


def test_events_without_a_message_are_refused(tmp_path):
    state = json.loads((FIXTURES / "openhands_sdk" / "events.jsonl").read_text().splitlines()[2])

    with pytest.raises(UnknownFormatError, match="without messages"):
        load_file(write_lines(tmp_path / "e.jsonl", [state]))


@needs_samples
def test_a_real_run_agrees_with_its_manifest():
    (run,) = load_file(SAMPLES / "openhands" / "eval-output.v0-events.jsonl")

    # 49 events: the recall action is not sent.
    assert shape(run) == [(48, 23)]
    assert calls(run) == (23, 1)
    assert usage_sums(run) == (23, 565158, 2558, 0, 0)
    assert unexpected(run) == {}


@needs_samples
def test_a_real_sdk_log_names_the_result_whose_call_it_lacks():
    (run,) = load_file(SAMPLES / "openhands" / "sdk-events.jsonl")

    assert shape(run) == [(5, 2)]
    assert usage_sums(run) == (2, 35299 + 35984, 185 + 192, 1115 + 33657, 0)
    assert list(unexpected(run)) == ["messages[2]"]
