"""Checks of the instrument on a generated conversation, whose needs and facts are known.

What a run's own contestants show of it is in `reports.self_checks`. What is checked here stands in
each run's manifest; it takes about a second and is the same wherever the versions are.
"""

from functools import cache
from typing import Any, Final, NamedTuple

from compaction.extractive import ExtractiveModel
from compaction.model_calls import ModelReply
from evals.facts import find_facts, verdict_on
from evals.needs import find_needs
from evals.prepare import prepare
from evals.probing.grading import fault_of
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


class Check(NamedTuple):
    """One line of a report: what has to be, what was, and whether that is so."""

    expected: str
    found: str
    is_met: bool


def checks() -> tuple[Check, ...]:
    """Run every check."""
    needs, kept = needs_recovered(), reach_by_kept_results()
    reaches = list(kept.values())
    differing, silent, fault = differing_replays(), kept_by_silence(), fault_of_silence()
    return (
        Check(
            f"planted needs are found and no others, {MIN_RECOVERED:.0%} at least",
            f"precision {needs.precision:.1%}, recall {needs.recall:.1%} of {needs.planted} needs",
            min(needs.precision, needs.recall) >= MIN_RECOVERED,
        ),
        Check(
            "keeping more results never reaches less",
            ", ".join(f"{reach:.0%} with {count}" for count, reach in kept.items()),
            reaches == sorted(reaches) and reaches[0] < reaches[-1],
        ),
        Check("two replays are equal", ", ".join(differing) or "no difference", not differing),
        Check(
            "an empty text keeps no fact and an empty answer is none",
            f"{len(silent)} facts kept, {fault or 'the answer would be graded'}",
            not silent and fault is not None,
        ),
    )


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
