"""Two heuristics, each on the case that it is right about and on one that it is wrong about."""

from hypothesis import given
from hypothesis import strategies as st

from evals.fidelity.oracle_greedy import belady, better_greedy, density
from evals.oracle import best_reach
from tests.oracle_cases import budgets_for, fits, selection, selections

EQUAL = selection(
    [(4, 0), (4, 0), (4, 0)],
    [(2, 0.2, (0,)), (3, 0.3, (1,)), (6, 0.5, (2,))],
    7,
)
"""Messages of one size with one use each."""


def test_the_message_with_the_farthest_use_goes_first():
    found = belady(EQUAL, [8] * 7)

    assert found.reach == 0.5
    assert found.kept_until == {0: 2, 1: 3}


def test_of_two_used_at_the_same_request_the_larger_goes():
    choice = selection([(4, 0), (5, 0)], [(3, 0.4, (0,)), (3, 0.6, (1,))], 4)

    assert belady(choice, [8] * 4).kept_until == {0: 3}


def test_the_farthest_use_is_wrong_where_it_is_worth_more():
    """Best is to keep the last message, worth half, and the first, whose place it shares."""
    assert belady(EQUAL, [4] * 7).reach == 0.2
    assert best_reach(EQUAL, [4] * 7).reach == 0.5


def test_the_least_gain_per_token_and_request_goes_first():
    """Per token and request: 0.4 / (4 * 4) against 0.6 / (8 * 4)."""
    choice = selection([(4, 0), (8, 0)], [(3, 0.4, (0,)), (3, 0.6, (1,))], 4)

    assert density(choice, [8] * 4).kept_until == {0: 3}
    assert best_reach(choice, [8] * 4).reach == 0.6


def test_of_two_alike_the_one_that_must_stay_longer_goes():
    choice = selection([(4, 0), (4, 0)], [(2, 0.5, (0,)), (5, 0.5, (1,))], 6)

    assert density(choice, [4] * 6).kept_until == {0: 2}


def test_a_need_with_two_sources_is_credited_to_the_later():
    choice = selection([(4, 0), (4, 1)], [(5, 1.0, (0, 1))], 6)

    assert density(choice, [4] * 6).kept_until == {1: 5}


def test_a_message_that_serves_no_more_makes_room_at_once():
    choice = selection([(5, 0), (5, 3)], [(2, 0.5, (0,)), (5, 0.5, (1,))], 6)

    for heuristic in (belady, density):
        assert heuristic(choice, [5] * 6).reach == 1.0


@given(st.data())
def test_what_a_heuristic_keeps_fits_its_budgets(data):
    choice = data.draw(selections(max_items=8, max_demands=12))
    budgets = data.draw(budgets_for(choice))

    for heuristic in (belady, density, better_greedy):
        found = heuristic(choice, budgets)
        assert fits(choice, found.kept_until, budgets)
        assert found.reach == choice.reach(found.kept_until)
