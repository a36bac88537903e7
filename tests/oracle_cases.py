"""Choices small enough to try them all, and conversations whose best selection is known by hand."""

from itertools import product

from hypothesis import strategies as st

from evals.fidelity.oracle_problem import Demand, Item, Selection


def selection(items, demands, n_requests):
    """Return a choice from (tokens, arrival) and (request, weight, items)."""
    return Selection(
        tuple(Item((at,), tokens, arrives) for at, (tokens, arrives) in enumerate(items)),
        tuple(Demand(*demand) for demand in demands),
        n_requests,
    )


def load_at(choice, kept_until, request):
    """Tokens kept at a request."""
    return sum(
        choice.items[item].tokens
        for item, last in kept_until.items()
        if choice.items[item].arrives <= request <= last
    )


def fits(choice, kept_until, budgets):
    return all(
        load_at(choice, kept_until, request) <= budgets[request]
        for request in range(choice.n_requests)
    )


def fits_in_total(choice, kept_until, costs, budget):
    total = sum(cost * load_at(choice, kept_until, request) for request, cost in enumerate(costs))
    return total <= budget + 1e-9


def every_choice(choice):
    """Yield each way to keep items up to one of their uses, or not at all."""
    options = [(None, *uses) for uses in choice.uses]
    for ends in product(*options):
        yield {item: end for item, end in enumerate(ends) if end is not None}


def best_by_trying(choice, is_allowed):
    return max(choice.reach(kept) for kept in every_choice(choice) if is_allowed(kept))


@st.composite
def selections(draw, *, max_items=4, max_demands=6):
    """Small choices in which needs share items, items serve many needs, and sizes differ."""
    n_requests = draw(st.integers(4, 10))
    items = draw(
        st.lists(
            st.tuples(st.integers(1, 9), st.integers(0, n_requests - 2)),
            min_size=1,
            max_size=max_items,
        )
    )
    n_demands = draw(st.integers(1, max_demands))
    demands = []
    for _ in range(n_demands):
        held = draw(st.sets(st.integers(0, len(items) - 1), min_size=1, max_size=3))
        earliest = max(items[item][1] for item in held)
        request = draw(st.integers(earliest, n_requests - 1))
        weight = draw(st.sampled_from((1, 2, 5)))
        demands.append((request, weight, tuple(sorted(held))))
    whole = sum(weight for _, weight, _ in demands)
    shared = [(request, weight / whole, held) for request, weight, held in demands]
    used = sorted({item for _, _, held in shared for item in held})
    place = {item: at for at, item in enumerate(used)}
    return selection(
        [items[item] for item in used],
        [(request, weight, tuple(place[i] for i in held)) for request, weight, held in shared],
        n_requests,
    )


def budgets_for(choice):
    most = sum(item.tokens for item in choice.items)
    return st.lists(
        st.integers(0, most + 1), min_size=choice.n_requests, max_size=choice.n_requests
    )
