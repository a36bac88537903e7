"""Conversations that are logged as events with ids, some of which a condensation drops later.

Shared by both OpenHands layouts: what a condensation forgets and where its summary goes.
"""

from dataclasses import dataclass, field, replace

from compaction.llm import Usage
from compaction.messages import Json, messages_from_openai
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment


@dataclass(slots=True, eq=False)
class Sent:
    """One message of the conversation and the events that it stands for."""

    message: Json
    event_ids: set[object] = field(default_factory=set)
    time: float | None = None
    model: str | None = None
    usage: Usage | None = None
    is_request: bool = False


class EventLog:
    """The messages of the current segment, and the segments that are finished."""

    def __init__(self) -> None:
        self.current: list[Sent] = []
        self._done: list[tuple[list[Sent], RecordedCompaction | None]] = []
        self._opened_by: RecordedCompaction | None = None

    def condense(self, forgotten: set[object], summary: str | None) -> bool:
        """Start a segment without the forgotten events, the summary in their place.

        Returns:
            Whether anything was forgotten; otherwise the conversation goes on.
        """
        hit = [i for i, sent in enumerate(self.current) if sent.event_ids & forgotten]
        if not hit:
            return False
        self._done.append((self.current, self._opened_by))
        kept = [replace(s, is_request=False) for s in self.current if not s.event_ids & forgotten]
        at = hit[0]
        note = [Sent({"role": "user", "content": summary})] if summary else []
        self.current = _paired([*kept[:at], *note, *kept[at:]])
        self._opened_by = RecordedCompaction("full", summary=summary)
        return True

    def segments(self) -> tuple[Segment, ...]:
        """Return all segments.

        Raises:
            MessageError: an event does not make a message.
        """
        segments: list[Segment] = []
        used: Usage | None = None
        for listed, opened_by in (*self._done, (self.current, self._opened_by)):
            if opened_by and used:
                opened_by = replace(opened_by, tokens_before=used.input_tokens)
            segments.append(_segment(listed, opened_by))
            used = next((sent.usage for sent in reversed(listed) if sent.usage), None)
        return tuple(segments)


def _segment(listed: list[Sent], opened_by: RecordedCompaction | None) -> Segment:
    requests = tuple(
        RecordedRequest(position, sent.time, sent.model, sent.usage)
        for position, sent in enumerate(listed)
        if sent.is_request
    )
    return Segment(messages_from_openai([sent.message for sent in listed]), requests, opened_by)


def _paired(listed: list[Sent]) -> list[Sent]:
    """Leave out results whose call was forgotten, as OpenHands does."""
    made = {str(call.get("id")) for sent in listed for call in sent.message.get("tool_calls") or ()}
    return [s for s in listed if s.message["role"] != "tool" or s.message["tool_call_id"] in made]
