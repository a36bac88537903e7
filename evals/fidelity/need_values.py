"""What a need is; how it is found is `evals.needs`."""

from dataclasses import dataclass
from typing import Final, Literal

from compaction.messages import digest_of
from evals.extraction.references import Reference

NeedKind = Literal["need", "pinned", "derived", "reread", "quote", "derived_quote", "unresolvable"]
"""`need` is the headline. Pinned: also in the instructions or the first user message. Derived:
first seen in the assistant's own words. Reread: used only to repeat a call that was made before.
Quote: earlier bytes that an edit must reproduce; derived if the assistant had written them.
Unresolvable: its source lies before a recorded compaction and is not in the segment any more, so
that no strategy could show it; counted, never judged."""

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
    changed: tuple[tuple[int, int], ...] = ()
    """Sources that show a file which a later call changed, each with the last such message."""

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
