"""pi coding agent sessions: one entry a line, a list at first, a tree since version 2.

The path to the last entry is the conversation; a branch that was left is a transcript of its own
if the model answered in it, with requests for its own answers only. Answers without any content
(aborted, failed) are not sent again and are left out. `claude-converter` of PyPI flattens pi
sessions to role and content for chat templates: no requests, usage or compactions.

Source: github.com/badlogic/pi-mono, packages/coding-agent/src/core/{session-manager,messages}.ts
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from compaction.llm import Usage
from compaction.messages import Json
from evals.importers.files import Head, UnknownFormatError
from evals.importers.jsonl import read_records
from evals.importers.pi_messages import BRANCH_TEXT, SUMMARY_TEXT, openai_messages, user_message_of
from evals.importers.reports import Report, orphan_results
from evals.importers.segment_builder import (
    SegmentBuilder,
    count_of,
    includes_reasoning,
    object_of,
    text_of,
)
from evals.importers.usages import anthropic_usage, unix_seconds, usd
from evals.transcripts import RecordedCompaction, Segment, Transcript

FORMAT: Final = "pi"

SIDE_TYPES: Final = frozenset(
    {"custom", "label", "model_change", "session_info", "thinking_level_change"}
)
"""Entries beside the conversation; their content is never sent."""


def matches(head: Head) -> bool:
    return any(
        (record.get("type") == "session" and isinstance(record.get("cwd"), str))
        or (
            record.get("type") == "message"
            and isinstance(record.get("message"), dict)
            and record["message"].get("role") in ("user", "assistant", "toolResult")
            and "timestamp" in record
        )
        for record in head.objects[:5]
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    log = _Log(report)
    for line, record in read_records(path, source, report):
        if isinstance(record, dict):
            log.add(record, line)
        else:
            report.add(f"line {line}", "not an object")
    built = [
        (number, segments)
        for number, (entries, own) in enumerate(log.paths())
        if (segments := _segments(entries, own, report if number == 0 else Report(), number, log))
    ]
    if not built:
        raise UnknownFormatError(f"{source}: a session without messages; name another file")
    for number, segments in built:
        messages = [message for segment in segments for message in segment.messages]
        yield Transcript(
            name=f"{log.name}/branch-{number}" if number else log.name,
            segments=segments,
            source=source,
            format=FORMAT,
            session=log.session,
            project=log.project,
            skipped=() if number else (*report.skipped(), *orphan_results(messages)),
            includes_reasoning=includes_reasoning(segments),
            extra=log.extra,
        )


@dataclass(slots=True, eq=False)
class _Entry:
    line: int
    raw: Json
    parent: "_Entry | None"


class _Log:
    """The entries of a file, linked to their parents."""

    def __init__(self, report: Report) -> None:
        self.name = "session"
        self.session: str | None = None
        """The session that this one was branched from, if it was: both are one observation."""
        self.project: str | None = None
        self.extra: Json = {}
        self.thinking: str | None = None
        """How much the model is told to think at first."""
        self._report = report
        self._entries: list[_Entry] = []
        self._by_id: dict[str, _Entry] = {}
        self._by_index: list[_Entry | None] = []
        """As version 1 counts: the header has number 0."""

    def add(self, record: Json, line: int) -> None:
        kind = str(record.get("type"))
        entry_id, parent = text_of(record, "id"), text_of(record, "parentId")
        if kind == "session":
            self._header(record)
            self._by_index.append(None)
            return
        if entry_id in self._by_id:
            self._report.count(line, "entry written twice, read once")
            return
        previous = self._entries[-1] if self._entries else None
        is_root = "parentId" in record and record["parentId"] is None
        entry = _Entry(line, record, None if is_root else self._by_id.get(parent or "", previous))
        self._entries.append(entry)
        self._by_index.append(entry)
        if entry_id:
            self._by_id[entry_id] = entry

    def paths(self) -> list[tuple[list[_Entry], set[int]]]:
        """Return the main path and each branch, with the identities of what it does not repeat."""
        claimed: set[int] = set()
        paths = []
        answers = [entry for entry in reversed(self._entries) if _role(entry) == "assistant"]
        for leaf in (*self._entries[-1:], *answers):
            if id(leaf) in claimed:
                continue
            path: list[_Entry] = []
            entry: _Entry | None = leaf
            while entry is not None:
                path.append(entry)
                entry = entry.parent
            own = {id(entry) for entry in path} - claimed
            claimed |= own
            paths.append((path[::-1], own))
        for entry in self._entries:
            kind = str(entry.raw.get("type"))
            if id(entry) not in claimed and kind not in SIDE_TYPES:
                self._report.count(entry.line, f"{kind} on a branch without an answer: not sent")
        self._resolve_first_kept()
        return paths

    def _header(self, record: Json) -> None:
        given = text_of(record, "id")
        origin = text_of(record, "branchedFrom", "parentSession")
        if self.session is None and given:
            self.name = given[:8]
            parent = PurePosixPath(origin.replace("\\", "/")).stem if origin else given
            self.session = parent.rsplit("_", 1)[-1]
            self.project = text_of(record, "cwd")
            self.thinking = text_of(record, "thinkingLevel")
            version = record.get("version")
            self.extra = {"version": version} if isinstance(version, int) else {}

    def _resolve_first_kept(self) -> None:
        """Let compactions of version 1, which name a number, name the entry itself."""
        for entry in self._entries:
            index = count_of(entry.raw, "firstKeptEntryIndex")
            first = text_of(entry.raw, "firstKeptEntryId")
            kept = self._by_id.get(first) if first else None
            if index is not None and index < len(self._by_index):
                kept = self._by_index[index]
            if entry.raw.get("type") == "compaction":
                entry.raw = {**entry.raw, "first_kept": kept}


def _role(entry: _Entry) -> object:
    return object_of(entry.raw.get("message")).get("role")


def _segments(
    path: Sequence[_Entry], own: set[int], report: Report, number: int, log: _Log
) -> tuple[Segment, ...]:
    builder = SegmentBuilder(report)
    thinking = _Thinking(log.thinking)
    starts: dict[int, int] = {}
    """Entry identity -> where its messages begin in the open segment."""
    for entry in path:
        where = f"line {entry.line}"
        if entry.raw.get("type") == "compaction":
            starts = _compact(builder, entry, starts)
            continue
        starts[id(entry)] = len(builder.messages)
        message = object_of(entry.raw.get("message"))
        raws = _messages(entry, report)
        is_changed = thinking.see(entry.raw, message)
        if message.get("role") == "assistant" and id(entry) in own:
            builder.add_answer(
                raws,
                where,
                time=unix_seconds(message.get("timestamp"))
                or unix_seconds(entry.raw.get("timestamp")),
                model=message.get("model"),
                usage=_usage(message.get("usage")),
                cost_usd=_cost_usd(message.get("usage")),
                is_restart=is_changed,
            )
        else:
            builder.add(raws, where)
    segments = builder.segments()
    if not number or not any(segment.requests for segment in segments):
        return () if number else segments
    first = next(i for i, segment in enumerate(segments) if segment.requests)
    return (replace(segments[first], opened_by=None), *segments[first + 1 :])


class _Thinking:
    """How much the model is told to think; what is set during a turn holds from the next one on.

    Anthropic reads no cached message after a change.
    Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, "What invalidates the
    cache".
    """

    def __init__(self, level: str | None) -> None:
        self._set = self._asked = self._sent = level

    def see(self, raw: Json, message: Json) -> bool:
        """Take in an entry; whether it is an answer of Claude's, the first after a change."""
        if raw.get("type") == "thinking_level_change":
            self._set = text_of(raw, "thinkingLevel")
        if message.get("role") == "user":
            self._asked = self._set
        if message.get("role") != "assistant" or not _usage(message.get("usage")):
            return False
        is_changed = None not in (self._sent, self._asked) and self._sent != self._asked
        self._sent = self._asked
        return is_changed and "claude" in str(message.get("model"))


def _compact(builder: SegmentBuilder, entry: _Entry, starts: dict[int, int]) -> dict[int, int]:
    """Open a segment with the summary and what was kept; return where the kept entries begin."""
    raw = entry.raw
    first = starts.get(id(raw.get("first_kept")), len(builder.messages))
    kept = builder.messages[first:]
    summary = text_of(raw, "summary")
    builder.open((), RecordedCompaction("full", None, count_of(raw, "tokensBefore"), None, summary))
    text = SUMMARY_TEXT.format(summary or "")
    builder.add([{"role": "user", "content": text}], f"line {entry.line}")
    shift = len(builder.messages) - first
    builder.messages += kept
    return {key: start + shift for key, start in starts.items() if start >= first}


def _messages(entry: _Entry, report: Report) -> list[Json]:
    raw = entry.raw
    kind = str(raw.get("type"))
    message = object_of(raw.get("message"))
    if kind == "message" and message:
        return openai_messages(message, entry.line, report)
    if kind == "custom_message":
        return user_message_of(raw.get("content"))
    if kind == "branch_summary":
        return [{"role": "user", "content": BRANCH_TEXT.format(text_of(raw, "summary") or "")}]
    if kind in SIDE_TYPES:
        report.count(entry.line, f"{kind}: no part of the conversation")
    else:
        report.count(entry.line, f"entry of unknown type {kind!r}", expected=False)
    return []


def _usage(raw: object) -> Usage | None:
    """Read input, cached and written tokens, which pi counts apart; all zero is no usage."""
    given = object_of(raw)
    usage = anthropic_usage(
        {
            "input_tokens": given.get("input"),
            "cache_read_input_tokens": given.get("cacheRead"),
            "cache_creation_input_tokens": given.get("cacheWrite"),
            "output_tokens": given.get("output"),
        }
    )
    return usage if usage and usage.total_tokens else None


def _cost_usd(raw: object) -> float | None:
    """Read what pi took the call to cost; nothing for a call that was aborted."""
    return usd(object_of(object_of(raw).get("cost")).get("total")) or None
