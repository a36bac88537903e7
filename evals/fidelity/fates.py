"""What became of each message of the history at each request, as run lengths for the timeline."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from compaction.history import (
    Entries,
    Entry,
    History,
    Origin,
    Spans,
    equal_prefix,
    exchanged,
    merge_spans,
)
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.offload_large_results import OffloadLargeResults
from compaction.tiers.snip_middle import SnipMiddle

Fate = Literal["whole", "edited", "offloaded", "cleared", "summarised", "snipped", "gone"]
FATE_CODES: Final[dict[Fate, str]] = {
    "whole": "w",
    "edited": "e",
    "offloaded": "o",
    "cleared": "c",
    "summarised": "s",
    "snipped": "n",
    "gone": "-",
}
"""How a fate is written in a sidecar; what is kept of a message falls from one to the next."""
_FATE_BY: Final[dict[str, Fate]] = {
    ClearToolResults.name: "cleared",
    OffloadLargeResults.name: "offloaded",
    SnipMiddle.name: "snipped",
}
"""Tiers that do one thing; an edit or a text of any other is `edited` or `summarised`."""


def fate_by(origin: Origin) -> Fate:
    """Return what became of the messages that an entry stands for."""
    if origin.kind == "whole":
        return "whole"
    return _FATE_BY.get(origin.by, "summarised" if origin.kind == "generated" else "edited")


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

    def grow(self, history: History, entries: Entries) -> None:
        """Take in a view that is the one before and what was said since."""
        self._fates.extend(["whole"] * (len(history) - len(self._fates)))
        self._entries = entries

    def see(
        self, history: History, entries: Entries, request: int, *, unchanged: int | None = None
    ) -> None:
        """Take in a view; `unchanged` leading entries are as before, if the caller knows that."""
        arrived = range(len(self._fates), len(history))
        self._fates.extend("whole" for _ in arrived)
        same = equal_prefix(self._entries, entries) if unchanged is None else unchanged
        before, after = map(_Shown, exchanged(self._entries, entries, same))
        # A marker for thousands of messages grows by a few: only those few are looked at.
        moved = (
            span
            for fate in before.spans.keys() | after.spans.keys()
            for one, other in ((before, after), (after, before))
            for span in _difference(one.spans.get(fate, ()), other.spans.get(fate, ()))
        )
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
        written: defaultdict[Fate, list[tuple[int, int]]] = defaultdict(list)
        for entry in entries:
            if entry.origin.kind == "generated":
                written[fate_by(entry.origin)] += entry.origin.spans
            elif entry.origin.spans:
                self.single[entry.origin.first] = fate_by(entry.origin)
        self.spans: dict[Fate, Spans] = {
            fate: merge_spans(written[fate]) for fate in FATE_CODES if fate in written
        }

    def fate_of(self, index: int) -> Fate:
        if index in self.single:
            return self.single[index]
        for fate, spans in self.spans.items():
            if any(start <= index < stop for start, stop in spans):
                return fate
        return "gone"


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
