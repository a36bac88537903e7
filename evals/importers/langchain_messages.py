"""One LangChain message, however it was dumped, as a chat dict."""

from typing import Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.fields import (
    as_text,
    count,
    first_text,
    function_call,
    image_part,
    mapping,
    objects,
    plain,
    text,
    text_part,
)
from evals.importers.files import JsonValue
from evals.importers.usages import anthropic_usage, chat_usage, logged_usage

ROLES: Final = {
    "ai": "assistant",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "assistant": "assistant",
    "chat": "user",
    "developer": "developer",
    "function": "function",
    "FunctionMessage": "function",
    "human": "user",
    "HumanMessage": "user",
    "HumanMessageChunk": "user",
    "system": "system",
    "SystemMessage": "system",
    "tool": "tool",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "user": "user",
}
CALL_BLOCKS: Final = ("tool_use", "tool_call", "function_call", "input_json_delta")
"""Blocks of the provider that repeat `tool_calls`."""
REASONING_BLOCKS: Final = ("thinking", "redacted_thinking", "reasoning")
TELLING_KEYS: Final = frozenset(
    {"additional_kwargs", "response_metadata", "usage_metadata", "invalid_tool_calls", "example"}
)
"""Fields that only LangChain's messages have."""


def is_message(raw: JsonValue) -> bool:
    kind, fields = _split(raw)
    return kind in ROLES and "content" in fields


def is_telling(raw: JsonValue) -> bool:
    """Tell a message that no other API writes."""
    if not is_message(raw) or not isinstance(raw, dict):
        return False
    is_typed = raw.get("type") in ("human", "ai", "constructor") or isinstance(raw.get("id"), list)
    return "role" not in raw and (is_typed or not TELLING_KEYS.isdisjoint(_split(raw)[1]))


def message(raw: JsonValue) -> Json | None:
    """Convert a message; None if its kind is unknown."""
    kind, fields = _split(raw)
    role = ROLES.get(kind)
    if role is None:
        return None
    given = fields.get("content")
    blocks = given if isinstance(given, list) else []
    calls = [_call(call, i) for i, call in enumerate(objects(fields.get("tool_calls")))]
    further = mapping(fields.get("additional_kwargs"))
    if not calls:
        calls = [_older_call(call, i) for i, call in enumerate(objects(further.get("tool_calls")))]
    hidden = (*CALL_BLOCKS, *REASONING_BLOCKS) if calls else REASONING_BLOCKS
    parts = [_part(block) for block in blocks if _kind(block) not in hidden]
    converted: Json = {"role": role, "content": plain(parts) if blocks else given}
    thoughts = [_thought(block) for block in objects(blocks) if _kind(block) in REASONING_BLOCKS]
    reasoning = [value for value in (*thoughts, text(further.get("reasoning_content"))) if value]
    if reasoning:
        converted["reasoning_content"] = "\n\n".join(reasoning)
    if calls and role == "assistant":
        converted["tool_calls"] = calls
    if role == "tool":
        converted["tool_call_id"] = as_text(fields.get("tool_call_id"))
        if fields.get("status") == "error":
            converted["is_error"] = True
    if text(fields.get("name")) and role in ("tool", "function", "user", "assistant"):
        converted["name"] = fields["name"]
    return converted


def usage_of(raw: JsonValue) -> Usage | None:
    """Read `usage_metadata`, whose input includes the cache, else the provider's own usage."""
    fields = _split(raw)[1]
    given = mapping(fields.get("usage_metadata"))
    sent, made = count(given.get("input_tokens")), count(given.get("output_tokens"))
    if sent is not None and made is not None:
        details = mapping(given.get("input_token_details"))
        read, written = count(details.get("cache_read")), count(details.get("cache_creation"))
        return logged_usage(sent, made, read, written)
    metadata = mapping(fields.get("response_metadata"))
    older = mapping(metadata.get("token_usage")) or mapping(metadata.get("tokenUsage"))
    if "promptTokens" in older:
        older = {
            "prompt_tokens": older.get("promptTokens"),
            "completion_tokens": older.get("completionTokens"),
        }
    return chat_usage(older) if older else anthropic_usage(metadata.get("usage"))


def model_of(raw: JsonValue) -> str | None:
    metadata = mapping(_split(raw)[1].get("response_metadata"))
    return first_text(metadata, "model_name", "model", "model_id")


def _split(raw: JsonValue) -> tuple[str, Json]:
    """Return the kind of a message and its fields."""
    if not isinstance(raw, dict):
        return "", {}
    name = raw.get("id")
    if isinstance(raw.get("kwargs"), dict):
        last = name[-1] if isinstance(name, list) and name else raw["kwargs"].get("type")
        return str(last), raw["kwargs"]
    kind = str(raw.get("type", raw.get("role")))
    if isinstance(raw.get("data"), dict) and "content" in raw["data"]:
        return kind, raw["data"]
    return kind, raw


def _call(raw: Json, index: int) -> Json:
    call_id = text(raw.get("id")) or f"call_{index}"
    return function_call(call_id, raw.get("name"), raw.get("args"))


def _older_call(raw: Json, index: int) -> Json:
    """Convert a call as the provider's API has it."""
    inner = mapping(raw.get("function"))
    call_id = text(raw.get("id")) or f"call_{index}"
    return function_call(call_id, inner.get("name"), inner.get("arguments"))


def _kind(block: JsonValue) -> str:
    return str(block.get("type")) if isinstance(block, dict) else ""


def _thought(block: Json) -> str | None:
    summary = "\n\n".join(as_text(part.get("text")) for part in objects(block.get("summary")))
    return first_text(block, "thinking", "reasoning", "text") or text(summary)


def _part(block: JsonValue) -> JsonValue:
    if isinstance(block, str):
        return text_part(block)
    kind = _kind(block)
    if kind in ("text", "output_text") and isinstance(block.get("text"), str):
        return text_part(block["text"])
    if kind != "image":
        return block
    source = mapping(block.get("source"))
    data = first_text(block, "base64", "data") or text(source.get("data"))
    mime = first_text(block, "mime_type") or text(source.get("media_type")) or "image/png"
    url = text(block.get("url")) or text(source.get("url"))
    if data:
        url = f"data:{mime};base64,{data}"
    return image_part(url) if url else block
