"""Codex rollouts: `~/.codex/sessions/**/rollout-*.jsonl`, one record a line, the oldest bare items.

Items are what was sent; events repeat them for the screen and are not read, but for token counts.
A token count stands before the items of its answer (0.39) or after them (0.140); which one, the
file shows. `cc-session-core` of PyPI types the records, but needs Python 3.12 and pairs nothing:
neither counts with answers nor histories with compactions. Copies in a fork repeat their parent's
requests; both have its session, so that they are one observation.

Source: github.com/openai/codex, codex-rs/protocol/src/protocol.rs and codex-rs/core/src/compact.rs
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from compaction.llm import Usage
from compaction.messages import Json, Message
from evals.importers.codex_counts import TokenCounts
from evals.importers.files import Head
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, orphan_results
from evals.importers.responses_items import messages_of
from evals.importers.segment_builder import (
    SegmentBuilder,
    checked_segments,
    count_of,
    includes_reasoning,
    object_of,
    objects_of,
    text_of,
)
from evals.importers.usages import unix_seconds
from evals.transcripts import RecordedCompaction, Transcript

FORMAT: Final = "codex"

RECORD_TYPES: Final = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
)
ANSWER_TYPES: Final = frozenset({"reasoning", "compaction", "compaction_summary"})
CONTEXT_STARTS: Final = (
    *("<environment_context>", "<permissions instructions>", "<turn_aborted>"),
    *("<user_instructions>", "# AGENTS.md instructions"),
)
"""How messages begin that Codex writes itself in the user's name."""
KEPT_USER_CHARS: Final = 80_000
"""User messages that a local compaction keeps, newest first: 20,000 tokens of 4 bytes."""


def matches(head: Head) -> bool:
    return any(
        str(record.get("type")) in RECORD_TYPES
        and isinstance(record.get("payload"), dict)
        and "timestamp" in record
        for record in head.objects
    ) or any(_is_bare_header(record) for record in head.objects[:1])


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    rollout = _Rollout(report)
    for line, record in read_records(path, source, report):
        if isinstance(record, dict):
            rollout.add(record, line)
        else:
            report.add(f"line {line}", "not an object")
    rollout.close()
    segments = checked_segments(rollout.builder, source)
    messages = [message for segment in segments for message in segment.messages]
    yield Transcript(
        name=(rollout.thread or "session")[:8],
        segments=segments,
        source=source,
        format=FORMAT,
        session=rollout.session or rollout.thread,
        project=rollout.project,
        skipped=(*report.skipped(), *orphan_results(messages)),
        includes_reasoning=includes_reasoning(segments),
        extra={"version": rollout.version} if rollout.version else {},
    )


@dataclass(slots=True)
class _Answer:
    """The items of one response while it is read; results that arrive between them come last."""

    line: int
    time: float | None
    model: str | None
    usage: Usage | None = None
    items: list[Json] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    is_counted: bool = False


class _Rollout:
    """A file while it is read."""

    def __init__(self, report: Report) -> None:
        self.builder = SegmentBuilder(report)
        self.thread: str | None = None
        self.session: str | None = None
        """The thread that this one was forked or spawned from, if it was."""
        self.project: str | None = None
        self.version: str | None = None
        self._report = report
        self._model: str | None = None
        self._system: list[Message] = []
        self._answer: _Answer | None = None
        self._counts_stand: Literal["before", "after"] | None = None
        self._waiting: Usage | None = None
        """The count of the answer that comes next, where counts stand before."""
        self._counts = TokenCounts()

    def add(self, record: Json, line: int) -> None:
        payload = record.get("payload")
        kind = str(record.get("type"))
        if _is_bare_header(record):
            self._meta(record)
        elif _is_bare(record):
            self._bare(record, line)
        elif not isinstance(payload, dict) or kind not in RECORD_TYPES:
            self._report.count(line, f"record of unknown type {kind!r}", expected=False)
        elif kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self._model = text_of(payload, "model") or self._model
            self._flush()
        elif kind == "response_item":
            self._item(payload, line, unix_seconds(record.get("timestamp")))
        elif kind == "event_msg":
            self._event(payload, line)
        else:
            self._compacted(payload, line)

    def close(self) -> None:
        self._flush()

    def _bare(self, record: Json, line: int) -> None:
        """Take a line of the versions that wrote items without an envelope."""
        if record.get("record_type") == "state":
            self._report.count(line, "state: no part of the conversation")
        else:
            self._item(record, line, None)

    def _meta(self, payload: Json) -> None:
        given = text_of(payload, "id")
        source = object_of(object_of(payload.get("source")).get("subagent"))
        spawned = object_of(source.get("thread_spawn"))
        origin = (
            text_of(payload, "forked_from_id", "parent_thread_id")
            or text_of(spawned, "parent_thread_id")
            or text_of(payload, "session_id")
        )
        if self.thread is None:
            self.thread = given
            self.project = text_of(payload, "cwd")
            self.version = text_of(payload, "cli_version")
            text = text_of(object_of(payload.get("base_instructions")), "text")
            if text:
                system = [{"role": "system", "content": text}]
                self._system = self.builder.add(system, "session_meta")
        # A fork copies the header of its parent below its own, and that of the parent's parent.
        ancestor = given if given != self.thread else None
        self.session = origin or ancestor or self.session

    def _event(self, payload: Json, line: int) -> None:
        kind = str(payload.get("type"))
        if kind == "token_count":
            self._count(payload, line)
        elif kind == "thread_rolled_back":
            self._roll_back(count_of(payload, "num_turns") or 0, line)
        else:
            self._report.count(line, f"event {kind}: for the screen, not sent")

    def _count(self, payload: Json, line: int) -> None:
        usage = self._counts.usage_of(payload)
        if usage is None:
            self._report.count(line, "token count without news")
            return
        answer = self._answer
        if answer and not answer.is_counted and self._counts_stand != "before":
            answer.usage, answer.is_counted = usage, True
            self._counts_stand = "after"
        elif self._counts_stand == "after":
            self._report.count(line, "token count of a call whose answer is not in the log")
        else:
            self._flush()
            self._counts_stand = "before"
            self._forget_waiting(line)
            self._waiting = usage

    def _forget_waiting(self, line: int) -> None:
        if self._waiting is not None:
            self._report.count(line, "token count of a call whose answer is not in the log")
        self._waiting = None

    def _item(self, item: Json, line: int, time: float | None) -> None:
        kind = str(item.get("type", "message"))
        if kind == "ghost_snapshot":
            self._report.count(line, "ghost_snapshot: no part of the conversation")
        elif kind.endswith("_output") and isinstance(item.get("call_id"), str):
            if self._answer:
                self._answer.results.append(item)
            else:
                self.builder.add(messages_of([item]), f"line {line}")
        elif kind == "message" and item.get("role") != "assistant":
            self._flush()
            self.builder.add(messages_of([item]), f"line {line}")
        else:
            if kind not in ANSWER_TYPES and kind != "message" and not kind.endswith("_call"):
                reason = f"item of unknown type {kind!r}, kept as a part of the answer"
                self._report.count(line, reason, expected=False)
            self._of_answer(item, line, time)

    def _of_answer(self, item: Json, line: int, time: float | None) -> None:
        answer = self._answer
        if answer and (
            (self._counts_stand == "after" and answer.is_counted)
            or (self._counts_stand != "before" and answer.results)
        ):
            self._flush()
        if self._answer is None:
            self._answer = _Answer(line, time, self._model, self._waiting)
            self._waiting = None
        self._answer.items.append(item)

    def _flush(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None:
            return
        self.builder.add_answer(
            messages_of([*answer.items, *answer.results]),
            f"line {answer.line}",
            time=answer.time,
            model=answer.model,
            usage=answer.usage,
            is_reasoned=any(item.get("type") == "reasoning" for item in answer.items),
        )

    def _compacted(self, payload: Json, line: int) -> None:
        self._flush()
        self._forget_waiting(line)
        history = payload.get("replacement_history")
        summary = text_of(payload, "message")
        kept = self._system if isinstance(history, list) else self._kept_locally()
        opened_by = RecordedCompaction(
            "full",
            tokens_before=self._counts.context_tokens,
            summary=summary,
        )
        self.builder.open(kept, opened_by)
        where = f"line {line}"
        if isinstance(history, list):
            self.builder.add(messages_of(objects_of(history)), where)
        elif summary:
            self.builder.add([{"role": "user", "content": summary}], where)

    def _kept_locally(self) -> list[Message]:
        """Return what the versions kept that do not log the new history: the user's messages."""
        kept: list[Message] = []
        left = KEPT_USER_CHARS
        for message in reversed(self.builder.messages):
            if _is_context(message):
                kept.append(message)
            elif message.role == "user" and left > 0:
                left -= len(message.text)
                kept.append(message)
        return kept[::-1]

    def _roll_back(self, turns: int, line: int) -> None:
        """Drop the last turns; the requests that were made in them stay in their segment."""
        self._flush()
        messages = self.builder.messages
        starts = [i for i, m in enumerate(messages) if m.role == "user" and not _is_context(m)]
        if 0 < turns <= len(starts):
            self.builder.open(messages[: starts[-turns]], None)
        else:
            self._report.count(line, "rollback of turns that are not in the log", expected=False)


def _is_context(message: Message) -> bool:
    return message.role in ("system", "developer") or (
        message.role == "user" and message.text.lstrip().startswith(CONTEXT_STARTS)
    )


def _is_bare_header(record: Json) -> bool:
    return (
        "type" not in record
        and {"id", "timestamp", "instructions"} <= record.keys()
        and isinstance(record["id"], str)
    )


def _is_bare(record: Json) -> bool:
    is_item = str(record.get("type")).endswith(("_call", "_output", "reasoning"))
    return "payload" not in record and (is_item or "record_type" in record or "role" in record)
