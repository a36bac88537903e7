"""What needs, facts and the oracle cost, in tiktoken passes over the unique text, in one run.

Run with `pytest tests/benchmarks/test_fidelity_speed.py -n 0 -s`.
"""

import gc
import importlib
import time
from collections import Counter
from dataclasses import dataclass

import pytest

from compaction.extractive import ExtractiveModel
from compaction.vocabulary import load_encoding
from evals.extraction.common_names import is_common_name
from evals.facts import FactScorer, find_facts
from evals.fidelity.fates import FateTracker
from evals.fidelity.need_status import NeedScorer
from evals.fidelity.oracle_scorer import OracleScorer
from evals.needs import find_needs
from evals.prepare import prepare
from evals.replay import replay
from evals.scorers import Cell, Material
from evals.scoring import scorers_of
from evals.settings import Setting, bind
from evals.synthetic import generate
from tests.benchmarks.test_oracle_speed import seconds, tiktoken_pass

N_MESSAGES = 22_003
MAX_RATIO_TO_TIKTOKEN = 2.0
SETTINGS_OF_A_SWEEP = 24
MAX_SINGLE_RUNS = 6.0
SETTINGS = {
    "truncate": Setting("truncate", {"keep_tokens": "25%"}),
    "xun": Setting("xun", {"token_threshold": "64000"}),
}
JUDGES = (NeedScorer, FactScorer, OracleScorer)
"""What fidelity costs in each cell; the rest is replay, sizes, safety and others' numbers."""


@dataclass(frozen=True)
class Cost:
    """Processor seconds on one transcript."""

    tiktoken: float
    prepare: float
    extract: float
    """Needs and facts: once for all settings."""
    choose: float
    """The oracle's choice and curve: once for all settings."""
    judge: dict[str, Counter]
    """Setting -> what each scorer took."""
    whole: dict[str, float]
    """Setting -> replay with all scorers."""

    def judged(self, setting):
        return sum(self.judge[setting][judge.__name__] for judge in JUDGES)


def cell_cost(material, setting):
    """Return the seconds of a cell and of each of its scorers."""
    strategy = bind(setting, material.prepared)
    scorers = scorers_of(Cell(material, strategy))
    spent = Counter()
    tracker = FateTracker(0)
    clock = time.process_time
    gc.collect()
    gc.disable()
    started = clock()
    for step in replay(material.prepared, strategy, ExtractiveModel()):
        tracker.see(step.history, step.view.entries, step.request.index, unchanged=step.unchanged)
        before = clock()
        for scorer in scorers:
            scorer.see(step, tracker)
            after = clock()
            spent[type(scorer).__name__] += after - before
            before = after
    for scorer in scorers:
        before = clock()
        scorer.columns()
        scorer.sections()
        spent[type(scorer).__name__] += clock() - before
    whole = clock() - started
    gc.enable()
    return whole, spent


@pytest.fixture(scope="module")
def cost():
    transcript = generate(N_MESSAGES)
    load_encoding()
    is_common_name("warm")
    one_pass = seconds(lambda: tiktoken_pass(transcript))
    preparing = seconds(lambda: prepare(transcript))
    prepared = prepare(transcript)
    extracting = seconds(lambda: (find_needs(prepared), find_facts(prepared)))
    material = Material(prepared, find_needs(prepared), find_facts(prepared))
    importlib.import_module("scipy.optimize")
    started = time.process_time()
    assert material.oracle.curve
    choosing = time.process_time() - started
    cells = {name: cell_cost(material, setting) for name, setting in SETTINGS.items()}
    return Cost(
        one_pass,
        preparing,
        extracting,
        choosing,
        {name: spent for name, (_, spent) in cells.items()},
        {name: whole for name, (whole, _) in cells.items()},
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_needs_and_facts_of_one_strategy_cost_two_tokenizer_passes(setting, cost):
    needs_and_facts = cost.extract + cost.judge[setting]["NeedScorer"]
    needs_and_facts += cost.judge[setting]["FactScorer"]
    print(
        f"\n{setting}: tiktoken {cost.tiktoken:.2f} s; extraction "
        f"{cost.extract / cost.tiktoken:.2f}, oracle's choice and curve "
        f"{cost.choose / cost.tiktoken:.2f}, "
        + ", ".join(
            f"{judge.__name__} {cost.judge[setting][judge.__name__] / cost.tiktoken:.2f}"
            for judge in JUDGES
        )
        + f"; needs and facts together {needs_and_facts / cost.tiktoken:.2f} passes"
    )

    assert needs_and_facts / cost.tiktoken <= MAX_RATIO_TO_TIKTOKEN


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_fidelity_of_a_sweep_costs_less_than_six_single_runs(setting, cost):
    shared, each = cost.extract + cost.choose, cost.judged(setting)
    ratio = (shared + SETTINGS_OF_A_SWEEP * each) / (shared + each)
    all_shared, all_each = cost.prepare + shared, cost.whole[setting]
    whole_ratio = (all_shared + SETTINGS_OF_A_SWEEP * all_each) / (all_shared + all_each)
    print(
        f"\n{setting}: {SETTINGS_OF_A_SWEEP} settings cost as much as {ratio:.1f} single ones in "
        f"needs, facts and oracle, {whole_ratio:.1f} with replay, safety and all else"
    )

    assert ratio <= MAX_SINGLE_RUNS
