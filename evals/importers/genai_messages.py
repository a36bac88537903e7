"""Messages as tracing tools log them: OpenTelemetry GenAI parts, chat dicts, LangChain, Anthropic.

A list may mix the forms. What is no message at all gives None, so that a caller can tell a logged
history from a tool's arguments.
"""

from typing import Any, Final

from compaction.messages import INSTRUCTION_ROLES, Json
from evals.importers import anthropic_blocks, langchain_messages
from evals.importers.fields import (
    as_text,
    function_call,
    image_part,
    mapping,
    objects,
    plain,
    result,
    text,
    text_part,
)

JsonValue = Any
ROLES: Final = frozenset({"assistant", "function", "tool", "user", *INSTRUCTION_ROLES})
SPELLINGS: Final = {"model": "assistant", "ai": "assistant", "human": "user"}
CHAT_KEYS: Final = ("tool_call_id", "name", "reasoning_content", "reasoning", "refusal")
OpenCalls = dict[str, list[str]]
"""Tool -> ids of its calls, in order."""

ANTHROPIC_TYPES: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def history_of(value: JsonValue) -> list[Json] | None:
    """Return the messages of a logged input or output; None if it holds none."""
    if isinstance(value, dict):
        for key in ("messages", "input_messages", "output_messages", "choices"):
            if isinstance(value.get(key), list):
                system = anthropic_blocks.system_message(value.get("system"))
                found = history_of(value[key])
                return None if found is None else system + found
        value = [value.get("message", value)]
    if not isinstance(value, list) or not value:
        return None
    messages: list[Json] = []
    open_calls: dict[str, list[str]] = {}
    for item in value:
        converted = _converted(item, open_calls)
        if converted is None:
            return None
        for message in converted:
            for call in message.get("tool_calls") or ():
                open_calls.setdefault(_name(call), []).append(call["id"])
        messages += converted
    return messages


def _converted(item: JsonValue, open_calls: OpenCalls) -> list[Json] | None:
    if not isinstance(item, dict):
        return None
    if isinstance(item.get("message"), dict):
        item = item["message"]
    if langchain_messages.is_telling(item):
        message = langchain_messages.message(item)
        return None if message is None else [message]
    role = SPELLINGS.get(str(item.get("role")), item.get("role"))
    if not isinstance(role, str):
        return None
    if isinstance(item.get("parts"), list):
        return _of_parts(role, item["parts"])
    if "content" not in item and "tool_calls" not in item:
        return None
    return _of_chat(role, item, open_calls)


def _of_parts(role: str, parts: list[JsonValue]) -> list[Json]:
    """Convert OpenTelemetry parts; results of a turn are messages before what is left of it."""
    results: list[Json] = []
    calls: list[Json] = []
    thoughts: list[str] = []
    others: list[JsonValue] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_call":
            calls.append(
                function_call(as_text(part.get("id")), part.get("name"), part.get("arguments"))
            )
        elif kind == "tool_call_response":
            answer = next((part[key] for key in ("result", "response") if key in part), "")
            results.append(result(as_text(part.get("id")), as_text(answer)))
        elif kind in ("reasoning", "thinking"):
            thoughts.append(as_text(part.get("content")))
        else:
            others.append(_part(part))
    if role != "assistant":
        left = [{"role": role, "content": plain(others)}] if others else []
        return [*results, *left]
    message: Json = {"role": role, "content": plain(others)}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return [message]


def _part(part: JsonValue) -> JsonValue:
    given = mapping(part)
    if given.get("type") == "text" and isinstance(given.get("content"), str):
        return text_part(given["content"])
    mime = text(given.get("mime_type")) or text(given.get("media_type")) or ""
    if given.get("type") == "blob" and mime.startswith("image/"):
        return image_part(f"data:{mime};base64,{as_text(given.get('content'))}")
    if given.get("type") == "uri" and (
        mime.startswith("image/") or given.get("modality") == "image"
    ):
        return image_part(as_text(given.get("uri")))
    return part


def _of_chat(role: str, item: Json, open_calls: OpenCalls) -> list[Json]:
    content = item.get("content")
    if any(str(block.get("type")) in ANTHROPIC_TYPES for block in objects(content)):
        if role == "assistant":
            return [anthropic_blocks.assistant_message(content)]
        return anthropic_blocks.user_messages(content)
    listed = content if isinstance(content, list) else None
    message: Json = {"role": role, "content": plain(listed) if listed else content}
    if content is not None and not isinstance(content, str | list):
        message["content"] = as_text(content)
    message |= {key: item[key] for key in CHAT_KEYS if isinstance(item.get(key), str)}
    if calls := objects(item.get("tool_calls")):
        message["tool_calls"] = [_call(call) for call in calls]
    if role == "tool" and "tool_call_id" not in message:
        message["tool_call_id"] = as_text(item.get("id"))
    if role not in ROLES:
        # LangChain's tracer puts the tool's name in place of the role and leaves out the id.
        waiting = open_calls.get(role)
        called = waiting.pop(0) if waiting else f"unknown_{role}"
        return [{**result(called, message["content"]), "name": role}]
    return [message]


def _call(raw: Json) -> Json:
    inner = raw.get("function")
    given = inner if isinstance(inner, dict) else raw
    arguments = next((given[key] for key in ("arguments", "args", "input") if key in given), None)
    return function_call(as_text(raw.get("id")), given.get("name"), arguments)


def _name(call: Json) -> str:
    return as_text(mapping(call.get(str(call.get("type")))).get("name"))
