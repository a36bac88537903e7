"""inspect-ai's `CompactionEdit` as a compactor of OpenAI message dicts.

Needs the extra `peer-inspect`. Messages that inspect-ai returns as they were are given back as they
were; of a changed one, content and calls are taken over. Reasoning is not converted: nothing of it
is edited with `keep_thinking_turns="all"`.
"""

import json
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    CompactionEdit,
    ContentImage,
    ContentText,
)
from inspect_ai.tool import ToolCall

from compaction.messages import Json

_INDEX = "index"


class Edit:
    """Edits at every request, whatever the size, as inspect-ai does once over its threshold."""

    def __init__(self, keep_tool_uses: int = 3, *, keep_tool_inputs: bool = True) -> None:
        self.promises = {"keeps_system": True, "keeps_last_user": True}
        self._edit = CompactionEdit(
            keep_tool_uses=keep_tool_uses,
            keep_tool_inputs=keep_tool_inputs,
            keep_thinking_turns="all",
        )

    async def view(self, messages: list[Json]) -> list[Json]:
        given = [to_inspect(raw, index) for index, raw in enumerate(messages)]
        # The model is asked only about thinking, which is kept.
        no_model: Any = None
        returned, _ = await self._edit.compact(no_model, given, [])
        same = {id(message) for message in given}
        return [
            _original(message, messages)
            if id(message) in same
            else _edited(message, _original(message, messages))
            for message in returned
        ]


class EditWithoutInputs(Edit):
    """With `keep_tool_inputs=False`: cleared calls are replaced by a line of text."""

    def __init__(self, keep_tool_uses: int = 3) -> None:
        super().__init__(keep_tool_uses, keep_tool_inputs=False)


def to_inspect(raw: Json, index: int) -> ChatMessage:
    content, metadata = _content(raw.get("content")), {_INDEX: index}
    role = raw["role"]
    if role == "user":
        return ChatMessageUser(content=content, metadata=metadata)
    if role == "assistant":
        calls = [_call(call) for call in raw.get("tool_calls") or ()]
        return ChatMessageAssistant(content=content, tool_calls=calls or None, metadata=metadata)
    if role == "tool":
        return ChatMessageTool(
            content=content, tool_call_id=raw.get("tool_call_id"), metadata=metadata
        )
    return ChatMessageSystem(content=content, metadata=metadata)


def _content(raw: str | Sequence[Json] | None) -> Any:
    if not isinstance(raw, list):
        return raw or ""
    return [
        ContentImage(image=part["image_url"]["url"])
        if part.get("type") == "image_url"
        else ContentText(text=part.get("text", ""))
        for part in raw
    ]


def _call(raw: Json) -> ToolCall:
    body = raw["function"]
    try:
        arguments = json.loads(body["arguments"])
    except ValueError:
        arguments = {"text": body["arguments"]}
    return ToolCall(id=raw["id"], function=body["name"], arguments=arguments)


def _original(message: ChatMessage, messages: Sequence[Json]) -> Json:
    index: int = (message.metadata or {})[_INDEX]
    return messages[index]


def _edited(message: ChatMessage, original: Json) -> Json:
    """Return the original with the content and the calls that are left."""
    content: Any = message.content
    if not isinstance(content, str):
        content = [{"type": "text", "text": getattr(part, "text", "")} for part in content]
    if not isinstance(message, ChatMessageAssistant):
        return {**original, "content": content}
    left = {call.id for call in message.tool_calls or ()}
    rest = {key: value for key, value in original.items() if key != "tool_calls"}
    calls = [call for call in original.get("tool_calls") or () if call["id"] in left]
    return {**rest, "content": content, **({"tool_calls": calls} if calls else {})}
