"""The typed messages and the methods of `Conversation`."""

import warnings
from typing import ClassVar

import pytest
from pydantic import BaseModel

from compaction.conversation import Conversation
from compaction.conversation_messages import (
    SystemPrompt,
    UserMessage,
    estimated_length,
)
from compaction.errors import MessageError
from compaction.llm import ModelReply

REASONED = {
    "role": "assistant",
    "content": None,
    "reasoning": "hmm",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
    ],
}


def texts(conversation):
    return [param.get("content") for param in conversation.completion_params()]


def test_images_become_parts_behind_the_text():
    conversation = Conversation()

    conversation.add_user_message("see", ["https://x.org/a.png", "data:image/png;base64,AAAA"])
    conversation.add_user_message("", ["http://x.org/b.png"])

    assert texts(conversation) == [
        [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
        [{"type": "image_url", "image_url": {"url": "http://x.org/b.png"}}],
    ]


@pytest.mark.parametrize("image", ["/tmp/a.png", "file:///a.png", "data:text/html,x", 7, b"PNG"])
def test_other_images_are_refused_and_nothing_is_added(image):
    pytest.importorskip("PIL.Image")
    conversation = Conversation()

    with pytest.raises(MessageError, match="an image must be a"):
        conversation.add_user_message("see", [image])

    assert conversation.messages == []


def test_the_system_message_is_replaced_or_inserted_first_and_keeps_its_sections():
    conversation = Conversation()
    conversation.add_user_message("hello")
    conversation.set_persistent_section("AGENTS.md", "# Rules")

    conversation.set_system_message_content("You are X.")
    conversation.set_system_message_content("You are Y.")

    assert [m.role for m in conversation.messages] == ["system", "user"]
    assert texts(conversation) == ["You are Y.\n\n# Rules", "hello"]


def test_an_empty_section_is_deleted():
    conversation = Conversation()
    conversation.set_persistent_section("AGENTS.md", "")
    assert conversation.messages == []

    conversation.set_persistent_section("AGENTS.md", "# Rules")
    conversation.set_persistent_section("AGENTS.md", "")

    assert conversation.messages == [SystemPrompt("")]


def test_a_new_system_text_keeps_the_summary_until_the_next_one():
    conversation = Conversation([SystemPrompt("the past", is_compressed=True)])

    conversation.set_system_message_content("You are X.")
    conversation.set_system_message_content("You are Y.")

    prompt = conversation.messages[0]
    assert prompt.completion_param()["content"].startswith("You are Y.\n\nEarlier conversation")
    assert "the past" in prompt.message.text
    assert prompt.summarized("all of it").persist_sections == {}


def test_literally_a_new_system_text_drops_the_summary_with_a_warning():
    conversation = Conversation([SystemPrompt("the past", is_compressed=True)])

    with pytest.warns(UserWarning, match="replaces a summary"):
        conversation.set_system_message_content("You are X.", keep_summary=False)

    assert texts(conversation) == ["You are X."]


class Answer(BaseModel):
    title: ClassVar[str] = "Answer"
    value: int


def test_a_response_schema_is_attached_to_a_user_message_only():
    conversation = Conversation()
    with pytest.raises(ValueError, match="needs a user message at the end"):
        conversation.set_response_schema(Answer)
    conversation.add_user_message("How many?")

    conversation.set_response_schema(Answer)

    assert conversation.messages[0].response_schema == Answer.model_json_schema()
    assert texts(conversation)[0].startswith("How many?\n\n")
    assert '"value"' in texts(conversation)[0]
    conversation.add_agent_message({"role": "assistant", "content": "3"})
    with pytest.raises(ValueError, match="needs a user message at the end"):
        conversation.set_response_schema({"type": "object"})


class Dumped:
    """Stands in for a message of the openai package."""

    def model_dump(self, *, exclude_none):
        assert exclude_none
        return {"role": "assistant", "tool_calls": REASONED["tool_calls"]}


def test_an_agent_message_loses_only_an_empty_list_of_calls():
    conversation = Conversation()

    conversation.add_agent_message({"role": "assistant", "content": "hi", "tool_calls": []})
    conversation.add_agent_message(REASONED)
    conversation.add_agent_message(Dumped())

    assert conversation.completion_params() == [
        {"role": "assistant", "content": "hi"},
        REASONED,
        {"role": "assistant", "content": None, "tool_calls": REASONED["tool_calls"]},
    ]
    assert ModelReply("hi").as_message() == conversation.messages[0].message


class Value:
    def __init__(self, outcome):
        self.outcome = outcome

    def value_str(self):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_a_tool_result_is_what_value_str_says():
    conversation = Conversation()

    conversation.add_tool_result("c1", Value("42"))

    assert conversation.completion_params() == [
        {"role": "tool", "content": "42", "tool_call_id": "c1"}
    ]


@pytest.mark.parametrize("outcome", [TypeError("set"), RecursionError("deep"), ValueError("nan")])
def test_a_result_that_cannot_be_serialised_becomes_an_error_text(outcome):
    conversation = Conversation()

    conversation.add_tool_result("c1", Value(outcome))

    assert texts(conversation)[0].startswith("[Error] Failed to serialize")
    assert str(outcome) in texts(conversation)[0]


def spoken(*roles):
    conversation = Conversation()
    for index, role in enumerate(roles):
        if role == "user":
            conversation.add_user_message(str(index))
        else:
            conversation.add_agent_message({"role": "assistant", "content": str(index)})
    return conversation


def test_only_a_last_user_message_is_taken_back_on_cancel():
    answered, asked = spoken("user", "assistant"), spoken("user", "assistant", "user")

    assert answered.pop_last_message_if_user() is None
    assert asked.pop_last_message_if_user() == UserMessage("2")
    assert texts(answered) == texts(asked) == ["0", "1"]
    assert Conversation().pop_last_message_if_user() is None


@pytest.mark.parametrize(
    ("inclusive", "left", "popped"),
    [(True, ["0", "1"], ["2", "3"]), (False, ["0", "1", "2"], ["3"])],
)
def test_popping_from_the_last_user_message_returns_what_it_took(inclusive, left, popped):
    conversation = spoken("user", "assistant", "user", "assistant")

    taken = conversation.pop_from_last_user_message(inclusive=inclusive)

    assert [m.completion_param()["content"] for m in taken] == popped
    assert texts(conversation) == left


def test_popping_without_a_user_message_takes_nothing():
    conversation = spoken("assistant")

    assert conversation.pop_from_last_user_message() == []
    assert texts(conversation) == ["0"]


def test_clearing_keeps_the_system_message_and_forgets_the_rest():
    conversation = Conversation([SystemPrompt("You are X.")])
    conversation.add_tool_result("c1", "r" * 500)
    conversation.compact_toolcall(keep_max=0)
    conversation.total_tokens = 9

    conversation.clear()

    assert conversation.messages == [SystemPrompt("You are X.")]
    assert conversation.total_tokens is None
    assert conversation.compaction_counter.summary_rounds == 0
    assert conversation.compacted_toolcall_result("c1") is None


def test_the_history_for_display_is_cut_at_1000_characters_if_asked():
    conversation = Conversation()
    conversation.add_user_message("x" * 1_001, ["https://x.org/a.png"])
    conversation.add_agent_message(REASONED)

    assert conversation.to_history()[0] == {
        "role": "user",
        "content": "x" * 1_001 + "\n[image_url]",
    }
    assert conversation.to_history(truncate=True) == [
        {"role": "user", "content": "x" * 1_000},
        {"role": "assistant", "content": ""},
    ]
    assert conversation.content_to_text("x" * 1_001, truncate=True) == "x" * 1_000


def test_the_estimate_counts_text_and_reasoning_at_any_depth_and_nothing_else():
    nested = {
        "role": "user",
        "content": [
            {"type": "text", "text": "12345"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ],
        "reasoning_details": [{"type": "x", "text": "123"}],
        "reasoning": "12",
        "reasoning_content": "1",
        "tool_calls": [{"function": {"arguments": "123456"}}],
    }
    conversation = Conversation([SystemPrompt("1234", persist_sections={"A": "5"})])
    conversation.add_agent_message({**REASONED, "content": "abc"})

    assert estimated_length(nested) == 5 + 3 + 2 + 1
    assert conversation.estimated_message_length() == len("1234\n\n5") + 3 + 3


def test_adding_nothing_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Conversation([SystemPrompt("x")]).set_system_message_content("y")
