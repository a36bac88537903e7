"""The best selection under a budget: by hand, by trying all, and its relaxation above it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.fidelity.oracle_greedy import belady, better_greedy, density
from evals.fidelity.oracle_problem import Selection
from evals.oracle import MAX_EXACT_CHOICES, best_reach, best_reach_in_total
from tests.oracle_cases import (
    best_by_trying,
    budgets_for,
    fits,
    fits_in_total,
    selection,
    selections,
)

SLACK = 1e-6
"""What HiGHS may be off by."""

TWO_OR_ONE = selection(
    [(6, 0), (5, 0), (5, 0)],
    [(4, 0.5, (0,)), (4, 0.25, (1,)), (4, 0.25, (2,))],
    5,
)
"""In ten tokens the heavy message and a light one do not fit together, the two light ones do."""


def test_the_heavier_need_wins_where_both_ways_gain_the_same():
    best = best_reach(TWO_OR_ONE, [10] * 5)

    assert (best.reach, best.is_exact) == (0.5, True)


def test_one_token_more_lets_one_of_each_in():
    assert best_reach(TWO_OR_ONE, [11] * 5).reach == 0.75
    assert best_reach(TWO_OR_ONE, [16] * 5).reach == 1.0


def test_the_relaxation_takes_parts_of_messages_and_so_lies_above():
    """Ten tokens hold the heavy message and four fifths of a light one: 0.5 + 0.8 * 0.25."""
    relaxed = best_reach(TWO_OR_ONE, [10] * 5, exact=False)

    assert relaxed.reach == pytest.approx(0.7)
    assert not relaxed.is_exact
    assert relaxed.kept_until == {}


def test_what_went_does_not_come_back():
    """One request without room ends a message for good."""
    choice = selection([(5, 0)], [(2, 0.5, (0,)), (6, 0.5, (0,))], 7)

    assert best_reach(choice, [5] * 7).reach == 1.0
    assert best_reach(choice, [5, 5, 5, 4, 5, 5, 5]).reach == 0.5
    assert best_reach(choice, [5, 4, 5, 5, 5, 5, 5]).reach == 0.0


def test_the_least_room_between_arrival_and_use_decides_what_fits_together():
    choice = selection([(4, 0), (4, 0)], [(5, 0.5, (0,)), (5, 0.5, (1,))], 6)

    assert best_reach(choice, [8, 8, 8, 8, 8, 8]).reach == 1.0
    assert best_reach(choice, [8, 8, 8, 4, 8, 8]).reach == 0.5


def test_a_message_costs_from_its_arrival_and_not_before():
    choice = selection([(5, 3)], [(4, 1.0, (0,))], 6)

    assert best_reach(choice, [0, 0, 0, 5, 5, 0]).reach == 1.0


def test_either_of_two_sources_is_enough_and_the_smaller_one_is_taken():
    choice = selection([(9, 0), (2, 1)], [(5, 1.0, (0, 1))], 6)

    best = best_reach(choice, [2] * 6)

    assert (best.reach, best.kept_until) == (1.0, {1: 5})


def test_two_sources_of_one_need_gain_it_once():
    """Both fit, and keeping both is worth no more than one: the second need decides."""
    choice = selection([(3, 0), (3, 0), (3, 0)], [(4, 0.6, (0, 1)), (4, 0.4, (2,))], 5)

    assert best_reach(choice, [3] * 5).reach == 0.6
    assert best_reach(choice, [6] * 5).reach == 1.0


def test_the_room_that_is_free_after_a_use_serves_the_next_message():
    choice = selection([(5, 0), (5, 3)], [(2, 0.5, (0,)), (5, 0.5, (1,))], 6)

    assert best_reach(choice, [5] * 6).reach == 1.0


def test_nothing_to_reach_has_no_best():
    nothing = Selection((), (), 4)

    assert best_reach(nothing, [1] * 4) is None
    assert best_reach_in_total(nothing, [1.0] * 4, 5.0) is None


def test_in_total_a_message_costs_at_every_request_that_has_it():
    """Five tokens at requests 0 to 4 are 25; a request may cost more than another."""
    choice = selection([(5, 0)], [(4, 1.0, (0,))], 6)

    assert best_reach_in_total(choice, [1.0] * 6, 25.0).reach == 1.0
    assert best_reach_in_total(choice, [1.0] * 6, 24.9, exact=True).reach == 0.0
    assert best_reach_in_total(choice, [1.0] * 4 + [2.0] * 2, 29.9, exact=True).reach == 0.0
    assert best_reach_in_total(choice, [1.0] * 4 + [2.0] * 2, 30.0, exact=True).reach == 1.0


def test_large_programs_are_relaxed_unless_asked_for():
    n = MAX_EXACT_CHOICES + 1
    large = selection([(2, 0)] * n, [(4, 1 / n, (item,)) for item in range(n)], 5)

    assert not best_reach(large, [3] * 5).is_exact
    asked = best_reach(large, [3] * 5, exact=True)
    assert asked.is_exact
    assert asked.reach == pytest.approx(1 / n)


@given(st.data())
def test_the_exact_optimum_is_that_of_trying_all(data):
    choice = data.draw(selections())
    budgets = data.draw(budgets_for(choice))

    best = best_reach(choice, budgets)

    assert best.is_exact
    tried = best_by_trying(choice, lambda kept: fits(choice, kept, budgets))
    assert best.reach == pytest.approx(tried, abs=SLACK)
    assert fits(choice, best.kept_until, budgets)
    assert choice.reach(best.kept_until) == pytest.approx(best.reach, abs=SLACK)


@given(st.data())
def test_the_exact_optimum_in_total_is_that_of_trying_all(data):
    choice = data.draw(selections())
    costs = data.draw(
        st.lists(
            st.sampled_from((0.5, 1.0, 2.0)),
            min_size=choice.n_requests,
            max_size=choice.n_requests,
        )
    )
    budget = data.draw(st.integers(0, 60))

    best = best_reach_in_total(choice, costs, budget, exact=True)

    tried = best_by_trying(choice, lambda kept: fits_in_total(choice, kept, costs, budget))
    assert best.reach == pytest.approx(tried, abs=SLACK)


@given(st.data())
def test_relaxation_above_optimum_above_heuristics(data):
    choice = data.draw(selections(max_items=8, max_demands=12))
    budgets = data.draw(budgets_for(choice))

    relaxed = best_reach(choice, budgets, exact=False).reach
    best = best_reach(choice, budgets, exact=True).reach
    greedy = better_greedy(choice, budgets)

    assert relaxed >= best - SLACK
    assert best >= greedy.reach - SLACK
    assert greedy.reach == max(belady(choice, budgets).reach, density(choice, budgets).reach)


@given(st.data())
def test_more_room_never_reaches_less(data):
    choice = data.draw(selections())
    budgets = data.draw(budgets_for(choice))
    more = [budget + data.draw(st.integers(0, 5)) for budget in budgets]

    assert best_reach(choice, more).reach >= best_reach(choice, budgets).reach - SLACK
