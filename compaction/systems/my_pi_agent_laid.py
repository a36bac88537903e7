"""A view of my_pi_agent before it is sent, and which messages of the history it leaves out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compaction.history import Entries, Entry, View, equal_prefix, exchanged
from compaction.strategy import CompactionEvent
from compaction.tiers.snip_middle import SnipMiddle
from compaction.tiers.summarize import Summarize


@dataclass(frozen=True, slots=True)
class Without:
    """A range of history indices that is left out, but for one message that is kept of it."""

    start: int = 0
    stop: int = 0
    kept: int | None = None

    @property
    def count(self) -> int:
        return self.stop - self.start - (self.kept is not None)

    def shared_with(self, other: "Without") -> int:
        """Return how many messages both leave out."""
        both = range(max(self.start, other.start), min(self.stop, other.stop))
        kept = {self.kept, other.kept} - {None}
        return len(both) - sum(at in both for at in kept)


class LeftOut(NamedTuple):
    """Nothing is in both ranges."""

    covered: Without = Without()
    """What the summary stands for."""
    snipped: Without = Without()
    """What L1 cut."""

    def events(self, before: "LeftOut", *, told: int | None) -> Iterator[CompactionEvent]:
        """Tell what is left out that was not before, or comes back."""
        if self.snipped != before.snipped:
            yield _event(SnipMiddle.name, _new_in(self.snipped, before))
        if self.covered != before.covered:
            count = _new_in(self.covered, before)
            if told is None or count > told:
                yield _event(Summarize.name, count - (told or 0))


def _new_in(now: Without, before: LeftOut) -> int:
    return now.count - now.shared_with(before.covered) - now.shared_with(before.snipped)


def _event(tier: str, count: int) -> CompactionEvent:
    return CompactionEvent(tier, "applied", messages_removed=count)


class Laid(NamedTuple):
    """A view of the free layers, with the events of L3 and of late results."""

    view: View
    left_out: LeftOut

    def told_since(self, before: "Laid", *, told: int | None = None) -> View:
        """Return the view with events of all else that is other than in the one sent before.

        `told` is how many messages a new summary tells of itself.
        """
        events = (
            *_edits(before.view.entries, self.view),
            *self.left_out.events(before.left_out, told=told),
        )
        return self.view.with_events(*events)


def _edits(before: Entries, now: View) -> Iterator[CompactionEvent]:
    """Tell by tier how many edits there are that no event tells of, or that edits are undone."""
    gone, come = exchanged(before, now.entries, equal_prefix(before, now.entries))
    undone = {entry.origin.first: entry.origin.by for entry in gone if _is_edit(entry)}
    counts = Counter(entry.origin.by for entry in come if _is_edit(entry))
    for event in now.events:
        counts[event.tier] -= event.messages_edited
    back = {undone[e.origin.first] for e in come if not _is_edit(e) and e.origin.first in undone}
    for tier in sorted({tier for tier, count in counts.items() if count > 0} | back):
        yield CompactionEvent(tier, "applied", messages_edited=max(0, counts[tier]))


def _is_edit(entry: Entry) -> bool:
    return entry.origin.kind == "edited"
