"""LangChain messages as they are dumped: constructor JSON, `messages_to_dict`, `model_dump`.

A bare list, `{messages: [...]}` (a LangGraph state, also below `values`), a list of those, or JSON
Lines. `langchain-core` restores the messages, but with forty packages behind it and without usage,
requests or media in a common form, so it is not used.

Source: https://python.langchain.com/api_reference/core/messages.html.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers import langchain_messages as convert
from evals.importers.fields import first_text, mapping, objects
from evals.importers.files import Head, JsonValue
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.request_bodies import values_of
from evals.transcripts import RecordedRequest, Segment, Transcript

FORMAT: Final = "langchain"
MESSAGES_LOOKED_AT: Final = 20

_Found = tuple[str, str, list[JsonValue]]
"""Place, name and messages of one conversation."""


def matches(head: Head) -> bool:
    values = list(head.values[:3])
    first = values[0] if values else None
    if isinstance(first, list) and not _is_history(first):
        values = first[:3]
    if head.layout == "lines" and _is_history(list(head.values)):
        return True
    return any(_history(value) is not None for value in values)


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    found = _conversations(path, source, report)
    if not found:
        raise TranscriptError(f"{source}: no message could be read; export the file again")
    names = unique_names(name for _, name, _ in found) if found[1:] else ["conversation"]
    for number, ((where, _, listed), name) in enumerate(zip(found, names, strict=True)):
        of_file = report.skipped() if number == 0 else ()
        transcript = _transcript(where, name, listed, source)
        yield replace(transcript, skipped=(*of_file, *transcript.skipped))


def _conversations(path: Path, source: str, report: Report) -> list[_Found]:
    found: list[_Found] = []
    loose: list[JsonValue] = []
    for where, value in values_of(path, source, report):
        listed = value if isinstance(value, list) and not _is_history(value) else [value]
        for item in listed:
            history = _history(item)
            if history is not None:
                given = first_text(mapping(item), "thread_id", "id", "name")
                found.append((where, given or str(len(found) + 1), history))
            elif convert.is_message(item):
                loose.append(item)
            else:
                report.add(where, "neither a message nor a conversation")
    if loose:
        found.append((source, "conversation", loose))
    return found


def _history(value: JsonValue) -> list[JsonValue] | None:
    """Return the messages of a list or a state, or None if there are none of this format."""
    if isinstance(value, dict):
        inner = value.get("values", value.get("kwargs"))
        value = value.get("messages", mapping(inner).get("messages"))
    return value if isinstance(value, list) and _is_history(value) else None


def _is_history(value: JsonValue) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and convert.is_message(value[0])
        and any(convert.is_telling(item) for item in objects(value[:MESSAGES_LOOKED_AT]))
    )


def _transcript(where: str, name: str, listed: list[JsonValue], source: str) -> Transcript:
    report = Report()
    converted: list[Json] = []
    requests: list[RecordedRequest] = []
    for index, raw in enumerate(listed):
        message = convert.message(raw)
        if message is None:
            report.add(f"messages[{index}]", "not a message of a known kind")
            continue
        if message["role"] == "assistant":
            requests.append(
                RecordedRequest(len(converted), None, convert.model_of(raw), convert.usage_of(raw))
            )
        converted.append(message)
    try:
        messages = messages_from_openai(converted)
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; correct it or export it again") from error
    if not messages:
        raise TranscriptError(f"{where}: no message could be read; export the file again")
    return Transcript(
        name=name,
        segments=(Segment(messages, tuple(requests)),),
        source=source,
        format=FORMAT,
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
    )
