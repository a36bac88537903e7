"""A recorded conversation as one value, whatever format it was logged in.

A transcript that was compacted while it was recorded has several segments; each starts with what
was really sent after the boundary. Reading a file is `evals.importers`; this file defines the value
and its native JSON form.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

from compaction.errors import MessageError, TranscriptError
from compaction.llm import Usage
from compaction.messages import (
    Json,
    Message,
    Messages,
    canonical_json,
    digest_of,
    messages_from_openai,
    messages_to_openai,
)

NATIVE_FORMAT: Final = "compaction-evals/transcript"
NATIVE_VERSION: Final = 1

CACHE_FIELDS: Final = ("sent_time", "is_restart", "is_reasoned")
"""Of a request: what bears on the provider's cache alone."""

Provenance = Literal["recorded", "authored", "generated"]
"""Real log; written for this project and played through real tools; made by `evals.synthetic`."""
AUTHORED_MODELS: Final = ("scripted", "authored")
"""How the names begin under which scripted endpoints answer: what they say was written by people,
wherever the recording of it lies."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One model call of the log. Its input is `messages[:position]` of its segment."""

    position: int
    """Index of the assistant message that it produced; equal to the number of messages sent."""
    time: float | None = None
    """Unix seconds."""
    model: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    """What the recording program took the call to cost."""
    sent_time: float | None = None
    """Unix seconds; where the log tells when its last input was there and `time` is of the answer.
    """
    is_restart: bool = False
    """Whether the log shows that the client was started again since the request before, or told the
    model to think more or less: a provider then reads no message that it had cached."""
    is_reasoned: bool = False
    """Whether the answer came with reasoning that the log does not hold in words."""


@dataclass(frozen=True, slots=True)
class RecordedCompaction:
    """A compaction that the log itself reports."""

    kind: Literal["full", "micro"]
    trigger: str | None = None
    tokens_before: int | None = None
    tokens_saved: int | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """The stretch between two recorded compactions."""

    messages: Messages
    requests: tuple[RecordedRequest, ...]
    """In order; positions ascend strictly."""
    opened_by: RecordedCompaction | None = None

    def __post_init__(self) -> None:
        previous = -1
        for request in self.requests:
            if not previous < request.position < len(self.messages):
                raise TranscriptError(
                    f"request positions must ascend within {len(self.messages)} messages, "
                    f"got {request.position} after {previous}"
                )
            if self.messages[request.position].role != "assistant":
                raise TranscriptError(
                    f"request positions must be those of assistant messages, "
                    f"{request.position} is a {self.messages[request.position].role} message"
                )
            previous = request.position

    def answer(self, request: RecordedRequest) -> Message:
        """Return the assistant message that the request produced."""
        return self.messages[request.position]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record of the file that did not become a message, and why. Nothing is dropped silently."""

    where: str
    """`line 17`, `messages[3]`."""
    reason: str
    expected: bool = False
    """True for records that are no part of the conversation (progress, snapshots)."""


def is_authored_model(name: object) -> bool:
    return isinstance(name, str) and name.startswith(AUTHORED_MODELS)


@dataclass(frozen=True)
class Transcript:
    """A conversation ready for replay."""

    name: str
    """Unique within its file; shown in tables."""
    segments: tuple[Segment, ...]
    source: str = ""
    """The file, as the user named it."""
    format: str = NATIVE_FORMAT
    provenance: Provenance = "recorded"
    session: str | None = None
    project: str | None = None
    tools: tuple[Json, ...] = ()
    """Tool schemas, where the log has them."""
    facts: tuple[Json, ...] = ()
    """Annotated key facts as `facts.json` has them; checked by `evals.facts`."""
    skipped: tuple[Skipped, ...] = ()
    includes_reasoning: bool = False
    """Whether the provider was sent earlier reasoning back."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_scripted(self) -> bool:
        """Whether every request that names a model names one that people spoke for."""
        models = {
            request.model
            for segment in self.segments
            for request in segment.requests
            if request.model
        }
        return bool(models) and all(map(is_authored_model, models))

    @property
    def messages(self) -> Messages:
        """All messages in order, segment after segment: the numbering that facts refer to."""
        return tuple(message for segment in self.segments for message in segment.messages)

    @property
    def n_requests(self) -> int:
        return sum(len(segment.requests) for segment in self.segments)

    @property
    def cluster(self) -> str:
        """What statistics resample: sub-agents and forks of one session are one observation."""
        return (
            f"{self.project or ''}/{self.session}" if self.session else f"{self.source}#{self.name}"
        )

    @cached_property
    def digest(self) -> str:
        """Names the content that a replay depends on; file name and session are not in it.

        Neither is what bears on the provider's cache alone and was read later than the first runs:
        recorded answers know a transcript by its digest.
        """
        content = {
            "segments": [
                _segment_json(segment, leave_out=CACHE_FIELDS) for segment in self.segments
            ],
            "tools": self.tools,
            "facts": self.facts,
            "includes_reasoning": self.includes_reasoning,
        }
        return digest_of(canonical_json(content))


def single_segment(messages: Messages, model: str | None = None) -> tuple[Segment, ...]:
    """Return the one segment of a log without times and usage: a request per assistant message."""
    return (
        Segment(
            messages,
            tuple(
                RecordedRequest(position, model=model)
                for position, message in enumerate(messages)
                if message.role == "assistant"
            ),
        ),
    )


def to_native(transcript: Transcript) -> Json:
    """Return the native JSON form.

    `from_native` gives back an equal transcript; one without a source gets the file's name as its.
    """
    return {
        "format": NATIVE_FORMAT,
        "version": NATIVE_VERSION,
        "name": transcript.name,
        "source": transcript.source,
        "recorded_format": transcript.format,
        "provenance": transcript.provenance,
        "session": transcript.session,
        "project": transcript.project,
        "includes_reasoning": transcript.includes_reasoning,
        "tools": list(transcript.tools),
        "facts": list(transcript.facts),
        "skipped": [asdict(item) for item in transcript.skipped],
        "segments": [_segment_json(segment) for segment in transcript.segments],
        "extra": dict(transcript.extra),
    }


def from_native(raw: Mapping[str, Any], *, where: str) -> Transcript:
    """Read the native JSON form.

    Raises:
        TranscriptError: with `where` and what is wrong.
    """
    if raw.get("version") != NATIVE_VERSION:
        raise TranscriptError(
            f"{where}: transcript version {raw.get('version')!r}, this program reads "
            f"{NATIVE_VERSION}; convert it again from its source"
        )
    try:
        return Transcript(
            name=raw["name"],
            source=raw.get("source") or where,
            format=raw.get("recorded_format", NATIVE_FORMAT),
            provenance=raw.get("provenance", "recorded"),
            session=raw.get("session"),
            project=raw.get("project"),
            includes_reasoning=raw.get("includes_reasoning", False),
            tools=tuple(raw.get("tools", ())),
            facts=tuple(raw.get("facts", ())),
            skipped=tuple(Skipped(**item) for item in raw.get("skipped", ())),
            segments=tuple(_segment_from_json(item) for item in raw["segments"]),
            extra=raw.get("extra", {}),
        )
    except (KeyError, TypeError, AttributeError, MessageError, TranscriptError) as error:
        raise TranscriptError(f"{where}: not a native transcript: {error!r}") from error


def _segment_json(segment: Segment, leave_out: Iterable[str] = ()) -> Json:
    return {
        "messages": messages_to_openai(segment.messages),
        "requests": [_request_json(request, leave_out) for request in segment.requests],
        "opened_by": asdict(segment.opened_by) if segment.opened_by else None,
    }


def _request_json(request: RecordedRequest, leave_out: Iterable[str]) -> Json:
    """Return the request without what is newer than the digests of runs and stands at its default.

    Runs and recorded answers know a transcript by its digest: a new field must not change it.
    """
    raw = asdict(request)
    for name in CACHE_FIELDS:
        if name in leave_out or not raw[name]:
            del raw[name]
    if request.usage is not None and request.usage.is_cache_logged:
        del raw["usage"]["is_cache_logged"]
    return raw


def _segment_from_json(raw: Mapping[str, Any]) -> Segment:
    opened_by = raw.get("opened_by")
    return Segment(
        messages_from_openai(raw["messages"]),
        tuple(_request_from_json(request) for request in raw["requests"]),
        RecordedCompaction(**opened_by) if opened_by else None,
    )


def _request_from_json(raw: Mapping[str, Any]) -> RecordedRequest:
    usage = raw.get("usage")
    return RecordedRequest(
        position=raw["position"],
        time=raw.get("time"),
        model=raw.get("model"),
        usage=Usage(**usage) if usage else None,
        cost_usd=raw.get("cost_usd"),
        sent_time=raw.get("sent_time"),
        is_restart=raw.get("is_restart", False),
        is_reasoned=raw.get("is_reasoned", False),
    )


def requests_at(positions: Iterable[int]) -> tuple[RecordedRequest, ...]:
    """Return requests that are known by nothing but their position."""
    return tuple(RecordedRequest(position) for position in positions)
