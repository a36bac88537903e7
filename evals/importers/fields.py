"""JSON fields that may be missing or of another type, and calls and results as chat dicts."""

import json
from collections.abc import Mapping
from typing import Any

from compaction.messages import Json

JsonValue = Any


def mapping(raw: JsonValue) -> Json:
    """Return an object, or an empty one."""
    return raw if isinstance(raw, dict) else {}


def objects(raw: JsonValue) -> list[Json]:
    """Return the objects of a list, or none."""
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []


def text(raw: JsonValue) -> str | None:
    """Return text that is not empty."""
    return raw if isinstance(raw, str) and raw else None


def count(raw: JsonValue) -> int | None:
    """Return a number of things; a flag is none, and neither is a negative number."""
    is_count = isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0
    return raw if is_count else None


def first_text(raw: Mapping[str, Any], *keys: str) -> str | None:
    return next((value for key in keys if (value := text(raw.get(key)))), None)


def as_text(raw: JsonValue) -> str:
    """Return text as it is and any other value as JSON; nothing is an empty text."""
    if raw is None:
        return ""
    return raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)


def function_call(call_id: str, name: JsonValue, arguments: JsonValue) -> Json:
    """Return an element of `tool_calls`; missing arguments are an empty object."""
    written = "{}" if arguments is None else as_text(arguments)
    function = {"name": name if isinstance(name, str) else as_text(name), "arguments": written}
    return {"id": call_id, "type": "function", "function": function}


def result(call_id: str, content: JsonValue, *, is_error: bool = False) -> Json:
    """Return a tool message; content that is neither text nor parts is written as JSON."""
    listed = content if isinstance(content, list) else as_text(content)
    message: Json = {"role": "tool", "tool_call_id": call_id, "content": listed}
    return {**message, "is_error": True} if is_error else message


def function_tool(name: JsonValue, description: JsonValue, parameters: JsonValue) -> Json:
    """Return a tool schema."""
    function = {"name": as_text(name), "parameters": mapping(parameters)}
    if text(description):
        function["description"] = description
    return {"type": "function", "function": function}


def image_part(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}


def text_part(value: str) -> Json:
    return {"type": "text", "text": value}


def plain(parts: list[JsonValue]) -> str | list[JsonValue] | None:
    """Write a single text part as text, and no part at all as null."""
    if not parts:
        return None
    only = parts[0]
    if len(parts) == 1 and isinstance(only, dict) and set(only) == {"type", "text"}:
        value = only["text"]
        return value if isinstance(value, str) else parts
    return parts
