"""Google ADK sessions: `{id, events: [{author, content}]}`, as documents, lists or lines.

An event that carries a compaction opens a segment: its summary stands in the place of the events of
its time range. All agents of a session are read as one conversation in the order of its events; ADK
words other agents' events anew for each agent, and that wording is not logged. `google-adk` reads
sessions back but brings a whole agent framework, so it is not used.

Source: https://google.github.io/adk-docs/sessions/session/ and `google/adk/events`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from compaction.errors import MessageError, TranscriptError
from compaction.llm import Usage
from compaction.messages import Json, messages_from_openai
from evals.importers.fields import first_text, mapping, objects, text
from evals.importers.files import Head, JsonValue, UnknownFormatError
from evals.importers.google_contents import messages_of
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.request_bodies import values_of
from evals.importers.usages import google_usage, unix_seconds
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment, Transcript

FORMAT: Final = "google-adk"


@dataclass(frozen=True, slots=True)
class _Sent:
    """The content of one event."""

    content: Json
    time: float | None
    is_answer: bool
    model: str | None = None
    usage: Usage | None = None


@dataclass(slots=True)
class _Session:
    """The segments of a session while its events are read."""

    current: list[_Sent] = field(default_factory=list)
    opened_by: RecordedCompaction | None = None
    done: list[Segment] = field(default_factory=list)

    def compact(self, start: float, end: float, summary: Json) -> bool:
        """Replace a time range by its summary; tells whether any event was in it."""
        inside = [s for s in self.current if s.time is not None and start <= s.time <= end]
        if not inside:
            return False
        at = self.current.index(inside[0])
        used = next((s.usage for s in reversed(self.current) if s.usage), None)
        self.done.append(self.closed())
        gone = set(map(id, inside))
        kept = [replace(s, is_answer=False) for s in self.current if id(s) not in gone]
        self.current = [*kept[:at], _Sent(summary, end, is_answer=False), *kept[at:]]
        words = "\n".join(part for raw in _parts(summary) if (part := text(raw.get("text"))))
        self.opened_by = RecordedCompaction(
            "full", tokens_before=used.input_tokens if used else None, summary=words or None
        )
        return True

    def closed(self) -> Segment:
        messages = messages_from_openai(messages_of([sent.content for sent in self.current]))
        answers = [i for i, message in enumerate(messages) if message.role == "assistant"]
        models = [sent for sent in self.current if sent.content["role"] == "model"]
        requests = tuple(
            RecordedRequest(position, sent.time, sent.model, sent.usage)
            for position, sent in zip(answers, models, strict=True)
            if sent.is_answer
        )
        return Segment(messages, requests, self.opened_by)


def matches(head: Head) -> bool:
    first = head.values[0] if head.values else None
    if isinstance(first, list) and first:
        first = first[0]
    return _is_session(first)


def read(path: Path, source: str) -> Iterator[Transcript]:
    of_file = Report()
    sessions: list[tuple[str, Json]] = []
    for where, value in values_of(path, source, of_file):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and _is_session(item):
                sessions.append((where, item))
            else:
                of_file.add(where, "not a session")
    names = unique_names(text(raw.get("id")) or "session" for _, raw in sessions)
    built = [
        transcript
        for (where, raw), name in zip(sessions, names, strict=True)
        if (transcript := _transcript(raw, where, source, name))
    ]
    if not built:
        raise UnknownFormatError(f"{source}: sessions without messages; name another file")
    yield replace(built[0], skipped=(*of_file.skipped(), *built[0].skipped))
    yield from built[1:]


def _is_session(value: JsonValue) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("events"), list):
        return False
    return any(
        "author" in event and ("content" in event or "invocation_id" in event)
        for event in objects(value["events"])[:5]
    )


def _transcript(raw: Json, where: str, source: str, name: str) -> Transcript | None:
    report = Report("event")
    session = _Session()
    try:
        for index, event in enumerate(objects(raw.get("events"))):
            _add(session, event, index, report)
        segments = (*session.done, session.closed())
    except MessageError as error:
        raise TranscriptError(f"{where}: {error}; export the session again") from error
    if not any(segment.messages for segment in segments):
        return None
    orphans = orphan_results(segments[0].messages) if len(segments) == 1 else []
    return Transcript(
        name=name,
        segments=segments,
        source=source,
        format=FORMAT,
        session=text(raw.get("id")),
        project=first_text(raw, "app_name", "appName"),
        skipped=(*report.skipped(), *orphans),
        includes_reasoning=any(m.reasoning for segment in segments for m in segment.messages),
    )


def _add(session: _Session, event: Json, index: int, report: Report) -> None:
    compaction = mapping(mapping(event.get("actions")).get("compaction"))
    if compaction:
        _compact(session, compaction, index, report)
        return
    content = mapping(event.get("content"))
    if event.get("partial") is True:
        report.count(index, "partial event: its text comes again in the whole one")
    elif not _parts(content):
        report.count(index, "event without content: no message")
    else:
        is_answer = content.get("role") == "model"
        role = "model" if is_answer else "user"
        usage = event.get("usage_metadata", event.get("usageMetadata"))
        session.current.append(
            _Sent(
                {**content, "role": role},
                unix_seconds(event.get("timestamp")),
                is_answer,
                first_text(event, "model_version", "modelVersion"),
                google_usage(_camel(mapping(usage))),
            )
        )


def _compact(session: _Session, raw: Json, index: int, report: Report) -> None:
    start = unix_seconds(raw.get("start_timestamp", raw.get("startTimestamp")))
    end = unix_seconds(raw.get("end_timestamp", raw.get("endTimestamp")))
    summary = mapping(raw.get("compacted_content", raw.get("compactedContent")))
    if start is None or end is None or not _parts(summary):
        report.count(index, "a compaction without time range or summary", expected=False)
    elif not session.compact(start, end, {**summary, "role": summary.get("role", "model")}):
        report.count(index, "a compaction of no event that is in the file", expected=False)


def _parts(content: Mapping[str, Any]) -> list[Json]:
    return objects(content.get("parts"))


def _camel(raw: Json) -> Json:
    """Spell usage fields as the API does; the Python client writes snake case."""
    spelled = {}
    for key, value in raw.items():
        first, *rest = key.split("_")
        spelled[first + "".join(word.capitalize() for word in rest)] = value
    return spelled
