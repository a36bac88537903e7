"""What an agent writes down so that a killed process can go on: one JSON object per line.

Besides the messages it holds every reply that a compactor was given. A strategy makes the same
views from the same history and replies, so going through the journal again restores its state
without asking the model, whatever the strategy is.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from compaction.errors import MessageError, SessionError
from compaction.llm import ModelReply, Usage
from compaction.messages import Json, Message
from compaction.session_file import SessionFile
from compaction.strategy import Strategy, parameters_of

JOURNAL_FORMAT: Final = "compaction-agent/1"
_HEADER_START: Final = b'{"type": "agent"'
_REPLY_FIELDS: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "finish_reason": (str,),
    "model": (str, type(None)),
    "seconds": (int, float),
    "refusal": (str, type(None)),
    "tool_names": (list, tuple),
}


class Journal(Protocol):
    """Records in the order they were appended; an appended record survives the process."""

    @property
    def place(self) -> str:
        """Where the records are, for messages."""
        ...

    def append(self, record: Json) -> None: ...

    def records(self) -> Iterator[tuple[int, Json]]:
        """Yield line number and record."""
        ...


class MemoryJournal:
    """Keeps records for as long as the process lives."""

    place = "the session in memory"

    def __init__(self) -> None:
        self._records: list[Json] = []

    def append(self, record: Json) -> None:
        self._records.append(record)

    def records(self) -> Iterator[tuple[int, Json]]:
        return iter(tuple(enumerate(self._records, 1)))


class FileJournal:
    """A session file. A last line that a kill cut short is set aside, all others must be whole.

    Raises:
        SessionError: from both methods: the file cannot be read or written, is damaged, or is
            no session; it is left as it is.
    """

    def __init__(self, path: Path) -> None:
        self._file = SessionFile(path)

    @property
    def place(self) -> str:
        return str(self._file.path)

    def append(self, record: Json) -> None:
        self._file.append(record)

    def records(self) -> Iterator[tuple[int, Json]]:
        if not self._file.path.exists():
            return
        yield from self._file.read()
        if self._file.torn_line == 1:
            self._check_torn_header()

    def _check_torn_header(self) -> None:
        with self._file.path.open("rb") as file:
            start = file.read(len(_HEADER_START))
        if not _HEADER_START.startswith(start):
            raise SessionError(f"{self.place}, line 1: no session of this agent")


@dataclass(slots=True)
class Step:
    """One call of a recorded compactor and what was learnt after it."""

    length: int
    """How many messages the history had."""
    request: int
    """The index of the agent's request that it was for."""
    time: float
    """Unix seconds."""
    compactions: list[str | None] = field(default_factory=list)
    """Focus of each compaction that was asked for before this step."""
    replies: list[ModelReply | str] = field(default_factory=list)
    """What the compactor's model calls got; a text is the error that was thrown in."""
    usage: Usage | None = None
    """Set if and only if the request that followed was answered."""


@dataclass(slots=True)
class Recording:
    """A journal read back."""

    messages: list[Message] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    compactions: list[str | None] = field(default_factory=list)
    """Asked for after the last step."""


def header(strategy: Strategy) -> Json:
    """Return the first record: replies are only valid for the strategy that asked for them."""
    return {
        "type": "agent",
        "format": JOURNAL_FORMAT,
        "strategy": strategy.name,
        "version": strategy.version,
        "parameters": json.loads(json.dumps(dict(parameters_of(strategy)), default=_plain)),
    }


def _plain(value: object) -> object:
    # The order of a set differs from process to process.
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else str(value)


def read_recording(journal: Journal, strategy: Strategy) -> Recording | None:
    """Read a journal back, or return None if it is empty.

    Raises:
        SessionError: foreign, damaged, or written with another strategy or other parameters.
    """
    recording = None
    for line, record in journal.records():
        try:
            if recording is None:
                _check_header(record, strategy)
                recording = Recording()
            else:
                _take(recording, record)
        except (KeyError, TypeError, ValueError, IndexError, MessageError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise SessionError(
                f"{journal.place}, line {line}: damaged record: {problem}"
            ) from error
        except SessionError as error:
            raise SessionError(f"{journal.place}, line {line}: {error}") from error
    return recording


def _check_header(found: Json, strategy: Strategy) -> None:
    if found.get("type") != "agent" or found.get("format") != JOURNAL_FORMAT:
        raise SessionError(f"no session in the format {JOURNAL_FORMAT}")
    expected = header(strategy)
    for key in ("strategy", "version", "parameters"):
        if found.get(key) != expected[key]:
            raise SessionError(
                f"written with {key} {found.get(key)!r}, not {expected[key]!r}; "
                "use the same strategy or start a new session"
            )


def _take(recording: Recording, record: Json) -> None:
    kind = record["type"]
    if kind == "message":
        recording.messages.append(Message.from_openai(record["message"]))
        if "usage" in record:
            recording.steps[-1].usage = _usage_of(record["usage"])
    elif kind == "view":
        length = int(record["messages"])
        if length != len(recording.messages):
            raise ValueError(f"a view of {length} of {len(recording.messages)} messages")
        asked = recording.compactions
        request, time = _typed(record, "request", int), _typed(record, "time", int, float)
        recording.steps.append(Step(length, request, time, asked))
        recording.compactions = []
    elif kind == "reply":
        recording.steps[-1].replies.append(_reply_of(record["reply"]))
    elif kind == "reply_error":
        recording.steps[-1].replies.append(str(record["error"]))
    elif kind == "compact":
        recording.compactions.append(_typed(record, "focus", str, type(None)))
    else:
        raise ValueError(f"unknown type {kind!r}")


def message_record(message: Message, usage: Usage | None) -> Json:
    """Return the record of a message; the usage of its request is part of it, if there was one."""
    record: Json = {"type": "message", "message": message.to_openai()}
    return record if usage is None else {**record, "usage": asdict(usage)}


def view_record(step: Step) -> Json:
    """Return the record that a compactor is now asked for a view."""
    named = {"messages": step.length, "request": step.request, "time": step.time}
    return {"type": "view", **named}


def reply_record(reply: ModelReply) -> Json:
    """Return the record of a reply to a compactor's call."""
    stored: Json = {name: getattr(reply, name) for name in _REPLY_FIELDS}
    stored["usage"] = asdict(reply.usage) if reply.usage else None
    return {"type": "reply", "reply": stored}


def _typed(record: Json, key: str, *kinds: type) -> Any:
    value = record[key]
    if not isinstance(value, kinds):
        raise TypeError(f"{key!r} is {type(value).__name__}")
    return value


def _usage_of(stored: Json) -> Usage:
    return Usage(**{key: _typed(stored, key, int) for key in stored})


def _reply_of(stored: Json) -> ModelReply:
    for key, kinds in _REPLY_FIELDS.items():
        _typed(stored, key, *kinds)
    usage = _usage_of(stored["usage"]) if stored["usage"] else None
    return ModelReply(**{**stored, "usage": usage, "tool_names": tuple(stored["tool_names"])})
