"""Needs: what the recorded assistant used that an earlier tool result or user message had brought.

Extraction only; it is done once per transcript and shared by every setting. What became of a need
under a strategy is `evals.need_status`. The README says how to read them.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from compaction.messages import INSTRUCTION_ROLES, Message, canonical_json, digest_of
from evals.message_text import decoded, held_text, output_texts
from evals.prepare import Prepared, PreparedSegment
from evals.quotes import quotable_text, quotes_of
from evals.reference_index import ReferenceIndex
from evals.references import Reference, extract_references

NeedKind = Literal["need", "pinned", "derived", "reread", "quote", "derived_quote"]
"""`need` is the headline. Pinned: also in the instructions or the first user message. Derived:
first seen in the assistant's own words. Reread: used only to repeat a call that was made before.
Quote: earlier bytes that an edit must reproduce; derived if the assistant had written them."""

MAX_EARLIER_BLOCKS: Final = 5
"""A reference that stands in more earlier messages is not specific. This project's definition."""
MAX_NEEDS_PER_REQUEST: Final = 20
"""One large write must not outweigh a hundred small steps; the sample is by digest."""
LONG_GAP_REQUESTS: Final = 3
"""The headline counts gaps above this. This project's definition."""


@dataclass(frozen=True, slots=True)
class Need:
    """One reference or quote, used at one request. Indices of messages count within the segment."""

    kind: NeedKind
    value: str
    """Canonical text of the reference, or the quoted bytes."""
    reference: Reference | None
    """None for quotes."""
    request: int
    gap: int
    """Requests since the last earlier message that holds it; 1 if that has just arrived."""
    sources: tuple[int, ...]
    """Earlier tool results and user messages that hold it; of a pinned one instructions too."""
    others: tuple[int, ...]
    """Earlier messages of the assistant that hold it."""

    @property
    def is_long(self) -> bool:
        return self.gap > LONG_GAP_REQUESTS

    @property
    def class_name(self) -> str:
        return self.reference.kind if self.reference else "quote"

    @property
    def digest(self) -> str:
        """Stands for the value in results, which hold no text of a conversation."""
        return digest_of(self.value)[:12]


@dataclass(frozen=True)
class NeedSet:
    """All needs of a transcript."""

    by_request: dict[int, tuple[Need, ...]]
    """Request index -> its needs."""
    index: ReferenceIndex
    """Finds needed references in texts that a strategy wrote."""
    placebo_fraction: float | None
    """Share of distinct needed references that an unrelated text of equal size holds too."""
    placebo_by_class: dict[str, float]


def find_needs(prepared: Prepared, *, placebo: str = "") -> NeedSet:
    """Extract the needs of every request.

    Args:
        prepared: The transcript.
        placebo: Text of an unrelated conversation; its beginning, as long as this transcript's
            text, is searched for the same references. Empty: no placebo rate.
    """
    used = [_used_references(segment) for segment in prepared.segments]
    index = ReferenceIndex({ref for segment in used for refs in segment for ref in refs})
    pinned = _pinned_text(prepared)
    by_request: dict[int, tuple[Need, ...]] = {}
    for segment, references in zip(prepared.segments, used, strict=True):
        finder = _SegmentNeeds(segment, index, pinned)
        for request, wanted in zip(segment.requests, references, strict=True):
            found = [*finder.references_at(request.index, request.recorded.position, wanted)]
            found += finder.quotes_at(request.index, request.recorded.position)
            if found:
                by_request[request.index] = _capped(found)
    rates = _placebo(by_request, prepared, placebo)
    return NeedSet(by_request, index, rates.pop("all", None), rates)


def _used_references(segment: PreparedSegment) -> list[frozenset[Reference]]:
    return [
        frozenset().union(
            *map(extract_references, output_texts(segment.history[request.recorded.position]))
        )
        for request in segment.requests
    ]


def _pinned_text(prepared: Prepared) -> str:
    """Return the text that is always there: instructions, tool schemas, the first user message."""
    messages = prepared.transcript.messages
    texts = [message.text for message in messages if message.role in INSTRUCTION_ROLES]
    texts += [canonical_json(tool) for tool in prepared.transcript.tools]
    texts += [next((message.text for message in messages if message.role == "user"), "")]
    return "\n".join(texts)


class _SegmentNeeds:
    """Where each used reference stands in one segment, and what follows for a request."""

    def __init__(self, segment: PreparedSegment, index: ReferenceIndex, pinned: str) -> None:
        self._segment = segment
        self._pinned = frozenset(index.found_in(pinned))
        self._holders: defaultdict[Reference, list[int]] = defaultdict(list)
        self._positions = [request.recorded.position for request in segment.requests]
        for at, message in enumerate(segment.history.messages()):
            for reference in index.found_in(held_text(message)):
                self._holders[reference].append(at)
        self._calls_made: dict[tuple[str, str], int] = {}
        for at, message in enumerate(segment.history.messages()):
            for call in message.tool_calls:
                self._calls_made.setdefault((call.name, call.arguments), at)

    def references_at(
        self, request: int, position: int, wanted: frozenset[Reference]
    ) -> Iterator[Need]:
        message = self._segment.history[position]
        repeated = self._repeated_references(message, position)
        for reference in wanted:
            holders = self._holders[reference]
            earlier = holders[: bisect_left(holders, position)]
            if not earlier or len(earlier) > MAX_EARLIER_BLOCKS:
                continue
            sources = tuple(at for at in earlier if self._is_source(at))
            others = tuple(at for at in earlier if self._is_own(at))
            kind: NeedKind = "need"
            if reference in self._pinned:
                kind = "pinned"
            elif self._is_own(earlier[0]):
                kind = "derived"
            elif reference in repeated:
                kind = "reread"
            if kind == "pinned":
                sources = tuple(at for at in earlier if not self._is_own(at))
            if sources or kind != "need":
                gap = self._gap(earlier[-1], position)
                yield Need(kind, reference.value, reference, request, gap, sources, others)

    def quotes_at(self, request: int, position: int) -> Iterator[Need]:
        for quote in quotes_of(self._segment.history[position]):
            earlier = [at for at in range(position) if self._holds_quote(at, quote)]
            if not earlier:
                continue
            sources = tuple(at for at in earlier if self._is_source(at))
            others = tuple(at for at in earlier if self._is_own(at))
            kind: NeedKind = "derived_quote" if others and earlier[0] == others[0] else "quote"
            if not sources:
                kind = "derived_quote"
            gap = self._gap(earlier[-1], position)
            yield Need(kind, quote, None, request, gap, sources, others)

    def _gap(self, last_holder: int, position: int) -> int:
        """Count the requests that saw the last holder before this one, this one included."""
        first_to_see = bisect_right(self._positions, last_holder)
        return bisect_left(self._positions, position) - first_to_see + 1

    def _holds_quote(self, at: int, quote: str) -> bool:
        message = self._segment.history[at]
        return quote in message.text or quote in quotable_text(message)

    def _is_source(self, at: int) -> bool:
        message = self._segment.history[at]
        return message.is_result or message.role == "user"

    def _is_own(self, at: int) -> bool:
        return self._segment.history[at].role == "assistant"

    def _repeated_references(self, message: Message, position: int) -> frozenset[Reference]:
        """Return the references that only calls made before hold, word for word."""
        repeated = [
            call
            for call in message.tool_calls
            if self._calls_made.get((call.name, call.arguments), position) < position
        ]
        if not repeated:
            return frozenset()
        others = (call for call in message.tool_calls if call not in repeated)
        fresh = [message.text, *(decoded(call.arguments) for call in others)]
        inside = frozenset().union(*(extract_references(decoded(c.arguments)) for c in repeated))
        return inside - frozenset().union(*map(extract_references, fresh))


def _capped(found: Sequence[Need]) -> tuple[Need, ...]:
    ordered = sorted(found, key=lambda need: (need.digest, need.kind))
    counted = [need for need in ordered if need.kind == "need"][:MAX_NEEDS_PER_REQUEST]
    return (*counted, *(need for need in ordered if need.kind != "need"))


def _placebo(
    by_request: dict[int, tuple[Need, ...]], prepared: Prepared, placebo: str
) -> dict[str, float]:
    """Return class -> share of its distinct references found in the placebo, and "all"."""
    wanted = {
        need.reference
        for needs in by_request.values()
        for need in needs
        if need.kind == "need" and need.reference is not None
    }
    if not placebo or not wanted:
        return {}
    size = sum(len(held_text(message)) for message in prepared.transcript.messages)
    found = set(ReferenceIndex(wanted).found_in(placebo[:size]))
    rates = {"all": len(found) / len(wanted)}
    for name in sorted({reference.kind for reference in wanted}):
        of_class = {reference for reference in wanted if reference.kind == name}
        rates[name] = len(found & of_class) / len(of_class)
    return rates
