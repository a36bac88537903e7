"""Strategies made to compact at one point to one size."""

import pytest

from compaction.extractive import ExtractiveModel
from compaction.registry import STRATEGIES
from compaction.strategy import Request
from compaction.systems.my_pi_agent import estimate_tokens
from evals.audit.contestants import Place, placed
from evals.prepare import prepare
from evals.settings import Setting
from evals.transcripts import Transcript
from tests.audit_cases import messages, segment

ROUND_TOKENS = 100
ROUNDS = [
    ("call", f"r{n}", "read_file", {"path": f"/srv/{n}.py"}, "word " * ROUND_TOKENS)
    for n in range(40)
]


def place(budget_tokens, rounds=ROUNDS):
    told = messages((("user", "Fix it."), *rounds, ("user", "Go on."), ("says", "Yes.")))
    prepared = prepare(Transcript("t", (segment(told),)))
    history = prepared.segments[0].history.prefix(len(told) - 1)
    return Place(prepared, history, Request(0), budget_tokens, n_new=1)


def at(budget_tokens, name, **parameters):
    setting = Setting(name, {key: str(value) for key, value in parameters.items()})
    return placed(setting, place(budget_tokens), ExtractiveModel())


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_compacts_there(name):
    whole = at(10**9, "identity").tokens

    # A preview of 2,000 characters is longer than these results.
    short = {"preview_chars": 20} if name == "offload_large_results" else {}

    found = at(whole // 2, name, **short)

    assert 0 < found.tokens < whole
    assert found.view.events


@pytest.mark.parametrize(
    "name",
    ["clear_tool_results", "drop_oldest", "snip_middle", "summarize", "truncate", "my_pi_agent"],
)
@pytest.mark.parametrize("budget_tokens", [1_500, 3_000])
def test_a_strategy_with_something_to_fit_is_as_large_as_fits(name, budget_tokens):
    found = at(budget_tokens, name)

    assert found.tokens <= budget_tokens
    assert found.was_set


def test_one_more_result_or_message_would_not_have_fitted():
    for name, parameter in (
        ("clear_tool_results", "keep_last_results"),
        ("drop_oldest", "keep_tail_messages"),
        ("snip_middle", "max_messages"),
    ):
        fitted = int(at(3_000, name).was_set[parameter])
        # Groups of two messages: two more are one more group.
        assert at(3_000, name, **{parameter: fitted + 2}).tokens > 3_000


def test_thresholds_are_set_to_the_size_in_their_unit():
    assert at(3_000, "xun").was_set == {"token_threshold": "3000"}
    (chars,) = at(3_000, "three_layer").was_set.values()
    # The history's JSON has some five characters a token: "word " is one.
    assert 4.5 < int(chars) / 3_000 < 6.5


@pytest.mark.parametrize(("given", "budget"), [({}, 3_750), ({"trigger_fraction": 0.5}, 6_000)])
def test_a_strategy_that_starts_at_a_part_of_its_budget_starts_at_the_size(given, budget):
    found = at(3_000, "my_pi_agent", **given)

    assert found.was_set["context_budget"] == str(budget)
    assert found.tokens <= 3_000
    assert not any(event.tier == "Summarize" for event in found.view.events)


def test_if_what_it_then_leaves_does_not_fit_it_starts_below():
    """It takes four characters for a token; these texts have one, so it would start too late."""
    rounds = [(*made, "号" * 190) for *made, _ in ROUNDS]
    history = place(0, rounds).history
    where = place(round(estimate_tokens(history.messages()) / 0.9), rounds)

    found = placed(Setting("my_pi_agent", {"max_messages": "1000"}), where, ExtractiveModel())

    assert history.total(where.prepared.counter) > where.budget_tokens
    assert found.was_set["context_budget"] == str(where.budget_tokens)
    assert found.tokens <= where.budget_tokens


def test_a_strategy_that_is_not_over_the_size_does_nothing():
    for name in ("xun", "three_layer"):
        found = at(10**6, name)
        assert not any(event.tier == "Summarize" for event in found.view.events)


def test_what_never_fits_is_the_smallest_that_there_is():
    found = at(50, "clear_tool_results")

    assert found.was_set == {"keep_last_results": "0"}
    assert found.tokens > 50
