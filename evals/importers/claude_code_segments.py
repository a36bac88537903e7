"""From the turns of Claude Code conversations to transcripts with segments.

The last turn of a stream and all before it are the conversation. A branch that was left by a rewind
is a transcript of its own if the model answered in it: it repeats what came before, with requests
for its own answers only. Both kinds of recorded compaction open a segment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from compaction.messages import Json, Message, Messages, messages_from_openai
from evals.importers.anthropic_blocks import assistant_message, user_messages
from evals.importers.claude_code_turns import Stream, Turn
from evals.importers.reports import Report, unique_names
from evals.importers.usages import unix_seconds
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment, Transcript

CLEARED_TEXT: Final = "[Old tool result content cleared]"
"""What Claude Code 2.1 sends in place of a cleared result."""
EXIT_TEXT: Final = "<command-name>/exit</command-name>"
"""Left behind by a user who closed Claude Code; what follows was sent by another process."""
SYNTHETIC_MODEL: Final = "<synthetic>"
"""Assistant messages that Claude Code wrote itself; no request stands behind them."""


def transcripts_of(
    streams: Mapping[str, Stream], report: Report, source: str, format_name: str
) -> list[Transcript]:
    """Build every conversation of a file; what was skipped is told by the first."""
    built = []
    for stream in streams.values():
        for number, (path, own) in enumerate(_paths(stream, report)):
            segments = _segments(path, own)
            if number:
                segments = _without_repeated_start(segments)
            if segments:
                built.append((stream, number, path[0].record, segments))
    names = unique_names(_name(stream.name, number, record) for stream, number, record, _ in built)
    transcripts = [
        Transcript(
            name=name,
            segments=segments,
            source=source,
            format=format_name,
            session=_text(record, "sessionId"),
            project=_text(record, "cwd"),
            includes_reasoning=any(
                message.reasoning for segment in segments for message in segment.messages
            ),
            extra={"version": record["version"]} if _text(record, "version") else {},
        )
        for name, (_, _, record, segments) in zip(names, built, strict=True)
    ]
    if transcripts:
        transcripts[0] = replace(transcripts[0], skipped=report.skipped())
    return transcripts


def _name(stream: str, number: int, record: Json) -> str:
    session = (_text(record, "sessionId") or "session")[:8]
    agent = f"/{stream if stream.startswith('side-') else f'agent-{stream}'}" if stream else ""
    return f"{session}{agent}{f'/branch-{number}' if number else ''}"


def _paths(stream: Stream, report: Report) -> list[tuple[list[Turn], set[int]]]:
    """Return the main path and then each branch, with the identities of the turns it counts."""
    if not stream.turns:
        return []
    claimed: set[int] = set()
    paths = []
    answered = [turn for turn in reversed(stream.turns) if turn.kind == "assistant"]
    for leaf in (stream.turns[-1], *answered):
        if id(leaf) in claimed:
            continue
        path = _ancestors(leaf)
        own = {id(turn) for turn in path} - claimed
        claimed |= own
        paths.append((path, own))
    _place_dead_ends(stream.turns, claimed, report)
    return paths


def _ancestors(leaf: Turn) -> list[Turn]:
    path = []
    turn: Turn | None = leaf
    while turn is not None:
        path.append(turn)
        turn = turn.parent
    return path[::-1]


def _place_dead_ends(turns: Sequence[Turn], claimed: set[int], report: Report) -> None:
    """Keep user turns that lead nowhere if they were sent: instructions that came beside a result.

    A prompt that was taken back before an answer was not.
    """
    continued_by_prompt = {
        id(turn.parent) for turn in turns if id(turn) in claimed and _is_prompt(turn)
    }
    owner: dict[int, Turn] = {}
    taken_back: set[int] = set()
    for turn in turns:
        parent = turn.parent
        if id(turn) in claimed or parent is None:
            continue
        is_replaced = _is_prompt(turn) and id(parent) in continued_by_prompt
        if is_replaced or id(parent) in taken_back:
            taken_back.add(id(turn))
            report.count(turn.line, "prompt taken back before an answer: not sent")
            continue
        host = owner.get(id(parent), parent)
        owner[id(turn)] = host
        host.asides.append(turn)


def _is_prompt(turn: Turn) -> bool:
    return turn.kind == "user" and not turn.is_meta and not turn.is_summary


@dataclass(slots=True)
class _Open:
    """The segment that is being built."""

    messages: list[Message] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)
    opened_by: RecordedCompaction | None = None

    def closed(self) -> Segment:
        return Segment(tuple(self.messages), tuple(self.requests), self.opened_by)


@dataclass(slots=True)
class _Client:
    """What the log shows of the program that sends the requests."""

    session: str | None = None
    is_restart: bool = False
    """Whether it was started again since the last request."""
    input_time: float | None = None
    """When the last input was there; a request is logged with the time of its answer."""

    def see(self, turn: Turn) -> None:
        """Take in a turn after its request.

        A user message of another session, or after `/exit`, was typed into a program that was
        started again. Answers do not tell: what is taken over into a session is written anew.
        """
        if turn.kind == "user":
            session = _text(turn.record, "sessionId")
            self.is_restart |= None not in (self.session, session) and session != self.session
            self.session = session or self.session
            self.is_restart |= EXIT_TEXT in str(turn.record.get("message", {}).get("content"))
        given = turn.answered_time if turn.kind == "assistant" else turn.record.get("timestamp")
        self.input_time = unix_seconds(given) or self.input_time


def _segments(path: Iterable[Turn], own: set[int]) -> tuple[Segment, ...]:
    done: list[Segment] = []
    current, client = _Open(), _Client()
    for turn in path:
        opened = _opened_by(turn, current)
        if opened is not None:
            if current.messages:
                done.append(current.closed())
            # Without a segment before, the history is in another file: nothing to compare with.
            current = opened if done else _Open()
        _extend(current, turn, client, counted=id(turn) in own)
    # A log may end with a compaction: it was made, though nothing was sent after it.
    is_told = bool(current.messages or current.opened_by)
    return (*done, current.closed()) if is_told else tuple(done)


def _opened_by(turn: Turn, current: _Open) -> _Open | None:
    if turn.kind == "micro":
        return _micro(turn, current)
    if turn.kind == "full":
        raw = turn.record.get("compactMetadata")
        metadata = raw if isinstance(raw, dict) else {}
        return _Open(
            opened_by=RecordedCompaction(
                "full",
                trigger=_text(metadata, "trigger"),
                tokens_before=_count(metadata, "preTokens"),
            )
        )
    if not turn.is_summary:
        return None
    text = "\n".join(message.text for message in _messages(turn))
    announced = current.opened_by
    if announced and announced.kind == "full" and not (current.requests or announced.summary):
        current.opened_by = replace(announced, summary=text)
        return None
    return _Open(opened_by=RecordedCompaction("full", summary=text))


def _micro(turn: Turn, current: _Open) -> _Open | None:
    """Return the history with the named results cleared, or None if none of them is in it."""
    raw = turn.record.get("microcompactMetadata")
    metadata = raw if isinstance(raw, dict) else {}
    listed = metadata.get("compactedToolIds")
    cleared = {x for x in listed if isinstance(x, str)} if isinstance(listed, list) else set()
    messages = [
        message.with_text(CLEARED_TEXT)
        if message.is_result and message.tool_call_id in cleared
        else message
        for message in current.messages
    ]
    if messages == current.messages:
        return None
    return _Open(
        messages,
        opened_by=RecordedCompaction(
            "micro",
            trigger=_text(metadata, "trigger"),
            tokens_before=_count(metadata, "preTokens"),
            tokens_saved=_count(metadata, "tokensSaved"),
        ),
    )


def _extend(current: _Open, turn: Turn, client: _Client, *, counted: bool) -> None:
    model = turn.record.get("message", {}).get("model") if turn.kind == "assistant" else None
    if turn.kind == "assistant" and model != SYNTHETIC_MODEL:
        if counted:
            current.requests.append(_request(turn, client, len(current.messages)))
        client.is_restart = False
    for each in (turn, *turn.asides):
        current.messages.extend(_messages(each))
        client.see(each)


def _request(turn: Turn, client: _Client, position: int) -> RecordedRequest:
    model, time = turn.record["message"]["model"], unix_seconds(turn.record.get("timestamp"))
    is_before = time is not None and client.input_time is not None and client.input_time < time
    return RecordedRequest(
        position=position,
        time=time,
        model=model if isinstance(model, str) else None,
        usage=turn.usage,
        sent_time=client.input_time if is_before else None,
        is_restart=client.is_restart,
    )


def _messages(turn: Turn) -> Messages:
    if turn.kind == "user":
        content = turn.blocks
        single = turn.record.get("message", {}).get("content")
        return messages_from_openai(user_messages(single if isinstance(single, str) else content))
    if turn.kind == "assistant":
        return messages_from_openai([assistant_message(turn.blocks), *turn.results])
    return ()


def _without_repeated_start(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Leave out leading segments without requests of their own: they are told elsewhere."""
    first = next((i for i, segment in enumerate(segments) if segment.requests), 0)
    return (replace(segments[first], opened_by=None), *segments[first + 1 :])


def _text(raw: Mapping[str, object], key: str) -> str | None:
    value = raw.get(key)
    return value if isinstance(value, str) else None


def _count(raw: Mapping[str, object], key: str) -> int | None:
    value = raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
