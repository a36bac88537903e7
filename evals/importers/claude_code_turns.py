"""The records of one Claude Code conversation as a tree of turns.

One response is spread over several lines (same `message.id`), and results of parallel calls stand
between them; both are gathered into one turn. Parent links run through records of every type. A
branch exists only where two turns continue the same turn.
"""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from sys import intern
from typing import Any, Final, Literal

from compaction.llm import Usage
from compaction.messages import Json, canonical_json
from evals.importers.anthropic_blocks import blocks_of, result_message
from evals.importers.reports import Report
from evals.importers.usages import anthropic_usage

TurnKind = Literal["user", "assistant", "full", "micro"]


@dataclass(slots=True, eq=False)
class Turn:
    """A user message, a response with its results, or a compaction."""

    kind: TurnKind
    line: int
    record: Json
    """What is needed of the first record of the turn; most of a log is tool output told twice."""
    parent: "Turn | None"
    blocks: list[Any] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    """Tool messages, in the order in which they arrived."""
    answered_time: str | None = None
    """When its last result was there, as written."""
    usage: Usage | None = None
    """The largest of its lines: they repeat, and the early ones are partial."""
    asides: list["Turn"] = field(default_factory=list)
    """User turns beside the main path that were sent after this one."""

    @property
    def is_meta(self) -> bool:
        return self.record.get("isMeta") is True

    @property
    def is_summary(self) -> bool:
        return self.record.get("isCompactSummary") is True


RECORD_FIELDS: Final = (
    *("sessionId", "cwd", "version", "timestamp", "isMeta", "isCompactSummary"),
    *("compactMetadata", "microcompactMetadata"),
)


def _kept(record: Json) -> Json:
    """Leave out what nobody asks for: the result once more, identities, switches."""
    kept: Json = {key: _shared(record[key]) for key in RECORD_FIELDS if key in record}
    message = record.get("message")
    if isinstance(message, dict):
        kept["message"] = {"model": _shared(message.get("model"))}
        if isinstance(message.get("content"), str):
            kept["message"]["content"] = message["content"]
    return kept


def _shared(value: Any) -> Any:
    """Let the same text of every record be one object."""
    return intern(value) if isinstance(value, str) else value


class Stream:
    """One conversation while it is read, in file order."""

    def __init__(self, name: str, report: Report) -> None:
        self.name = name
        """Empty for the session itself, else the sub-agent."""
        self.turns: list[Turn] = []
        self._report = report
        self._of_record: dict[str, Turn] = {}
        self._of_message: dict[str, Turn] = {}
        self._of_call: dict[str, list[Turn]] = {}
        self._answers: dict[tuple[int, str], Json] = {}
        """(Turn identity, call id) -> its result."""
        self._seen: set[str] = set()
        self._queue: deque[str] = deque()
        self._taken: list[tuple[int, str]] = []
        """Queued messages that left the queue without a record of their own so far."""

    def add(self, record: Json, line: int) -> None:
        """Take a user or assistant record with a message."""
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                self._report.count(line, "record written twice, read once")
                return
            self._seen.add(uuid)
        if record["type"] == "assistant":
            self._add_assistant(record, line)
        elif record.get("isVisibleInTranscriptOnly") and not record.get("isCompactSummary"):
            self.link(record)
            self._report.count(line, "shown to the user only: not sent")
        else:
            self._add_user(record, line)

    def add_boundary(self, record: Json, line: int) -> None:
        is_full = record.get("subtype") == "compact_boundary"
        self._append(Turn("full" if is_full else "micro", line, record, self._parent(record)))
        metadata = record.get("compactMetadata")
        if isinstance(metadata, dict) and metadata.get("preservedSegment"):
            self._report.add(f"line {line}", "messages kept by a partial compaction are not read")

    def add_queue_operation(self, record: Json, line: int) -> None:
        """Follow the messages that were typed while the model worked."""
        operation, content = record.get("operation"), record.get("content")
        if operation == "enqueue":
            self._queue.append(content if isinstance(content, str) else "")
        elif operation == "popAll":
            self._queue.clear()
        elif operation in ("dequeue", "remove") and self._queue:
            text = self._queue.popleft()
            if operation == "remove" and text:
                self._taken.append((line, text))

    def close(self) -> None:
        """Insert messages that were sent during a turn, unless the log has them as records too."""
        if self._queue:
            self._report.add(
                "end of file", f"{len(self._queue)} queued messages never sent", expected=True
            )
        if not self._taken:
            return
        last_line = {canonical_json(t.blocks): t.line for t in self.turns if t.kind == "user"}
        lines = [turn.line for turn in self.turns]
        for line, text in self._taken:
            blocks = blocks_of(text)
            if last_line.get(canonical_json(blocks), 0) > line:
                continue
            before = bisect_left(lines, line)
            if not before:
                self._report.add(f"line {line}", "queued message before the conversation: not read")
                continue
            host = self.turns[before - 1]
            host.asides.append(Turn("user", line, {"isMeta": True}, None, blocks))

    def link(self, record: Json) -> None:
        """Let parent links run through a record that is no message."""
        parent = self._parent(record)
        if parent is not None and isinstance(record.get("uuid"), str):
            self._of_record[record["uuid"]] = parent

    def _parent(self, record: Json) -> Turn | None:
        known = self._of_record.get(str(record.get("parentUuid")))
        return known or (self.turns[-1] if self.turns else None)

    def _append(self, turn: Turn) -> None:
        self.turns.append(turn)
        self._of_record[str(turn.record.get("uuid"))] = turn
        turn.record = _kept(turn.record)

    def _add_assistant(self, record: Json, line: int) -> None:
        message = record["message"]
        if record.get("isApiErrorMessage") is True:
            self.link(record)
            self._report.count(line, "API error shown to the user: not sent")
            return
        key = message.get("id")
        turn = self._of_message.get(key) if isinstance(key, str) else None
        if turn is None:
            turn = Turn("assistant", line, record, self._parent(record))
            self._append(turn)
            if isinstance(key, str):
                self._of_message[key] = turn
        self._of_record[str(record.get("uuid"))] = turn
        usage = anthropic_usage(message.get("usage"))
        if usage and (turn.usage is None or usage.output_tokens > turn.usage.output_tokens):
            turn.usage = usage
        for block in blocks_of(message.get("content")):
            self._add_block(turn, block, line)

    def _add_block(self, turn: Turn, block: Any, line: int) -> None:
        call_id = block.get("id") if isinstance(block, dict) else None
        if isinstance(call_id, str) and block.get("type") == "tool_use":
            if turn in self._of_call.get(call_id, ()):
                self._report.count(line, "tool call written twice, read once")
                return
            self._of_call.setdefault(call_id, []).append(turn)
        turn.blocks.append(block)

    def _add_user(self, record: Json, line: int) -> None:
        others = []
        answered = None
        for block in blocks_of(record["message"].get("content")):
            is_result = isinstance(block, dict) and block.get("type") == "tool_result"
            turn = self._answer(block, line) if is_result else None
            if turn is None:
                others.append(block)
            else:
                answered = turn
        if answered is not None:
            self._of_record[str(record.get("uuid"))] = answered
            time = record.get("timestamp")
            answered.answered_time = time if isinstance(time, str) else answered.answered_time
        if others or answered is None:
            parent = answered or self._parent(record)
            self._append(Turn("user", line, record, parent, others))

    def _answer(self, block: Json, line: int) -> Turn | None:
        """Give a result to its response; None if no call is known, so that it stays a message."""
        call_id = block.get("tool_use_id")
        turns = self._of_call.get(call_id, []) if isinstance(call_id, str) else []
        if not turns or not isinstance(call_id, str):
            self._report.add(f"line {line}", f"a result for unknown call {call_id!r}; kept")
            return None
        message = result_message(block)
        open_turns = [turn for turn in turns[-2:] if (id(turn), call_id) not in self._answers]
        if not open_turns:
            first = self._answers[id(turns[-1]), call_id]
            is_same = canonical_json(first) == canonical_json(message)
            reason = "result written twice, read once" if is_same else "a second, other result"
            self._report.count(line, reason, expected=is_same)
            return turns[-1]
        open_turns[-1].results.append(message)
        self._answers[id(open_turns[-1]), call_id] = message
        return open_turns[-1]
