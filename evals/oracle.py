"""The most that any selecting strategy can reach under a token budget.

A mixed-integer program (`reference/methods.md` 4.4, O3 and O4) solved by HiGHS through
`scipy.optimize.milp`: exact on small transcripts, on long ones its linear relaxation, which is
never below the optimum. What is chosen among is `evals.fidelity.oracle_problem`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from evals.fidelity.oracle_problem import Selection

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MAX_EXACT_CHOICES: Final = 400
"""Yes-or-no choices up to which the program is solved exactly."""
MAX_NODES: Final = 50
"""Of the search tree; a limit of time would make results depend on the machine's load."""
DECIMALS: Final = 9
"""HiGHS is exact to 1e-7 of a constraint; differences below 1e-9 are its rounding."""


class Best(NamedTuple):
    """The most that can be reached."""

    reach: float
    is_exact: bool
    """Whether some choice reaches it; otherwise it is an upper bound."""
    kept_until: Mapping[int, int]
    """If exact: item -> last request to which it is kept, for items that are kept at all."""


def best_reach(
    selection: Selection, budgets: Sequence[float], *, exact: bool | None = None
) -> Best | None:
    """Return the best reach if the items kept at each request have at most `budgets` tokens.

    Args:
        selection: The choice.
        budgets: Tokens by request, by the measuring counter, without the instructions.
        exact: Solve the integer program however large it is, or never; None decides by its size.

    Returns:
        None if there is nothing to reach, or the solver failed.
    """
    if not selection.demands:
        return None
    program = _Program(selection, _affordable(selection, budgets))
    program.limit_each(budgets)
    return program.solve(exact=exact)


def best_reach_in_total(
    selection: Selection, costs: Sequence[float], budget: float, *, exact: bool | None = None
) -> Best | None:
    """Return the best reach if all requests together have at most `budget`.

    Args:
        selection: The choice.
        costs: Cost of one token at each request.
        budget: In the unit of the costs.
        exact: As for `best_reach`.

    Returns:
        None if there is nothing to reach, or the solver failed.
    """
    if not selection.demands:
        return None
    program = _Program(selection, selection.uses)
    program.limit_sum(costs, budget)
    return program.solve(exact=exact)


def _affordable(selection: Selection, budgets: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """Return the uses up to which each item alone fits into every budget since its arrival."""
    import numpy

    limits = numpy.asarray(budgets, dtype=float)
    found = []
    for item, uses in zip(selection.items, selection.uses, strict=True):
        lowest = numpy.minimum.accumulate(limits[item.arrives : uses[-1] + 1])
        fitting = int(numpy.count_nonzero(lowest >= item.tokens))
        found.append(tuple(use for use in uses if use < item.arrives + fitting))
    return tuple(found)


class _Choice(NamedTuple):
    """Whether an item is kept from its use before, or its arrival, up to a use."""

    item: int
    first: int
    last: int


class _Rows:
    """A sparse matrix that grows by rows, each with a lower and an upper limit."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.columns: list[int] = []
        self.starts = [0]
        self.lowest: list[float] = []
        self.highest: list[float] = []

    def add(self, row: Mapping[int, float], highest: float, lowest: float = -inf) -> None:
        self.columns += row.keys()
        self.values += row.values()
        self.starts.append(len(self.columns))
        self.lowest.append(lowest)
        self.highest.append(highest)


class _Program:
    """Maximise the weight of satisfied demands. Variables: a choice each, then demands."""

    def __init__(self, selection: Selection, uses: Sequence[Sequence[int]]) -> None:
        """Set up everything but the budgets.

        Args:
            selection: What to choose.
            uses: Of each item, the uses up to which it may be kept.
        """
        self.choices: list[_Choice] = []
        self._selection = selection
        self._rows = _Rows()
        self._is_limited = False
        self._highest: list[float] = []
        """Of each variable; the lowest is 0."""
        self._gains: defaultdict[int, float] = defaultdict(float)
        choice_of: dict[tuple[int, int], int] = {}
        for item, requests in enumerate(uses):
            first = selection.items[item].arrives
            for number, last in enumerate(requests):
                choice_of[item, last] = len(self.choices)
                if number:
                    self._rows.add({len(self.choices): 1.0, len(self.choices) - 1: -1.0}, 0.0)
                self.choices.append(_Choice(item, first, last))
                first = last + 1
        self._highest += [1.0] * len(self.choices)
        for demand in selection.demands:
            keys = ((item, demand.request) for item in demand.items)
            self._add_demand([choice_of[key] for key in keys if key in choice_of], demand.weight)

    def _add_demand(self, satisfied_by: list[int], weight: float) -> None:
        if not satisfied_by:
            return
        if len(satisfied_by) == 1:
            self._gains[satisfied_by[0]] += weight
            return
        self._gains[self._n_variables] = weight
        self._rows.add({self._n_variables: 1.0, **dict.fromkeys(satisfied_by, -1.0)}, 0.0)
        self._highest.append(1.0)

    def limit_each(self, budgets: Sequence[float]) -> None:
        """Limit what is kept at each request.

        The tokens kept are a variable of each stretch between two changes, the one before plus
        what comes minus what goes: the matrix grows with the choices, however many overlap.
        """
        coming: defaultdict[int, list[int]] = defaultdict(list)
        going: defaultdict[int, list[int]] = defaultdict(list)
        for choice, (_, first, last) in enumerate(self.choices):
            coming[first].append(choice)
            going[last + 1].append(choice)
        most = 0
        row: dict[int, float] = {}
        for start, end in pairwise(sorted(coming.keys() | going.keys())):
            come = {choice: self._tokens(choice) for choice in coming[start]}
            gone = {choice: self._tokens(choice) for choice in going[start]}
            most += sum(come.values()) - sum(gone.values())
            row |= {choice: -tokens for choice, tokens in come.items()} | gone
            limit = min(budgets[start:end])
            self._is_limited = self._is_limited or most > limit
            row[self._n_variables] = 1.0
            self._rows.add(row, 0.0, 0.0)
            row = {self._n_variables: -1.0}
            self._highest.append(max(0.0, limit) if most > limit else inf)

    def limit_sum(self, costs: Sequence[float], budget: float) -> None:
        """Limit what is kept at all requests together, a token costing as much as its request."""
        until = [0.0, *accumulate(costs)]
        row = {
            choice: self._tokens(choice) * (until[last + 1] - until[first])
            for choice, (_, first, last) in enumerate(self.choices)
        }
        self._is_limited = sum(row.values()) > budget
        self._rows.add(row, max(0.0, budget))

    def _tokens(self, choice: int) -> int:
        return self._selection.items[self.choices[choice].item].tokens

    @property
    def _n_variables(self) -> int:
        return len(self._highest)

    def solve(self, *, exact: bool | None) -> Best | None:
        if not self._is_limited:
            return self._exactly({choice.item: choice.last for choice in self.choices})
        relaxed = self._optimum(integral=False)
        if relaxed is None:
            return None
        if self._is_integral(relaxed):
            return self._exactly(self._kept(relaxed))
        if exact is False or (exact is None and len(self.choices) > MAX_EXACT_CHOICES):
            return Best(_rounded(-relaxed.fun), is_exact=False, kept_until={})
        found = self._optimum(integral=True)
        if found is not None and found.status == 0:
            return self._exactly(self._kept(found))
        bound = relaxed.fun if found is None else max(relaxed.fun, found.mip_dual_bound)
        return Best(_rounded(-bound), is_exact=False, kept_until={})

    def _exactly(self, kept_until: dict[int, int]) -> Best:
        return Best(
            _rounded(self._selection.reach(kept_until)), is_exact=True, kept_until=kept_until
        )

    def _optimum(self, *, integral: bool) -> "OptimizeResult | None":
        """Return the solver's result, or None if it has no number."""
        import numpy
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = self._rows
        shape = (len(rows.highest), self._n_variables)
        matrix = csr_array((rows.values, rows.columns, rows.starts), shape=shape)
        gains = numpy.zeros(self._n_variables)
        gains[list(self._gains)] = list(self._gains.values())
        is_choice = numpy.arange(self._n_variables) < len(self.choices)
        found = milp(
            -gains,
            integrality=is_choice.astype(int) if integral else None,
            bounds=Bounds(0, self._highest),
            constraints=LinearConstraint(matrix, rows.lowest, rows.highest),
            options={"node_limit": MAX_NODES, "mip_rel_gap": 0.0} if integral else None,
        )
        has_number = found.status == 0 or (integral and found.mip_dual_bound is not None)
        return found if has_number else None

    def _is_integral(self, found: "OptimizeResult") -> bool:
        chosen = found.x[: len(self.choices)]
        return bool((abs(chosen - chosen.round()) < 1e-7).all())

    def _kept(self, found: "OptimizeResult") -> dict[int, int]:
        """Return item -> last request; the choices of an item follow each other."""
        kept: dict[int, int] = {}
        for choice, value in zip(self.choices, found.x, strict=False):
            if value > 0.5:
                kept[choice.item] = choice.last
        return kept


def _rounded(reach: float) -> float:
    return min(1.0, round(reach, DECIMALS))
