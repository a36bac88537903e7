"""The choice that an oracle makes: which messages to keep, until when, for which needs.

A *selecting* strategy sends every message whole or not at all, and what it has left out does not
come back: interval retention, `reference/methods.md` 4.4. The instructions are no part of the
choice, they are sent in any case. Solving it is `evals.oracle` (bounds) and
`evals.fidelity.oracle_greedy`.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from compaction.history import History
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import Pairing
from evals.extraction.message_text import held_text
from evals.matcher.restating import restates
from evals.needs import Need, NeedSet
from evals.prepare import Prepared, PreparedSegment


@dataclass(frozen=True, slots=True)
class Item:
    """What is kept or left out as one: a message, or an atomic group of them."""

    messages: tuple[int, ...]
    """Indices in the transcript."""
    tokens: int
    """By the measuring counter, not calibrated."""
    arrives: int
    """The first request that sees it."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Needs of one request that the same items satisfy."""

    request: int
    weight: float
    """What satisfying them adds to the reach of the transcript."""
    items: tuple[int, ...]
    """Positions in `Selection.items`: one of them, kept until the request, is enough."""


@dataclass(frozen=True)
class Selection:
    """The choice on one transcript; requests are counted over all its segments."""

    items: tuple[Item, ...]
    """Only those that satisfy a demand: nothing is ever gained by keeping another."""
    demands: tuple[Demand, ...]
    n_requests: int

    @cached_property
    def uses(self) -> tuple[tuple[int, ...], ...]:
        """Requests that demand each item, ascending."""
        found: list[set[int]] = [set() for _ in self.items]
        for demand in self.demands:
            for item in demand.items:
                found[item].add(demand.request)
        return tuple(tuple(sorted(requests)) for requests in found)

    def reach(self, kept_until: Mapping[int, int]) -> float:
        """Return the reach of keeping items from arrival up to a request, that one included."""
        return fsum(
            demand.weight
            for demand in self.demands
            if any(kept_until.get(item, -1) >= demand.request for item in demand.items)
        )


def selection_of(prepared: Prepared, needs: NeedSet, *, atomic: bool = False) -> Selection:
    """Turn the needs of a transcript into a choice whose value is the headline reach.

    A need counts as `evals.fidelity.need_status` counts it for a view of whole messages: it is
    reached if a source stands in it, or a message of the assistant that restates a source. So the
    reach of every selecting strategy is the value of some choice, and the best choice bounds them
    all.

    Args:
        prepared: The transcript.
        needs: Its needs; those over long gaps count.
        atomic: Choose groups (a call with all its results) and not single messages. That bounds
            only strategies that never split a group, and is what can be sent to a provider.
    """
    by_request = {
        request: long
        for request, found in needs.by_request.items()
        if (long := [need for need in found if need.kind == "need" and need.is_long])
    }
    items = _Items(prepared, atomic=atomic)
    weights: defaultdict[tuple[int, tuple[int, ...]], float] = defaultdict(float)
    for segment in prepared.segments:
        for request in segment.requests:
            for need in by_request.get(request.index, ()):
                holders = items.of(segment, _holders(need, segment.history))
                share = 1 / (len(by_request[request.index]) * len(by_request))
                weights[request.index, holders] += share
    demands = tuple(Demand(request, weight, held) for (request, held), weight in weights.items())
    return Selection(tuple(items.listed), demands, len(prepared.requests))


def _holders(need: Need, history: History) -> Iterator[int]:
    """Yield the messages of which one, whole in the view, is enough; indices in the segment."""
    yield from need.sources
    if need.reference is None or not need.others:
        return
    sources = tuple(held_text(history[at]) for at in need.sources)
    for at in need.others:
        if restates(need.reference, held_text(history[at]), sources):
            yield at


class _Items:
    """The items of a transcript, each made when a need first asks for it."""

    def __init__(self, prepared: Prepared, *, atomic: bool) -> None:
        self.listed: list[Item] = []
        self._count = prepared.counter.count
        self._known: dict[int, int] = {}
        """Index of a message in the transcript -> position of its item."""
        self._groups: dict[int, dict[int, tuple[int, ...]]] = {}
        self._positions: dict[int, list[int]] = {}
        for segment in prepared.segments:
            first = segment.first_message
            self._groups[first] = _groups(segment.history) if atomic else {}
            self._positions[first] = [each.recorded.position for each in segment.requests]

    def of(self, segment: PreparedSegment, holders: Iterator[int]) -> tuple[int, ...]:
        return tuple(sorted({self._item(segment, at) for at in holders}))

    def _item(self, segment: PreparedSegment, at: int) -> int:
        first = segment.first_message
        if (known := self._known.get(first + at)) is not None:
            return known
        together = self._groups[first].get(at, (at,))
        seen_by = bisect_right(self._positions[first], together[0])
        item = Item(
            messages=tuple(first + member for member in together),
            tokens=sum(self._count(segment.history[member]) for member in together),
            arrives=segment.requests[seen_by].index,
        )
        self.listed.append(item)
        for member in item.messages:
            self._known[member] = len(self.listed) - 1
        return len(self.listed) - 1


def _groups(history: History) -> dict[int, tuple[int, ...]]:
    """Return message -> all messages of its group, for groups of more than one."""
    results = Pairing(history.messages()).results_of
    return {
        member: group
        for caller, answers in results.items()
        for group in [(caller, *answers)]
        for member in group
    }


def instruction_indices(history: History) -> tuple[int, ...]:
    """Return the messages that every selecting strategy is taken to send."""
    return tuple(at for at in range(len(history)) if history[at].role in INSTRUCTION_ROLES)
