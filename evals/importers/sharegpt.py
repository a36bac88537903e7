"""ShareGPT training data: `{conversations: [{from, value}]}` and `{messages}` of typed parts.

Neither form has call ids: results go to the calls before them, in order. A result for several calls
is a list of theirs; any other text answers the first call and leaves the others open. No
maintained package reads it: trainers convert it to their own prompt text.

Source: https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import (
    as_text,
    function_call,
    mapping,
    objects,
    plain,
    result,
    text,
    text_part,
)
from evals.importers.files import Head, JsonValue
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.request_bodies import values_of
from evals.transcripts import Transcript, single_segment

FORMAT: Final = "sharegpt"
ROLES: Final = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "function_call": "call",
    "tool_call": "call",
    "observation": "tool",
    "function_response": "tool",
    "tool": "tool",
    "system": "system",
}
NAME_KEYS: Final = ("id", "conversation_id", "name", "hash")


def matches(head: Head) -> bool:
    values = list(head.values[:3])
    if values and isinstance(values[0], list):
        values = values[0][:3]
    return any(_turns(value) is not None for value in values)


def read(path: Path, source: str) -> Iterator[Transcript]:
    of_file = Report()
    rows: list[tuple[str, Json]] = []
    for where, value in values_of(path, source, of_file):
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            place = f"{where}[{index}]" if isinstance(value, list) else where
            if isinstance(item, dict) and _turns(item):
                rows.append((place, item))
            else:
                of_file.add(place.removeprefix(source), "no conversation in this form")
    if not rows:
        raise TranscriptError(f"{source}: no conversation could be read; export it again")
    names = unique_names(_name(row, number) for number, (_, row) in enumerate(rows, 1))
    for number, ((where, row), name) in enumerate(zip(rows, names, strict=True)):
        transcript = _transcript(row, where, source, name)
        first = of_file.skipped() if number == 0 else ()
        yield replace(transcript, skipped=(*first, *transcript.skipped))


def _name(row: Json, number: int) -> str:
    given = next((row[key] for key in NAME_KEYS if isinstance(row.get(key), str | int)), number)
    return str(given)


def _turns(value: JsonValue) -> list[JsonValue] | None:
    """Return the turns of a row, or None if it is in neither form."""
    if not isinstance(value, dict):
        return None
    listed = value.get("conversations", value.get("conversation"))
    if isinstance(listed, list):
        first = mapping(listed[0]) if listed else {}
        return listed if "value" in first and ("from" in first or "role" in first) else None
    listed = value.get("messages")
    parts = [part for turn in objects(listed)[:20] for part in objects(turn.get("content"))]
    return listed if any("value" in part and "type" in part for part in parts) else None


def _transcript(row: Json, where: str, source: str, name: str) -> Transcript:
    report = Report()
    builder = _Builder(report)
    if text(row.get("system")):
        builder.messages.append({"role": "system", "content": row["system"]})
    for index, turn in enumerate(_turns(row) or []):
        builder.add(turn, f"turn {index}")
    try:
        messages = messages_from_openai(builder.messages)
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; correct it or leave the row out") from error
    if not messages:
        raise TranscriptError(f"{where}: no turn could be read; correct it or leave the row out")
    return Transcript(
        name=name,
        segments=single_segment(messages, text(row.get("model"))),
        source=source,
        format=FORMAT,
        tools=_tools(row.get("tools")),
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )


class _Builder:
    """The messages of a row while its turns are read."""

    def __init__(self, report: Report) -> None:
        self.messages: list[Json] = []
        self._report = report
        self._n_calls = 0
        self._waiting: list[str] = []

    def add(self, raw: JsonValue, where: str) -> None:
        turn = mapping(raw)
        role = ROLES.get(str(turn.get("from", turn.get("role"))))
        value = turn.get("value", turn.get("content"))
        if role is None or value is None:
            self._report.add(where, f"a turn of unknown kind {turn.get('from')!r}")
        elif role == "tool":
            self._result(value)
        elif role == "call":
            self._answer(None, None, _loaded(value))
        elif isinstance(value, list):
            self._parts(role, objects(value))
        else:
            self.messages.append({"role": role, "content": as_text(value)})

    def _parts(self, role: str, parts: list[Json]) -> None:
        by_type: dict[str, list[str]] = {"text": [], "reasoning": [], "tool_call": []}
        others: list[JsonValue] = []
        for part in parts:
            known = by_type.get(str(part.get("type")))
            if known is None:
                others.append(part)
            else:
                known.append(as_text(part.get("value", part.get("text"))))
        content = plain([*(text_part(value) for value in by_type["text"]), *others])
        if role != "assistant":
            self.messages.append({"role": role, "content": content})
            return
        calls = [call for value in by_type["tool_call"] for call in _loaded(value)]
        self._answer(content, "\n\n".join(by_type["reasoning"]) or None, calls)

    def _answer(self, content: JsonValue, reasoning: str | None, calls: list[Json]) -> None:
        message: Json = {"role": "assistant", "content": content}
        if reasoning:
            message["reasoning_content"] = reasoning
        made = [self._call(call) for call in calls]
        if made:
            message["tool_calls"] = made
            self._waiting = [call["id"] for call in made]
        self.messages.append(message)

    def _call(self, raw: Json) -> Json:
        self._n_calls += 1
        call_id = text(raw.get("id")) or f"call_{self._n_calls}"
        return function_call(call_id, raw.get("name"), raw.get("arguments"))

    def _result(self, value: JsonValue) -> None:
        content = value
        if isinstance(value, list):
            content = "\n".join(as_text(part.get("value")) for part in objects(value))
        shared = _list_of(content)
        if len(self._waiting) > 1 and len(shared) == len(self._waiting):
            for call_id, item in zip(self._waiting, shared, strict=True):
                inner = item.get("content", item) if isinstance(item, dict) else item
                self.messages.append(result(call_id, as_text(inner)))
            self._waiting = []
            return
        call_id = self._waiting.pop(0) if self._waiting else "unknown"
        self.messages.append(result(call_id, as_text(content)))


def _loaded(value: JsonValue) -> list[Json]:
    """Read calls: one or a list, as JSON text or as values; other text is a call by that name."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [{"name": value, "arguments": "{}"}]
    return [value] if isinstance(value, dict) else objects(value)


def _list_of(value: JsonValue) -> list[JsonValue]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _tools(raw: JsonValue) -> tuple[Json, ...]:
    listed = _list_of(raw)
    return tuple(
        tool if "function" in tool else {"type": "function", "function": tool}
        for tool in objects(listed)
    )
