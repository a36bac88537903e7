"""Messages go through without loss, whatever shape the API gave them."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.errors import MessageError
from compaction.messages import (
    Message,
    Part,
    ToolCall,
    canonical_json,
    messages_from_openai,
    messages_to_openai,
)

text = st.text(st.characters(exclude_categories=()), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
ABSENT = object()


def fields(**generators):
    """Generate dicts whose fields may be absent, which is not null."""
    optional = {key: st.just(ABSENT) | generator for key, generator in generators.items()}
    return st.fixed_dictionaries(optional).map(
        lambda found: {key: value for key, value in found.items() if value is not ABSENT}
    )


unknown = st.dictionaries(st.sampled_from(["audio", "x_extra", "annotations"]), json_values)
parts = st.one_of(
    st.builds(lambda value, extra: {**extra, "type": "text", "text": value}, text, unknown),
    st.builds(lambda value: {"type": "refusal", "refusal": value}, text),
    st.just({"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}),
    st.just({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}),
    st.just({"type": "file", "file": {"file_id": "f1"}}),
    st.just({"type": "text", "text": None}),
    json_values,
)
calls = st.one_of(
    st.builds(
        lambda call_id, name, arguments, kind, extra: {
            **extra,
            "id": call_id,
            **kind,
            "function": {"name": name, "arguments": arguments, **extra},
        },
        text,
        text,
        text,
        st.sampled_from([{}, {"type": "function"}, {"type": None}, {"type": "other"}]),
        unknown,
    ),
    st.builds(
        lambda call_id, given: {
            "id": call_id,
            "type": "custom",
            "custom": {"name": "sh", "input": given},
        },
        text,
        text,
    ),
)
message_dicts = st.builds(
    lambda role, known, other: {"role": role, **other, **known},
    st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"]),
    fields(
        content=st.none() | text | st.lists(parts, max_size=3),
        tool_calls=st.none() | st.lists(calls, max_size=3),
        function_call=st.none()
        | st.builds(lambda name, given: {"name": name, "arguments": given}, text, text),
        tool_call_id=st.none() | text,
        name=st.none() | text,
        refusal=st.none() | text,
        reasoning=st.none() | text | json_values,
        reasoning_content=st.none() | text,
    ),
    unknown,
)


@given(raw=message_dicts)
def test_every_message_comes_back_as_it_was(raw):
    before = copy.deepcopy(raw)
    back = Message.from_openai(raw).to_openai()

    assert back == before
    assert canonical_json(back) == canonical_json(before)
    assert raw == before


@given(raw=message_dicts, other=message_dicts)
def test_messages_are_equal_exactly_if_their_dicts_are(raw, other):
    message = Message.from_openai(raw)
    same = Message.from_openai(json.loads(json.dumps(raw)))

    assert message == same
    assert hash(message) == hash(same)
    assert (message == Message.from_openai(other)) == (canonical_json(raw) == canonical_json(other))


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "assistant"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": None, "tool_calls": None},
        {"role": "assistant", "content": None, "function_call": None},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "assistant", "reasoning": "r", "reasoning_content": "c"},
        {"role": "function", "name": "f", "content": "x"},
    ],
)
def test_unusual_shapes_stay_apart(raw):
    assert Message.from_openai(raw).to_openai() == raw


def test_absent_null_and_empty_are_four_different_messages():
    shapes = ({}, {"content": None}, {"content": ""}, {"content": []})
    messages = {Message.from_openai({"role": "assistant", **shape}) for shape in shapes}

    assert len(messages) == 4


def test_parts_calls_and_reasoning_are_read():
    message = Message.from_openai(
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}, 7],
            "reasoning": "why",
            "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "2", "type": "custom", "custom": {"name": "g", "input": "ls"}},
            ],
            "function_call": {"name": "h", "arguments": "{}"},
        }
    )

    assert message.text == "a\nb"
    assert [part.kind for part in message.parts] == ["text", "refusal", "opaque"]
    assert (message.reasoning, message.reasoning_field) == ("why", "reasoning")
    assert [
        (call.call_id, call.name, call.arguments, call.kind) for call in message.tool_calls
    ] == [
        ("1", "f", "{}", "function"),
        ("2", "g", "ls", "custom"),
        ("", "h", "{}", "legacy"),
    ]


@given(raw=message_dicts, replacement=text)
def test_replacing_the_text_changes_the_content_alone(raw, replacement):
    changed = Message.from_openai(raw).with_text(replacement).to_openai()

    assert changed == {**raw, "content": replacement}


def test_a_part_with_other_text_keeps_its_further_fields():
    part = Part.from_openai({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}})

    assert part.with_text("b").to_openai() == {
        "type": "text",
        "text": "b",
        "cache_control": {"type": "ephemeral"},
    }


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (7, "a message must be an object, got int"),
        ({}, "unknown role None"),
        ({"role": "robot"}, "unknown role 'robot'; known: system, developer"),
        ({"role": "user", "content": 7}, "content must be a string, a list or null, got int"),
        ({"role": "assistant", "tool_calls": "x"}, "tool_calls must be a list, got str"),
        ({"role": "assistant", "tool_calls": [7]}, "a tool call must be an object, got int"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "has no object 'function'"),
        (
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]},
            "tool call needs a string 'id', got NoneType",
        ),
        ({"role": "assistant", "function_call": "f"}, "function_call must be an object, got str"),
        ({"role": "user", "content": "a", "x": {1, 2}}, "is not JSON"),
    ],
)
def test_what_is_no_message_is_refused_in_one_line(raw, message):
    with pytest.raises(MessageError, match=message) as caught:
        Message.from_openai(raw)

    assert "\n" not in str(caught.value)


def test_the_index_of_a_bad_message_is_named():
    with pytest.raises(MessageError, match="message 1: unknown role 'x'"):
        messages_from_openai([{"role": "user"}, {"role": "x"}])


@given(raw=st.lists(message_dicts, max_size=3))
def test_lists_come_back_as_they_were(raw):
    assert messages_to_openai(messages_from_openai(raw)) == raw


def test_a_built_call_has_the_shape_of_the_api():
    message = Message("assistant", None, tool_calls=(ToolCall("c", "f", "{}"),))

    assert message.to_openai() == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }
