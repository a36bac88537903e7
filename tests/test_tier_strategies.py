from dataclasses import fields

import pytest

from compaction.contract.search import Plan, search
from compaction.contract.targets import Target
from compaction.errors import StrategyError
from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import drive
from compaction.messages import Message, ToolCall
from compaction.registry import TIERS, load_strategy_class, make_strategy, parameter_types
from compaction.strategy import Context, Request
from compaction.tiers import (
    ClearToolResults,
    DropOldest,
    OffloadLargeResults,
    SnipMiddle,
    Summarize,
)
from compaction.tokens import CharCounter

TIER_OF = {
    "clear_tool_results": ClearToolResults,
    "snip_middle": SnipMiddle,
    "offload_large_results": OffloadLargeResults,
    "drop_oldest": DropOldest,
    "summarize": Summarize,
}


def rounds(n, chars=100):
    yield Message("system", "Be brief.")
    yield Message("user", "Find it.")
    for at in range(n):
        yield Message("assistant", None, tool_calls=(ToolCall(f"c{at}", "read", "{}"),))
        yield Message("tool", f"{at}" * chars, tool_call_id=f"c{at}")


def view_of(strategy, messages):
    compactor = strategy.start(Context(CharCounter()))
    return drive(compactor.steps(History(messages), Request(0)), ExtractiveModel())


def kept_results(view):
    return [
        e.message.text[0] for e in view.entries if e.message.is_result and e.origin.kind == "whole"
    ]


def test_every_tier_has_a_strategy_with_all_its_fields_and_a_trigger():
    assert set(TIERS) == set(TIER_OF)
    for name, tier in TIER_OF.items():
        assert set(parameter_types(load_strategy_class(name))) == {
            "trigger_tokens",
            *(item.name for item in fields(tier)),
        }


def test_sizes_have_a_unit_so_that_shares_of_the_peak_are_allowed():
    found = {
        item.name: item.metadata.get("unit") for item in fields(load_strategy_class("summarize"))
    }

    assert found["trigger_tokens"] == found["keep_tail_tokens"] == "counted_tokens"
    assert found["max_input_chars"] == "chars"
    assert found["keep_tail_messages"] is None


def test_the_tier_gets_every_parameter():
    strategy = make_strategy("clear_tool_results", {"keep_last_results": "1", "min_chars": "50"})

    assert strategy.tier() == ClearToolResults(keep_last_results=1, min_chars=50)


def test_without_a_rule_three_results_stay_and_a_rule_replaces_that():
    assert make_strategy("clear_tool_results").keep_last_results == 3
    other = make_strategy("clear_tool_results", {"protect_tokens": "500"})
    assert (other.keep_last_results, other.protect_tokens) == (None, 500)
    assert make_strategy("summarize").keep_tail_messages == 20
    assert make_strategy("summarize", {"keep_tail_turns": "2"}).keep_tail_messages is None
    assert make_strategy("drop_oldest").keep_tail_messages == 40


def test_without_a_trigger_it_runs_at_every_request():
    strategy = make_strategy("clear_tool_results", {"keep_last_results": "2"})

    assert kept_results(view_of(strategy, rounds(5))) == ["3", "4"]


def test_it_runs_above_the_trigger_and_not_at_it():
    messages = tuple(rounds(5))
    size = sum(map(CharCounter().count, messages))

    def kept(trigger):
        parameters = {"keep_last_results": "2", "trigger_tokens": str(trigger)}
        return kept_results(view_of(make_strategy("clear_tool_results", parameters), messages))

    assert kept(size) == ["0", "1", "2", "3", "4"]
    assert kept(size - 1) == ["3", "4"]


def test_guard_and_prompt_are_json():
    strategy = make_strategy(
        "summarize", {"guard": '{"reject_grown": false}', "prompt": '{"sections": ["## All"]}'}
    )

    assert strategy.promises.grows
    assert strategy.tier().prompt.sections == ("## All",)


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("clear_tool_results", {"keep_last_results": "-1"}, "keep_last_results must be >= 0"),
        ("snip_middle", {"max_messages": "4"}, "max_messages must be >= keep_head + 2"),
        ("summarize", {"trigger_tokens": "-1"}, "trigger_tokens must be >= 0, got -1"),
        ("drop_oldest", {"keep_tail_fraction": "1.5"}, "keep_tail_fraction must be <= 1"),
        (
            "drop_oldest",
            {"keep_tail_fraction": "0.5", "keep_tail_messages": "3"},
            "exactly one of keep_tail_messages, keep_tail_tokens, keep_tail_fraction must be set",
        ),
    ],
)
def test_what_the_tier_refuses_is_refused(name, parameters, said):
    with pytest.raises(StrategyError, match=said.replace("+", r"\+")):
        make_strategy(name, parameters)


def test_promises_follow_the_parameters():
    def promised(name, **parameters):
        return make_strategy(name, parameters).promises

    assert promised("clear_tool_results").monotone_parameters == ("keep_last_results",)
    assert promised("clear_tool_results", trigger_tokens="9").monotone_parameters == ()
    assert promised("clear_tool_results", placeholder="[{handle}]").recoverable
    assert not promised("clear_tool_results").recoverable
    assert not promised("offload_large_results", literal_handles="true").recoverable
    assert not promised("summarize", place="system").keeps_system
    assert promised("summarize", hoist_last_user="true").keeps_last_user


@pytest.mark.slow
@pytest.mark.parametrize("name", TIERS)
def test_every_tier_strategy_passes_the_contract_suite_and_acts(name):
    outcome = search(Target(name), Plan(examples=20))

    assert outcome.broken == {}
    assert outcome.has_acted
