"""Streamed answers, put together to the bodies that the same answers would have had whole. No I/O.

A stream that ends before its end is an error: half an answer must not pass for one.
"""

from collections.abc import Iterable
from typing import Any, Final

from compaction.errors import ModelError
from compaction.messages import REASONING_FIELDS, Json
from compaction.model_wire import Api

_TEXTS: Final = ("content", "refusal", *REASONING_FIELDS)
_LAST: Final = ("response.completed", "response.incomplete", "response.failed")
_KEPT: Final = ("id", "model", "created", "usage")


def joined(pieces: Iterable[Any], *, api: Api = "chat") -> Json:
    """Return the body of a whole answer.

    Raises:
        ModelError: the stream was cut off, or reports an error.
    """
    found = [piece for piece in pieces if isinstance(piece, dict)]
    failed = next((piece["error"] for piece in found if piece.get("error")), None)
    if failed is not None:
        raise ModelError(f"the stream reports an error: {str(failed)[:200]!r}")
    body = _completion(found) if api == "chat" else _response(found)
    if body is None:
        raise ModelError(f"the stream was cut off after {len(found)} pieces")
    return body


def _response(events: Iterable[Json]) -> Json | None:
    """Return what the last event of the Responses API holds: everything."""
    last = [event.get("response") for event in events if event.get("type") in _LAST]
    return last[-1] if last and isinstance(last[-1], dict) else None


def _completion(chunks: Iterable[Json]) -> Json | None:
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    body: Json = {}
    reason = None
    for chunk in chunks:
        body |= {key: chunk[key] for key in _KEPT if chunk.get(key)}
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                _join(message, calls, choice.get("delta") or {})
                reason = choice.get("finish_reason") or reason
    if reason is None:
        return None
    if calls:
        message["tool_calls"] = [calls[at] for at in sorted(calls)]
    return {**body, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _join(message: Json, calls: dict[int, Json], delta: Json) -> None:
    for key in _TEXTS:
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]
    for piece in delta.get("tool_calls") or ():
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(piece.get("index") or 0, empty)
        call["id"] = call["id"] or piece.get("id") or ""
        for key, text in (piece.get("function") or {}).items():
            if key in call["function"] and isinstance(text, str):
                call["function"][key] += text
