"""What all settings of a sweep share about one transcript: histories, sizes and peaks."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from compaction.history import History
from compaction.tokens import (
    TOKENS_PER_REQUEST,
    EstimatingCounter,
    JsonCharCounter,
    TiktokenCounter,
)
from evals.calibration import SLOPE_RANGE, Calibration, Point, calibrate
from evals.transcripts import RecordedRequest, Segment, Transcript


@dataclass(frozen=True)
class PreparedRequest:
    """One recorded request with its place and size."""

    index: int
    """Counts the transcript's requests from 0."""
    segment: int
    recorded: RecordedRequest
    counted_tokens: int
    """Input as counted: messages, recorded tool schemas and framing."""
    tokens: float
    """Input as the provider would have reported it (calibrated)."""
    output_tokens: int
    """As recorded; counted from the answer where nothing was recorded, or less than it holds."""
    is_output_counted: bool = False
    reasoned_from: int | None = None
    """If the user spoke since the request before: index in the segment of the first answer with
    reasoning in the turn until then."""


@dataclass(frozen=True)
class PreparedSegment:
    history: History
    """All messages of the segment; a request sees a prefix."""
    calibration: Calibration
    requests: tuple[PreparedRequest, ...]
    first_message: int
    """Index of the segment's first message in the transcript."""

    @cached_property
    def arrivals(self) -> Mapping[int, int]:
        """Return the index of each tool result -> the first request that sees it."""
        positions = [request.recorded.position for request in self.requests]
        seen_by = ((at, bisect_right(positions, at)) for at in self.history.result_positions())
        return {at: self.requests[n].index for at, n in seen_by if n < len(self.requests)}

    @cached_property
    def answering(self) -> frozenset[int]:
        """Indices of the requests that bring a result of a call from before the request before."""
        found, seen = set(), 0
        for request in self.requests:
            position = request.recorded.position
            if not self.history.prefix(position).is_self_contained(seen):
                found.add(request.index)
            seen = position
        return frozenset(found)


@dataclass(frozen=True)
class Prepared:
    """A transcript with everything that does not depend on a strategy."""

    transcript: Transcript
    counter: TiktokenCounter
    """The measuring counter; remembers the size of each message value."""
    segments: tuple[PreparedSegment, ...]
    fixed_tokens: int
    """Counted in every request beside its messages: recorded tool schemas and framing."""

    @property
    def requests(self) -> tuple[PreparedRequest, ...]:
        return tuple(request for segment in self.segments for request in segment.requests)

    @cached_property
    def input_tokens(self) -> float:
        return sum(request.tokens for request in self.requests)

    @cached_property
    def peak_tokens(self) -> float:
        return max((request.tokens for request in self.requests), default=0.0)

    @cached_property
    def peak_counted_tokens(self) -> int:
        """Return the largest input as counted: without unrecorded prefix and framing."""
        counted = max((request.counted_tokens for request in self.requests), default=0)
        return max(0, counted - self.fixed_tokens)

    @cached_property
    def estimate_per_counted_token(self) -> float | None:
        """Return what `EstimatingCounter` makes of the largest input, by its counted tokens."""
        largest = max(self.requests, key=lambda request: request.counted_tokens, default=None)
        if largest is None or not self.peak_counted_tokens:
            return None
        history = self.segments[largest.segment].history.prefix(largest.recorded.position)
        return history.total(EstimatingCounter()) / self.peak_counted_tokens

    @cached_property
    def peak_chars(self) -> int:
        """Return the largest input in characters of its JSON, the unit of `JsonCharCounter`."""
        measure = JsonCharCounter()
        return max(
            (
                segment.history.prefix(request.recorded.position).total(measure)
                for segment in self.segments
                for request in segment.requests[-1:]
            ),
            default=0,
        )


def prepare(transcript: Transcript) -> Prepared:
    """Count and calibrate a transcript."""
    counter = TiktokenCounter(include_reasoning=transcript.includes_reasoning)
    fixed_tokens = TOKENS_PER_REQUEST + counter.count_tools(transcript.tools)
    segments: list[PreparedSegment] = []
    first_message = first_request = 0
    for number, segment in enumerate(transcript.segments):
        prepared = _prepare_segment(
            segment, number, first_message, first_request, counter, fixed_tokens
        )
        segments.append(prepared)
        first_message += len(segment.messages)
        first_request += len(segment.requests)
    return Prepared(transcript, counter, tuple(segments), fixed_tokens)


def _prepare_segment(
    segment: Segment,
    number: int,
    first_message: int,
    first_request: int,
    counter: TiktokenCounter,
    fixed_tokens: int,
) -> PreparedSegment:
    history = History(segment.messages)
    counted = [
        history.prefix(request.position).total(counter) + fixed_tokens
        for request in segment.requests
    ]
    calibration = calibrate(_points(segment.requests, counted))
    requests: list[PreparedRequest] = []
    reasoned = _reasoned_before(segment)
    for at, (request, size, reasoned_from) in enumerate(
        zip(segment.requests, counted, reasoned, strict=True)
    ):
        recorded = request.usage.output_tokens if request.usage else None
        answered = counter.count(segment.answer(request))
        is_counted = recorded is None or is_placeholder(recorded, answered)
        requests.append(
            PreparedRequest(
                index=first_request + at,
                segment=number,
                recorded=request,
                counted_tokens=size,
                tokens=calibration.size(size),
                output_tokens=(
                    round(calibration.slope * answered) if is_counted else recorded or 0
                ),
                is_output_counted=is_counted,
                reasoned_from=reasoned_from,
            )
        )
    return PreparedSegment(history, calibration, tuple(requests), first_message)


def _reasoned_before(segment: Segment) -> list[int | None]:
    """Return `reasoned_from` of each request."""
    found: list[int | None] = []
    first: int | None = None
    seen = 0
    for request in segment.requests:
        between = segment.messages[seen : request.position]
        is_new_turn = any(message.role == "user" for message in between)
        found.append(first if is_new_turn else None)
        if is_new_turn:
            first = None
        if first is None and (request.is_reasoned or segment.answer(request).reasoning):
            first = request.position
        seen = request.position + 1
    return found


def is_placeholder(recorded_tokens: int, counted_tokens: int) -> bool:
    """Whether a recorded number of output tokens cannot be that of the answer.

    Claude Code logs usage at the start of a stream: an answer of 600 tokens may stand there with 8,
    and so does one that was broken off. No tokenizer makes so few of what the log holds.
    """
    return recorded_tokens < SLOPE_RANGE[0] * counted_tokens


def _points(requests: Sequence[RecordedRequest], counted: Sequence[int]) -> list[Point]:
    """Return what was counted and reported, of the model that most requests went to.

    Another model has another tokenizer, and is often sent other instructions.
    """
    known = [
        (request.model, Point(size, request.usage.input_tokens))
        for request, size in zip(requests, counted, strict=True)
        if request.usage and request.usage.input_tokens > 0
    ]
    models = Counter(model for model, _ in known)
    main = models.most_common(1)[0][0] if models else None
    return [point for model, point in known if model == main]
