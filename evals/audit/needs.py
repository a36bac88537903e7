"""What was needed after a boundary of what had been said before it, and what a view has of it.

A need is a reference that the recorded assistant used after the boundary and that a tool result or
user message had brought before it (`evals.needs`); the first use of each counts. A view right after
the boundary is asked for it. Whether a message brought it once more in between is known apart: then
it was read again in time, which is a cost and no loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from compaction.messages import INSTRUCTION_ROLES
from compaction.strategy import Promises
from evals.audit.contestants import Place, Placed
from evals.extraction.message_text import held_text
from evals.fidelity.need_status import NeedScorer, Status
from evals.fidelity.oracle_problem import Demand, Item, Selection
from evals.matcher.restating import restates
from evals.needs import Need, NeedKind, NeedSet
from evals.oracle import best_reach
from evals.replay import Step

ASKED_KINDS: Final[frozenset[NeedKind]] = frozenset(
    {"need", "pinned", "derived", "quote", "derived_quote"}
)
"""Not `reread`: that a call names again what it fetched before is a re-acquisition."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A need as it stood at the boundary: what came after is no source of it."""

    need: Need
    after_requests: int
    """Requests from the boundary to its first use; 1 is the first request after it."""
    is_read_again: bool
    """Something said after the boundary brought it before it was used."""

    @property
    def places(self) -> tuple[int, ...]:
        """Return the messages before the boundary that brought it or name it."""
        return (*self.need.sources, *self.need.others)


def asked_after(needs: NeedSet, n_before: int) -> tuple[Asked, ...]:
    """Return the first use of everything that had been said before a boundary.

    Args:
        needs: Of the joined conversation, whose requests are those after the boundary.
        n_before: Messages before the boundary.
    """
    first: dict[tuple[NeedKind, str, str], Asked] = {}
    for request in sorted(needs.by_request):
        for need in needs.by_request[request]:
            sources = tuple(at for at in need.sources if at < n_before)
            others = tuple(at for at in need.others if at < n_before)
            has_origin = sources or (others and need.kind in ("derived", "derived_quote"))
            if need.kind not in ASKED_KINDS or not has_origin:
                continue
            as_of = replace(need, sources=sources, others=others, changed=())
            is_read_again = len(sources) < len(need.sources)
            key = (need.kind, need.class_name, need.value)
            first.setdefault(key, Asked(as_of, request + 1, is_read_again))
    return tuple(first.values())


def statuses(
    asked: Sequence[Asked], needs: NeedSet, place: Place, found: Placed
) -> tuple[Status, ...]:
    """Return what a view has of each need, in their order."""
    return judge(asked, needs, step_at(place, found), found.promises, is_declared=found.is_declared)


def step_at(place: Place, found: Placed) -> Step:
    """Return the view as the step of a replay that begins at the boundary."""
    segment = place.prepared.segments[0]
    return Step(
        request=segment.requests[0],
        segment=segment,
        history=place.history,
        view=found.view,
        twin=found.view,
        unchanged=0,
        tokens=float(found.tokens),
        compactor=found.compactor,
    )


def judge(
    asked: Sequence[Asked],
    needs: NeedSet,
    step: Step,
    promises: Promises,
    *,
    is_declared: bool = True,
) -> tuple[Status, ...]:
    now = step.request.index
    wanted = replace(needs, by_request={now: tuple(each.need for each in asked)})
    scorer = NeedScorer(wanted, promises, is_declared=is_declared)
    scorer.see(step)
    return tuple(status for _, status in scorer.judged)


def best_possible(asked: Sequence[Asked], place: Place) -> float | None:
    """Return the largest share of needs that whole messages of the budget's size can reach.

    An upper bound for every strategy that only selects (`evals.oracle`). The instructions and what
    is new are sent in any case.

    Returns:
        None if nothing is asked, or the solver failed.
    """
    history, count = place.history, place.prepared.counter.count
    items: dict[int, int] = {}
    listed: list[Item] = []
    demands = []
    for each in asked:
        holders = _holders(each.need, place)
        for at in holders:
            if at not in items:
                items[at] = len(listed)
                listed.append(Item((at,), count(history[at]), 0))
        if holders:
            demands.append(Demand(0, 1 / len(asked), tuple(sorted({items[at] for at in holders}))))
    if not asked:
        return None
    if not demands:
        return 0.0
    best = best_reach(Selection(tuple(listed), tuple(demands), 1), [place.free_tokens])
    return None if best is None else best.reach


def _holders(need: Need, place: Place) -> tuple[int, ...]:
    """Return the messages of which one is enough; instructions cost nothing, they stay anyway."""
    history = place.history
    found = [at for at in need.sources if history[at].role not in INSTRUCTION_ROLES]
    if need.reference is not None:
        sources = tuple(held_text(history[at]) for at in need.sources)
        found += (
            at for at in need.others if restates(need.reference, held_text(history[at]), sources)
        )
    return tuple(found)
