"""Anthropic Messages: blocks, results inside user messages, and what the API refuses.

Source: the API reference of Messages, its guide to tool use, and the texts of its 400 errors
("`tool_use` ids were found without `tool_result` blocks immediately after", "unexpected
`tool_use_id` found in `tool_result` blocks", "`tool_use` ids must be unique", "text content blocks
must be non-empty", "all messages must have non-empty content", "first message must use the user
role").
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compaction.contract.providers.media import data_url
from compaction.contract.providers.profiles import (
    EMPTY,
    Converted,
    Illegality,
    Profile,
    last_source,
)
from compaction.messages import INSTRUCTION_ROLES, Json, Message, Part, ToolCall

_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


def to_anthropic(messages: Sequence[Message]) -> Converted:
    """Return `system` and `messages` of a Messages request.

    Instructions go to `system` wherever they stand, neighbours of one role become one message, and
    empty text is left out. Reasoning goes along only with its signature (`thinking_blocks`).
    """
    system: list[Json] = []
    made: list[Json] = []
    sources: list[tuple[int, ...]] = []
    unconverted: list[str] = []
    for at, message in enumerate(messages):
        blocks = list(_blocks(message, at, unconverted))
        if message.role in INSTRUCTION_ROLES:
            system += blocks
            if made:
                unconverted.append(f"message {at}: instructions moved to the front")
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if made and made[-1]["role"] == role:
            made[-1]["content"] += blocks
            sources[-1] += (at,)
        else:
            made.append({"role": role, "content": blocks})
            sources.append((at,))
    body: Json = {"messages": made, **({"system": system} if system else {})}
    return Converted(body, tuple(sources), tuple(unconverted))


def _blocks(message: Message, at: int, unconverted: list[str]) -> Iterator[Json]:
    content = list(_content(message, at, unconverted))
    if message.is_result:
        key = message.tool_call_id or message.name or ""
        yield {"type": "tool_result", "tool_use_id": key, "content": content}
        return
    thinking = json.loads(message.extra).get("thinking_blocks") or []
    yield from thinking
    if message.reasoning and not thinking:
        unconverted.append(f"message {at}: reasoning without a signature")
    yield from content
    for call in message.tool_calls:
        yield _call(call, at, unconverted)


def _call(call: ToolCall, at: int, unconverted: list[str]) -> Json:
    arguments: Any = None
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        unconverted.append(f"message {at}: the arguments of {call.name} are no JSON")
    key = call.call_id or call.name
    return {"type": "tool_use", "id": key, "name": call.name, "input": arguments}


def _content(message: Message, at: int, unconverted: list[str]) -> Iterator[Json]:
    for part in message.parts:
        block = _part(part)
        if block is None:
            unconverted.append(f"message {at}: a part of kind {part.kind}")
        elif block.get("text") != "":
            yield block


def _part(part: Part) -> Json | None:
    if part.kind in ("text", "refusal"):
        return {"type": "text", "text": part.text}
    raw: Any = part.to_openai()
    if part.kind == "image" and isinstance(raw.get("image_url"), dict):
        url = str(raw["image_url"].get("url", ""))
        inline = data_url(url)
        if inline is None:
            return {"type": "image", "source": {"type": "url", "url": url}}
        source = {"type": "base64", "media_type": inline.media_type, "data": inline.data}
        return {"type": "image", "source": source}
    file = raw.get("file") if part.kind == "file" else None
    inline = data_url(str(file.get("file_data", ""))) if isinstance(file, dict) else None
    if inline is None:
        return None
    source = {"type": "base64", "media_type": inline.media_type, "data": inline.data}
    return {"type": "document", "source": source}


def _refusals(converted: Converted) -> Iterator[Illegality]:
    messages: list[Json] = converted.body["messages"]
    if not messages:
        yield Illegality("empty_request", -1, EMPTY, is_at_end=True)
        return
    if messages[0]["role"] != "user":
        text = "the first message must be a user message"
        yield Illegality("first_is_not_user", converted.sources[0][0], text, is_at_end=True)
    made: set[str] = set()
    waiting: dict[str, int] = {}
    for at, message in enumerate(messages):
        position = last_source(converted, at)
        yield from _check_results(converted, at, waiting)
        waiting = {}
        is_last = at == len(messages) - 1
        if not message["content"] and not (is_last and message["role"] == "assistant"):
            yield Illegality("empty_content", position, "the message has no content", "/content")
        for block in message["content"]:
            if block.get("type") == "tool_use":
                yield from _check_call(block, position, made)
                waiting[block["id"]] = position
    for key, position in waiting.items():
        yield _unanswered(key, position)


def _check_results(converted: Converted, at: int, waiting: dict[str, int]) -> Iterator[Illegality]:
    """Check the results in a message, which must be its first blocks, against the calls before."""
    position, is_behind = last_source(converted, at), False
    for block in converted.body["messages"][at]["content"]:
        if block.get("type") != "tool_result":
            is_behind = True
            continue
        key = block["tool_use_id"]
        if waiting.pop(key, None) is None:
            text = f"the message before it has no call {key!r}"
            yield Illegality("result_without_call", position, text, "/tool_call_id")
        elif is_behind:
            text = f"the result of {key!r} stands behind other content"
            yield Illegality("result_misplaced", position, text)
    for key, caller in waiting.items():
        yield _unanswered(key, caller)


def _unanswered(key: str, position: int) -> Illegality:
    text = f"its call {key!r} is not answered by the message right behind it"
    return Illegality("call_without_result", position, text, "/tool_calls")


def _check_call(block: Json, position: int, made: set[str]) -> Iterator[Illegality]:
    key = block["id"]
    if key in made:
        text = f"the call id {key!r} was used before"
        yield Illegality("id_reused", position, text, "/tool_calls")
    made.add(key)
    if not _ID.fullmatch(key):
        text = f"the call id {key!r} has other characters than letters, digits, _ and -"
        yield Illegality("bad_id", position, text, "/tool_calls")
    if not isinstance(block["input"], dict):
        text = f"the arguments of {block['name']} are no object"
        yield Illegality("bad_arguments", position, text, "/tool_calls")


ANTHROPIC: Final = Profile("anthropic", to_anthropic, _refusals)
