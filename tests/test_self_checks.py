"""Whether the instrument measures: contestants whose result is known beforehand."""

from functools import cache

import pytest

from compaction.control import Pipeline
from compaction.extractive import ExtractiveModel
from compaction.tiers import ClearToolResults
from evals.facts import find_facts
from evals.loading import load_bundled
from evals.needs import find_needs
from evals.prepare import prepare
from evals.results import ENGAGED_FRACTION
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate

SOURCES = ("bundled", "generated-1", "generated-2")


@cache
def material_of(source):
    if source == "bundled":
        (transcript,) = load_bundled("settlement-incident")
    else:
        transcript = generate(203, seed=int(source[-1]), plant_every=2, facts_every=7)
    prepared = prepare(transcript)
    return Material(prepared, find_needs(prepared), find_facts(prepared))


@cache
def row(source, strategy, *parameters):
    material = material_of(source)
    if isinstance(strategy, str):
        strategy = bind(Setting(strategy, dict(parameters)), material.prepared)
    return score(material, strategy, ExtractiveModel()).columns


def clearing(keep_last_results):
    """Return the bare tier as a strategy: no trigger, no state."""
    tier = ClearToolResults(keep_last_results=keep_last_results, placeholder="[cleared]")
    return Pipeline(name="clearing", tiers=(tier,), mode="viewing")


on_every_source = pytest.mark.parametrize("source", SOURCES)


@on_every_source
def test_there_is_something_to_measure(source):
    found = row(source, "identity")

    assert found["needs"] > 20
    assert found["facts"] > 10
    assert found["requests"] >= 80


@on_every_source
def test_doing_nothing_saves_nothing_and_loses_nothing(source):
    found = row(source, "identity")

    assert found["saving_fraction"] == 0.0
    assert found["engaged"] is False
    assert found["input_tokens_after"] == found["input_tokens_before"]
    assert found["peak_tokens_after"] == found["peak_tokens_before"]
    assert (found["reach"], found["reach_all_gaps"]) == (1.0, 1.0)
    assert found["visible_source"] == found["needs"]
    assert found["facts_removed"] == 0
    assert found["facts_kept"] == found["facts"]
    assert found["quote_kept_fraction"] in (1.0, None)
    assert found["pinned_kept_fraction"] in (1.0, None)
    assert found["compactions"] == found["model_calls"] == 0


@on_every_source
@pytest.mark.parametrize(
    "name", ["identity", "drop_all", "random_drop", "salad", "xun", "my_pi_agent", "three_layer"]
)
def test_every_contestant_keeps_what_it_promises(source, name):
    found = row(source, name)

    assert found["violated"] == {}


@on_every_source
def test_dropping_all_reaches_almost_nothing_and_saves_most(source):
    found = row(source, "drop_all")

    assert found["reach"] < 0.05
    assert found["saving_fraction"] > 0.9
    assert found["engaged"] is True
    assert found["lost"] >= 0.9 * found["needs"]


@on_every_source
def test_a_list_of_all_references_does_not_score(source):
    salad, nothing = row(source, "salad"), row(source, "drop_all")

    assert salad["reach"] < 0.1
    assert salad["mentioned"] > 0.5 * salad["needs"]
    assert salad["facts_kept_fraction"] <= nothing["facts_kept_fraction"] + 0.25


@on_every_source
def test_dropping_half_at_random_lies_between(source):
    found = row(source, "random_drop")

    assert 0.05 < found["reach"] < 0.95
    assert 0.2 < found["saving_fraction"] < 0.8


@on_every_source
def test_keeping_more_results_never_reaches_less(source):
    counts = (1, 2, 4, 8, 16, 32, 64)
    found = [row(source, clearing(count)) for count in counts]

    reached, saved = [[item[name] for item in found] for name in ("reach", "saving_fraction")]
    assert reached == sorted(reached)
    assert saved == sorted(saved, reverse=True)
    assert reached[0] < reached[-1]


def test_on_the_bundled_conversation_the_newest_results_are_worth_more_than_a_random_half():
    """At equal or higher savings, a suffix of the conversation must reach at least as much."""
    random = row("bundled", "random_drop")
    shares = [f"{100 * step / 16:g}%" for step in range(1, 17)]
    curve = [row("bundled", "truncate", ("keep_tokens", share)) for share in shares]

    better = [item for item in curve if item["saving_fraction"] >= random["saving_fraction"]]

    assert max(item["reach"] for item in better) > random["reach"] + 0.1


def test_the_settings_of_a_grid_differ_on_the_bundled_conversation():
    keep = [
        row("bundled", "xun", ("token_threshold", "50%"), ("toolcall_keep_max", value))
        for value in ("2", "4", "8", "16")
    ]

    assert len({item["input_tokens_after"] for item in keep}) == 4
    assert all(item["engaged"] for item in keep)


def test_xun_reaches_more_with_more_results_where_it_writes_no_summary():
    rows = [
        row("bundled", "xun", ("token_threshold", "90%"), ("toolcall_keep_max", str(count)))
        for count in (1, 2, 4, 8, 16)
    ]

    silent = [item for item in rows if item["model_calls"] == 0]
    visible = [item["visible_source"] for item in silent]
    assert len(silent) >= 3
    assert visible == sorted(visible)
    assert visible[0] < visible[-1]
    assert {item["reach"] for item in silent} == {1.0}, "cleared results can be read back"


def test_two_replays_are_identical():
    material = material_of("bundled")
    settings = [
        Setting("xun", {"token_threshold": "25%"}),
        Setting("random_drop"),
        Setting("salad"),
    ]
    for setting in settings:
        strategy = bind(setting, material.prepared)

        first, second = (score(material, strategy, ExtractiveModel()) for _ in range(2))

        assert first.columns == second.columns
        assert first.sidecar["needs"] == second.sidecar["needs"]


def test_another_seed_is_another_random_half():
    material = material_of("bundled")
    strategy = bind(Setting("random_drop"), material.prepared)

    rows = [score(material, strategy, ExtractiveModel(), seed=seed).columns for seed in (1, 2)]

    assert rows[0]["input_tokens_after"] != rows[1]["input_tokens_after"]


def test_engaged_means_a_hundredth_saved():
    assert ENGAGED_FRACTION == 0.01
    assert [
        row("bundled", "truncate", ("keep_tokens", share))["engaged"] for share in ("100%", "75%")
    ] == [
        False,
        True,
    ]
