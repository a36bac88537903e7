"""What each typed message sends and stores."""

import base64

import pytest

from compaction.conversation_messages import (
    RawOpenAIMessage,
    SystemPrompt,
    UserMessage,
    message_from_json,
    normalize_image,
)
from compaction.messages import Message
from compaction.systems.xun_prompts import COMPACTED_SYSTEM_PROMPT

REASONED = {
    "role": "assistant",
    "content": None,
    "reasoning": "hmm",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
    ],
}


def test_a_system_prompt_sends_its_sections_behind_its_body():
    prompt = SystemPrompt("You are X.", persist_sections={"AGENTS.md": "# Rules\n{braces}"})

    assert prompt.completion_param() == {
        "role": "system",
        "content": "You are X.\n\n# Rules\n{braces}",
    }
    assert prompt.message == Message("system", "You are X.")


def test_a_compressed_prompt_is_wrapped_and_keeps_its_sections_as_they_are():
    prompt = SystemPrompt("old", persist_sections={"AGENTS.md": "# Rules"}).summarized("{sum} {0}")

    expected = COMPACTED_SYSTEM_PROMPT.replace("{summary}", "{sum} {0}")
    assert prompt.is_compressed
    assert prompt.completion_param()["content"] == f"{expected}\n\n# Rules"


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "CMYK", "1"])
def test_a_pil_image_becomes_a_png_data_url(mode):
    pillow = pytest.importorskip("PIL.Image")

    url = normalize_image(pillow.new(mode, (3, 2)))

    head, _, data = url.partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG")


def test_reasoning_is_found_in_either_field_and_sent_back_as_it_came():
    other = {"role": "assistant", "content": "x", "reasoning_content": "hmm"}

    assert RawOpenAIMessage.of(REASONED).reasoning_field == "reasoning"
    assert RawOpenAIMessage.of(other).reasoning_field == "reasoning_content"
    assert RawOpenAIMessage(Message("tool", "x")).reasoning_field is None
    assert RawOpenAIMessage.of(REASONED).completion_param() == REASONED


@pytest.mark.parametrize(
    "message",
    [
        SystemPrompt("a", True, {"AGENTS.md": "b"}),
        UserMessage("a", ("https://x.org/a.png",), {"type": "object"}),
        RawOpenAIMessage.of(REASONED),
        RawOpenAIMessage.of({"role": "tool", "content": "r", "tool_call_id": "../../x"}),
    ],
)
def test_every_message_is_read_back_from_what_it_stores(message):
    assert message_from_json(message.to_json()) == message
    assert set(message.to_json()) == {"kind", "raw"}
