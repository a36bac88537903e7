"""Where a conversation is compacted when every summary has to be of the same messages.

A boundary depends on the conversation and a fraction of its size, not on a trigger or a window:
what a model was recorded to say at it stays valid whatever else is changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from compaction.history import History, Measure
from evals.prepare import Prepared, PreparedRequest, PreparedSegment

BOUNDARY: Final = "35%"
"""Of the largest request's counted tokens. Most key facts are stated by then, and two thirds of the
requests follow, in which they are needed; what stands before it is short enough for a small model.
This project's choice."""

ONCE: Final[Mapping[str, str]] = {
    "summary_once": "evals.probing.once:SummaryOnce",
    "clear_once": "evals.probing.once:ClearOnce",
}
"""Strategies that compact there: short name -> `module:Class`, as in `compaction.registry`."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The first request that has at least so many counted tokens before it."""

    segment: PreparedSegment
    request: PreparedRequest

    @property
    def messages(self) -> int:
        """Count the messages of the segment before the boundary; a border between groups."""
        return self.request.recorded.position

    @property
    def history(self) -> History:
        return self.segment.history.prefix(self.messages)


def is_reached(history: History, counter: Measure, at_tokens: int) -> bool:
    """Tell whether so many tokens were said; the history ends where a request is made."""
    return history.total(counter) >= at_tokens


def boundary_of(prepared: Prepared, fraction_text: str = BOUNDARY) -> Boundary | None:
    """Return the boundary of a transcript, in the first segment that reaches it; None without."""
    at_tokens = boundary_tokens(prepared, fraction_text)
    for segment in prepared.segments:
        for request in segment.requests:
            history = segment.history.prefix(request.recorded.position)
            if is_reached(history, prepared.counter, at_tokens):
                return Boundary(segment, request)
    return None


def boundary_tokens(prepared: Prepared, fraction_text: str = BOUNDARY) -> int:
    """Return the size of the boundary; as a setting's `50%` of counted tokens is resolved."""
    fraction = float(fraction_text.removesuffix("%")) / 100
    return max(1, round(prepared.peak_counted_tokens * fraction))
