"""Every strategy whose summaries something writes pays for them, whoever writes them."""

from functools import cache

import pytest

from compaction.extractive import ExtractiveModel
from compaction.llm import NoModel
from compaction.registry import load_strategy_class, parameter_types
from evals.facts import find_facts
from evals.money.price_choice import Priced
from evals.money.pricing import price_transcript
from evals.needs import find_needs
from evals.prepare import prepare
from evals.probing.once import PROMPT_NAMES
from evals.scorers import Material
from evals.scoring import score
from evals.settings import KNOWN, Setting, bind
from evals.synthetic import generate
from tests.cost_cases import prices

TRIGGERS = (
    "token_threshold",
    "context_budget",
    "context_limit_chars",
    "trigger_tokens",
    "at_tokens",
    "keep_tokens",
)
"""Parameters that say when a strategy starts."""
SUMMARISES = {
    *("xun", "my_pi_agent", "three_layer", "summarize", "summary_once"),
    *("langchain_summarization", "inspect_summary", "pydantic_ai_summarization"),
}


@cache
def material():
    conversation = prepare(generate(81, seed=3, plant_every=4, round_chars=600))
    pricing = price_transcript(conversation, Priced(prices(), "given"))
    return Material(conversation, find_needs(conversation), find_facts(conversation), pricing)


def scored(name, model=None, **parameters):
    setting = Setting(name, {**early(name), **parameters})
    return score(material(), bind(setting, material().prepared), model or ExtractiveModel())


def early(name):
    """Return the parameters under which a strategy starts long before the conversation ends."""
    known = parameter_types(load_strategy_class(name, table=KNOWN))
    trigger = next((each for each in TRIGGERS if each in known), None)
    own = {"by": "extractive"} if "by" in known else {}
    return own if trigger is None else {trigger: "25%", **own}


@pytest.mark.parametrize("name", KNOWN)
def test_each_call_that_a_strategy_says_it_made_is_priced(name):
    found = scored(name)
    columns, calls = found.columns, found.sidecar["cost"]["own_calls"]

    assert (columns["model_calls"] > 0) == (name in SUMMARISES)
    assert len(calls) == columns["model_calls"]
    assert all(sent > 0 and got > 0 and usd > 0 for _, sent, got, usd in calls)
    assert columns["own_calls_usd"] == pytest.approx(sum(usd for *_, usd in calls), abs=1e-6)
    assert (columns["own_input_tokens"] > 0) == (columns["own_calls_usd"] > 0) == bool(calls)


@pytest.mark.parametrize("prompt", PROMPT_NAMES)
def test_an_extractive_summary_costs_what_the_same_call_to_a_model_would(prompt):
    written = scored("summary_once", NoModel(), prompt=prompt).columns
    answered = scored("summary_once", prompt=prompt, by="model").columns

    assert written["own_calls_usd"] > 0
    for name in ("own_calls_usd", "own_input_tokens", "own_output_tokens", "cost_after_usd"):
        assert written[name] == answered[name]
    assert written["break_even_requests"] == answered["break_even_requests"] > 0
