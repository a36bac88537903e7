"""The promise of the oracle: no strategy that only selects reaches more, as it is really scored."""

import random
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.control import Pipeline
from compaction.extractive import ExtractiveModel
from compaction.history import View
from compaction.messages import INSTRUCTION_ROLES
from compaction.strategy import Promises
from compaction.tiers import ClearToolResults
from evals.facts import find_facts
from evals.loading import bundled_files, load_file
from evals.needs import find_needs
from evals.prepare import prepare
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate
from tests.needs_cases import in_segments, result, says, steps, user

SLACK = 1e-6


@dataclass(frozen=True)
class Whim:
    """Drops any message at any request, for good: single messages, whatever they belong to."""

    seed: int
    drop_fraction: float
    """Chance of each message at each request."""
    keeps_instructions: bool = True
    name: ClassVar[str] = "whim"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing")

    def start(self, context):
        return Whimsical(self, random.Random(self.seed))


@dataclass
class Whimsical:
    strategy: Whim
    random: random.Random
    gone: set[int] = field(default_factory=set)

    def steps(self, history, request):
        yield from ()
        for at in range(len(history)):
            is_fixed = self.strategy.keeps_instructions and history[at].role in INSTRUCTION_ROLES
            if not is_fixed and self.random.random() < self.strategy.drop_fraction:
                self.gone.add(at)
        return View(tuple(e for e in history.entries() if e.origin.first not in self.gone))

    def record_usage(self, usage):
        return

    def recover(self, handle):
        return None


LOG = "/srv/billing/ledger_export.log"
LINE = f"the nightly export writes every booking into {LOG} before midnight"
RETOLD = f"Every booking is written into {LOG} by the nightly export before midnight."


def retold():
    """Two segments in which the assistant restates sources and sources repeat."""
    segment = (
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", f"{LINE}\nkeep ledger_export_key"),
        *steps(2),
        says(RETOLD, ("c2", "read_notes", {"n": 2})),
        result("c2", "nothing but the other_export_key"),
        *steps(4, start=5),
        says(f"I open {LOG} with other_export_key.", ("c3", "run", {"n": 3})),
        result("c3", LINE),
        *steps(4, start=12),
        says(f"So {LOG} and ledger_export_key."),
    )
    return in_segments(segment, segment)


@cache
def material_of(source):
    if source == "retold":
        prepared = retold()
    elif source == "settlement":
        path = next(path for path in bundled_files() if path.parent.name == "settlement-incident")
        prepared = prepare(load_file(path)[0])
    else:
        prepared = prepare(generate(103, seed=source, plant_every=1, gaps=(4, 6, 9, 15)))
    return Material(prepared, find_needs(prepared), find_facts(prepared))


def measured(source, strategy):
    return score(material_of(source), strategy, ExtractiveModel()).columns


def most_at(source, saving):
    """Return the bound of the curve at a saving: that of the next smaller saving it has."""
    points = material_of(source).oracle.curve
    return min((point.reach for point in points if point.saving_fraction <= saving), default=1.0)


sources = st.sampled_from(("retold", 1, 2))
whims = st.builds(
    Whim, st.integers(0, 999), st.sampled_from((0.0, 0.01, 0.03, 0.1, 0.3)), st.booleans()
)


@pytest.mark.parametrize("source", ["retold", 1, 2])
def test_there_is_something_to_choose(source):
    material = material_of(source)

    assert material.oracle.selection.demands
    assert measured(source, Whim(0, 0.5))["oracle_reach"] < 1


@given(sources, whims)
def test_no_whim_beats_the_best_choice_at_its_own_tokens(source, whim):
    found = measured(source, whim)

    assert found["regret"] >= -SLACK
    assert found["oracle_is_exact"]


@given(sources, st.integers(0, 999), st.sampled_from((0.0, 0.01, 0.03, 0.1)))
def test_no_whim_beats_the_curve_at_its_saving(source, seed, drop_fraction):
    found = measured(source, Whim(seed, drop_fraction))

    assert found["reach"] <= most_at(source, found["saving_fraction"]) + SLACK


CONTROLS = [
    *(Setting("truncate", {"keep_tokens": f"{share}%"}) for share in (5, 10, 20, 40, 80)),
    *(Setting("random_drop", {"drop_fraction": share}) for share in ("0.2", "0.6", "0.9")),
    *(Setting("oracle_select", {"keep_tokens": f"{share}%"}) for share in (5, 20, 60)),
    Setting("drop_all"),
    Setting("identity"),
]


@pytest.mark.parametrize("setting", CONTROLS, ids=lambda setting: setting.label)
@pytest.mark.parametrize("source", ["retold", 1, "settlement"])
def test_no_control_beats_its_bound(source, setting):
    found = measured(source, bind(setting, material_of(source).prepared))

    assert found["regret"] >= -SLACK
    assert found["reach"] <= most_at(source, found["saving_fraction"]) + SLACK


@pytest.mark.parametrize("keep_last_results", [1, 3, 9, 27])
@pytest.mark.parametrize("source", ["retold", 1, "settlement"])
def test_clearing_results_for_good_does_not_beat_its_bound(source, keep_last_results):
    """What is left of a cleared result has no reference, so clearing is a selection."""
    tier = ClearToolResults(keep_last_results=keep_last_results, placeholder="[cleared]")
    clearing = Pipeline(name="clearing", tiers=(tier,), mode="viewing")

    found = measured(source, clearing)

    assert found["regret"] >= -SLACK
    assert found["reach"] <= most_at(source, found["saving_fraction"]) + SLACK


def test_handles_may_beat_it():
    """The bound is one of selecting: a handle reaches its original for the price of a line."""
    setting = Setting("xun", {"token_threshold": "30%", "toolcall_keep_max": "1"})

    found = measured(1, bind(setting, material_of(1).prepared))

    assert found["recoverable"] > 0
    assert found["regret"] < -0.1
