"""Anthropic Messages content as OpenAI chat dicts. Used by every format that is built on it.

Nothing here fails: a block of unknown or damaged shape stays in the content as it is. Cache
breakpoints are dropped, because they move from request to request.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from compaction.messages import Json

JsonValue = Any
THINKING_TYPES: Final = ("thinking", "redacted_thinking")


def system_message(raw: JsonValue) -> list[Json]:
    """Return the system prompt as zero or one message."""
    if not raw:
        return []
    return [{"role": "system", "content": _content(raw)}]


def user_messages(content: JsonValue) -> list[Json]:
    """Split a user turn: its tool results first, each a message, then what is left."""
    blocks = blocks_of(content)
    results = [result_message(block) for block in blocks if _is_result(block)]
    others = [block for block in blocks if not _is_result(block)]
    if not others and (results or isinstance(content, list)):
        return results
    return [*results, {"role": "user", "content": _content(others if results else content)}]


def result_message(block: Json) -> Json:
    """Convert a `tool_result`; `is_error` is kept as a field if it is true."""
    content = block.get("content")
    message: Json = {
        "role": "tool",
        "tool_call_id": block["tool_use_id"],
        "content": "" if content is None else _content(content),
    }
    return {**message, "is_error": True} if block.get("is_error") is True else message


def assistant_message(content: JsonValue) -> Json:
    """Convert the blocks of one response.

    Thinking becomes `reasoning_content`; the blocks with their signatures are in
    `thinking_blocks`, the field that LiteLLM uses. Server tools and their results stay parts.
    """
    blocks = blocks_of(content)
    calls = [block for block in blocks if _is_call(block)]
    thinking = [block for block in blocks if _type(block) in THINKING_TYPES]
    others = [b for b in blocks if not _is_call(b) and _type(b) not in THINKING_TYPES]
    message: Json = {"role": "assistant", "content": _content(others) if others else None}
    if thinking:
        texts = [text for block in thinking if isinstance(text := block.get("thinking"), str)]
        message["reasoning_content"] = "\n\n".join(texts)
        message["thinking_blocks"] = thinking
    if calls:
        message["tool_calls"] = [_call(block) for block in calls]
    return message


def tools(raw: JsonValue) -> tuple[Json, ...]:
    """Convert tool schemas; server tools, which have none, are kept as they are."""
    listed = [tool for tool in raw if isinstance(tool, dict)] if isinstance(raw, list) else []
    return tuple(_tool(tool) for tool in listed)


def blocks_of(content: JsonValue) -> list[JsonValue]:
    """Return content as blocks; text is one text block."""
    if isinstance(content, list):
        return content
    return [] if content is None else [{"type": "text", "text": content}]


def _tool(raw: Json) -> Json:
    if "input_schema" not in raw:
        return raw
    function = {"name": raw.get("name", ""), "parameters": raw["input_schema"]}
    if "description" in raw:
        function["description"] = raw["description"]
    return {"type": "function", "function": function}


def _content(raw: JsonValue) -> str | list[JsonValue]:
    """Convert content without calls; a single text block is written as text."""
    if isinstance(raw, str):
        return raw
    parts = [_part(block) for block in _plain_blocks(raw)]
    if len(parts) == 1 and isinstance(parts[0], dict) and set(parts[0]) == {"type", "text"}:
        text = parts[0]["text"]
        return text if isinstance(text, str) else parts
    return parts


def _plain_blocks(raw: JsonValue) -> Iterable[JsonValue]:
    listed: Sequence[JsonValue] = raw if isinstance(raw, list) else [raw]
    for block in listed:
        if isinstance(block, str):
            yield {"type": "text", "text": block}
        elif isinstance(block, dict) and "cache_control" in block:
            yield {key: value for key, value in block.items() if key != "cache_control"}
        else:
            yield block


def _part(block: JsonValue) -> JsonValue:
    source = block.get("source") if isinstance(block, dict) else None
    if not isinstance(source, dict):
        return block
    url = _url(source)
    if block.get("type") == "image" and url:
        return {"type": "image_url", "image_url": {"url": url}}
    if block.get("type") == "document" and source.get("type") == "text":
        return {"type": "text", "text": str(source.get("data", ""))}
    if block.get("type") == "document" and url:
        name = {"filename": block["title"]} if isinstance(block.get("title"), str) else {}
        return {"type": "file", "file": {**name, "file_data": url}}
    return block


def _url(source: Json) -> str | None:
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return (
            f"data:{source.get('media_type', 'application/octet-stream')};base64,{source['data']}"
        )
    url = source.get("url")
    return url if isinstance(url, str) else None


def _call(block: Json) -> Json:
    arguments = block.get("input")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": block["name"], "arguments": text}
    return {"id": block["id"], "type": "function", "function": function}


def _is_call(block: JsonValue) -> bool:
    return (
        _type(block) == "tool_use"
        and isinstance(block.get("id"), str)
        and isinstance(block.get("name"), str)
    )


def _is_result(block: JsonValue) -> bool:
    return _type(block) == "tool_result" and isinstance(block.get("tool_use_id"), str)


def _type(block: JsonValue) -> JsonValue:
    return block.get("type") if isinstance(block, dict) else None
