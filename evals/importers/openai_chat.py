"""OpenAI chat conversations: message lists, request bodies, completion logs.

`[messages]`, `{messages, tools, ...}`, `{messages, response}` as OpenHands and LiteLLM log a
completion, a list of any of these, and JSON Lines with a conversation or a message a line.
Anthropic bodies and other uses of the key `messages` are left to their own readers. The `openai`
package types these objects but joins no conversations, so it is not used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, Message, Messages
from evals.importers.files import Head, JsonValue, head_of, read_document
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.usages import chat_usage, unix_seconds
from evals.transcripts import RecordedRequest, Segment, Skipped, Transcript

FORMAT: Final = "openai-chat"

FOREIGN_KEYS: Final = frozenset({"system", "system_prompt", "contents", "sessionId", "trajectory"})
"""Top-level keys beside `messages` that belong to another format."""
FOREIGN_PARTS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "tool_call", "reasoning", "image"}
)
"""Types of content parts that the chat API has not."""
PARTS_LOOKED_AT: Final = 200
NAME_KEYS: Final = ("name", "id", "task_id", "conversation_id", "instance_id", "custom_id")


class _Body(NamedTuple):
    """One conversation of a file, before it is checked."""

    where: str
    """Prefix of message indices in errors: `file.json` or `file.jsonl:3`."""
    name: str
    fields: Mapping[str, Any]


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    return any(_is_conversation(value) or _is_message(value) for value in head.values[:3]) or (
        isinstance(first, list) and any(_is_conversation(value) for value in first[:3])
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    bodies = list(_bodies(path, source, report))
    if not bodies:
        raise TranscriptError(f"{source}: no conversation in the file; name another file")
    names = unique_names(body.name for body in bodies) if bodies[1:] else ["conversation"]
    for index, (body, name) in enumerate(zip(bodies, names, strict=True)):
        transcript = transcript_of(body.fields, body.where, source, name)
        own = report.skipped() if index == 0 else ()
        yield replace(transcript, skipped=own + transcript.skipped)


def transcript_of(fields: Mapping[str, Any], where: str, source: str, name: str) -> Transcript:
    """Build the transcript of a request body, with the response if there is one beside it."""
    messages = messages_of(fields["messages"], where)
    answer, request = _answer(fields, len(messages), where)
    model = _model(fields)
    requests = [
        RecordedRequest(index, model=model)
        for index, message in enumerate(messages)
        if _is_answer(message)
    ]
    if answer and request:
        messages, requests = (*messages, answer), [*requests, request]
    return Transcript(
        name=name,
        segments=(Segment(messages, tuple(requests)),),
        source=source,
        format=FORMAT,
        tools=_tools(fields),
        skipped=tuple(orphan_results(messages)) + _ignored_choices(fields),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )


def messages_of(raw: JsonValue, where: str) -> Messages:
    """Read message dicts.

    Raises:
        TranscriptError: with the index of the first one that is none, or if the list is empty.
    """
    if not isinstance(raw, list) or not raw:
        raise TranscriptError(f"{where}: no messages; name a file with a conversation")
    messages = []
    for index, item in enumerate(raw):
        try:
            messages.append(Message.from_openai(item))
        except MessageError as error:
            text = f"{where}: messages[{index}]: {error}; correct it or convert the file"
            raise TranscriptError(text) from error
    return tuple(messages)


def _is_answer(message: Message) -> bool:
    return message.role == "assistant"


def _bodies(path: Path, source: str, report: Report) -> Iterator[_Body]:
    if head_of(path, source).layout == "document":
        yield from _of_document(read_document(path, source), source)
        return
    loose: list[Json] = []
    for line, value in read_records(path, source, report):
        if _is_message(value):
            loose.append(value)
        elif _is_conversation(value):
            yield _body(value, f"{source}:{line}", f"line {line}")
        elif isinstance(value, list) and any(map(_is_conversation, value)):
            yield from _of_document(value, f"{source}:{line}")
        else:
            report.add(f"line {line}", "neither a message nor a conversation")
    if loose:
        yield _Body(source, "conversation", {"messages": loose})


def _of_document(document: JsonValue, source: str) -> Iterator[_Body]:
    if isinstance(document, list) and not any(_is_message(item) for item in document):
        for index, item in enumerate(document):
            yield _body(item, f"{source}[{index}]", str(index))
    else:
        yield _body(document, source, "conversation")


def _body(value: JsonValue, where: str, name: str) -> _Body:
    if isinstance(value, list):
        return _Body(where, name, {"messages": value})
    if _is_message(value):
        return _Body(where, name, {"messages": [value]})
    if not isinstance(value, dict) or "messages" not in value:
        raise TranscriptError(f"{where}: no list of messages; remove it or convert the file")
    given = (value.get(key) for key in NAME_KEYS)
    return _Body(where, next((str(x) for x in given if isinstance(x, str | int)), name), value)


def _choices(fields: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[JsonValue]]:
    """Return the logged response and its choices, empty if there are none."""
    response = fields.get("response")
    if not isinstance(response, dict) or not isinstance(response.get("choices"), list):
        return {}, []
    return response, response["choices"]


def _answer(
    fields: Mapping[str, Any], position: int, where: str
) -> tuple[Message, RecordedRequest] | tuple[None, None]:
    response, choices = _choices(fields)
    if not choices or not isinstance(choices[0], dict):
        return None, None
    message = messages_of([choices[0].get("message")], f"{where}: response")[0]
    request = RecordedRequest(
        position,
        time=unix_seconds(fields.get("timestamp")) or unix_seconds(response.get("created")),
        model=_model(fields),
        usage=chat_usage(response.get("usage")),
    )
    return message, request


def _model(fields: Mapping[str, Any]) -> str | None:
    """Return the model that answered, else the one that was asked for; LiteLLM logs it apart."""
    kwargs = fields.get("kwargs")
    given = (
        _choices(fields)[0].get("model"),
        fields.get("model"),
        kwargs.get("model") if isinstance(kwargs, dict) else None,
    )
    return next((name for name in given if isinstance(name, str) and name), None)


def _ignored_choices(fields: Mapping[str, Any]) -> tuple[Skipped, ...]:
    further = len(_choices(fields)[1]) - 1
    if further < 1:
        return ()
    return (Skipped("response", f"{further} further choices of the answer", expected=True),)


def _tools(fields: Mapping[str, Any]) -> tuple[Json, ...]:
    tools, functions = fields.get("tools"), fields.get("functions")
    if isinstance(tools, list):
        return tuple(tool for tool in tools if isinstance(tool, dict))
    listed = functions if isinstance(functions, list) else []
    return tuple({"type": "function", "function": item} for item in listed)


def _is_conversation(value: JsonValue) -> bool:
    """Tell a list of messages or a request body; roles are checked when it is read."""
    if isinstance(value, dict):
        tools = value.get("tools")
        is_foreign = not FOREIGN_KEYS.isdisjoint(value) or (
            isinstance(tools, list)
            and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)
        )
        value = None if is_foreign else value.get("messages")
    return isinstance(value, list) and bool(value) and _is_message(value[0]) and not _foreign(value)


def _is_message(value: JsonValue) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("role"), str)
        and not value.keys().isdisjoint(("content", "tool_calls", "function_call", "refusal"))
        and "messages" not in value
        and not _foreign([value])
    )


def _foreign(messages: list[JsonValue]) -> bool:
    contents = (m.get("content") for m in messages[:PARTS_LOOKED_AT] if isinstance(m, dict))
    parts = (part for content in contents if isinstance(content, list) for part in content)
    return any(isinstance(part, dict) and str(part.get("type")) in FOREIGN_PARTS for part in parts)
