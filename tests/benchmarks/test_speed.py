"""Ratios of replaying and scoring to one tiktoken pass over the same text, measured in one run.

Run with `pytest tests/benchmarks -n 0 -s`. The plain run has no assertion on time.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from compaction.extractive import ExtractiveModel
from compaction.vocabulary import load_encoding
from evals.extraction.common_names import is_common_name
from evals.facts import find_facts
from evals.money.cost_score import CostScorer
from evals.money.price_choice import PriceChoice
from evals.money.pricing import price_transcript
from evals.needs import find_needs
from evals.prepare import Prepared, prepare
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate
from evals.transcripts import Transcript

SMALL, LARGE = 2_203, 22_003
MAX_RATIO_TO_TIKTOKEN = 5.0
MAX_RATIO_OF_TENFOLD = 11.0
MAX_SHARE_OF_COST = 0.1
SETTINGS = {
    "xun": Setting("xun", {"token_threshold": "64000"}),
    "my_pi_agent": Setting("my_pi_agent"),
}
"""xun's own threshold would fire twice in the small transcript and at a steady rate in the large
one, which is not the same work."""
STRATEGIES = tuple(SETTINGS)


@dataclass(frozen=True)
class Timings:
    """Processor seconds of each stage on one transcript."""

    tiktoken: float
    prepare: float
    extract: float
    scored: dict[str, float]

    def ratio(self, strategy: str) -> float:
        """Replay and scoring of one strategy to one tiktoken pass, without what settings share."""
        return self.scored[strategy] / self.tiktoken

    def whole_ratio(self, strategy: str) -> float:
        """A run of this strategy alone: counting, needs and facts included."""
        return self.ratio(strategy) + (self.prepare + self.extract) / self.tiktoken


def tiktoken_pass(transcript: Transcript) -> None:
    encoding = load_encoding()
    for message in transcript.messages:
        encoding.encode_ordinary(message.text)
        for call in message.tool_calls:
            encoding.encode_ordinary(call.arguments)


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of the best of three runs."""
    best = float("inf")
    for _ in range(3):
        gc.collect()
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def material_of(prepared: Prepared) -> Material:
    priced = PriceChoice(as_of="2026-11-30").of(prepared.transcript)
    pricing = price_transcript(prepared, priced)
    return Material(prepared, find_needs(prepared), find_facts(prepared), pricing)


def timings(n_messages: int) -> Timings:
    transcript = generate(n_messages)
    load_encoding()
    is_common_name("warm")
    passes = seconds(lambda: tiktoken_pass(transcript))
    prepare_seconds = seconds(lambda: prepare(transcript))
    prepared = prepare(transcript)
    extract = seconds(lambda: (find_needs(prepared), find_facts(prepared)))
    material = material_of(prepared)
    scored = {
        name: seconds(
            lambda name=name: score(material, bind(SETTINGS[name], prepared), ExtractiveModel())
        )
        for name in STRATEGIES
    }
    return Timings(passes, prepare_seconds, extract, scored)


@pytest.fixture(scope="module")
def small() -> Timings:
    return timings(SMALL)


@pytest.fixture(scope="module")
def large() -> Timings:
    return timings(LARGE)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_replay_with_scoring_costs_few_tokenizer_passes(strategy, small, large):
    for size, measured in ((SMALL, small), (LARGE, large)):
        print(
            f"\n{strategy}, {size} messages: tiktoken {measured.tiktoken:.2f} s; "
            f"prepare {measured.prepare / measured.tiktoken:.2f}, "
            f"needs and facts {measured.extract / measured.tiktoken:.2f}, "
            f"replay and score {measured.scored[strategy] / measured.tiktoken:.2f}, "
            f"together {measured.whole_ratio(strategy):.2f} passes"
        )

    assert small.ratio(strategy) <= MAX_RATIO_TO_TIKTOKEN
    assert large.ratio(strategy) <= MAX_RATIO_TO_TIKTOKEN


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ten_times_the_data_costs_at_most_eleven_times_the_time(strategy, small, large):
    grown = large.scored[strategy] / small.scored[strategy]
    print(f"\n{strategy}: {LARGE} against {SMALL} messages, replay and score x {grown:.1f}")

    assert grown <= MAX_RATIO_OF_TENFOLD


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pricing_is_a_small_part_of_a_cell(strategy, monkeypatch):
    """Both times are taken inside one replay, so that the load of the machine hits both alike."""
    prepared = prepare(generate(SMALL))
    material = material_of(prepared)
    spent = {"cost": 0.0}

    def timed(work):
        def wrapper(*arguments):
            started = time.process_time()
            try:
                return work(*arguments)
            finally:
                spent["cost"] += time.process_time() - started

        return wrapper

    for name in ("see", "columns", "sections"):
        monkeypatch.setattr(CostScorer, name, timed(getattr(CostScorer, name)))
    shares = []
    for _ in range(3):
        gc.collect()
        spent["cost"], started = 0.0, time.process_time()
        score(material, bind(SETTINGS[strategy], prepared), ExtractiveModel())
        shares.append(spent["cost"] / (time.process_time() - started))
    print(f"\n{strategy}: pricing is {min(shares):.1%} of replay and score")

    assert min(shares) < MAX_SHARE_OF_COST


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_benchmark_of_a_cell(strategy, benchmark):
    prepared = prepare(generate(SMALL))
    material = material_of(prepared)

    benchmark.pedantic(
        lambda: score(material, bind(SETTINGS[strategy], prepared), ExtractiveModel()), rounds=3
    )
