"""Cuts messages out of the middle and leaves a marker. Free, and nothing can be read back."""

from dataclasses import dataclass
from typing import ClassVar, Final

from compaction.history import (
    Entries,
    Entry,
    Origin,
    Spans,
    View,
    equal_prefix,
    merge_spans,
    spans_of,
)
from compaction.messages import Message
from compaction.pairing import safe_cut_after, safe_cut_before
from compaction.strategy import CompactionEvent, Context
from compaction.tiers.growing import MessagesOf, Pass

SNIPPED_MARKER: Final = "[snipped {count} messages]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnipMiddle:
    """Keep at most `max_messages`, the marker included, from both ends.

    Promise: no group is split, so that more may be kept than asked for; a snip always removes more
    than it adds. The marker counts the messages of the history that it stands for.
    """

    name: ClassVar[str] = "SnipMiddle"

    max_messages: int = 50
    keep_head: int = 3
    marker: str = SNIPPED_MARKER

    def __post_init__(self) -> None:
        if self.keep_head < 0:
            raise ValueError(f"keep_head must be >= 0, got {self.keep_head}")
        if self.max_messages < self.keep_head + 2:
            raise ValueError(
                f"max_messages must be >= keep_head + 2 = {self.keep_head + 2} "
                f"(marker and one message), got {self.max_messages}"
            )

    def apply(self, view: View, context: Context) -> View:
        return self.resume(context).run(view)

    def settled(self, view: View) -> int:
        return 0

    def resume(self, context: Context) -> Pass:
        return _Snipping(self)

    def cut(self, entries: Entries) -> tuple[int, int] | None:
        """Return the half-open range to remove, or None if nothing is gained by it."""
        if len(entries) <= self.max_messages:
            return None
        messages = MessagesOf(entries)
        keep_tail = self.max_messages - self.keep_head - 1
        head = safe_cut_after(messages, self.keep_head)
        tail = safe_cut_before(messages, len(entries) - keep_tail)
        return (head, tail) if tail - head >= 2 else None


class _Snipping:
    """`SnipMiddle` at work on one growing view."""

    def __init__(self, tier: SnipMiddle) -> None:
        self._tier = tier
        self._entries: Entries = ()
        self._cut = (0, 0)
        self._spans: Spans = ()
        self._without_origin = 0

    def run(self, view: View) -> View:
        entries = view.entries
        cut = self._tier.cut(entries)
        if cut is None:
            return view
        count_before = self._count
        self._remember(entries, cut)
        head, tail = cut
        text = self._tier.marker.replace("{count}", str(self._count))
        marker = Entry(Message("user", text), Origin("generated", self._spans, self._tier.name))
        removed = self._count - count_before
        event = CompactionEvent(self._tier.name, "applied", messages_removed=removed)
        return View(
            (*entries[:head], marker, *entries[tail:]),
            (*view.events, *((event,) if removed > 0 else ())),
        )

    @property
    def _count(self) -> int:
        return sum(stop - start for start, stop in self._spans) + self._without_origin

    def _remember(self, entries: Entries, cut: tuple[int, int]) -> None:
        """Add what is removed now and was not before to the spans; start again if it is other."""
        head, tail = cut
        extends = self._cut[0] == head and equal_prefix(self._entries, entries) >= self._cut[1]
        if not extends or tail < self._cut[1]:
            self._cut, self._spans, self._without_origin = (head, head), (), 0
        added = entries[self._cut[1] : tail]
        self._spans = merge_spans((*self._spans, *spans_of(added)))
        self._without_origin += sum(1 for entry in added if not entry.origin.spans)
        self._entries, self._cut = entries, cut
