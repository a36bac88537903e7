"""JSON in a log or in a flag that is nested deeper than a reader may go is text, not a failure."""

import json

import pytest

from compaction.contract.targets import json_or_text
from compaction.messages import Message, ToolCall
from evals.extraction.message_text import decoded
from evals.extraction.quotes import quotes_of
from evals.settings import Setting
from tests.run_cases import sweep


@pytest.mark.parametrize("depth", [300, 990, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_json_within_a_message_may_be_nested_however_deep(depth, opening, closing, tmp_path):
    deep = f"{opening * depth}1{closing * depth}"
    messages = [{"role": "user", "content": "Read them all."}]
    for at in range(6):
        arguments = f'{{"path":"src\\\\x","b":{deep}}}'
        function = {"name": "read_file", "arguments": arguments}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": f"The {at}th.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": deep},
        ]
    (tmp_path / "deep.json").write_text(json.dumps({"messages": messages}), "utf-8")

    (row,) = sweep(tmp_path / "deep.json", tmp_path / "run", Setting("clear_tool_results"))

    assert (row.status, row.error) == ("ok", None)


def test_nested_arguments_are_read_in_the_order_written():
    call = ToolCall("c", "edit", json.dumps({"a": [1, {"b": "x\\y", "c": [2]}], "d": None}))
    edits = [{"old_string": f"line number {at} of it"} for at in range(3)]
    several = ToolCall("c", "edit", json.dumps({"edits": edits, "old_text": "the last of them"}))

    assert decoded(call.arguments) == "1\nb: x\\y\n2\nd: None"
    assert [*quotes_of(Message("assistant", "", tool_calls=(several,)))] == [
        *(f"line number {at} of it" for at in range(3)),
        "the last of them",
    ]


@pytest.mark.parametrize("depth", [990, 100_000])
def test_a_value_of_a_flag_that_is_nested_too_deep_is_text(depth):
    text = "[" * depth * 2

    assert json_or_text(text) == text
