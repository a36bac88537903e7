"""Answers that came as server-sent events, put together to what a plain answer would have been."""

import json
from collections.abc import Iterator
from typing import Any

from compaction.messages import Json

JsonValue = Any


def is_event_stream(body: str) -> bool:
    return body.lstrip()[:6] in ("data: ", "event:") or body.lstrip()[:5] == "data:"


def events_of(body: str) -> Iterator[Json]:
    """Yield the JSON objects of a stream; `[DONE]` and comments are passed over."""
    lines: list[str] = []
    for line in [*body.replace("\r\n", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif not line and lines:
            value = _parsed("\n".join(lines))
            lines = []
            if isinstance(value, dict):
                yield value


def chat_completion(events: Iterator[Json]) -> Json | None:
    """Join the deltas of the first choice of a chat completion."""
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    answer: Json = {}
    for event in events:
        answer |= {k: v for k, v in event.items() if k in ("id", "model", "created", "usage") and v}
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        delta = first.get("delta") if isinstance(first, dict) else None
        if isinstance(delta, dict) and first is not None and first.get("index", 0) == 0:
            _join_delta(message, calls, delta)
    if not answer and message["content"] is None and not calls:
        return None
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {**answer, "choices": [{"index": 0, "message": message}]}


def _join_delta(message: Json, calls: dict[int, Json], delta: Json) -> None:
    for key in ("content", "reasoning_content", "reasoning", "refusal"):
        if isinstance(delta.get(key), str):
            message[key] = (message.get(key) or "") + delta[key]
    for piece in delta.get("tool_calls") or []:
        if not isinstance(piece, dict):
            continue
        index = piece.get("index")
        index = index if isinstance(index, int) else len(calls)
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(index, empty)
        call["id"] = call["id"] or piece.get("id") or ""
        function = piece.get("function")
        for key in ("name", "arguments"):
            if isinstance(function, dict) and isinstance(function.get(key), str):
                call["function"][key] += function[key]


def response(events: Iterator[Json]) -> Json | None:
    """Return the finished response that the last event of the Responses API holds."""
    found = None
    for event in events:
        finished = ("response.completed", "response.incomplete", "response.failed")
        if event.get("type") in finished and isinstance(event.get("response"), dict):
            found = event["response"]
    return found


def anthropic_message(events: Iterator[Json]) -> Json | None:
    message: Json | None = None
    blocks: dict[int, Json] = {}
    for event in events:
        kind, index = event.get("type"), event.get("index", 0)
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message = dict(event["message"])
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[index] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            _join_block(blocks.setdefault(index, {"type": "text"}), event["delta"])
        elif kind == "message_delta" and message is not None:
            usage = {**(message.get("usage") or {}), **(event.get("usage") or {})}
            message = {**message, "usage": usage}
    if message is None:
        return None
    return {**message, "content": [_finished(block) for _, block in sorted(blocks.items())]}


def _join_block(block: Json, delta: Json) -> None:
    keys = {"text": "text", "thinking": "thinking", "signature": "signature"}
    for key, target in {**keys, "partial_json": "partial_json", "content": "content"}.items():
        if isinstance(delta.get(key), str):
            block[target] = (block.get(target) or "") + delta[key]


def _finished(block: Json) -> Json:
    if "partial_json" not in block:
        return block
    arguments = _parsed(block["partial_json"])
    rest = {key: value for key, value in block.items() if key != "partial_json"}
    return {**rest, "input": block["partial_json"] if arguments is None else arguments}


def generated_content(chunks: Iterator[Json]) -> Json | None:
    """Join the parts of the first candidate of a streamed `generateContent`."""
    answer: Json | None = None
    parts: list[JsonValue] = []
    for chunk in chunks:
        answer = {**(answer or {}), **chunk}
        candidates = chunk.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        content = first.get("content") if isinstance(first, dict) else None
        if isinstance(content, dict) and isinstance(content.get("parts"), list):
            for part in content["parts"]:
                _join_part(parts, part)
    if answer is None:
        return None
    return {**answer, "candidates": [{"content": {"role": "model", "parts": parts}}]}


def _join_part(parts: list[JsonValue], part: JsonValue) -> None:
    """Append a part, or its text to the last one if both are nothing but text of one kind."""
    last = parts[-1] if parts else None
    plain = {"text", "thought"}
    if (
        isinstance(last, dict)
        and isinstance(part, dict)
        and set(last) <= plain
        and set(part) <= plain
        and last.get("thought") == part.get("thought")
    ):
        parts[-1] = {**last, "text": f"{last.get('text', '')}{part.get('text', '')}"}
    else:
        parts.append(part)


def _parsed(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
