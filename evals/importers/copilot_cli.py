"""GitHub Copilot CLI: `events.jsonl` of a session, and the older export with `chatMessages`.

Events of a sub-agent name the call that started it; they are a transcript of their own. Answers
tell their output tokens only, unless `assistant.usage` events were recorded, so most requests have
no usage; the totals of the session are in `extra`. After a compaction the log does not show what
was sent; taken is the system prompt, the summary and what was not counted as removed. `atif-make`
of PyPI reads these events too, but needs Python 3.12.

Source: github.com/github/copilot-sdk, nodejs/src/generated/session-events.ts
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.llm import Usage
from compaction.messages import Json, Message
from evals.importers.copilot_events import (
    answer_of,
    attachment_kinds,
    removed_by,
    result_of,
    usage_of,
    user_content,
)
from evals.importers.copilot_export import exported, is_export
from evals.importers.files import Head, UnknownFormatError, head_of, read_document
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, orphan_results
from evals.importers.segment_builder import (
    SegmentBuilder,
    count_of,
    includes_reasoning,
    object_of,
    objects_of,
    text_of,
)
from evals.importers.usages import unix_seconds
from evals.transcripts import RecordedCompaction, Transcript

FORMAT: Final = "copilot-cli"

EVENT_GROUPS: Final = frozenset(
    {"abort", "assistant", "hook", "session", "skill", "subagent", "system", "tool", "user"}
)
"""What the type of an event begins with; an unknown group is reported."""


def matches(head: Head) -> bool:
    return any(
        isinstance(record.get("data"), dict)
        and str(record.get("type")).partition(".")[0] in EVENT_GROUPS
        and "parentId" in record
        for record in head.objects[:5]
    ) or any(is_export(record) for record in head.objects[:1])


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    if any(is_export(record) for record in head_of(path, source).objects[:1]):
        yield exported(object_of(read_document(path, source)), report, source, FORMAT)
        return
    session = _Session(report)
    for line, record in read_records(path, source, report):
        if isinstance(record, dict):
            session.add(record, line)
        else:
            report.add(f"line {line}", "not an object")
    session.close()
    built = [
        (name, stream) for name, stream in session.streams.items() if stream.builder.segments()
    ]
    if not built:
        raise UnknownFormatError(f"{source}: a session without messages; name another file")
    for index, (name, stream) in enumerate(built):
        segments = stream.builder.segments()
        messages = [message for segment in segments for message in segment.messages]
        own = report.skipped() if index == 0 else ()
        short = (session.session or "session")[:8]
        yield Transcript(
            name=f"{short}/agent-{name}" if name else short,
            segments=segments,
            source=source,
            format=FORMAT,
            session=session.session,
            project=session.project,
            skipped=(*own, *orphan_results(messages)),
            includes_reasoning=includes_reasoning(segments),
            extra={**session.extra, "output_tokens": stream.output_tokens},
        )


class _Stream:
    """The session or a sub-agent while it is read. An answer waits for its results and usage."""

    def __init__(self, report: Report) -> None:
        self.builder = SegmentBuilder(report)
        self.output_tokens: list[int | None] = []
        """One a request, in order."""
        self.places: dict[str, int] = {}
        """Event id -> messages of the open segment before it."""
        self._report = report
        self._data: Json = {}
        self._line = 0
        self._time: float | None = None
        self._model: str | None = None
        self._usage: Usage | None = None
        self._open: dict[str, Json] = {}
        """Call id -> its result, empty while it has none; in the order of the calls."""
        self._late: set[str] = set()
        """Calls without a result when something else was sent after their answer."""
        self._has_answer = False
        self.system: str | None = None

    def begin_answer(self, data: Json, line: int, time: float | None, model: str | None) -> None:
        self.flush()
        self._has_answer = True
        self._data, self._line, self._time, self._model = data, line, time, model
        self._usage = None
        calls = [text_of(call, "toolCallId") for call in objects_of(data.get("toolRequests"))]
        self._open = {call_id: {} for call_id in calls if call_id}
        self.output_tokens.append(count_of(data, "outputTokens"))

    def add_result(self, data: Json, line: int) -> None:
        call_id = text_of(data, "toolCallId")
        if call_id in self._late:
            self._late.discard(call_id)
            self.add(result_of(data), line)
        elif call_id not in self._open:
            reason = "a tool ran that no answer asked for: not in the conversation"
            self._report.count(line, reason, expected=False)
        elif self._open[call_id]:
            self._report.count(line, "result written twice, read once")
        else:
            self._open[call_id] = result_of(data)

    def add_usage(self, data: Json, line: int) -> None:
        if self._has_answer and self._usage is None:
            self._usage = usage_of(data)
        else:
            self._report.count(line, "usage of a call whose answer is not in the log")

    def add(self, message: Json, line: int) -> None:
        self.flush()
        self.builder.add([message], f"line {line}")

    def flush(self) -> None:
        if not self._has_answer:
            return
        self._has_answer = False
        self._late |= {call_id for call_id, result in self._open.items() if not result}
        self.builder.add_answer(
            [answer_of(self._data), *(result for result in self._open.values() if result)],
            f"line {self._line}",
            time=self._time,
            model=self._model,
            usage=self._usage,
        )

    def open(self, messages: list[Message], opened_by: RecordedCompaction | None) -> None:
        self.places = {}
        self.builder.open(messages, opened_by)


class _Session:
    """A file while it is read."""

    def __init__(self, report: Report) -> None:
        self.streams: dict[str, _Stream] = {"": _Stream(report)}
        self.session: str | None = None
        self.project: str | None = None
        self.extra: Json = {}
        self._report = report
        self._model: str | None = None
        self._seen: set[str] = set()

    def add(self, event: Json, line: int) -> None:
        kind, data = str(event.get("type")), object_of(event.get("data"))
        event_id = text_of(event, "id")
        if event_id in self._seen:
            self._report.count(line, "event written twice, read once")
            return
        stream = self._stream(event, data)
        if event_id:
            if kind.endswith(".message"):
                stream.flush()
            self._seen.add(event_id)
            stream.places[event_id] = len(stream.builder.messages)
        if kind == "assistant.message":
            time = unix_seconds(event.get("timestamp"))
            stream.begin_answer(data, line, time, text_of(data, "model") or self._model)
        elif kind == "tool.execution_complete":
            self._model = text_of(data, "model") or self._model
            stream.add_result(data, line)
        elif kind == "user.message":
            self._user(stream, data, line)
        elif kind == "system.message":
            self._system_message(stream, event, line)
        elif kind == "assistant.usage":
            stream.add_usage(data, line)
        else:
            self._session_event(stream, kind, data, line)

    def close(self) -> None:
        for stream in self.streams.values():
            stream.flush()

    def _stream(self, event: Json, data: Json) -> _Stream:
        name = text_of(event, "agentId") or text_of(data, "parentToolCallId") or ""
        if name not in self.streams:
            self.streams[name] = _Stream(self._report)
        return self.streams[name]

    def _user(self, stream: _Stream, data: Json, line: int) -> None:
        stream.add({"role": "user", "content": user_content(data)}, line)
        for kind in attachment_kinds(data):
            self._report.count(line, f"attachment {kind!r}: what was sent of it is not in the log")

    def _system_message(self, stream: _Stream, event: Json, line: int) -> None:
        """Take the first system prompt; it is logged again before each turn."""
        text = text_of(object_of(event.get("data")), "content") or ""
        if stream.system is None:
            stream.system = text
            stream.add({"role": "system", "content": text}, line)
        elif stream.system == text:
            self._report.count(line, "system prompt logged again")
        else:
            self._report.count(line, "system prompt changed: the first one is kept")

    def _session_event(self, stream: _Stream, kind: str, data: Json, line: int) -> None:
        if kind in ("session.start", "session.resume"):
            self._start(data)
        elif kind == "session.model_change":
            self._model = text_of(data, "newModel") or self._model
        elif kind == "session.shutdown":
            self.extra["model_metrics"] = object_of(data.get("modelMetrics"))
        elif kind in ("session.compaction_complete", "session.truncation"):
            self._compacted(stream, kind, data, line)
        elif kind == "session.snapshot_rewind":
            self._rewind(stream, data, line)
        else:
            is_known = kind.partition(".")[0] in EVENT_GROUPS
            self._report.count(line, f"event {kind}: not sent", expected=is_known)

    def _start(self, data: Json) -> None:
        self.session = text_of(data, "sessionId") or self.session
        context = object_of(data.get("context"))
        self.project = text_of(context, "gitRoot", "cwd") or self.project
        self._model = text_of(data, "selectedModel") or self._model
        if version := text_of(data, "copilotVersion"):
            self.extra["version"] = version

    def _compacted(self, stream: _Stream, kind: str, data: Json, line: int) -> None:
        if data.get("success") is False:
            self._report.count(line, "a compaction that failed: nothing changed")
            return
        stream.flush()
        removed = removed_by(data)
        if kind == "session.truncation" and not removed:
            self._report.count(line, "a truncation that removed nothing")
            return
        messages = stream.builder.messages
        start = [message for message in messages[:1] if message.role == "system"]
        others = messages[len(start) :]
        kept = others[removed:] if removed is not None else []
        while kept and kept[0].is_result:
            kept = kept[1:]
        summary = text_of(data, "summaryContent")
        trigger = "truncation" if kind == "session.truncation" else text_of(data, "trigger")
        before = count_of(data, "preCompactionTokens")
        if before is None:
            before = count_of(data, "preTruncationTokensInMessages")
        opened_by = RecordedCompaction(
            "full", trigger, before, count_of(data, "tokensRemoved"), summary
        )
        stream.open(start, opened_by)
        if summary:
            stream.builder.add([{"role": "user", "content": summary}], f"line {line}")
        stream.builder.messages += kept

    def _rewind(self, stream: _Stream, data: Json, line: int) -> None:
        """Drop an event and all after it; their requests stay in the segment before."""
        stream.flush()
        place = stream.places.get(text_of(data, "upToEventId") or "")
        if place is None:
            self._report.count(line, "rewind to an event that is not in the log", expected=False)
        elif place < len(stream.builder.messages):
            stream.open(stream.builder.messages[:place], None)
