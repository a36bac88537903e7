"""Gemini CLI: saved chats as JSON, chats as JSON Lines (2026), and API contents lists.

All three become API contents first. In JSON Lines a message is written again when it grows and the
last one wins. No package was found that gives messages with requests and usage.

Source: github.com/google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.errors import TranscriptError
from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.files import Head, JsonValue, head_of, read_document
from evals.importers.gemini_chat import MASKED_MARK, GeminiChat, calls_of
from evals.importers.google_contents import messages_of
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, orphan_results
from evals.importers.segment_builder import (
    SegmentBuilder,
    checked_segments,
    object_of,
    objects_of,
    text_of,
)
from evals.importers.usages import google_usage, unix_seconds
from evals.transcripts import Transcript

FORMAT: Final = "gemini-cli"

SCREEN_TYPES: Final = frozenset({"info", "error", "warning"})
CHECKPOINT_KEYS: Final = ("history", "clientHistory")


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if _contents(first) is not None:
        return True
    return any(
        isinstance(record.get("sessionId"), str) and "projectHash" in record
        for record in head.objects[:3]
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    chat = GeminiChat(report)
    if _is_document(head_of(path, source)):
        document = read_document(path, source)
        contents = _contents(document)
        if contents is not None:
            yield _of_contents(contents, source)
            return
        if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
            raise TranscriptError(f"{source}: no list of messages; export the chat again")
        chat.header = document
        chat.replace(document["messages"], "messages")
    else:
        for line, record in read_records(path, source, report):
            chat.add(record, line)
    yield _transcript(chat, report, source)


def _is_document(head: Head) -> bool:
    """Tell one JSON value, which may stand on a single line, from JSON Lines."""
    first = head.values[0] if head.values else None
    is_whole = _contents(first) is not None or "messages" in object_of(first)
    return head.layout == "document" or (len(head.values) == 1 and is_whole)


def _transcript(chat: GeminiChat, report: Report, source: str) -> Transcript:
    builder = SegmentBuilder(report)
    counted: set[str] = set()
    for opened_by, records in chat.states():
        builder.open((), opened_by)
        _build(builder, _joined(records), counted, report)
    segments = checked_segments(builder, source)
    messages = [message for segment in segments for message in segment.messages]
    session = text_of(chat.header, "sessionId")
    return Transcript(
        name=(session or "chat")[:8],
        segments=segments,
        source=source,
        format=FORMAT,
        session=session,
        project=text_of(chat.header, "projectHash"),
        skipped=(*report.skipped(), *orphan_results(messages)),
    )


def _joined(records: list[Json]) -> list[Json]:
    """Give calls that were recorded apart from their answer back to it.

    That happens when a notice was shown in between: the second record has calls, but neither text
    nor thoughts nor tokens.
    """
    joined: list[Json] = []
    answer: int | None = None
    for record in records:
        kind = str(record.get("type"))
        is_rest = (
            kind == "gemini"
            and calls_of(record)
            and not (record.get("content") or record.get("thoughts") or _usage(record))
        )
        if is_rest and answer is not None and not calls_of(joined[answer]):
            joined[answer] = {**joined[answer], "toolCalls": record["toolCalls"]}
            continue
        if kind not in SCREEN_TYPES:
            answer = len(joined) if kind == "gemini" else None
        joined.append(record)
    return joined


def _build(builder: SegmentBuilder, records: list[Json], counted: set[str], report: Report) -> None:
    for index, record in enumerate(records):
        kind, where = str(record.get("type")), record["where"]
        if kind == "gemini":
            raws = messages_of(_answer_contents(record), first_index=index)
            key = text_of(record, "id") or where
            if key in counted:
                builder.add(raws, where)
                continue
            counted.add(key)
            builder.add_answer(
                raws,
                where,
                time=unix_seconds(record.get("timestamp")),
                model=record.get("model"),
                usage=_usage(record),
            )
        elif kind == "user":
            builder.add(messages_of([_content("user", record.get("content"))]), where)
        else:
            is_known = kind in SCREEN_TYPES
            reason = "shown to the user, not sent" if is_known else "message of unknown type"
            report.add(where, f"{kind}: {reason}", expected=is_known)


def _answer_contents(record: Json) -> list[Json]:
    thoughts = [
        {"thought": True, "text": f"**{thought.get('subject')}**\n{thought.get('description')}"}
        for thought in objects_of(record.get("thoughts"))
    ]
    calls = [
        {"functionCall": {key: call.get(key) for key in ("id", "name", "args")}}
        for call in calls_of(record)
    ]
    text = _content("model", record.get("content"))["parts"]
    contents = [{"role": "model", "parts": [*thoughts, *text, *calls]}]
    results = [part for call in calls_of(record) for part in _result_parts(call)]
    return [*contents, {"role": "user", "parts": results}] if results else contents


def _result_parts(call: Json) -> list[JsonValue]:
    """Return what a call gave back; none while it runs or after it was cut off."""
    result = call.get("result")
    if isinstance(result, str):
        response = {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}
        return [{"functionResponse": response}]
    return objects_of(result if isinstance(result, list) else [result])


def _content(role: str, raw: JsonValue) -> Json:
    listed = raw if isinstance(raw, list) else [raw]
    parts = [{"text": part} if isinstance(part, str) else part for part in listed]
    return {
        "role": role,
        "parts": [part for part in parts if isinstance(part, dict) and part != {"text": ""}],
    }


def _usage(record: Json) -> Usage | None:
    """Read the tokens of an answer; all zero is no usage."""
    tokens = object_of(record.get("tokens"))
    usage = google_usage(
        {
            "promptTokenCount": tokens.get("input"),
            "toolUsePromptTokenCount": tokens.get("tool"),
            "candidatesTokenCount": tokens.get("output"),
            "thoughtsTokenCount": tokens.get("thoughts"),
            "cachedContentTokenCount": tokens.get("cached"),
        }
    )
    return usage if usage and usage.total_tokens else None


def _contents(document: JsonValue) -> list[JsonValue] | None:
    """Return the contents of a document that holds nothing else."""
    listed = document
    if isinstance(document, dict):
        listed = next((document[key] for key in CHECKPOINT_KEYS if key in document), None)
    if not isinstance(listed, list) or not listed:
        return None
    is_contents = all(
        isinstance(item, dict)
        and item.get("role") in ("user", "model")
        and isinstance(item.get("parts"), list)
        for item in listed[:3]
    )
    return listed if is_contents else None


def _of_contents(contents: list[JsonValue], source: str) -> Transcript:
    report = Report()
    builder = SegmentBuilder(report)
    for raw in messages_of(contents):
        where = f"messages[{len(builder.messages)}]"
        add = builder.add_answer if raw["role"] == "assistant" else builder.add
        add([raw], where)
    masked = sum(m.is_result and MASKED_MARK in m.text for m in builder.messages)
    if masked:
        reason = f"masked results: {masked}; requests before the masking saw more than is logged"
        report.add("contents", reason, expected=True)
    segments = checked_segments(builder, source)
    messages = [message for segment in segments for message in segment.messages]
    return Transcript(
        name="chat",
        segments=segments,
        source=source,
        format=FORMAT,
        skipped=(*report.skipped(), *orphan_results(messages)),
    )
