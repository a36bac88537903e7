"""Google `generateContent` contents as chat dicts.

Calls need no id there: where it is absent, results are matched by name and order, and ids are made
from the position, so that every request of a conversation gets the same ones.
"""

import json
from collections import defaultdict, deque
from typing import Any

from compaction.messages import Json

JsonValue = Any


def messages_of(contents: JsonValue, *, first_index: int = 0) -> list[Json]:
    """Convert contents.

    Args:
        contents: A list of `{role, parts}`, a single one, or text.
        first_index: Where the first content stands in the conversation; part of made ids.
    """
    listed = contents if isinstance(contents, list) else [contents]
    waiting: defaultdict[str, deque[str]] = defaultdict(deque)
    messages: list[Json] = []
    for index, content in enumerate(listed, first_index):
        if isinstance(content, str):
            messages.append({"role": "user", "content": content})
        elif isinstance(content, dict):
            raw = content.get("parts")
            parts = [p for p in (raw if isinstance(raw, list) else [raw]) if isinstance(p, dict)]
            if content.get("role") == "model":
                messages.append(_model(parts, index, waiting))
            else:
                messages += _user(parts, waiting)
    return messages


def system_message(raw: JsonValue) -> list[Json]:
    """Convert `systemInstruction`, text or a content, to zero or one message."""
    found = messages_of(raw) if raw else []
    return [{"role": "system", "content": found[0]["content"]}] if found else []


def tools_of(raw: JsonValue) -> tuple[Json, ...]:
    """Convert function declarations; Google's own tools are kept as they are."""
    listed = [tool for tool in raw if isinstance(tool, dict)] if isinstance(raw, list) else []
    tools: list[Json] = []
    for tool in listed:
        declared = _get(tool, "functionDeclarations")
        if not isinstance(declared, list):
            tools.append(tool)
            continue
        tools += [{"type": "function", "function": _function(f)} for f in declared]
    return tuple(tools)


def _function(raw: JsonValue) -> JsonValue:
    if not isinstance(raw, dict):
        return raw
    schema_keys = ("parameters", "parameters_json_schema", "parametersJsonSchema")
    schema: JsonValue = next((raw[key] for key in schema_keys if key in raw), {})
    rest = {key: value for key, value in raw.items() if key not in schema_keys}
    return {**rest, "parameters": schema}


def _model(parts: list[Json], index: int, waiting: defaultdict[str, deque[str]]) -> Json:
    calls: list[Json] = []
    thoughts: list[str] = []
    others: list[JsonValue] = []
    for part in parts:
        call = _get(part, "functionCall")
        if isinstance(call, dict):
            calls.append(_call(call, f"call_{index}_{len(calls)}", waiting))
        elif part.get("thought") is True and isinstance(part.get("text"), str):
            thoughts.append(part["text"])
        else:
            others.append(_part(part))
    signatures = [x for part in parts if (x := _get(part, "thoughtSignature"))]
    message: Json = {"role": "assistant", "content": _plain(others) if others else None}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if signatures:
        message["thought_signatures"] = signatures
    if calls:
        message["tool_calls"] = calls
    return message


def _call(call: Json, made_id: str, waiting: defaultdict[str, deque[str]]) -> Json:
    given, name = call.get("id"), str(call.get("name", ""))
    call_id = given if isinstance(given, str) and given else made_id
    waiting[name].append(call_id)
    arguments = json.dumps(call.get("args", {}), ensure_ascii=False)
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _user(parts: list[Json], waiting: defaultdict[str, deque[str]]) -> list[Json]:
    messages: list[Json] = []
    others = []
    for part in parts:
        result = _get(part, "functionResponse")
        if isinstance(result, dict):
            messages.append(_result(result, waiting))
        else:
            others.append(_part(part))
    return [*messages, {"role": "user", "content": _plain(others)}] if others else messages


def _result(result: Json, waiting: defaultdict[str, deque[str]]) -> Json:
    name, given = str(result.get("name", "")), result.get("id")
    queue = waiting[name]
    if isinstance(given, str) and given:
        if given in queue:
            queue.remove(given)
        call_id = given
    else:
        call_id = queue.popleft() if queue else f"unknown_{name}"
    response = result.get("response")
    text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": text}


def _part(part: Json) -> JsonValue:
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    data = _get(part, "inlineData")
    if isinstance(data, dict) and isinstance(data.get("data"), str):
        kind = str(_get(data, "mimeType"))
        url = f"data:{kind};base64,{data['data']}"
        if kind.startswith("image/"):
            return {"type": "image_url", "image_url": {"url": url}}
        return {"type": "file", "file": {"file_data": url}}
    return part


def _plain(parts: list[JsonValue]) -> str | list[JsonValue]:
    if len(parts) == 1 and isinstance(parts[0], dict) and parts[0].get("type") == "text":
        text = parts[0]["text"]
        return text if isinstance(text, str) else parts
    return parts


def _get(raw: Json, key: str) -> JsonValue:
    """Return a field in camel case or snake case: the clients write both."""
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in key)
    return raw.get(key, raw.get(snake))
