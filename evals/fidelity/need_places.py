"""Where references stand in a transcript, and what follows for a request that uses them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from compaction.messages import Message
from evals.extraction.file_versions import FileVersions
from evals.extraction.message_text import decoded, held_text
from evals.extraction.quotes import QuoteIndex, quotes_of
from evals.extraction.reference_index import ReferenceIndex
from evals.extraction.references import Reference, extract_references
from evals.fidelity.need_values import MAX_EARLIER_BLOCKS, Need, NeedKind
from evals.prepare import PreparedSegment


@dataclass(slots=True)
class _Past:
    """Where a reference stands in the segments before, message by message."""

    is_own: bool
    """Whether the assistant was the first to say it."""
    messages: set[Message] = field(default_factory=set)
    """Each value once: a compaction repeats what it keeps."""
    last_seen_by: int = 0
    """The first request that saw the last of them, or would have."""


class Memory:
    """What the segments so far have held; grows by one segment after the other."""

    def __init__(self) -> None:
        self._past: dict[Reference, _Past] = {}

    def past_of(self, reference: Reference) -> _Past | None:
        return self._past.get(reference)

    def add(self, places: "SegmentPlaces") -> None:
        for reference, holders in places.holders.items():
            past = self._past.get(reference)
            if past is None:
                past = self._past[reference] = _Past(is_own=places.is_own(holders[0]))
            past.messages.update(places.message(at) for at in holders)
            past.last_seen_by = places.seen_by(holders[-1])


class SegmentPlaces:
    """The needs of one segment: a view of it can only hold what it holds itself."""

    def __init__(
        self, segment: PreparedSegment, index: ReferenceIndex, pinned: str, memory: Memory
    ) -> None:
        self._segment = segment
        self._memory = memory
        self._pinned = frozenset(index.found_in(pinned))
        self._positions = [request.recorded.position for request in segment.requests]
        self._calls_made: dict[tuple[str, str], int] = {}
        self.holders: defaultdict[Reference, list[int]] = defaultdict(list)
        for at, message in enumerate(segment.history.messages()):
            for reference in index.found_in(held_text(message)):
                self.holders[reference].append(at)
            for call in message.tool_calls:
                self._calls_made.setdefault((call.name, call.arguments), at)

    @cached_property
    def _quotes(self) -> dict[int, tuple[str, ...]]:
        """Position of a request's answer -> what its edits quote."""
        return {at: tuple(quotes_of(self.message(at))) for at in self._positions}

    @cached_property
    def _quote_index(self) -> QuoteIndex:
        quotes = (quote for listed in self._quotes.values() for quote in listed)
        return QuoteIndex(self._segment.history.messages(), quotes)

    @cached_property
    def _versions(self) -> FileVersions:
        return FileVersions(self._segment.history.messages())

    def message(self, at: int) -> Message:
        return self._segment.history[at]

    def is_own(self, at: int) -> bool:
        return self.message(at).role == "assistant"

    def is_source(self, at: int) -> bool:
        return self.message(at).is_result or self.message(at).role == "user"

    def seen_by(self, at: int) -> int:
        """Return the first request of the transcript that sees a message, or would have."""
        requests = self._segment.requests
        return requests[0].index + bisect_right(self._positions, at) if requests else 0

    def references_at(
        self, request: int, position: int, wanted: frozenset[Reference]
    ) -> Iterator[Need]:
        repeated = self._repeated_references(self.message(position), position)
        for reference in wanted:
            holders = self.holders.get(reference, [])
            earlier = holders[: bisect_left(holders, position)]
            past = self._memory.past_of(reference)
            if not earlier and past is None:
                continue
            if self._count(earlier, past) > MAX_EARLIER_BLOCKS:
                continue
            is_own = past.is_own if past else self.is_own(earlier[0])
            kind: NeedKind = "reread" if reference in repeated else "need"
            if reference in self._pinned:
                kind = "pinned"
            elif is_own:
                kind = "derived"
            need = self._need(kind, reference, request, position, earlier)
            if need.sources or (earlier and kind != "need"):
                yield need
            elif past is not None and not is_own:
                gap = request - past.last_seen_by + 1
                yield Need("unresolvable", reference.value, reference, request, gap, (), ())

    def _need(
        self,
        kind: NeedKind,
        reference: Reference,
        request: int,
        position: int,
        earlier: list[int],
    ) -> Need:
        sources = tuple(at for at in earlier if self.is_source(at))
        others = tuple(at for at in earlier if self.is_own(at))
        if kind == "pinned":
            sources = tuple(at for at in earlier if not self.is_own(at))
        gap = self._gap(earlier[-1], position) if earlier else 1
        changed = self._changed(sources, position) if kind == "need" else ()
        return Need(kind, reference.value, reference, request, gap, sources, others, changed)

    def _count(self, earlier: list[int], past: _Past | None) -> int:
        """Count the earlier messages that hold a reference, those of earlier segments included."""
        if past is None:
            return len(earlier)
        return len(earlier) + len(past.messages - {self.message(at) for at in earlier})

    def _changed(self, sources: tuple[int, ...], position: int) -> tuple[tuple[int, int], ...]:
        return tuple(
            (at, change)
            for at in sources
            if (change := self._versions.changed_by(at, position)) is not None
        )

    def quotes_at(self, request: int, position: int) -> Iterator[Need]:
        for quote in self._quotes.get(position, ()):
            earlier = self._quote_index.holders(quote, position)
            if not earlier:
                continue
            sources = tuple(at for at in earlier if self.is_source(at))
            others = tuple(at for at in earlier if self.is_own(at))
            kind: NeedKind = "derived_quote" if others and earlier[0] == others[0] else "quote"
            if not sources:
                kind = "derived_quote"
            gap = self._gap(earlier[-1], position)
            yield Need(kind, quote, None, request, gap, sources, others)

    def _gap(self, last_holder: int, position: int) -> int:
        """Count the requests that saw the last holder before this one, this one included."""
        first_to_see = bisect_right(self._positions, last_holder)
        return bisect_left(self._positions, position) - first_to_see + 1

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
