"""Needs: what the recorded assistant used that an earlier tool result or user message had brought.

Extraction only; it is done once per transcript and shared by every setting. Where references stand
is `evals.fidelity.need_places`; what became of a need under a strategy is
`evals.fidelity.need_status`. The README says how to read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compaction.messages import INSTRUCTION_ROLES, canonical_json
from evals.extraction.message_text import held_text, output_texts
from evals.extraction.reference_index import ReferenceIndex
from evals.extraction.references import Reference, extract_references
from evals.fidelity.need_places import Memory, SegmentPlaces
from evals.fidelity.need_values import LONG_GAP_REQUESTS as LONG_GAP_REQUESTS
from evals.fidelity.need_values import MAX_EARLIER_BLOCKS as MAX_EARLIER_BLOCKS
from evals.fidelity.need_values import MAX_NEEDS_PER_REQUEST as MAX_NEEDS_PER_REQUEST
from evals.fidelity.need_values import Need as Need
from evals.fidelity.need_values import NeedKind as NeedKind
from evals.fidelity.placebo import Placebo
from evals.prepare import Prepared, PreparedSegment


@dataclass(frozen=True)
class NeedSet:
    """All needs of a transcript."""

    by_request: dict[int, tuple[Need, ...]]
    """Request index -> its needs, those that are unresolvable not among them."""
    unresolvable: tuple[Need, ...]
    """Without sources: these lie before a recorded compaction."""
    index: ReferenceIndex
    """Finds needed references in texts that a strategy wrote."""
    placebo: str | None
    """Where the unrelated text is from."""
    placebo_fraction: float | None
    """Share of distinct needed references that an unrelated text of equal size holds too."""
    placebo_by_class: dict[str, float]


def find_needs(prepared: Prepared, *, placebo: Placebo | None = None) -> NeedSet:
    """Extract the needs of every request.

    Args:
        prepared: The transcript.
        placebo: Text of an unrelated conversation; its beginning, as long as this transcript's
            text, is searched for the same references. None: no placebo rate.
    """
    used = [_used_references(segment) for segment in prepared.segments]
    index = ReferenceIndex({ref for segment in used for refs in segment for ref in refs})
    pinned = _pinned_text(prepared)
    by_request: dict[int, tuple[Need, ...]] = {}
    unresolvable: list[Need] = []
    memory = Memory()
    for segment, references in zip(prepared.segments, used, strict=True):
        places = SegmentPlaces(segment, index, pinned, memory)
        for request, wanted in zip(segment.requests, references, strict=True):
            found = [*places.references_at(request.index, request.recorded.position, wanted)]
            found += places.quotes_at(request.index, request.recorded.position)
            unresolvable += (need for need in found if need.kind == "unresolvable")
            resolvable = [need for need in found if need.kind != "unresolvable"]
            if resolvable:
                by_request[request.index] = _capped(resolvable)
        memory.add(places)
    rates = _placebo_rates(by_request, prepared, placebo.text) if placebo else {}
    return NeedSet(
        by_request,
        tuple(unresolvable),
        index,
        placebo=placebo.name if placebo else None,
        placebo_fraction=rates.pop("all", None),
        placebo_by_class=rates,
    )


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


def _capped(found: Sequence[Need]) -> tuple[Need, ...]:
    ordered = sorted(found, key=lambda need: (need.digest, need.kind))
    counted = [need for need in ordered if need.kind == "need"][:MAX_NEEDS_PER_REQUEST]
    return (*counted, *(need for need in ordered if need.kind != "need"))


def _placebo_rates(
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
