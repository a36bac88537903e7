"""Two rules of thumb for what to keep, both of which know the future.

Heuristics, never bounds: what they reach is reachable, but more may be. `reference/methods.md` 4.4,
O1 (farthest next use, after Belady 1966) and O2 (gain per token and request).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evals.fidelity.oracle_problem import Selection


class Chosen(NamedTuple):
    """What a heuristic kept."""

    reach: float
    kept_until: dict[int, int]
    """Item -> the last of its uses to which it was kept."""


Worth = Callable[[int, int], tuple[float, ...]]
"""(item, request) -> how much it is worth keeping from there on; the least goes first."""


def belady(selection: Selection, budgets: Sequence[float]) -> Chosen:
    """Over budget, leave out the item whose next use is farthest; of two, the larger.

    Optimal for items of one size with one use each; here sizes differ and a need may have several
    sources, so it is a heuristic.
    """

    def worth(item: int, request: int) -> tuple[float, ...]:
        following = next(use for use in selection.uses[item] if use >= request)
        return (-following, -selection.items[item].tokens)

    return _simulate(selection, budgets, worth)


def density(selection: Selection, budgets: Sequence[float]) -> Chosen:
    """Over budget, leave out the item with the least gain to come per token and request.

    A need with several sources is credited to the one that arrived last.
    """
    gains: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
    for demand in selection.demands:
        latest = max(demand.items, key=lambda item: (selection.items[item].arrives, item))
        gains[latest].append((demand.request, demand.weight))

    def worth(item: int, request: int) -> tuple[float, ...]:
        to_come = [(use, gain) for use, gain in gains[item] if use >= request]
        if not to_come:
            return (0.0,)
        requests = max(use for use, _ in to_come) - request + 1
        tokens = max(1, selection.items[item].tokens)
        return (sum(gain for _, gain in to_come) / (tokens * requests),)

    return _simulate(selection, budgets, worth)


def better_greedy(selection: Selection, budgets: Sequence[float]) -> Chosen:
    """Return the better of the two heuristics."""
    return max(belady(selection, budgets), density(selection, budgets), key=lambda found: found[0])


def _simulate(selection: Selection, budgets: Sequence[float], worth: Worth) -> Chosen:
    arriving: defaultdict[int, list[int]] = defaultdict(list)
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    for item, uses in enumerate(selection.uses):
        arriving[selection.items[item].arrives].append(item)
        for use in uses:
            wanted[use].append(item)
    kept_until: dict[int, int] = {}
    present: set[int] = set()
    load = 0
    for request in range(selection.n_requests):
        done = [item for item in present if selection.uses[item][-1] < request]
        present.difference_update(done)
        load -= sum(selection.items[item].tokens for item in done)
        present.update(arriving[request])
        load += sum(selection.items[item].tokens for item in arriving[request])
        while present and load > budgets[request]:
            least = min(present, key=lambda item: (worth(item, request), item))
            present.discard(least)
            load -= selection.items[least].tokens
        kept_until |= dict.fromkeys(present.intersection(wanted[request]), request)
    return Chosen(selection.reach(kept_until), kept_until)
