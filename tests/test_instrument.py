"""The lines by which every report says whether the instrument measures."""

from dataclasses import replace

import pytest

from compaction.model_calls import ModelReply
from evals import instrument
from evals.probing.grading import fault_of
from evals.results import RunFolder
from evals.synthetic import generate
from reports.frames import load
from reports.self_checks import self_checks
from tests.reports_cases import row, write_run


def lines(tmp_path, *rows):
    told = [check._asdict() for check in instrument.checks()]
    checks = self_checks(load(write_run(tmp_path, list(rows), instrument=told)))
    return {check.expected: (check.found, check.is_met) for check in checks}


def contestants(
    *,
    chance=0.3,
    nothing=0.0,
    recovered=0,
    listed=0.02,
    newest=0.6,
    bound=0.9,
    provenance="authored",
    names="abc",
):
    """Return rows of one transcript; chance and truncation at the same saving."""
    rows = [
        made
        for name in names
        for made in (
            row(name, "identity", saving=0.0, reach=1.0),
            row(name, "drop_all", saving=0.9, reach=nothing, recoverable=recovered),
            row(name, "salad", saving=0.5, reach=listed),
            row(name, "random_drop", saving=0.5, reach=chance, oracle_reach=bound),
            row(name, "truncate(keep_tokens=50%)", saving=0.5, reach=newest),
        )
    ]
    return [replace(each, provenance=provenance) for each in rows]


def test_two_conversations_are_too_few_to_tell_choices_apart(tmp_path):
    found = lines(tmp_path, *contestants(newest=0.2, names="ab"))

    assert not any("more than the newest" in expected for expected in found)
    assert all(is_met for _, is_met in found.values())


def test_in_other_conversations_there_may_be_nothing_to_tell_apart(tmp_path):
    found = lines(tmp_path, *contestants(newest=0.2, provenance="recorded"))

    assert not any("random_drop" in expected for expected in found)
    assert all(is_met for _, is_met in found.values())


def test_every_check_is_a_line_and_met(tmp_path):
    found = lines(tmp_path, *contestants())

    assert [expected for expected, (_, is_met) in found.items() if not is_met] == []
    text = " ".join(found)
    for named in (
        *("identity saves nothing", "identity reaches everything", "drop_all", "salad"),
        *("random_drop lies between", "more than the newest", "planted needs", "more results"),
        *("two replays", "empty text", "empty answer"),
    ):
        assert named in text
    assert found["planted needs are found and no others, 95% at least"][0].startswith(
        "precision 100.0%, recall 100.0% of "
    )


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"chance": 1.0}, "random_drop lies between"),
        ({"chance": 0.02, "nothing": 0.02}, "random_drop lies between"),
        ({"newest": 0.2}, "the best choice reaches more"),
        ({"bound": 0.5}, "the best choice reaches more"),
        ({"recovered": 1}, "drop_all can recover nothing"),
        ({"nothing": 0.1}, "salad reaches all that drop_all does"),
        ({"listed": 0.06}, "salad reaches all that drop_all does"),
    ],
)
def test_a_check_that_is_not_met_says_so(tmp_path, changed, line):
    found = lines(tmp_path, *contestants(**changed))

    assert [is_met for expected, (_, is_met) in found.items() if line in expected] == [False]


@pytest.mark.parametrize(("by_chance", "is_met"), [(0.05, True), (0.1, False)])
def test_chance_matches_are_a_line_for_each_class_and_flag_it(tmp_path, by_chance, is_met):
    columns = ["digest", "class", "kind"]
    paths = [[f"p{number}", "path", "need"] for number in range(30)]
    other = [["i1", "identifier", "need"], ["q1", "path", "derived"], ["i1", "identifier", "need"]]
    rows = [row(name, "identity", placebo_fraction=0.01, reach=1.0) for name in "ab"]
    folder = RunFolder(write_run(tmp_path, rows))
    for each, kind, rate in zip(rows, (paths, other), ("path", "identifier"), strict=True):
        needs = {"columns": columns, "rows": kind, "placebo_by_class": {rate: by_chance}}
        folder.write_sidecar(each.cell_id, {"needs": needs})

    found = {check.expected: check for check in self_checks(load(tmp_path))}

    line = found["unrelated text meets, of each class of needs, at most 2 %, or 2"]
    above = "" if is_met else "; above it: path"
    assert line.found == f"identifier 0 of 1, path {round(30 * by_chance)} of 30{above}"
    assert line.is_met is is_met
    assert found["unrelated text meets at most 2 % of needs"].is_met


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("needs_recovered", instrument.Recovery(20, 20, 18), "planted needs"),
        ("needs_recovered", instrument.Recovery(20, 18, 18), "planted needs"),
        ("reach_by_kept_results", {1: 0.2, 4: 0.1}, "more results"),
        ("reach_by_kept_results", {1: 0.2, 4: 0.2}, "more results"),
        ("differing_replays", ("xun",), "two replays"),
        ("kept_by_silence", ("limit-1",), "empty text"),
        ("fault_of_silence", None, "empty text"),
    ],
)
def test_an_instrument_that_fails_says_so(tmp_path, monkeypatch, name, value, line):
    monkeypatch.setattr(instrument, name, lambda: value)

    found = lines(tmp_path, *contestants())

    assert [is_met for expected, (_, is_met) in found.items() if line in expected] == [False]


def test_the_generated_conversation_has_something_to_find():
    needs = instrument.needs_recovered()

    assert needs.planted >= 15
    assert (needs.precision, needs.recall) == (1.0, 1.0)
    assert instrument.Recovery(10, 8, 4) == (10, 8, 4)
    assert (instrument.Recovery(10, 8, 4).precision, instrument.Recovery(10, 8, 4).recall) == (
        0.5,
        0.4,
    )
    assert len(set(instrument.reach_by_kept_results().values())) >= 3


def test_a_replay_that_differs_is_named(monkeypatch):
    made = iter(range(100))
    monkeypatch.setattr(instrument, "_columns", lambda setting: {"number": next(made)})

    assert len(instrument.differing_replays.__wrapped__()) == 3


def test_silence_is_no_answer_and_states_nothing():
    assert instrument.kept_by_silence() == ()
    assert fault_of(ModelReply("")) == "the answer is empty"
    assert len(generate(123, seed=1, facts_every=4).facts) >= 10
