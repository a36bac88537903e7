"""Whether the instrument tells strategies apart that must differ: recency, chance, and foresight.

At equal savings, on the bundled conversations: choosing with knowledge of the future reaches more
than keeping the newest, and keeping the newest more than keeping any half.
"""

from functools import cache
from itertools import pairwise
from statistics import fmean

import pytest

from compaction.extractive import ExtractiveModel
from evals.facts import find_facts
from evals.loading import bundled_files, load_file
from evals.needs import find_needs
from evals.prepare import prepare
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind

MIN_NEEDS = 20
"""Below this one need more or less moves the reach by 5 points."""
SEEDS = (1, 2, 3)
SHARES = (3.125, 6.25, 12.5, 18.75, 25, 37.5, 50, 75, 100)
"""Of the peak, kept by truncation."""


@cache
def material_of(name):
    path = next(path for path in bundled_files() if path.parent.name == name)
    prepared = prepare(load_file(path)[0])
    return Material(prepared, find_needs(prepared), find_facts(prepared))


@cache
def row(name, strategy, seed=0, **parameters):
    material = material_of(name)
    bound = bind(Setting(strategy, parameters), material.prepared)
    return score(material, bound, ExtractiveModel(), seed=seed).columns


def truncated_to(name, saving):
    """Return what keeping the newest reaches at a saving, between the two sizes next to it."""
    rows = [row(name, "truncate", keep_tokens=f"{share}%") for share in SHARES]
    points = sorted((found["saving_fraction"], found["reach"]) for found in rows)
    for (less, more_reach), (more, less_reach) in pairwise(points):
        if less <= saving <= more:
            return more_reach + (less_reach - more_reach) * (saving - less) / (more - less)
    raise AssertionError(f"{name}: truncation has no saving of {saving}")


def foresight_gains(name):
    """Return how much more foresight reaches than recency at its saving, once it saves much."""
    chosen = row(name, "oracle_select", keep_tokens="25%")
    assert chosen["saving_fraction"] > 0.5
    assert chosen["regret"] < 0.05
    return chosen["reach"] - truncated_to(name, chosen["saving_fraction"])


def recency_gains(name):
    """Return how much more recency reaches than a random half at its saving."""
    drawn = [row(name, "random_drop", seed, drop_fraction="0.5") for seed in SEEDS]
    assert min(found["regret"] for found in drawn) > 0.05
    newest = truncated_to(name, fmean(found["saving_fraction"] for found in drawn))
    return newest - fmean(found["reach"] for found in drawn)


@pytest.mark.slow
def test_foresight_recency_and_chance_are_told_apart():
    assert foresight_gains("settlement-incident") > 0.2
    assert recency_gains("settlement-incident") > 0.05


@pytest.mark.slow
def test_they_are_told_apart_on_every_bundled_conversation_with_enough_needs():
    names = [path.parent.name for path in bundled_files()]
    judged = [name for name in names if row(name, "identity")["needs"] >= MIN_NEEDS]

    foresight = [foresight_gains(name) for name in judged]
    recency = [recency_gains(name) for name in judged]

    assert len(judged) >= 5
    assert min(foresight) > 0.2
    assert min(recency) > 0
    assert fmean(recency) > 0.1


@pytest.mark.slow
def test_truncation_has_more_regret_than_foresight_at_every_size():
    for share in ("12.5%", "25%", "50%"):
        newest = row("settlement-incident", "truncate", keep_tokens=share)
        chosen = row("settlement-incident", "oracle_select", keep_tokens=share)

        assert newest["regret"] > chosen["regret"] + 0.05
