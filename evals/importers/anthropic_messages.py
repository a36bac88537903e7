"""Anthropic Messages: request bodies, request with response, and bare message lists.

A server-side `compaction` block opens a segment, because the server drops what stands before it.
The `anthropic` package types these objects but joins no conversations, so it is not used.

Source: https://docs.anthropic.com/en/api/messages.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers import anthropic_blocks as convert
from evals.importers.fields import objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.reports import Report, orphan_results
from evals.importers.request_bodies import Body, body_of, read_bodies, values_of
from evals.importers.server_compactions import segments_of
from evals.transcripts import RecordedRequest, Transcript

FORMAT: Final = "anthropic-messages"
BLOCK_TYPES: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "compaction"}
)
"""Types of blocks that the chat API has not."""
FOREIGN_KEYS: Final = frozenset(
    {"sessionId", "system_prompt", "trajectory", "agent", "info", "observations", "conversations"}
)
"""Keys beside `messages` that belong to another format."""
MESSAGES_LOOKED_AT: Final = 200


def matches(head: Head) -> bool:
    values = list(head.values[:3])
    first = values[0] if values else None
    if isinstance(first, list) and not _is_history(first):
        values = first[:3]
    if head.layout == "lines" and _is_history(list(head.values)):
        return True
    return any(_is_history(value) or _is_logged(value) for value in values)


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    bodies: list[Body] = []
    loose: list[JsonValue] = []
    for where, value in values_of(path, source, report):
        listed = value if isinstance(value, list) and not _is_history(value) else [value]
        for item in listed:
            if _is_history(item):
                bodies.append(Body(where, {"messages": item}, {}))
            elif _is_logged(item):
                bodies.append(body_of(where, item))
            elif _is_message(item):
                loose.append(item)
            else:
                report.add(where, "neither a request nor a message")
    if loose:
        bodies.append(Body(source, {"messages": loose}, {}))
    if all(body.request.get("type") == "message" for body in bodies):
        raise UnknownFormatError(
            f"{source}: a response without the request that it answers; log the request too"
        )
    first, *others = read_bodies(bodies, "/v1/messages", FORMAT, source, _conversation)
    yield replace(first, skipped=(*report.skipped(), *first.skipped))
    yield from others


def _is_message(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and value.get("role") in ("user", "assistant")
        and isinstance(value.get("content"), str | list)
        and value.get("type") not in ("message", "user", "assistant")
    )


def _is_history(value: JsonValue) -> bool:
    """Tell a list of messages by a block that only this API has."""
    return (
        isinstance(value, list)
        and bool(value)
        and _is_message(value[0])
        and any(map(_has_block, objects(value[:MESSAGES_LOOKED_AT])))
    )


def _has_block(message: Json) -> bool:
    return any(
        str(block.get("type")) in BLOCK_TYPES and "value" not in block
        for block in objects(message.get("content"))
    )


def _is_logged(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    request = value.get("request")
    inner: Json = request if isinstance(request, dict) else value
    if inner.get("type") == "message" and inner.get("role") == "assistant":
        return isinstance(inner.get("content"), list) and "stop_reason" in inner
    messages = inner.get("messages")
    if not isinstance(messages, list) or not messages or not _is_message(messages[0]):
        return False
    return FOREIGN_KEYS.isdisjoint(inner) and (
        _is_history(messages)
        or isinstance(inner.get("system"), str | list)
        or any("input_schema" in tool for tool in objects(inner.get("tools")))
    )


def _conversation(body: Body, source: str, name: str) -> Transcript:
    request = body.request
    system = messages_from_openai(convert.system_message(request.get("system")))
    converted: list[Json] = []
    for index, raw in enumerate(request["messages"]):
        if not isinstance(raw, dict) or raw.get("role") not in ("user", "assistant", "system"):
            reason = f"{body.where}: messages[{index}] is no message of this API; correct it"
            raise TranscriptError(reason)
        converted += _converted(raw)
    try:
        messages = messages_from_openai(converted)
    except MessageError as error:
        raise TranscriptError(f"{body.where}: {error}; correct it or export it again") from error
    if not messages:
        raise TranscriptError(f"{body.where}: no messages in the request; name another file")
    model = text(request.get("model"))
    answers = [
        RecordedRequest(i, model=model) for i, m in enumerate(messages) if m.role == "assistant"
    ]
    trigger = "auto" if request.get("context_management") else None
    return Transcript(
        name=name,
        segments=segments_of(system, messages, answers, trigger=trigger),
        source=source,
        format=FORMAT,
        tools=convert.tools(request.get("tools")),
        skipped=tuple(orphan_results((*system, *messages))),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )


def _converted(raw: Json) -> list[Json]:
    content = raw.get("content")
    if raw["role"] == "system":
        return convert.system_message(content)
    if raw["role"] == "assistant":
        return [convert.assistant_message(content)]
    return convert.user_messages(content)
