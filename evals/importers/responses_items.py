"""OpenAI Responses items as chat dicts.

Items of one answer (reasoning, text, calls) become one assistant message. Calls that the client
runs have a `call_id`; those that the server runs have none and stay as parts.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from compaction.messages import Json

JsonValue = Any
PART_TYPES: Final = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def messages_of(items: JsonValue) -> list[Json]:
    """Convert the input or the output of a request; text is one user message."""
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    messages: list[Json] = []
    answer: list[Json] = []
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or _is_of_answer(item):
            answer.append(item)
            continue
        messages += _closed(answer)
        answer = []
        messages.append(_other(item))
    return messages + _closed(answer)


def tools_of(raw: JsonValue) -> tuple[Json, ...]:
    listed = [tool for tool in raw if isinstance(tool, dict)] if isinstance(raw, list) else []
    return tuple(
        {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}}
        if tool.get("type") == "function"
        else tool
        for tool in listed
    )


def is_compaction(item: JsonValue) -> bool:
    return isinstance(item, dict) and item.get("type") == "compaction"


def _is_of_answer(item: Json) -> bool:
    kind = str(item.get("type", "message"))
    if kind == "message":
        return item.get("role") == "assistant"
    return not (kind.endswith("_output") and isinstance(item.get("call_id"), str)) and (
        kind != "additional_tools"
    )


def _closed(items: list[Json]) -> list[Json]:
    if not items:
        return []
    parts: list[JsonValue] = []
    message: Json = {"role": "assistant", "content": None}
    reasoning = [item for item in items if _kind(item) == "reasoning"]
    calls = [call for item in items if (call := _call(item))]
    for item in items:
        if _kind(item) == "message":
            parts += _parts(item.get("content"))
        elif _kind(item) != "reasoning" and not _call(item):
            parts.append(item)
    if parts:
        message["content"] = _plain(parts)
    if texts := list(_reasoning_texts(reasoning)):
        message["reasoning_content"] = "\n\n".join(texts)
    if reasoning:
        message["reasoning_items"] = reasoning
    if calls:
        message["tool_calls"] = calls
    return [message]


def _kind(item: JsonValue) -> str:
    return str(item.get("type", "message")) if isinstance(item, dict) else ""


def _reasoning_texts(items: Iterable[Json]) -> Iterable[str]:
    for item in items:
        for key in ("summary", "content"):
            listed = item.get(key)
            for part in listed if isinstance(listed, list) else []:
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    yield part["text"]


def _call(item: JsonValue) -> Json | None:
    kind = _kind(item)
    if not kind.endswith("_call") or not isinstance(item.get("call_id"), str):
        return None
    name = item.get("name")
    name = name if isinstance(name, str) else kind.removesuffix("_call")
    if kind == "custom_tool_call":
        custom = {"name": name, "input": _text(item.get("input", ""))}
        return {"id": item["call_id"], "type": "custom", "custom": custom}
    arguments = next((item[key] for key in ("arguments", "action", "input") if key in item), "{}")
    function = {"name": name, "arguments": _text(arguments)}
    return {"id": item["call_id"], "type": "function", "function": function}


def _other(item: Json) -> Json:
    """Convert an item that stands between answers: a message, a result, an announcement."""
    kind = _kind(item)
    if kind == "message":
        return {"role": item.get("role"), "content": _plain(_parts(item.get("content")))}
    if kind == "additional_tools":
        return {"role": "developer", "content": [item]}
    output = next((item[key] for key in ("output", "tools") if key in item), "")
    content = _plain(_parts(output)) if isinstance(output, list) else _text(output)
    return {"role": "tool", "tool_call_id": item["call_id"], "content": content}


def _parts(content: JsonValue) -> list[JsonValue]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_part(part) for part in content] if isinstance(content, list) else []


def _part(part: JsonValue) -> JsonValue:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, str) and kind in PART_TYPES:
        name = PART_TYPES[kind]
        return {"type": name, name: part.get("refusal" if kind == "refusal" else "text", "")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if isinstance(part.get("detail"), str) else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    if kind == "input_file":
        return {"type": "file", "file": {k: v for k, v in part.items() if k != "type"}}
    return part


def _plain(parts: list[JsonValue]) -> str | list[JsonValue]:
    """Write a single text part as text, so that the spellings of a message agree."""
    if len(parts) == 1 and isinstance(parts[0], dict) and set(parts[0]) == {"type", "text"}:
        text = parts[0]["text"]
        return text if isinstance(text, str) else parts
    return parts


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
