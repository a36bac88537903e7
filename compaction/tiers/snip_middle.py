"""Cuts messages out of the middle and leaves a marker. Free, and nothing can be read back."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import ClassVar, Final

from compaction.history import Entry, Origin, Spans, View, merge_spans, spans_of
from compaction.messages import Message
from compaction.strategy import CompactionEvent, Context
from compaction.tiers.growing import Change, Followed, FoundResult, ResultIndex, applied

SNIPPED_MARKER: Final = "[snipped {count} messages]"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnipMiddle:
    """Keep at most `max_messages`, the marker included, from both ends.

    Promise: no group is split, so that more may be kept than asked for; a snip always removes more
    than it adds. The marker counts the messages of the history that it stands for. An event tells
    of every change of what is removed: `messages_removed` counts what stood there before, or has
    come since, and is gone now; it is 0 where messages only come back.
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
        return applied(self.resume(context), view)

    def settled(self, view: View) -> int:
        return 0

    def resume(self, context: Context) -> "Snipping":
        return Snipping(self)


class Snipping:
    """`SnipMiddle` at work on one growing sequence; each change costs what was added."""

    def __init__(self, tier: SnipMiddle) -> None:
        self.cut: tuple[int, int] | None = None
        """The half-open range that is removed now; None if nothing is gained by it."""
        self._tier = tier
        self._borders = _Borders(tier.keep_head)
        self._counted = (0, 0)
        self._unchanged = 0
        self._spans: Spans = ()
        self._without_origin = 0

    @property
    def output(self) -> Sequence[Entry]:
        entries = self._borders.entries
        if self.cut is None:
            return entries
        head, tail = self.cut
        return [*entries[:head], self.marker(), *entries[tail:]]

    def marker(self) -> Entry:
        """Return what stands for all that was last removed."""
        text = self._tier.marker.replace("{count}", str(self._count))
        return Entry(Message("user", text), Origin("generated", self._spans, self._tier.name))

    def follow(self, change: Change) -> Followed:
        before = self.cut
        self._borders.follow(change)
        self._unchanged = min(self._unchanged, change.same)
        self.cut = self._find_cut()
        if self.cut is not None:
            self._remember(*self.cut)
        heads = [cut[0] for cut in (before, self.cut) if cut is not None]
        events = self._events(before, change.same)
        return Followed(min([change.same, *heads]), events)

    def _events(self, before: tuple[int, int] | None, same: int) -> tuple[CompactionEvent, ...]:
        """Tell what is removed now, and whether anything that was is back."""
        head, tail = self.cut or (0, 0)
        old_head, old_tail = before or (0, 0)
        old_tail = max(old_head, min(old_tail, same))
        entries = self._borders.entries
        gone = (*entries[head : min(tail, old_head)], *entries[max(head, old_tail) : tail])
        removed = sum(1 for entry in gone if entry.origin.by != self._tier.name)
        is_back = old_head < old_tail and (head > old_head or tail < old_tail)
        if not removed and not is_back:
            return ()
        return (CompactionEvent(self._tier.name, "applied", messages_removed=removed),)

    def _find_cut(self) -> tuple[int, int] | None:
        length, longest = len(self._borders.entries), self._tier.max_messages
        if length <= longest:
            return None
        head = self._borders.head
        tail = self._borders.cut_before(length - (longest - self._tier.keep_head - 1))
        return (head, tail) if tail - head >= 2 else None

    @property
    def _count(self) -> int:
        return sum(stop - start for start, stop in self._spans) + self._without_origin

    def _remember(self, head: int, tail: int) -> None:
        """Add what is removed now and was not before to the spans; start again if it is other."""
        counted = self._counted
        if counted[0] != head or not counted[1] <= min(self._unchanged, tail):
            counted, self._spans, self._without_origin = (head, head), (), 0
        added = self._borders.entries[counted[1] : tail]
        self._spans = merge_spans((*self._spans, *spans_of(added)))
        self._without_origin += sum(1 for entry in added if not entry.origin.spans)
        self._counted, self._unchanged = (head, tail), len(self._borders.entries)


class _Borders:
    """Where a growing sequence may be cut, from the results that have just come.

    `head` is what `safe_cut_after` and `cut_before` what `safe_cut_before` finds by looking.
    """

    def __init__(self, keep_head: int) -> None:
        self._keep_head = keep_head
        self._index = ResultIndex()
        self._neediest: list[FoundResult] = []
        """Each needs an earlier position than all behind it, so that these ascend as well."""
        self._displaced: list[list[FoundResult]] = []
        """For each result what it took out of `_neediest`."""
        self._heads = [keep_head]
        """For no result, and after each, the first safe cut at `keep_head` or behind it."""

    @property
    def entries(self) -> list[Entry]:
        return self._index.entries

    @property
    def head(self) -> int:
        return self._heads[-1]

    def follow(self, change: Change) -> None:
        valid = self._index.results_before(change.same)
        while len(self._displaced) > valid:
            self._heads.pop()
            self._neediest.pop()
            self._neediest += reversed(self._displaced.pop())
        self._index.follow(change)
        for found in self._index.results[valid:]:
            displaced = []
            while self._neediest and self._neediest[-1].needs >= found.needs:
                displaced.append(self._neediest.pop())
            self._neediest.append(found)
            self._displaced.append(displaced)
            head = self._heads[-1]
            parted = 0 <= found.caller < head <= found.position
            self._heads.append(found.position + 1 if parted else head)

    def cut_before(self, position: int) -> int:
        """Return the last safe cut at `position` or before it."""
        while True:
            at = bisect_left(self._neediest, position, key=itemgetter(0))
            if at == len(self._neediest) or self._neediest[at].needs >= position:
                return position
            position = self._neediest[at].needs
