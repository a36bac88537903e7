"""ATIF trajectories against hand counts: copied steps, sub-agents, handovers."""

import json

import pytest

from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from tests.import_cases import FIXTURES, calls, expected, shape, unexpected, usage_sums

PATH = FIXTURES / "atif" / "trajectory.json"


def test_steps_are_messages_and_agent_steps_requests():
    agent, sub = load_file(PATH)

    assert shape(agent) == [(8, 2), (4, 1)]
    assert usage_sums(agent) == (3, 80 + 110 + 50, 12 + 4 + 2, 30, 0)
    assert calls(agent) == (3, 0)
    assert agent.segments[0].requests[0].time == 1767323045
    assert [r.model for s in agent.segments for r in s.requests] == [
        *("gpt-test", "gpt-test", "gpt-test-2"),
    ]
    assert [part.kind for part in agent.messages[1].parts] == ["text", "image"]
    assert agent.messages[3].reasoning == "Two files."
    assert agent.tools[0]["function"]["name"] == "read"
    assert shape(sub) == [(2, 1)]


def test_copied_answers_are_context_and_not_counted_again():
    agent, _ = load_file(PATH)

    assert agent.messages[2].text == "Earlier answer."
    assert [r.position for r in agent.segments[0].requests] == [3, 6]
    assert any(text.startswith("step 3: answer copied") for text in expected(agent))


def test_a_result_that_names_no_call_is_the_single_calls_or_what_the_agent_is_told():
    agent, _ = load_file(PATH)

    assert agent.segments[0].messages[-1].tool_call_id == "t3"
    told = agent.segments[1].messages[-1]
    assert (told.role, told.text) == ("user", "terminal: $")


def test_a_handover_opens_a_segment_that_keeps_the_first_message():
    agent, _ = load_file(PATH)

    after = agent.segments[1]
    assert after.opened_by.tokens_before == 110
    assert [m.text for m in after.messages][:3] == [
        *("You read files.", "The port is 8443. Go on.", "Done."),
    ]


def test_sub_agents_belong_to_the_session():
    agent, sub = load_file(PATH)

    assert (agent.name, sub.name) == ("main", "sub")
    assert agent.cluster == sub.cluster


def test_an_unknown_source_is_not_understood():
    agent, _ = load_file(PATH)

    assert unexpected(agent) == {"step 9": "a step from an unknown source 'moon'"}


def test_a_trajectory_without_steps_is_refused(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"schema_version": "ATIF-v1.2", "agent": {}, "steps": []}))

    with pytest.raises(UnknownFormatError, match="without steps"):
        load_file(path)
