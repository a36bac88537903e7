"""Entries of a view: a message each, and what of the history it stands for; how two views compare.

Every entry carries its origin, so provenance is passed on by whoever edits, never guessed
afterwards.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Literal

from compaction.messages import Message, Role

OriginKind = Literal["whole", "edited", "generated"]
Spans = tuple[tuple[int, int], ...]
"""Sorted, disjoint, half-open ranges of history indices."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which messages of the history an entry stands for, and what was done to them."""

    kind: OriginKind
    spans: Spans
    by: str = ""
    """The tier that edited or generated the entry; empty for whole messages."""
    handle: str | None = None
    """Where the store has the original text, if and only if the entry names this handle."""

    @property
    def indices(self) -> tuple[int, ...]:
        return tuple(index for start, stop in self.spans for index in range(start, stop))

    @property
    def first(self) -> int:
        """The first history index, or -1 for text that stands for no message at all."""
        return self.spans[0][0] if self.spans else -1


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a view."""

    message: Message
    origin: Origin

    def edited(self, message: Message, by: str, *, handle: str | None = None) -> "Entry":
        """Return an entry for the same history messages with other content.

        A generated entry stays generated: shortening a summary does not make it an original.
        """
        kind: OriginKind = "generated" if self.origin.kind == "generated" else "edited"
        return Entry(message, Origin(kind, self.origin.spans, by, handle or self.origin.handle))


Entries = tuple[Entry, ...]


def whole(message: Message, index: int) -> Entry:
    """Return the entry of an untouched message at `index` of the history."""
    return Entry(message, Origin("whole", ((index, index + 1),)))


def generated(role: Role, text: str, replaces: Iterable[Entry], by: str) -> Entry:
    """Return an entry that a tier wrote in place of `replaces`."""
    return Entry(Message(role, text), Origin("generated", spans_of(replaces), by))


def spans_of(entries: Iterable[Entry]) -> Spans:
    """Return the union of the history ranges that `entries` stand for."""
    return merge_spans(span for entry in entries for span in entry.origin.spans)


def merge_spans(spans: Iterable[tuple[int, int]]) -> Spans:
    """Return sorted and disjoint ranges that cover the same indices."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return tuple(merged)


def equal_prefix(before: Entries, after: Entries) -> int:
    """Return how many leading entries are equal, origins included.

    Entries that no edit touched are the same objects, so whole blocks compare at the speed of a
    memory comparison.
    """
    if before is after or before == after[: len(before)]:
        return len(before)
    same, differs = 0, min(len(before), len(after)) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        if before[same:middle] == after[same:middle]:
            same = middle
        else:
            differs = middle
    return same


def exchanged(before: Entries, after: Entries, same: int) -> tuple[list[Entry], list[Entry]]:
    """Return the entries that went and those that came, beyond `same` equal leading ones.

    An entry that only moved, as in a window that slides, is in neither list.
    """
    old, new = before[same:], after[same:]
    if not old:
        return [], list(new)
    old_ids, new_ids = set(map(id, old)), set(map(id, new))
    kept = old_ids & new_ids
    if not kept or len(old_ids) < len(old) or len(new_ids) < len(new):
        return list(old), list(new)
    return (
        [entry for entry in old if id(entry) not in kept],
        [entry for entry in new if id(entry) not in kept],
    )


def common_prefix(before: Entries, after: Entries) -> int:
    """Return how many leading messages are equal, whatever their origins."""
    same = equal_prefix(before, after)
    pairs = zip(before[same:], after[same:], strict=False)
    return same + sum(1 for _ in takewhile(lambda pair: pair[0].message == pair[1].message, pairs))


def is_sorted_by_origin(entries: Iterable[Entry]) -> bool:
    """Whether entries that stand for history messages are in the order of the history."""
    firsts = [entry.origin.first for entry in entries if entry.origin.spans]
    return all(first <= second for first, second in pairwise(firsts))
