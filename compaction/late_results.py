"""Results that come after a compaction has condensed their call.

No provider accepts a result whose call is not before it, so such a result is left out of the view,
and an event says so. A conversation that lacks the call itself is left as it is.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from compaction.history import Entries, Entry, History, View
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.strategy import CompactionEvent

LATE_RESULTS: Final = "LateResults"


class Arrivals(NamedTuple):
    """What follows a view, and what was left out of it."""

    entries: Entries
    events: tuple[CompactionEvent, ...]


def followed(view: View, history: History, start: int) -> View:
    """Return a view followed by what the history has from `start` on, late results left out."""
    new = history.entries(start)
    if history.is_self_contained(start):
        return view.appended(new)
    came = arrivals(view.entries, new)
    return view.appended(came.entries, *came.events)


def arrivals(standing: Sequence[Entry], new: Entries) -> Arrivals:
    """Return what of `new` can follow the entries of a view that stand already.

    Costs what `new` has unless a result in it needs a call from before.
    """
    if not orphan_results([entry.message for entry in new]):
        return Arrivals(new, ())
    if all(entry.origin.kind != "generated" for entry in standing):
        return Arrivals(new, ())
    joined = [entry.message for entry in (*standing, *new)]
    late = {at - len(standing) for at in orphan_results(joined)}
    kept = tuple(entry for at, entry in enumerate(new) if at not in late)
    return Arrivals(kept, left_out(new[at].message for at in sorted(late) if at >= 0))


def without_late_results(view: View) -> View:
    """Leave results without a call out that stand behind something generated."""
    first = next((i for i, e in enumerate(view.entries) if e.origin.kind == "generated"), None)
    if first is None:
        return view
    standing = view.entries[: first + 1]
    came = arrivals(standing, view.entries[first + 1 :])
    return View(standing + came.entries, view.events + came.events) if came.events else view


def left_out(results: Iterable[Message]) -> tuple[CompactionEvent, ...]:
    """Return one event for each result that is left out."""
    return tuple(
        CompactionEvent(
            LATE_RESULTS,
            "applied",
            trigger=f"the call of {result.tool_call_id or result.name!r} was condensed before",
            messages_removed=1,
        )
        for result in results
    )
