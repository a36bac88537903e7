"""Closed forms against numbers from their sources, and against a simulation."""

from math import inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evals.cost import charge
from evals.money.break_even import (
    Repayment,
    absorbed_requests,
    break_even_requests,
    optimal_trigger_tokens,
    repaid_fraction,
    typical_break_even,
)
from evals.money.price_list import list_price
from tests.cost_cases import cache, prices, send, system, user

TODAY = "2026-11-30"


@pytest.mark.parametrize(
    ("model", "multiplier"),
    [
        # Source: distil, docs/research/policy-simulator.md, (w - r) / r by provider; recomputed
        # from list prices: gpt-4o (2.5 - 1.25) / 1.25, gpt-4.1 (2 - 0.5) / 0.5 and so on.
        ("gpt-4o", 1.0),
        ("gpt-4.1", 3.0),
        ("gpt-5.4", 9.0),
        ("gemini-2.5-pro", 9.0),
        ("claude-sonnet-4-5", 11.5),
        ("gpt-5.6-terra", 11.5),
        ("gemini-4-argon", 19.0),
        ("claude-sonnet-5-5", 24.0),
        ("gpt-6.1-sol", 24.0),
        ("claude-fable-5-1", 49.0),
        ("deepseek-v4-flash", 49.0),
    ],
)
def test_clearing_as_much_as_stands_behind_it_pays_after(model, multiplier):
    rates = list_price(model, TODAY).rates

    found = break_even_requests(1_000, 1_000, read_usd=rates.read, write_usd=rates.write)

    assert found == pytest.approx(multiplier)


@pytest.mark.parametrize(
    ("model", "requests"),
    [("claude-sonnet-4-5", 5.75), ("claude-sonnet-5-5", 12.0), ("deepseek-v4-flash", 24.5)],
)
def test_clearing_40k_with_20k_behind_them(model, requests):
    # 20/40 of the multipliers above: 0.5 x 11.5, 0.5 x 24, 0.5 x 49.
    rates = list_price(model, TODAY).rates

    found = break_even_requests(40_000, 20_000, read_usd=rates.read, write_usd=rates.write)

    assert found == pytest.approx(requests)


def test_compacting_at_every_request_pays_if_92_percent_go():
    # Source: quotientlabs.com, 2026-06-16: with writes at 12.5 times the price of reads, at least
    # 92 % must be removed each time. That is R / (R + S) = 1 - r / w, where N* is 1.
    removed, kept = 92, 8

    assert break_even_requests(removed, kept, read_usd=1.0, write_usd=12.5) == pytest.approx(1.0)
    assert break_even_requests(91, 9, read_usd=1.0, write_usd=12.5) > 1


def test_model_calls_are_repaid_too():
    # 10,000 tokens removed save 10,000 x 1 / 10^6 = 0.01 USD a request; a call for 0.05 takes 5.
    assert break_even_requests(10_000, 0, read_usd=1, write_usd=12.5, calls_usd=0.05) == 5.0


def test_what_removes_nothing_is_never_repaid():
    assert break_even_requests(0, 100, read_usd=1, write_usd=2) == inf
    assert break_even_requests(-5, 100, read_usd=1, write_usd=2) == inf
    assert break_even_requests(100, 100, read_usd=0, write_usd=2) == inf


def test_compacting_what_was_lost_anyway_pays_at_once():
    assert break_even_requests(1_000, -1_000, read_usd=1, write_usd=12.5) == 0.0


@given(
    kept=st.integers(2_000, 20_000),
    removed=st.integers(500, 20_000),
    behind=st.integers(500, 20_000),
    rule=st.sampled_from(["anthropic-5m", "openai-5.6", "gemini"]),
)
def test_the_break_even_is_where_the_simulated_bills_meet(kept, removed, behind, rule):
    """Two conversations, one of which removes a message once; both then grow alike."""
    fitting = prices(rule, write=12.5 if rule != "gemini" else 10.0)
    expected = break_even_requests(
        removed, behind, read_usd=fitting.rates.read, write_usd=fitting.rates.write
    )
    assume(expected < 200)
    whole = int(expected + 1e-9)  # a break-even of 9 requests may be 8.999...
    start = (system(4_096 + kept), user(removed, mark="r"), user(behind))
    compacted = (start[0], start[2])

    saved = []
    plain, short = cache(rule), cache(rule)
    send(plain, *start), send(short, *start)
    for number in range(1, whole + 2):
        grown = [user(1, mark=chr(ord("a") + n % 26)) for n in range(number)]
        bills = [
            charge(send(held, *view, *grown).split, 0, fitting).total
            for held, view in ((plain, start), (short, compacted))
        ]
        saved.append((saved[-1] if saved else 0.0) + bills[0] - bills[1])

    assert all(total <= 1e-9 for total in saved[:whole])
    assert saved[-1] > 0


def bill_per_request(trigger, reset, growth, once_usd, read_usd):
    """Simulate a cycle: a conversation grows evenly until it is above a size, then starts over."""
    size, spent, n_requests = reset, once_usd, 0
    while size <= trigger:
        spent += size * read_usd / 1_000_000
        n_requests += 1
        size += growth
    return spent / n_requests


@given(
    reset=st.integers(1_000, 60_000),
    growth=st.integers(200, 5_000),
    once_usd=st.floats(0.01, 1.0),
    read_usd=st.floats(0.05, 1.0),
)
def test_no_trigger_is_much_cheaper_than_the_optimal_one(reset, growth, once_usd, read_usd):
    best = optimal_trigger_tokens(reset, growth, once_usd=once_usd, read_usd=read_usd)
    assume(growth < best - reset < 60 * growth)
    given_terms = (reset, growth, once_usd, read_usd)

    others = [reset + growth * steps for steps in range(1, int(3 * (best - reset) / growth) + 2)]
    cheapest = min(bill_per_request(trigger, *given_terms) for trigger in others)

    # Sizes come in steps of a request, so the form is right up to one of them.
    near = min(bill_per_request(best + shift, *given_terms) for shift in (0, growth))
    assert near <= cheapest * 1.01


def test_an_optimal_trigger_by_hand():
    # s = 10,000, g = 1,000, A = 0.045 USD, r = 1 USD per million: 2 g A / r is 90 x 10^6, with
    # g^2 it is 91 x 10^6, and its root 9,539.39.
    found = optimal_trigger_tokens(10_000, 1_000, once_usd=0.045, read_usd=1.0)

    assert found == pytest.approx(18_539.39, abs=0.01)


def test_a_trigger_is_optimal_where_growth_comes_in_exponential_steps():
    """There the mean of a cycle is exact: N = 1 + x / g requests that read s N + x^2 / (2 g)."""
    reset, growth, once_usd, read_usd = 10_000.0, 1_000.0, 0.045, 1.0

    def per_request(trigger):
        above = trigger - reset
        n_requests = 1 + above / growth
        read = reset * n_requests + above**2 / (2 * growth)
        return (once_usd + read * read_usd / 1_000_000) / n_requests

    best = optimal_trigger_tokens(reset, growth, once_usd=once_usd, read_usd=read_usd)

    assert per_request(best) < min(per_request(best - 10), per_request(best + 10))


def test_what_is_saved_absorbs_some_extra_requests():
    # 2 USD saved, 50,000 tokens removed, 0.02 USD a request: 100 requests, 2 per 1,000 tokens.
    assert absorbed_requests(2.0, 50_000, 0.02) == pytest.approx(2.0)
    assert absorbed_requests(-1.0, 50_000, 0.02) == pytest.approx(-1.0)
    assert absorbed_requests(2.0, 0, 0.02) is None
    assert absorbed_requests(2.0, 50_000, 0.0) is None


def test_a_compaction_is_repaid_if_it_was_used_long_enough():
    repayments = [Repayment(5.0, 5), Repayment(5.1, 5), Repayment(inf, 100), Repayment(0.0, 1)]

    assert [each.is_repaid for each in repayments] == [True, False, False, True]
    assert repaid_fraction(repayments) == 0.5
    assert repaid_fraction([]) is None


def test_the_typical_break_even_is_the_median():
    assert typical_break_even([Repayment(1.0, 1), Repayment(9.0, 1), Repayment(3.0, 1)]) == 3.0
    assert typical_break_even([Repayment(1.0, 1), Repayment(inf, 1), Repayment(inf, 1)]) is None
    assert typical_break_even([]) is None
