"""Checks of the instrument on a generated conversation, whose needs and facts are known.

What a run's own contestants show of it is in `reports.self_checks`; what is checked here needs no
run, takes about a second and is the same on every machine with the same versions.
"""

from functools import cache
from typing import Any, Final, NamedTuple

from compaction.extractive import ExtractiveModel
from compaction.model_calls import ModelReply
from evals.facts import find_facts, verdict_on
from evals.grading import fault_of
from evals.needs import find_needs
from evals.prepare import prepare
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate, planted_in

MIN_RECOVERED: Final = 0.95
"""Of planted needs found, and of found needs planted. reference/methods.md section 10."""
KEPT_RESULTS: Final = (1, 4, 8, 32)


class Recovery(NamedTuple):
    """Planted needs beside those that were found."""

    planted: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.planted if self.planted else 0.0


def needs_recovered() -> Recovery:
    """Compare the needs that were planted, with class, request and gap, to those found."""
    material = _material()
    planted = {
        (item.kind, item.value, item.used_at, item.gap)
        for item in planted_in(material.prepared.transcript)
    }
    found = {
        (need.class_name, need.value, need.request, need.gap)
        for needs in material.needs.by_request.values()
        for need in needs
        if need.kind == "need"
    }
    return Recovery(len(planted), len(found), len(planted & found))


@cache
def reach_by_kept_results() -> dict[int, float]:
    """Return tool results kept -> reach, for clearing without any other rule."""
    return {
        kept: float(
            _columns(Setting("clear_tool_results", {"keep_last_results": str(kept)}))["reach"]
        )
        for kept in KEPT_RESULTS
    }


@cache
def differing_replays() -> tuple[str, ...]:
    """Return which of some settings score differently when they are replayed once more."""
    settings = (
        Setting("xun", {"token_threshold": "25%"}),
        Setting("random_drop"),
        Setting("salad"),
    )
    return tuple(each.label for each in settings if _columns(each) != _columns(each))


def kept_by_silence() -> tuple[str, ...]:
    """Return the facts that an empty text keeps."""
    facts = _material().facts
    said = [facts.index.sightings("")]
    return tuple(fact.id for fact in facts.facts if verdict_on(fact, said) == "kept")


def fault_of_silence() -> str | None:
    """Return why an empty answer is none, or None if it would be graded."""
    return fault_of(ModelReply(""))


@cache
def _material() -> Material:
    prepared = prepare(generate(123, seed=1, plant_every=2, facts_every=4, round_chars=600))
    return Material(prepared, find_needs(prepared), find_facts(prepared))


def _columns(setting: Setting) -> dict[str, Any]:
    material = _material()
    return dict(score(material, bind(setting, material.prepared), ExtractiveModel()).columns)
