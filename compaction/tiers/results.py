"""What tiers ask of one tool result and do to one: its original, its handle, whether it failed."""

import json
import re
from dataclasses import replace
from functools import lru_cache
from typing import Final

from compaction.messages import Message, canonical_json
from compaction.store import make_handle

_ERROR_START: Final = re.compile(
    r"\W*(error|exception|traceback|fatal|failed|failure|panic)\b|\W*错误", re.IGNORECASE
)


def original_text(message: Message) -> str:
    """Return what the store keeps of a result's content.

    The text, and for content with media in it the canonical JSON of its parts.
    """
    content = message.content
    if not isinstance(content, tuple):
        return content or ""
    if all(part.kind in ("text", "refusal") for part in content):
        return message.text
    return canonical_json([part.to_openai() for part in content])


@lru_cache(maxsize=16_384)
def rewritten(message: Message, text: str) -> Message:
    """Return a message with other text: one object for all settings, hashed and counted once."""
    return message.with_text(text)


@lru_cache(maxsize=16_384)
def handle_for(message: Message, occurrence: int, *, literal: bool) -> str:
    """Return the handle of a result: the bare call id if `literal`, else one that is unique."""
    call_id = message.tool_call_id or message.name
    if literal:
        return call_id or "result"
    return make_handle(call_id, occurrence, original_text(message))


def with_cleared_arguments(message: Message, call_indices: set[int]) -> Message:
    """Replace the arguments of some calls by `{}` where that is shorter."""
    calls = tuple(
        replace(call, arguments="{}") if i in call_indices and len(call.arguments) > 2 else call
        for i, call in enumerate(message.tool_calls)
    )
    return message if calls == message.tool_calls else replace(message, tool_calls=calls)


def is_error(message: Message) -> bool:
    """Whether a tool result reports an error, by its flags or its first word."""
    extra = json.loads(message.extra)
    if extra.get("is_error") is True or extra.get("status") == "error":
        return True
    return _ERROR_START.match(message.text) is not None
