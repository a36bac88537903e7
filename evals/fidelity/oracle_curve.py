"""What all settings of one transcript share about its oracle: the choice, the curve, the answers.

The curve says how much of a transcript's needs any selecting strategy can reach at a saving. It
stands in every sidecar, so that a report draws it without a replay.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

from evals.fidelity.oracle_problem import Selection, instruction_indices, selection_of
from evals.needs import NeedSet
from evals.oracle import Best, best_reach, best_reach_in_total
from evals.prepare import Prepared

CURVE_POINTS: Final = 16


class CurvePoint(NamedTuple):
    """No selecting strategy that saves this much reaches more."""

    saving_fraction: float
    reach: float


class Oracle:
    """Answers about one transcript; what was asked before costs nothing."""

    def __init__(self, prepared: Prepared, needs: NeedSet) -> None:
        self._prepared = prepared
        self._needs = needs
        self._answers: dict[tuple[int, ...], Best | None] = {}

    @cached_property
    def selection(self) -> Selection:
        return selection_of(self._prepared, self._needs)

    @cached_property
    def groups(self) -> Selection:
        """The same choice for strategies that never part a call from its results."""
        return selection_of(self._prepared, self._needs, atomic=True)

    @cached_property
    def curve(self) -> tuple[CurvePoint, ...]:
        return oracle_curve(self._prepared, self.selection)

    def best(self, budgets: Sequence[int]) -> Best | None:
        """Return the most that can be reached with so many tokens at each request.

        Budgets are by the measuring counter, without the instructions.
        """
        asked = tuple(budgets)
        if asked not in self._answers:
            self._answers[asked] = best_reach(self.selection, asked)
        return self._answers[asked]


def oracle_curve(prepared: Prepared, selection: Selection) -> tuple[CurvePoint, ...]:
    """Return 16 points of the bound, from the instructions alone to where all is reached.

    Of all tokens that a strategy sends over the whole transcript only the sum is limited, so the
    bound holds whenever the strategy compacts. It is the linear relaxation, concave in the tokens:
    between two points the bound lies on or above the straight line. The points stand closer
    together where little is kept. Empty where nothing is needed over a long gap.
    """
    if not selection.demands or not prepared.input_tokens:
        return ()
    costs = [segment.calibration.slope for segment in prepared.segments for _ in segment.requests]
    most = _enough_for_all(selection, costs)
    least = _least_input_tokens(prepared)
    points = []
    for step in range(CURVE_POINTS):
        budget = most * (step / (CURVE_POINTS - 1)) ** 2
        best = best_reach_in_total(selection, costs, budget, exact=False)
        if best is not None:
            saving = 1 - (least + budget) / prepared.input_tokens
            points.append(CurvePoint(saving, best.reach))
    return tuple(points)


def _enough_for_all(selection: Selection, costs: Sequence[float]) -> float:
    """Return the cost of reaching everything if each need is met by its cheapest item."""
    until = [0.0, *accumulate(costs)]

    def cost(item: int, request: int) -> float:
        kept = selection.items[item]
        return kept.tokens * (until[request + 1] - until[kept.arrives])

    last: dict[int, int] = {}
    for demand in selection.demands:
        cheapest = min(demand.items, key=lambda item: cost(item, demand.request))
        last[cheapest] = max(last.get(cheapest, 0), demand.request)
    return sum(cost(item, request) for item, request in last.items())


def _least_input_tokens(prepared: Prepared) -> float:
    """Return the calibrated input of all requests with nothing but the instructions."""
    total = 0.0
    for segment in prepared.segments:
        instructions = instruction_indices(segment.history)
        for request in segment.requests:
            sizes = (
                prepared.counter.count(segment.history[at])
                for at in instructions
                if at < request.recorded.position
            )
            total += segment.calibration.size(sum(sizes) + prepared.fixed_tokens)
    return total
