"""opencode sessions: `opencode export`, and the same from its SQLite database as JSON.

A step of the model loop is one request; an answer of the older versions holds several. Outputs that
were pruned are sent as a notice from then on, and a compaction leaves its question, the summary and
the tail it names. `cost`, title and files changed are not read. `claude-code-log-trajectory` of
PyPI renders opencode sessions as HTML; no package was found that gives requests.

Source: github.com/sst/opencode, packages/opencode/src/session/{message-v2,compaction}.ts
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from compaction.llm import Usage
from evals.importers.files import Head, UnknownFormatError, read_document
from evals.importers.opencode_layouts import Entry, Session, is_session, sessions_of
from evals.importers.opencode_parts import Step, steps_of, user_parts
from evals.importers.reports import Report, orphan_results, unique_names
from evals.importers.segment_builder import (
    SegmentBuilder,
    includes_reasoning,
    object_of,
    text_of,
)
from evals.importers.usages import unix_seconds
from evals.transcripts import RecordedCompaction, Segment, Skipped, Transcript

FORMAT: Final = "opencode"

CLEARED_TEXT: Final = "[Old tool result content cleared]"
QUESTION_TEXT: Final = "What did we do so far?"
"""What is sent in place of a compaction part, before the summary."""


def matches(head: Head) -> bool:
    return len(head.values) == 1 and is_session(head.values[0])


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    sessions = list(sessions_of(read_document(path, source), report))
    built = []
    for session in sessions:
        reader = _Reader(report)
        for entry in session.entries:
            reader.add(entry)
        if segments := reader.builder.segments():
            built.append((session, segments))
    if not built:
        raise UnknownFormatError(f"{source}: a session without messages; name another file")
    names = unique_names(session.name for session, _ in built)
    for index, ((session, segments), name) in enumerate(zip(built, names, strict=True)):
        own = report.skipped() if index == 0 else ()
        yield _transcript(session, segments, name, source, own)


def _transcript(
    session: Session,
    segments: tuple[Segment, ...],
    name: str,
    source: str,
    skipped: tuple[Skipped, ...],
) -> Transcript:
    messages = [message for segment in segments for message in segment.messages]
    return Transcript(
        name=name,
        segments=segments,
        source=source,
        format=FORMAT,
        session=session.session,
        project=session.project,
        skipped=(*skipped, *orphan_results(messages)),
        includes_reasoning=includes_reasoning(segments),
        extra={"version": session.version} if session.version else {},
    )


class _Reader:
    """A session while it is read."""

    def __init__(self, report: Report) -> None:
        self.builder = SegmentBuilder(report)
        self._report = report
        self._starts: dict[str, int] = {}
        """Message id -> where it begins in the open segment."""
        self._prunes: list[tuple[float, int]] = []
        """A heap of when results were pruned, and where they stand in the open segment."""
        self._asked: Entry | None = None
        """A compaction whose summary has not come yet."""
        self._last: Usage | None = None

    def add(self, entry: Entry) -> None:
        role = entry.info.get("role")
        if role == "user":
            self._user(entry)
        elif role == "assistant":
            self._assistant(entry)
        else:
            self._report.add(entry.where, f"message of unknown role {role!r}")

    def _user(self, entry: Entry) -> None:
        if any(part.get("type") == "compaction" for part in entry.parts):
            self._asked = entry
            return
        self._starts[str(entry.info.get("id"))] = len(self.builder.messages)
        if content := user_parts(entry.parts, self._report, entry.where):
            self.builder.add([{"role": "user", "content": content}], entry.where)

    def _assistant(self, entry: Entry) -> None:
        steps = steps_of(entry.info, entry.parts, self._report, entry.where)
        error = object_of(entry.info.get("error"))
        if entry.info.get("summary") is True:
            self._compact(entry, steps, is_sound=not error)
        elif error and (error.get("name") != "MessageAbortedError" or not steps):
            self._report.add(entry.where, f"failed ({error.get('name')}): not sent", expected=True)
        else:
            self._starts[str(entry.info.get("id"))] = len(self.builder.messages)
            for step in steps:
                self._step(entry, step)

    def _step(self, entry: Entry, step: Step) -> None:
        time = unix_seconds(object_of(entry.info.get("time")).get("created"))
        if time is None:
            time = unix_seconds(entry.info.get("time_created"))
        self._prune(time)
        first = len(self.builder.messages) + 1
        self.builder.add_answer(
            [step.message, *(result.message for result in step.results)],
            entry.where,
            time=time,
            model=entry.info.get("modelID") or object_of(entry.info.get("model")).get("id"),
            usage=step.usage,
        )
        self._last = step.usage or self._last
        for place, result in enumerate(step.results, first):
            if result.pruned_at is not None and place < len(self.builder.messages):
                heappush(self._prunes, (result.pruned_at, place))

    def _prune(self, time: float | None) -> None:
        """Open a segment with what was pruned before a request."""
        places = set()
        while time is not None and self._prunes and self._prunes[0][0] <= time:
            places.add(heappop(self._prunes)[1])
        if places:
            messages = [
                message.with_text(CLEARED_TEXT) if place in places else message
                for place, message in enumerate(self.builder.messages)
            ]
            self.builder.open(messages, RecordedCompaction("micro", trigger="prune"))

    def _compact(self, entry: Entry, steps: list[Step], *, is_sound: bool) -> None:
        asked, self._asked = self._asked, None
        if not is_sound or not steps:
            self._report.add(
                entry.where, "a compaction that failed: nothing changed", expected=True
            )
            return
        part = next((p for p in asked.parts if p.get("type") == "compaction"), {}) if asked else {}
        auto = part.get("auto")
        tail = text_of(part, "tail_start_id") or ""
        end = len(self.builder.messages)
        start = self._starts.get(tail, end)
        kept = self.builder.messages[start:]
        prunes = [(time, place) for time, place in self._prunes if place >= start]
        summary = "\n".join(text["text"] for step in steps for text in step.texts)
        trigger = None if not isinstance(auto, bool) else "auto" if auto else "manual"
        before = self._last.total_tokens if self._last else None
        self.builder.open((), RecordedCompaction("full", trigger, before, None, summary))
        question = {"role": "user", "content": QUESTION_TEXT}
        self.builder.add([question, *(step.message for step in steps)], entry.where)
        shift = len(self.builder.messages) - start
        self.builder.messages += kept
        self._starts = {k: at + shift for k, at in self._starts.items() if at >= start}
        self._prunes = [(time, place + shift) for time, place in prunes]
        self._report.add(entry.where, "the call that wrote the summary: no request", expected=True)
