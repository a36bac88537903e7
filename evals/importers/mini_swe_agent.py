"""mini-swe-agent trajectories: `{info, messages, trajectory_format}`.

An answer carries the whole provider response in `extra`, with its usage. Version 2 ends with a
message of role `exit`, which is never sent. Older runs saved a bare message list; that is the
OpenAI chat format. The package writes these files but offers no reader, so none is used.

Source: https://mini-swe-agent.com/latest/usage/output_files/.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import mapping, objects, text
from evals.importers.files import Head, UnknownFormatError, read_document
from evals.importers.reports import Report, orphan_results
from evals.importers.responses_items import messages_of
from evals.importers.usages import chat_usage, responses_usage, unix_seconds
from evals.transcripts import RecordedRequest, Segment, Transcript

FORMAT: Final = "mini-swe-agent"
OWN_KEYS: Final = frozenset({"extra", "timestamp"})


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    return (
        isinstance(first, dict)
        and str(first.get("trajectory_format", "")).startswith("mini-swe-agent")
        and isinstance(first.get("messages"), list)
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    document = mapping(read_document(path, source))
    report = Report()
    converted: list[Json] = []
    requests: list[RecordedRequest] = []
    model = text(mapping(mapping(_config(document)).get("model")).get("model_name"))
    for index, item in enumerate(objects(document.get("messages"))):
        if item.get("role") == "exit":
            report.add(f"messages[{index}]", "the end of the run: not sent", expected=True)
            continue
        for message in _messages(item):
            if message.get("role") == "assistant":
                requests.append(_request(item, len(converted), model))
            converted.append(message)
    if not converted:
        raise UnknownFormatError(f"{source}: a run without messages; name another file")
    try:
        messages = messages_from_openai(converted)
    except MessageError as error:
        raise TranscriptError(f"{source}: messages: {error}; run the instance again") from error
    yield Transcript(
        name=text(document.get("instance_id")) or Path(source).name.split(".")[0],
        segments=(Segment(messages, tuple(requests)),),
        source=source,
        format=FORMAT,
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=any(message.reasoning for message in messages[:-1]),
        extra={"version": text(mapping(document.get("info")).get("mini_version"))},
    )


def _config(document: Json) -> Json:
    return mapping(mapping(document.get("info")).get("config"))


def _messages(item: Json) -> list[Json]:
    """Convert a message; runs over the Responses API keep whole responses and single items."""
    if item.get("object") == "response":
        return messages_of(item.get("output"))
    if "role" not in item and "type" in item:
        return messages_of([item])
    return [{key: value for key, value in item.items() if key not in OWN_KEYS}]


def _request(item: Json, position: int, model: str | None) -> RecordedRequest:
    extra = mapping(item.get("extra"))
    response = item if item.get("object") == "response" else mapping(extra.get("response"))
    usage = response.get("usage")
    is_chat = "prompt_tokens" in mapping(usage)
    time = unix_seconds(extra.get("timestamp", item.get("timestamp", response.get("created"))))
    return RecordedRequest(
        position,
        time=time,
        model=text(response.get("model")) or model,
        usage=chat_usage(usage) if is_chat else responses_usage(usage),
    )
