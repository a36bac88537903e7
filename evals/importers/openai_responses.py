"""OpenAI Responses: request bodies, request with response, and bare lists of items.

A compaction item opens a segment, because the server drops what stands before it. What a stored
response or a `response.compaction` object continues is not in it, so those alone are refused. The
`openai` package types these objects but joins no conversations, so it is not used.

Source: https://platform.openai.com/docs/api-reference/responses.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, Messages, messages_from_openai
from evals.importers.fields import objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.reports import Report, orphan_results
from evals.importers.request_bodies import Body, body_of, read_bodies, values_of
from evals.importers.responses_items import is_compaction, messages_of, tools_of
from evals.importers.server_compactions import segments_of
from evals.transcripts import RecordedRequest, Transcript

FORMAT: Final = "openai-responses"
ITEM_TYPES: Final = frozenset(
    {
        "additional_tools",
        "compaction",
        "computer_call",
        "computer_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "function_call",
        "function_call_output",
        "item_reference",
        "local_shell_call",
        "local_shell_call_output",
        "reasoning",
        "tool_search_call",
        "tool_search_output",
        "web_search_call",
    }
)
"""Types of items that other APIs do not have; `message` is shared with too many."""
RESPONSE_OBJECTS: Final = ("response", "response.compaction")


def matches(head: Head) -> bool:
    values = list(head.values[:3])
    first = values[0] if values else None
    if isinstance(first, list) and not _is_items(first):
        values = first[:3]
    if head.layout == "lines" and _is_items(list(head.values)):
        return True
    return any(_is_items(value) or _is_logged(value) for value in values)


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    bodies: list[Body] = []
    loose: list[JsonValue] = []
    for where, value in values_of(path, source, report):
        listed = value if isinstance(value, list) and not _is_items(value) else [value]
        for item in listed:
            if _is_items(item):
                bodies.append(Body(where, {"input": item}, {}))
            elif _is_logged(item):
                bodies.append(body_of(where, item))
            elif isinstance(item, dict) and ("type" in item or "role" in item):
                loose.append(item)
            else:
                report.add(where, "neither a request nor an item")
    if loose:
        bodies.append(Body(source, {"input": loose}, {}))
    if all(body.request.get("object") in RESPONSE_OBJECTS for body in bodies):
        raise UnknownFormatError(
            f"{source}: a response without the request that it answers; log the request too"
        )
    first, *others = read_bodies(bodies, "/responses", FORMAT, source, _conversation)
    yield replace(first, skipped=(*report.skipped(), *first.skipped))
    yield from others


def _is_items(value: JsonValue) -> bool:
    return isinstance(value, list) and any(
        str(item.get("type")) in ITEM_TYPES for item in objects(value)
    )


def _is_logged(value: JsonValue) -> bool:
    if not isinstance(value, dict):
        return False
    request = value.get("request")
    inner: Json = request if isinstance(request, dict) else value
    if inner.get("object") in RESPONSE_OBJECTS:
        return isinstance(inner.get("output"), list)
    given = inner.get("input")
    is_items = _is_items(given) or (
        isinstance(given, str | list) and ("model" in inner or "previous_response_id" in inner)
    )
    return is_items and "messages" not in inner and "observations" not in inner


def _conversation(body: Body, source: str, name: str) -> Transcript:
    request = body.request
    given = request.get("instructions")
    system = messages_from_openai([{"role": "system", "content": given}] if given else [])
    items = request.get("input")
    if isinstance(items, str):
        items = [{"role": "user", "content": items}]
    messages = _messages(items if isinstance(items, list) else [], body.where)
    if not messages:
        raise TranscriptError(f"{body.where}: no items in the request; name another file")
    model = text(request.get("model"))
    answers = [
        RecordedRequest(i, model=model) for i, m in enumerate(messages) if m.role == "assistant"
    ]
    trigger = "auto" if request.get("context_management") else None
    whole = (*system, *messages)
    return Transcript(
        name=name,
        segments=segments_of(system, messages, answers, trigger=trigger),
        source=source,
        format=FORMAT,
        tools=tools_of(request.get("tools")),
        skipped=tuple(orphan_results(whole)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )


def _messages(items: list[JsonValue], where: str) -> Messages:
    """Convert items; a compaction after an answer's last part is an answer of its own."""
    converted: list[Json] = []
    start = 0
    for index, item in enumerate(items):
        following = items[index + 1] if index + 1 < len(items) else {"role": "user"}
        if is_compaction(item) and not _continues(following):
            converted += messages_of(items[start:index])
            start = index
    converted += messages_of(items[start:])
    try:
        return messages_from_openai(converted)
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; correct the item or export it again") from error


def _continues(item: JsonValue) -> bool:
    """Tell whether an item after a compaction is of the same answer."""
    return isinstance(item, dict) and (
        item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call")
    )
