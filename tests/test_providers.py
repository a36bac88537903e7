import pytest
from hypothesis import given

from compaction.contract.generators import conversations
from compaction.contract.providers import (
    PROFILES,
    check_messages,
    to_anthropic,
    to_gemini,
    to_openai_chat,
    to_openai_responses,
)
from compaction.messages import Message, Part, ToolCall, messages_to_openai


def call(key="c1", arguments='{"path": "a"}', name="read"):
    return ToolCall(key, name, arguments)


def calls(*made, **fields):
    return Message("assistant", fields.pop("content", None), tool_calls=made, **fields)


def result(key="c1", content="text"):
    return Message("tool", content, tool_call_id=key)


def image(url="data:image/png;base64,AAAA"):
    return Part.from_openai({"type": "image_url", "image_url": {"url": url}})


USER = Message("user", "go")
CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", (Part.of_text("Look:"), image())),
    calls(call("c1"), call("c2", "{}", "list"), content="Both."),
    result("c2", "two"),
    result("c1", "one"),
    Message("user", "And?"),
)


def test_chat_messages_are_themselves():
    converted = to_openai_chat(CONVERSATION)

    assert converted.body == {"messages": messages_to_openai(CONVERSATION)}
    assert converted.sources == tuple((at,) for at in range(6))


def test_responses_items_are_flat():
    converted = to_openai_responses(CONVERSATION)

    assert converted.body["input"] == [
        {
            "type": "message",
            "role": "system",
            "content": [{"type": "input_text", "text": "Be brief."}],
        },
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look:"},
                {
                    "type": "input_image",
                    "image_url": "data:image/png;base64,AAAA",
                    "detail": "auto",
                },
            ],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Both."}],
        },
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call", "call_id": "c2", "name": "list", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]
    assert converted.sources == ((0,), (1,), (2,), (2,), (2,), (3,), (4,), (5,))


def test_anthropic_results_are_in_one_user_message_with_what_follows():
    converted = to_anthropic(CONVERSATION)

    assert converted.body == {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Both."},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
                    {"type": "tool_use", "id": "c2", "name": "list", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "two"}],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "one"}],
                    },
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
    }
    assert converted.sources == ((1,), (2,), (3, 4, 5))


def test_gemini_results_have_the_names_of_their_calls_and_a_content_of_their_own():
    converted = to_gemini(CONVERSATION)

    assert converted.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert converted.body["contents"] == [
        {
            "role": "user",
            "parts": [
                {"text": "Look:"},
                {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Both."},
                {"functionCall": {"name": "read", "args": {"path": "a"}, "id": "c1"}},
                {"functionCall": {"name": "list", "args": {}, "id": "c2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "list",
                        "response": {"result": "two"},
                        "id": "c2",
                    }
                },
                {
                    "functionResponse": {
                        "name": "read",
                        "response": {"result": "one"},
                        "id": "c1",
                    }
                },
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
    ]
    assert converted.sources == ((1,), (2,), (3, 4), (5,))


@pytest.mark.parametrize(
    ("convert", "message", "named"),
    [
        (to_anthropic, Message("assistant", "x", reasoning="why"), "reasoning without a signature"),
        (to_gemini, Message("assistant", "x", reasoning="why"), "reasoning"),
        (to_openai_responses, Message("assistant", "x", reasoning="why"), "reasoning without its"),
        (to_gemini, result(content=(image(),)), "media in a result"),
        (to_anthropic, calls(call(arguments="{")), "the arguments of read are no JSON"),
        (
            to_anthropic,
            Message("user", (Part.from_openai({"type": "input_audio", "input_audio": {}}),)),
            "a part of kind audio",
        ),
        (to_openai_chat, Message("user", (Part.from_openai({"type": "x"}),)), "does not know"),
    ],
)
def test_what_has_no_counterpart_is_named_with_its_message(convert, message, named):
    (text,) = convert([USER, message]).unconverted

    assert text.startswith("message 1: ")
    assert named in text


def test_late_instructions_move_to_the_front_and_that_is_named():
    messages = [USER, Message("assistant", "ok"), Message("system", "late"), USER]

    for convert in (to_anthropic, to_gemini):
        assert convert(messages).unconverted == ("message 2: instructions moved to the front",)


SIGNED = {"extra": '{"thinking_blocks":[{"signature":"s","thinking":"why","type":"thinking"}]}'}


def test_signed_reasoning_goes_along():
    converted = to_anthropic([USER, Message("assistant", "x", reasoning="why", **SIGNED)])

    assert converted.body["messages"][1]["content"][0]["signature"] == "s"
    assert converted.unconverted == ()


ALL = ("openai_chat", "openai_responses", "anthropic", "gemini")
CASES = {
    "a legal conversation": (CONVERSATION, {}),
    "nothing": ((), dict.fromkeys(ALL, ("empty_request", -1))),
    "an orphan result": ((USER, result()), dict.fromkeys(ALL, ("result_without_call", 1))),
    "an open call at the end": (
        (USER, calls(call())),
        {
            **dict.fromkeys(
                ("openai_chat", "openai_responses", "anthropic"), ("call_without_result", 1)
            ),
            "gemini": [("last_is_not_user", 1), ("call_without_result", 1)],
        },
    ),
    "a message between call and result": (
        (USER, calls(call()), USER, result()),
        {
            "openai_chat": [("call_without_result", 1), ("result_without_call", 3)],
            "anthropic": ("result_misplaced", 3),
            "gemini": [("call_without_result", 1), ("result_without_call", 3)],
        },
    ),
    "an answer between call and result": (
        (USER, calls(call()), USER, Message("assistant", "x"), result()),
        {
            "openai_chat": [("call_without_result", 1), ("result_without_call", 4)],
            "anthropic": [("call_without_result", 1), ("result_without_call", 4)],
            "gemini": [("call_without_result", 1), ("result_without_call", 4)],
        },
    ),
    "one result of two": (
        (USER, calls(call(), call("c2")), result(), USER),
        {
            **dict.fromkeys(
                ("openai_chat", "openai_responses", "anthropic"), ("call_without_result", 1)
            ),
            "gemini": ("call_without_result", 1),
        },
    ),
    "an empty answer at the end": (
        (USER, Message("assistant", "")),
        {"gemini": [("last_is_not_user", 1), ("empty_content", 1)]},
    ),
    "an id again in a later round": (
        (USER, calls(call()), result(), calls(call()), result()),
        {"anthropic": ("id_reused", 3)},
    ),
    "an id twice in one message": (
        (USER, calls(call(), call()), result(), result()),
        {
            "openai_chat": [("id_reused", 1), ("result_without_call", 3)],
            "openai_responses": [("id_reused", 1), ("result_without_call", 3)],
            "anthropic": [("id_reused", 1), ("result_without_call", 3)],
        },
    ),
    "an answer at the front": (
        (Message("assistant", "x"), USER),
        {"anthropic": ("first_is_not_user", 0), "gemini": ("first_is_not_user", 0)},
    ),
    "an answer at the end": (
        (USER, Message("assistant", "x")),
        {"gemini": ("last_is_not_user", 1)},
    ),
    "an empty user message": (
        (Message("user", ""), Message("assistant", "x"), USER),
        {"anthropic": ("empty_content", 0), "gemini": ("empty_content", 0)},
    ),
    "a user message without content": (
        (Message("user", None), Message("assistant", "x"), USER),
        {
            "openai_chat": ("empty_content", 0),
            "openai_responses": ("empty_content", 0),
            "anthropic": ("empty_content", 0),
            "gemini": ("empty_content", 0),
        },
    ),
    "an answer without content": (
        (USER, Message("assistant", None), USER),
        {
            "openai_chat": ("empty_content", 1),
            "openai_responses": ("empty_content", 1),
            "anthropic": ("empty_content", 1),
            "gemini": ("empty_content", 1),
        },
    ),
    "an id with a colon": (
        (USER, calls(call("a:1")), result("a:1")),
        {"anthropic": ("bad_id", 1)},
    ),
    "arguments that are no object": (
        (USER, calls(call(arguments="[]")), result()),
        {"anthropic": ("bad_arguments", 1), "gemini": ("bad_arguments", 1)},
    ),
}
"""Messages, and the provider -> what it refuses: rules with the messages concerned."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("provider", ALL)
def test_a_provider_refuses_what_it_refuses_and_nothing_else(name, provider):
    messages, refused = CASES[name]

    found = [(item.rule, item.position) for item in check_messages(messages, PROFILES[provider])]

    expected = refused.get(provider, [])
    assert found == (expected if isinstance(expected, list) else [expected])


@given(messages=conversations(min_turns=1))
def test_every_message_goes_into_a_request_in_its_order_or_to_the_front(messages):
    for profile in PROFILES.values():
        converted = profile.convert(messages)
        at = [index for item in converted.sources for index in item]

        assert at == sorted(at)
        lists = [value for key, value in converted.body.items() if not key.startswith("system")]
        assert len(lists[0]) == len(converted.sources)


@given(messages=conversations(allow_pending=False))
def test_generated_conversations_have_no_structural_fault_for_chat(messages):
    found = {item.rule for item in check_messages(messages, PROFILES["openai_chat"])}

    assert found <= {"empty_request", "empty_content"}
