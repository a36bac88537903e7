"""Conversations that are logged as events with ids, some of which a condensation drops later.

Shared by both OpenHands layouts: what a condensation forgets and where its summary goes.
"""

from dataclasses import dataclass, field

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
        self._done: list[Segment] = []
        self._opened_by: RecordedCompaction | None = None

    def condense(
        self, forgotten: set[object], summary: str | None, *, tokens_before: int | None = None
    ) -> bool:
        """Start a segment without the forgotten events, the summary in their place.

        Returns:
            Whether anything was forgotten; otherwise the conversation goes on.
        """
        hit = [i for i, sent in enumerate(self.current) if sent.event_ids & forgotten]
        if not hit:
            return False
        before = next((s.usage for s in reversed(self.current) if s.usage), None)
        self._done.append(self._closed())
        kept = [sent for sent in self.current if not sent.event_ids & forgotten]
        at = hit[0]
        note = [Sent({"role": "user", "content": summary})] if summary else []
        self.current = _paired([*kept[:at], *note, *kept[at:]])
        for sent in self.current:
            sent.is_request = False
        self._opened_by = RecordedCompaction(
            "full",
            tokens_before=tokens_before or (before.input_tokens if before else None),
            summary=summary,
        )
        return True

    def segments(self) -> tuple[Segment, ...]:
        """Return all segments.

        Raises:
            MessageError: an event does not make a message.
        """
        return (*self._done, self._closed())

    def _closed(self) -> Segment:
        requests = tuple(
            RecordedRequest(position, sent.time, sent.model, sent.usage)
            for position, sent in enumerate(self.current)
            if sent.is_request
        )
        messages = messages_from_openai([sent.message for sent in self.current])
        return Segment(messages, requests, self._opened_by)


def _paired(listed: list[Sent]) -> list[Sent]:
    """Leave out results whose call was forgotten, as OpenHands does."""
    made = {call["id"] for sent in listed for call in sent.message.get("tool_calls") or ()}
    return [s for s in listed if s.message["role"] != "tool" or s.message["tool_call_id"] in made]
