"""OpenAI Responses: a flat list of items, and what the API refuses.

Source: the API reference of Responses and the texts of its 400 errors ("No tool call found for
function call output with call_id", "No tool output found for function call").
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from compaction.contract.providers.profiles import (
    EMPTY,
    Converted,
    Illegality,
    Profile,
    last_source,
)
from compaction.messages import Json, Message, Part, ToolCall


def to_openai_responses(messages: Sequence[Message]) -> Converted:
    """Return the `input` of a Responses request.

    Reasoning goes along where it is encrypted (`reasoning_items` of a message); bare text does not.
    """
    items: list[Json] = []
    sources: list[tuple[int, ...]] = []
    unconverted: list[str] = []
    for at, message in enumerate(messages):
        made = list(_items(message, at, unconverted))
        items += made
        sources += [(at,)] * len(made)
    return Converted({"input": items}, tuple(sources), tuple(unconverted))


def _items(message: Message, at: int, unconverted: list[str]) -> Iterator[Json]:
    extra = json.loads(message.extra)
    if message.is_result:
        key = message.tool_call_id or message.name or ""
        output = _content(message, "input", at, unconverted) if _has_media(message) else None
        yield {
            "type": "function_call_output",
            "call_id": key,
            "output": message.text if output is None else output,
        }
        return
    yield from extra.get("reasoning_items") or ()
    if message.reasoning and not extra.get("reasoning_items"):
        unconverted.append(f"message {at}: reasoning without its encrypted item")
    direction = "output" if message.role == "assistant" else "input"
    content = _content(message, direction, at, unconverted)
    if content or not message.tool_calls:
        yield {"type": "message", "role": message.role, "content": content}
    yield from (_call(call) for call in message.tool_calls)


def _has_media(message: Message) -> bool:
    return any(part.kind not in ("text", "refusal") for part in message.parts)


def _call(call: ToolCall) -> Json:
    if call.kind == "custom":
        name = call.name
        return {
            "type": "custom_tool_call",
            "call_id": call.call_id,
            "name": name,
            "input": call.arguments,
        }
    return {
        "type": "function_call",
        "call_id": call.call_id or call.name,
        "name": call.name,
        "arguments": call.arguments,
    }


def _content(message: Message, direction: str, at: int, unconverted: list[str]) -> list[Json]:
    made = [_part(part, direction) for part in message.parts]
    for part, found in zip(message.parts, made, strict=True):
        if found is None:
            unconverted.append(f"message {at}: a part of kind {part.kind}")
    return [item for item in made if item is not None]


def _part(part: Part, direction: str) -> Json | None:
    if part.kind == "refusal" and direction == "output":
        return {"type": "refusal", "refusal": part.text}
    if part.kind in ("text", "refusal"):
        return {"type": f"{direction}_text", "text": part.text}
    raw: Any = part.to_openai()
    if direction == "output":
        return None
    if part.kind == "image":
        image = raw["image_url"] if isinstance(raw.get("image_url"), dict) else {}
        return {
            "type": "input_image",
            "image_url": image.get("url"),
            "detail": image.get("detail", "auto"),
        }
    if part.kind == "file" and isinstance(raw.get("file"), dict):
        return {"type": "input_file", **raw["file"]}
    return None


def _refusals(converted: Converted) -> Iterator[Illegality]:
    items: list[Json] = converted.body["input"]
    if not items:
        yield Illegality("empty_request", -1, EMPTY, is_at_end=True)
    waiting: dict[str, int] = {}
    for at, item in enumerate(items):
        position, kind = last_source(converted, at), str(item.get("type"))
        if kind in ("function_call", "custom_tool_call"):
            if item["call_id"] in waiting:
                text = f"the call {item['call_id']!r} is made twice"
                yield Illegality("id_reused", position, text, "/tool_calls")
            waiting[item["call_id"]] = position
        elif kind == "function_call_output" and waiting.pop(item["call_id"], None) is None:
            text = f"no open call before it has the id {item['call_id']!r}"
            yield Illegality("result_without_call", position, text, "/tool_call_id")
        elif kind == "message" and not item["content"]:
            yield Illegality("empty_content", position, "the message has no content", "/content")
    for key, position in waiting.items():
        text = f"its call {key!r} has no output"
        yield Illegality("call_without_result", position, text, "/tool_calls")


OPENAI_RESPONSES: Final = Profile("openai_responses", to_openai_responses, _refusals)
