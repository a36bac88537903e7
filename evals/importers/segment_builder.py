"""Building the segments of a log message by message, for formats that are read in one pass."""

from collections.abc import Iterable, Mapping
from typing import Any

from compaction.errors import MessageError, TranscriptError
from compaction.llm import Usage
from compaction.messages import Json, Message
from evals.importers.reports import Report
from evals.transcripts import RecordedCompaction, RecordedRequest, Segment


class SegmentBuilder:
    """The segments so far and the one that is open. What is no message is reported, not raised."""

    def __init__(self, report: Report) -> None:
        self.messages: list[Message] = []
        """Of the open segment."""
        self._report = report
        self._requests: list[RecordedRequest] = []
        self._opened_by: RecordedCompaction | None = None
        self._done: list[Segment] = []

    @property
    def n_requests(self) -> int:
        """Count the requests of all segments."""
        return sum(len(segment.requests) for segment in self._done) + len(self._requests)

    def add(self, raws: Iterable[Json], where: str) -> list[Message]:
        """Append message dicts and return what was appended."""
        added = []
        for raw in raws:
            try:
                added.append(Message.from_openai(raw))
            except MessageError as error:
                self._report.add(where, f"not a message: {error}")
        self.messages += added
        return added

    def add_answer(
        self,
        raws: Iterable[Json],
        where: str,
        *,
        time: float | None = None,
        model: object = None,
        usage: Usage | None = None,
        cost_usd: float | None = None,
        is_restart: bool = False,
        is_reasoned: bool = False,
    ) -> list[Message]:
        """Append what one request produced: an assistant message, then its results."""
        position = len(self.messages)
        added = self.add(raws, where)
        if added and added[0].role == "assistant":
            name = model if isinstance(model, str) else None
            self._requests.append(
                RecordedRequest(
                    *(position, time, name, usage, cost_usd),
                    is_restart=is_restart,
                    is_reasoned=is_reasoned,
                )
            )
        return added

    def open(self, messages: Iterable[Message], opened_by: RecordedCompaction | None) -> None:
        """Start a segment with what was sent after a compaction, or after a rewind if None."""
        if self.messages:
            self._done.append(self._closed())
        self.messages = list(messages)
        self._requests = []
        self._opened_by = opened_by

    def segments(self) -> tuple[Segment, ...]:
        return (*self._done, self._closed()) if self.messages else tuple(self._done)

    def _closed(self) -> Segment:
        return Segment(tuple(self.messages), tuple(self._requests), self._opened_by)


def checked_segments(builder: SegmentBuilder, source: str) -> tuple[Segment, ...]:
    """Return the segments of a log that must hold a conversation.

    Raises:
        TranscriptError: not a single message could be read.
    """
    segments = builder.segments()
    if not segments:
        raise TranscriptError(f"{source}: no message could be read; export the file again")
    return segments


def includes_reasoning(segments: Iterable[Segment]) -> bool:
    return any(message.reasoning for segment in segments for message in segment.messages)


def text_of(raw: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first of the fields that is text and not empty."""
    return next((raw[key] for key in keys if isinstance(raw.get(key), str) and raw[key]), None)


def count_of(raw: Mapping[str, Any], key: str) -> int | None:
    value = raw.get(key)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return value if is_count else None


def object_of(raw: object) -> Json:
    """Return a JSON object, empty if the value is none."""
    return raw if isinstance(raw, dict) else {}


def objects_of(raw: object) -> list[Json]:
    """Return the objects of a list, empty if the value is none."""
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list) else []
