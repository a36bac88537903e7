"""Break-even, repaid share, optimal trigger and lambda* against simulated bills of growing talks.

Each bill is made by the prompt cache, request by request; the closed forms see none of it.
"""

from math import ceil

import pytest

from evals.cost import charge
from evals.money.break_even import optimal_trigger_tokens
from tests.cost_cases import cache, prices, says, send, system, user
from tests.needs_cases import prepared, result, steps
from tests.needs_cases import says as answers
from tests.needs_cases import user as asks
from tests.test_cost_score import PER, Rule, scored, without_the_log

CLEARED_AT = 4
"""The request before which `without_the_log` clears the first result; counted from 1."""


def talk(words: int, requests: int):
    """Return a conversation that grows evenly behind a result of so many words."""
    read = answers("", ("c1", "read_notes", {"n": 1}))
    return (
        asks("Find it."),
        read,
        result("c1", "the nightly export writes every booking " * (words // 6)),
        *steps(requests - 1),
    )


@pytest.mark.parametrize("words", [40, 60, 120, 240])
def test_a_compaction_is_repaid_where_the_simulated_bills_meet(words):
    def columns(requests):
        return scored(Rule(without_the_log), conversation=prepared(*talk(words, requests))).columns

    expected = columns(CLEARED_AT + 1)["break_even_requests"]
    last = CLEARED_AT - 1 + ceil(expected)
    assert 1 < expected < 40

    before, after = columns(last - 1), columns(last)

    assert (before["saved_usd"] < 0, before["repaid_fraction"]) == (True, 0)
    assert (after["saved_usd"] >= 0, after["repaid_fraction"]) == (True, 1)
    assert before["break_even_requests"] == pytest.approx(expected)


@pytest.mark.parametrize("requests", [8, 60])
def test_so_many_extra_requests_use_up_what_was_saved(requests):
    found = scored(Rule(without_the_log), conversation=prepared(*talk(600, requests))).columns

    extra = found["absorbed_requests"] * found["removed_tokens"] / 1_000
    price = found["cost_after_usd"] / requests
    assert found["cost_after_usd"] + extra * price == pytest.approx(found["cost_before_usd"])
    assert (extra > 0) == (found["saved_usd"] > 0)


def mean_bill(trigger: float, *, kept: int, summary: int, growth: int, calls_usd: float) -> float:
    """Simulate five cycles: grow until above a size, then start over from a summary."""
    fitting, held = prices("anthropic-5m"), cache("anthropic-5m")
    spent, n_requests = 0.0, 0
    for cycle in range(5):
        view = [system(kept), user(summary, mark=chr(ord("a") + cycle))]
        spent += calls_usd
        size = kept + summary
        while size <= trigger:
            spent += charge(send(held, *view).split, 0, fitting).total
            n_requests += 1
            view.append(says(growth, mark=chr(ord("A") + n_requests % 26)))
            size += growth
    return spent / n_requests


@pytest.mark.parametrize(
    ("kept", "summary", "growth", "calls_usd"),
    [(4_096, 1_000, 300, 0.002), (8_000, 2_000, 700, 0.05), (2_000, 4_000, 500, 0.02)],
)
def test_summaries_cost_least_at_the_optimal_trigger(kept, summary, growth, calls_usd):
    rates = prices().rates
    # What a summary costs at once: the calls, and that it is written where it would be read.
    once_usd = calls_usd + summary * (rates.write - rates.read) / PER
    reset = kept + summary
    terms = {"kept": kept, "summary": summary, "growth": growth, "calls_usd": calls_usd}

    best = optimal_trigger_tokens(reset, growth, once_usd=once_usd, read_usd=rates.read)

    steps_to_best = (best - reset) / growth
    assert steps_to_best > 3
    bills = {
        steps: mean_bill(reset + growth * steps, **terms)
        for steps in range(1, int(3 * steps_to_best))
    }
    cheapest = min(bills, key=bills.__getitem__)
    # Sizes come in steps of a request, and all but the first summary break a cache.
    assert abs(cheapest - steps_to_best) <= 1.5
    assert mean_bill(best, **terms) <= bills[cheapest] * 1.01
    assert bills[cheapest] < min(bills[1], bills[max(bills)]) * 0.99
