"""Messages, tools and usage of Inspect AI logs as chat dicts."""

import re
from typing import Final

from compaction.errors import MessageError
from compaction.llm import Usage
from compaction.messages import Json, Message, Messages, canonical_json
from evals.importers.fields import (
    as_text,
    count,
    function_call,
    function_tool,
    image_part,
    mapping,
    objects,
    plain,
    text,
    text_part,
)
from evals.importers.files import JsonValue
from evals.importers.usages import logged_usage

Attachments = dict[str, str]
_REFERENCE: Final = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")


def attachments_of(sample: Json) -> Attachments:
    """Return the texts that were stored apart, by their hash."""
    older = mapping(mapping(sample.get("transcript")).get("content"))
    found = {**older, **mapping(sample.get("attachments"))}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def resolved(value: JsonValue, attachments: Attachments) -> JsonValue:
    """Put attachments back, at any depth; a reference to nothing stays as it is."""
    if isinstance(value, str):
        if "://" not in value:
            return value
        return _REFERENCE.sub(lambda found: attachments.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {key: resolved(item, attachments) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, attachments) for item in value]
    return value


def message(raw: JsonValue, attachments: Attachments) -> Json:
    """Convert a message. Its id, source and model are no part of what is sent."""
    if not isinstance(raw, dict):
        raise MessageError(f"a message must be an object, got {type(raw).__name__}")
    given = mapping(resolved(raw, attachments))
    listed = given.get("content")
    parts = listed if isinstance(listed, list) else []
    thoughts = [_reasoning(part) for part in objects(parts) if part.get("type") == "reasoning"]
    others = [p for p in parts if not (isinstance(p, dict) and p.get("type") == "reasoning")]
    content = plain([_part(part) for part in others]) if isinstance(listed, list) else listed
    converted: Json = {"role": given.get("role"), "content": content}
    older = text(given.get("reasoning"))
    if written := [thought for thought in (*thoughts, older) if thought]:
        converted["reasoning_content"] = "\n\n".join(written)
    if calls := objects(given.get("tool_calls")):
        converted["tool_calls"] = [_call(call) for call in calls]
    return _with_result(converted, given) if given.get("role") == "tool" else converted


def _with_result(converted: Json, given: Json) -> Json:
    converted["tool_call_id"] = text(given.get("tool_call_id")) or ""
    error = mapping(given.get("error")) or mapping(given.get("tool_error"))
    if error:
        # The model is sent the error's text; what the tool wrote before it failed is not.
        converted["content"] = as_text(error.get("message"))
        converted["is_error"] = True
    return converted


def _reasoning(part: Json) -> str | None:
    if part.get("redacted") is True:
        return text(part.get("summary"))
    return text(part.get("reasoning"))


def _part(part: JsonValue) -> JsonValue:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return text_part(part["text"])
    if kind == "image" and isinstance(part.get("image"), str):
        return image_part(part["image"])
    return part


def _call(raw: Json) -> Json:
    return function_call(as_text(raw.get("id")), raw.get("function"), raw.get("arguments"))


def tools(raw: JsonValue, attachments: Attachments) -> list[Json]:
    return [
        function_tool(tool.get("name"), tool.get("description"), tool.get("parameters"))
        for tool in objects(resolved(raw, attachments))
    ]


def usage(raw: JsonValue) -> Usage | None:
    """Read usage; providers differ in whether the cache is part of the input, the total tells."""
    given = mapping(raw)
    sent, made = count(given.get("input_tokens")), count(given.get("output_tokens"))
    if sent is None or made is None:
        return None
    read = count(given.get("input_tokens_cache_read"))
    written = count(given.get("input_tokens_cache_write"))
    cached = (read or 0) + (written or 0)
    total = count(given.get("total_tokens"))
    is_apart = total is not None and total >= sent + made + cached and cached > 0
    return logged_usage(sent + (cached if is_apart else 0), made, read, written)


class Memo:
    """Converts the inputs of calls; a message that several calls repeat is converted once."""

    def __init__(self, attachments: Attachments, pool: list[JsonValue]) -> None:
        self.attachments = attachments
        self._pool = pool
        self._known: dict[str, Message] = {}

    def input_of(self, event: Json) -> Messages:
        """Return what a model event sent, wherever the log keeps it."""
        listed = event.get("input")
        given = list(listed) if isinstance(listed, list) else []
        spans = event.get("input_refs")
        for span in spans if isinstance(spans, list) else []:
            if not (isinstance(span, list) and len(span) == 2 and all(map(_is_index, span))):
                raise MessageError("input_refs must hold pairs of numbers")
            given += self._pool[span[0] : span[1]]
        return tuple(self._message(raw) for raw in given)

    def _message(self, raw: JsonValue) -> Message:
        key = canonical_json(raw)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Message.from_openai(message(raw, self.attachments))
        return known


def _is_index(raw: JsonValue) -> bool:
    return count(raw) is not None
