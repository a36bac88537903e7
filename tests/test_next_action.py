"""Proposed tool calls: read, compared, sampled."""

import json

import pytest

from compaction.messages import messages_from_openai
from evals.probing.boundaries import boundary_of
from evals.probing.next_action import (
    NO_TOOL,
    Action,
    action_call,
    agreement,
    read_action,
    sampled_requests,
)
from tests.probe_cases import TOOL, conversation, prepared_dataset


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('{"tool": "read", "arguments": {"b": 1, "a": 2}}', Action("read", '{"a":2,"b":1}')),
        ('```json\n{"tool": "read", "arguments": {}}\n```', Action("read", "{}")),
        ('{"tool": "none"}', Action("none", "{}")),
        ("I would read the file.", None),
        ('{"tool": "read", "arguments": ', None),
        ('{"tool": 3, "arguments": {}}', None),
        ('{"tool": "read", "arguments": "a.txt"}', None),
        ("[]", None),
    ],
)
def test_a_proposal_is_a_tool_with_arguments_or_nothing(text, action):
    assert read_action(text) == action


def test_agreement_counts_tools_and_calls_and_never_prose():
    first = [Action("read", "{}"), Action("read", '{"a":1}'), None, Action("run", "{}")]
    second = [Action("read", "{}"), Action("read", '{"a":2}'), None, Action("read", "{}")]

    found = agreement(first, second)

    assert (found.asked, found.same_tool, found.same_call) == (4, 2, 1)


def test_the_first_requests_from_the_boundary_that_call_a_tool_are_sampled(tmp_path):
    prepared = prepared_dataset(tmp_path)
    boundary = boundary_of(prepared, "50%")

    # Requests 2 and 3 call a tool, request 4 answers.
    assert [request.index for request in sampled_requests(boundary)] == [2, 3]
    assert [request.index for request in sampled_requests(boundary, max_samples=1)] == [2]


def test_the_schema_names_the_tools_and_no_tool():
    call = action_call(messages_from_openai(conversation()), (TOOL,), seed=1)

    assert call.response_schema["properties"]["tool"]["enum"] == ["read", NO_TOOL]
    assert "- read(path)" in call.messages[0].text
    assert json.dumps(call.response_schema)
