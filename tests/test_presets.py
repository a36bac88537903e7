"""What presets are; that the originals select the same is in tests/peers."""

import pytest

from compaction.contract.search import Plan, search
from compaction.contract.targets import Target
from compaction.errors import StrategyError
from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import Usage, drive
from compaction.messages import Message, ToolCall
from compaction.registry import PRESETS, make_strategy
from compaction.strategy import Context, Request, parameters_of
from compaction.tokens import CharCounter

# reference/systems.md, parts 1 and 4, and the sources that each preset names.
DEFAULTS = {
    "anthropic_clear_tool_uses": {
        "trigger_tokens": 100_000,
        "keep_last_results": 3,
        "min_reclaim_tokens": 0,
        "clear_arguments": False,
    },
    "langchain_clear_tool_uses": {
        "trigger_tokens": 100_000,
        "keep_last_results": 3,
        "stop_after_tokens": None,
        "clear_arguments": False,
        "placeholder": "[cleared]",
    },
    "langchain_summarization": {"keep_tail_messages": 20, "max_input_tokens": 4_000},
    "inspect_edit": {"trigger_tokens": int(0.9 * 128_000), "keep_last_results": 3},
    "inspect_trim": {"trigger_tokens": int(0.9 * 128_000), "keep_tail_fraction": 0.8},
    "inspect_summary": {"trigger_tokens": int(0.9 * 128_000)},
    "pydantic_ai_clear_tool_results": {"keep_last_results": 3, "clear_arguments": False},
    "pydantic_ai_sliding_window": {"keep_tail_messages": 40, "keep_first_user": True},
    "pydantic_ai_summarization": {"keep_tail_messages": 20, "keep_first_user": True},
}


def rounds(n):
    yield Message("system", "Be brief.")
    yield Message("user", "Find it.")
    for at in range(n):
        yield Message("assistant", None, tool_calls=(ToolCall(f"c{at}", "read", '{"a": 1}'),))
        yield Message("tool", f"{at}" * 100, tool_call_id=f"c{at}")


def texts(name, parameters, messages, *, usage=None):
    compactor = make_strategy(name, parameters).start(Context(CharCounter()))
    if usage is not None:
        drive(compactor.steps(History(messages), Request(0)), ExtractiveModel())
        compactor.record_usage(Usage(usage, 1))
    view = drive(compactor.steps(History(messages), Request(1)), ExtractiveModel())
    return [message.text[:1] for message in view.messages if message.is_result]


@pytest.mark.parametrize("name", PRESETS)
def test_defaults_are_those_of_the_source(name):
    found = parameters_of(make_strategy(name))

    assert {key: found[key] for key in DEFAULTS[name]} == DEFAULTS[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_passes_the_contract_suite_and_acts(name):
    outcome = search(Target(name), Plan(examples=20))

    assert outcome.broken == {}
    assert outcome.has_acted


def test_least_amounts_differ_all_or_nothing_there_stop_once_reached_here():
    # Eight results of 100 characters, three kept: five may go, each worth less than 100.
    parameters = {"trigger_tokens": "10", "keep_last_results": "3"}
    messages = tuple(rounds(8))

    def left(name, **more):
        return "".join(texts(name, {**parameters, **more}, messages))

    assert left("anthropic_clear_tool_uses", min_reclaim_tokens="500") == "01234567"
    assert left("anthropic_clear_tool_uses", min_reclaim_tokens="100") == "[[[[[567"
    assert left("langchain_clear_tool_uses", stop_after_tokens="100") == "[[234567"
    assert left("langchain_clear_tool_uses", stop_after_tokens="500") == "[[[[[567"


def test_what_the_provider_counted_decides_where_the_framework_keeps_what_it_sent():
    messages = tuple(rounds(8))
    parameters = {"trigger_tokens": "5000"}

    def is_cleared(name, usage):
        return "[" in "".join(texts(name, parameters, messages, usage=usage))

    assert not is_cleared("pydantic_ai_clear_tool_results", 5_000)
    assert is_cleared("pydantic_ai_clear_tool_results", 5_001)
    # These look at the whole history each time, of which a provider that saw less says nothing.
    assert not is_cleared("langchain_clear_tool_uses", 9_999)
    assert not is_cleared("anthropic_clear_tool_uses", 9_999)


def test_clearing_anew_each_time_does_not_stop_once_the_provider_counts_less():
    messages = tuple(rounds(9))
    size = sum(map(CharCounter().count, messages[:16]))
    compactor = make_strategy("anthropic_clear_tool_uses", {"trigger_tokens": str(size)}).start(
        Context(CharCounter())
    )
    cleared = []
    for length in (16, 18, 20):
        view = drive(compactor.steps(History(messages[:length]), Request(0)), ExtractiveModel())
        cleared.append(sum(m.text.startswith("[") for m in view.messages))
        compactor.record_usage(Usage(10, 1))

    assert cleared == [0, 5, 6]


def test_a_summary_preset_wants_one_tail():
    with pytest.raises(StrategyError, match="at most one of keep_tail_messages"):
        make_strategy(
            "langchain_summarization", {"keep_tail_messages": "3", "keep_tail_tokens": "5"}
        )
    assert make_strategy("langchain_summarization", {"keep_tail_tokens": "5"}) is not None


def test_a_capability_without_a_trigger_is_refused():
    with pytest.raises(StrategyError, match="one of trigger_messages and trigger_tokens"):
        make_strategy("pydantic_ai_sliding_window", {"trigger_messages": "none"})
