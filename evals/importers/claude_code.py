"""Claude Code sessions: `~/.claude/projects/*/*.jsonl`, one record a line.

Conversation records are sorted into streams (the session and each sub-agent); what a stream's
records mean is in `claude_code_turns`. Neither system prompt nor tools are recorded. Messages typed
while the model worked were sent to it although older versions log them as queue operations only;
commands run locally reach the model too, so both are user messages. `cc-session-core` of PyPI types
the records, but needs Python 3.12; other packages show sessions and offer no reader.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from compaction.messages import Json
from evals.importers.claude_code_segments import transcripts_of
from evals.importers.claude_code_turns import Stream
from evals.importers.files import Head, UnknownFormatError
from evals.importers.jsonl import read_records
from evals.importers.reports import Report
from evals.transcripts import Transcript

FORMAT: Final = "claude-code"

RECORD_TYPES: Final = frozenset(
    {
        "agent-name",
        "ai-title",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "permission-mode",
        "pr-link",
        "summary",
    }
)
"""Records beside the conversation; their content is never sent."""
SYSTEM_SUBTYPES: Final = frozenset(
    {"stop_hook_summary", "turn_duration", "api_error", "informational"}
)


MARKS: Final = frozenset({"sessionId", "uuid", "leafUuid", "snapshot"})
"""Every record has one of these fields."""


def matches(head: Head) -> bool:
    return any(
        not MARKS.isdisjoint(record)
        and (
            _is_conversation(record)
            or record.get("type") in ("progress", "system", "queue-operation", *RECORD_TYPES)
        )
        for record in head.objects
    )


def read(path: Path, source: str) -> Iterator[Transcript]:
    report = Report()
    session = _Session(path, report)
    line = 0
    for line, record in read_records(path, source, report):
        if isinstance(record, dict):
            session.add(record, line)
        else:
            report.add(f"line {line}", "not an object")
    session.close()
    transcripts = transcripts_of(session.streams, report, source, FORMAT)
    if not transcripts:
        text = f"{source}: a session without messages ({line} lines); name another file"
        raise UnknownFormatError(text)
    yield from transcripts


class _Session:
    """The streams of a file while it is read."""

    def __init__(self, path: Path, report: Report) -> None:
        self.streams: dict[str, Stream] = {"": Stream("", report)}
        """By sub-agent, and by session for those after the first."""
        self._report = report
        self._path = path
        self._side_of: dict[str, str] = {}
        """Record of an unnamed sub-agent -> its stream."""
        self._of_session: dict[str, Stream] = {}
        self._current = self.streams[""]

    def add(self, record: Json, line: int) -> None:
        kind = str(record.get("type"))
        if _is_conversation(record):
            self._stream(record).add(record, line)
        elif kind == "system":
            self._system(record, line)
        elif kind == "progress":
            self._progress(record, line)
        elif kind == "queue-operation":
            self._stream(record).add_queue_operation(record, line)
            self._report.count(line, "queue-operation: its message is read where it was sent")
        elif kind == "attachment":
            self._attachment(record, line)
        elif kind in RECORD_TYPES:
            self._stream(record).link(record)
            self._report.count(line, f"{kind}: no part of the conversation")
        else:
            self._stream(record).link(record)
            self._report.count(line, f"record of unknown type {kind!r}", expected=False)

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()

    def _main(self, record: Json) -> Stream:
        """Return the conversation of a record.

        A session that goes on from another one links to it; one that does not is another
        conversation, in a file that was put together.
        """
        session, uuid = record.get("sessionId"), record.get("uuid")
        known = self._of_session.get(session) if isinstance(session, str) else None
        if known is None and isinstance(session, str) and isinstance(uuid, str):
            known = self._current
            is_start = record.get("parentUuid") is None and "logicalParentUuid" not in record
            if is_start and known.turns:
                known = self.streams.setdefault(f"session {session}", Stream("", self._report))
            self._of_session[session] = known
        self._current = known or self._current
        return self._current

    def _stream(self, record: Json) -> Stream:
        if record.get("isSidechain") is not True:
            return self._main(record)
        agent, uuid, parent = (record.get(key) for key in ("agentId", "uuid", "parentUuid"))
        name = agent if isinstance(agent, str) and agent else self._side_of.get(str(parent))
        if name is None:
            name = f"side-{len(self.streams)}"
        if isinstance(uuid, str):
            self._side_of[uuid] = name
        if name not in self.streams:
            self.streams[name] = Stream(name, self._report)
        return self.streams[name]

    def _system(self, record: Json, line: int) -> None:
        subtype = str(record.get("subtype"))
        stream = self._stream(record)
        if subtype in ("compact_boundary", "microcompact_boundary"):
            stream.add_boundary(record, line)
        elif subtype == "local_command" and isinstance(record.get("content"), str):
            stream.add({**record, "type": "user", "message": {"content": record["content"]}}, line)
        else:
            stream.link(record)
            known = subtype in SYSTEM_SUBTYPES
            self._report.count(line, f"system record {subtype!r}: not sent", expected=known)

    def _progress(self, record: Json, line: int) -> None:
        self._stream(record).link(record)
        data = record.get("data")
        data = data if isinstance(data, dict) else {}
        inner = data.get("message")
        if data.get("type") != "agent_progress" or not isinstance(inner, dict):
            self._report.count(line, f"progress {data.get('type')!r}: no part of the conversation")
            return
        agent = str(data.get("agentId") or record.get("parentToolUseID") or "agent")
        if self._has_own_file(agent):
            self._report.count(line, f"sub-agent {agent}: read from its own file")
            return
        kept = {key: record.get(key) for key in ("sessionId", "cwd", "version", "timestamp")}
        message = {**kept, **inner, "isSidechain": True, "agentId": agent, "parentUuid": None}
        if _is_conversation(message):
            self._stream(message).add(message, line)
        else:
            self._report.count(line, "sub-agent progress without a message")

    def _has_own_file(self, agent: str) -> bool:
        name = f"agent-{agent}.jsonl"
        if "/" in agent or "\0" in agent or len(name) > 200:
            return False
        folders = (self._path.parent, self._path.with_suffix("") / "subagents")
        return any((folder / name).is_file() for folder in folders)

    def _attachment(self, record: Json, line: int) -> None:
        attachment = record.get("attachment")
        attachment = attachment if isinstance(attachment, dict) else {}
        prompt = attachment.get("prompt")
        if attachment.get("type") == "queued_command" and isinstance(prompt, str | list):
            stream = self._stream(record)
            stream.add({**record, "type": "user", "message": {"content": prompt}}, line)
            return
        self._stream(record).link(record)
        self._report.count(
            line,
            f"attachment {attachment.get('type')!r}: context that Claude Code words itself; "
            "what was sent is not in the log",
        )


def _is_conversation(record: Json) -> bool:
    return record.get("type") in ("user", "assistant") and isinstance(record.get("message"), dict)
