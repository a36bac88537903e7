"""What became of each message of the history at each request, as run lengths for the timeline."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from compaction.history import (
    Entries,
    Entry,
    History,
    Spans,
    equal_prefix,
    exchanged,
    merge_spans,
)

Fate = Literal["whole", "edited", "summarised", "gone"]
FATE_CODES: Final[dict[Fate, str]] = {
    "whole": "w",
    "edited": "e",
    "summarised": "s",
    "gone": "-",
}
"""How a fate is written in a sidecar."""


class FateTracker:
    """Notes the changes of one segment: near-constant work for each changed entry."""

    def __init__(self, first_message: int) -> None:
        self._first_message = first_message
        self._entries: Entries = ()
        self._fates: list[Fate] = []
        self.changes: list[tuple[int, int, str]] = []
        """(message index in the transcript, request index, code of the fate from then on).

        A message without a change was sent whole from its arrival to the end.
        """

    def see(
        self, history: History, entries: Entries, request: int, *, unchanged: int | None = None
    ) -> None:
        """Take in a view; `unchanged` leading entries are as before, if the caller knows that."""
        arrived = range(len(self._fates), len(history))
        self._fates.extend("whole" for _ in arrived)
        same = equal_prefix(self._entries, entries) if unchanged is None else unchanged
        before, after = map(_Shown, exchanged(self._entries, entries, same))
        # A marker for thousands of messages grows by a few: only those few are looked at.
        moved = (*_difference(before.spans, after.spans), *_difference(after.spans, before.spans))
        touched = {index for start, stop in moved for index in range(start, stop)}
        shown: _Shown | None = None
        for index in sorted(touched | before.single.keys() | after.single.keys() | {*arrived}):
            if index in after.single or index in arrived:
                self._note(index, after.fate_of(index), request)
                continue
            # What has left the changed part may still be covered by an entry before it.
            shown = shown or _Shown(entries)
            self._note(index, shown.fate_of(index), request)
        self._entries = entries

    def fate_of(self, index: int) -> Fate:
        """Return the present fate of a message, by its index in the segment."""
        return self._fates[index]

    def _note(self, index: int, fate: Fate, request: int) -> None:
        if self._fates[index] != fate:
            self._fates[index] = fate
            self.changes.append((self._first_message + index, request, FATE_CODES[fate]))


class _Shown:
    """Which messages some entries show, singly or as part of a written text."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.single: dict[int, Fate] = {}
        written: list[tuple[int, int]] = []
        for entry in entries:
            if entry.origin.kind == "generated":
                written += entry.origin.spans
            elif entry.origin.spans:
                self.single[entry.origin.first] = entry.origin.kind
        self.spans: Spans = merge_spans(written)

    def fate_of(self, index: int) -> Fate:
        if index in self.single:
            return self.single[index]
        covered = any(start <= index < stop for start, stop in self.spans)
        return "summarised" if covered else "gone"


def _difference(spans: Spans, other: Spans) -> Iterator[tuple[int, int]]:
    """Yield the parts of `spans` that `other` does not cover; both sorted and disjoint."""
    for span_start, stop in spans:
        start = span_start
        for other_start, other_stop in other:
            if other_stop <= start or other_start >= stop:
                continue
            if other_start > start:
                yield start, other_start
            start = other_stop
        if start < stop:
            yield start, stop
