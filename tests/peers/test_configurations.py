"""What `recommend` prints, run with the libraries themselves: the objects say the same."""

import json
from importlib.util import find_spec

import pytest

from compaction.messages import Message
from compaction.registry import make_strategy
from compaction.tokens import EstimatingCounter
from evals.settings import resolved_parameters
from reports.configuration import configurations
from reports.shares import Share
from reports.units import Scale

pytestmark = pytest.mark.filterwarnings("ignore")


SAME = (Scale(1.0, 0.0, 0.0, 1.0),)
"""Everybody counts as we do."""


def needs(module):
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


inspect_ai = needs("inspect_ai")
langchain = needs("langchain")
pydantic_ai = needs("pydantic_ai_harness")
anthropic = needs("anthropic")


def made(strategy, framework, given, **names):
    resolved = resolved_parameters(make_strategy(strategy, given))
    forms = {
        form.framework: form
        for form in configurations(strategy, resolved, given=given, scales=SAME)
    }
    exec(forms[framework].text, names)
    return names


def written(strategy, given):
    resolved = resolved_parameters(make_strategy(strategy, given))
    return json.loads(configurations(strategy, resolved, given=given, scales=SAME)[0].text)


@anthropic
@pytest.mark.parametrize(
    ("strategy", "given"),
    [
        ("anthropic_clear_tool_uses", {}),
        (
            "anthropic_clear_tool_uses",
            {
                "trigger_tokens": 30_000,
                "keep_last_results": 5,
                "min_reclaim_tokens": 5_000,
                "exempt_tools": ["web_search"],
                "clear_arguments": True,
            },
        ),
        ("clear_tool_results", {"keep_last_results": 4}),
    ],
)
def test_anthropic_takes_the_json(strategy, given):
    from anthropic.types.beta import BetaClearToolUses20250919EditParam as Edit
    from anthropic.types.beta import BetaContextManagementConfigParam
    from pydantic import TypeAdapter

    content = written(strategy, given)["context_management"]
    (edit,) = content["edits"]

    assert TypeAdapter(BetaContextManagementConfigParam).validate_python(content)
    assert TypeAdapter(Edit).validate_python(edit) == edit
    assert set(edit) <= set(Edit.__annotations__)


@langchain
def test_langchain_makes_the_clearing_middleware():
    given = {"keep_last_results": 5, "stop_after_tokens": 900, "exempt_tools": ["b", "a"]}

    (middleware,) = made("langchain_clear_tool_uses", "LangChain", given)["middleware"]

    (edit,) = middleware.edits
    assert (edit.trigger, edit.keep, edit.clear_at_least) == (100_000, 5, 900)
    assert (edit.exclude_tools, edit.placeholder) == (("a", "b"), "[cleared]")


@langchain
@pytest.mark.parametrize(
    ("given", "keep"),
    [
        ({"trigger_tokens": 9_000}, ("messages", 20)),
        ({"trigger_tokens": 9_000, "keep_tail_tokens": 500}, ("tokens", 500)),
    ],
)
def test_langchain_makes_the_summarising_middleware(given, keep):
    from langchain_core.language_models import FakeListChatModel

    model = FakeListChatModel(responses=["x"])

    found = made("langchain_summarization", "LangChain", given, model=model)["summarization"]

    assert (found.trigger, found.keep) == (("tokens", 9_000), keep)
    assert found.trim_tokens_to_summarize == 4_000


@inspect_ai
def test_inspect_makes_its_three_strategies():
    edit = made("inspect_edit", "Inspect", {"keep_last_results": 7})["compaction"]
    trim = made("inspect_trim", "Inspect", {"keep_tail_fraction": 0.5})["compaction"]
    summary = made("inspect_summary", "Inspect", {"trigger_tokens": 500})["compaction"]

    assert (edit.threshold, edit.keep_tool_uses, edit.keep_thinking_turns) == (115_200, 7, "all")
    assert (trim.threshold, trim.preserve) == (115_200, 0.5)
    assert summary.threshold == 500


@pydantic_ai
def test_pydantic_ai_makes_its_capabilities():
    where = "pydantic-ai-harness"
    clear = made("pydantic_ai_clear_tool_results", where, {"exempt_tools": ["a"]})["compaction"]
    window = made("pydantic_ai_sliding_window", where, {"keep_tail_tokens": 500})["compaction"]
    summary = made("pydantic_ai_summarization", where, {"keep_first_user": False})["compaction"]

    assert (clear.max_tokens, clear.keep_pairs, clear.exclude_tools) == (
        100_000,
        3,
        frozenset({"a"}),
    )
    assert (window.max_messages, window.max_tokens, window.keep_tokens) == (80, None, 500)
    assert (summary.max_messages, summary.keep_messages) == (60, 20)
    assert summary.preserve_first_user_message is False


@langchain
@inspect_ai
@pydantic_ai
def test_a_bare_tier_is_made_by_every_framework_that_has_it():
    given = {"keep_last_results": 2, "trigger_tokens": 5_000}

    (middleware,) = made("clear_tool_results", "LangChain", given)["middleware"]
    edit = made("clear_tool_results", "Inspect", given)["compaction"]
    clear = made("clear_tool_results", "pydantic-ai-harness", given)["compaction"]

    assert (middleware.edits[0].trigger, middleware.edits[0].keep) == (5_000, 2)
    assert (edit.threshold, edit.keep_tool_uses) == (5_000, 2)
    assert (clear.max_tokens, clear.keep_pairs) == (5_000, 2)


def made_of_shares(strategy, framework, *names, **others):
    """Make the objects of a setting whose sizes were half of each transcript's peak."""
    resolved = resolved_parameters(make_strategy(strategy, {**others, **dict.fromkeys(names, 9)}))
    shares = dict.fromkeys(names, Share("50%", (1_000, 4_000, 4_500, 9_000)))
    found = configurations(strategy, resolved, shares=shares, scales=4 * SAME)
    forms = {form.framework: form for form in found}
    return forms[framework].text


@anthropic
def test_anthropic_takes_the_median_of_a_share():
    from anthropic.types.beta import BetaContextManagementConfigParam
    from pydantic import TypeAdapter

    text = made_of_shares("anthropic_clear_tool_uses", "Anthropic Messages API", "trigger_tokens")

    content = json.loads(text)["context_management"]
    assert TypeAdapter(BetaContextManagementConfigParam).validate_python(content)
    assert content["edits"][0]["trigger"] == {"type": "input_tokens", "value": 4_250}


@langchain
def test_langchain_takes_the_medians_of_shares():
    from langchain_core.language_models import FakeListChatModel

    names = {"model": FakeListChatModel(responses=["x"])}
    sizes = ("trigger_tokens", "keep_tail_tokens")
    exec(made_of_shares("langchain_summarization", "LangChain", *sizes), names)

    found = names["summarization"]
    assert (found.trigger, found.keep) == (("tokens", 4_250), ("tokens", 4_250))
    clearing = {}
    exec(made_of_shares("langchain_clear_tool_uses", "LangChain", "trigger_tokens"), clearing)
    assert clearing["edit"].trigger == 4_250


@langchain
@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "You are x." * 9},
        {"role": "user", "content": "hello " * 50, "name": "bob"},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [
                {
                    "id": f"c{at}",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "a/b.py", "n": 3}'},
                }
                for at in range(2)
            ],
        },
        {"role": "tool", "content": "y" * 501, "tool_call_id": "c1"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hm" * 20},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ],
        },
    ],
    ids=lambda message: message["role"],
)
def test_the_estimate_of_langchain_is_counted_as_it_counts(message):
    from langchain_core.messages.utils import count_tokens_approximately

    counted = EstimatingCounter().count(Message.from_openai(message))

    assert counted == count_tokens_approximately([message])


@inspect_ai
def test_inspect_takes_a_share_of_the_window():
    for strategy in ("inspect_edit", "inspect_trim", "inspect_summary"):
        names = {}
        exec(made_of_shares(strategy, "Inspect", "trigger_tokens"), names)

        threshold = names["compaction"].threshold
        assert (threshold, type(threshold)) == (0.5, float)


@pydantic_ai
@pytest.mark.parametrize(
    "strategy",
    [
        "pydantic_ai_clear_tool_results",
        "pydantic_ai_sliding_window",
        "pydantic_ai_summarization",
    ],
)
def test_pydantic_ai_takes_a_share_of_the_window(strategy):
    names = {}
    exec(made_of_shares(strategy, "pydantic-ai-harness", "trigger_tokens"), names)

    compaction = names["compaction"]
    assert (compaction.max_fraction, compaction.max_tokens) == (0.5, None)
