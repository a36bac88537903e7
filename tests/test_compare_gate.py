"""What closes a gate besides its conditions, and what it says of itself."""

import json
import sys

import pytest

from evals.cli import main
from reports import compare_text
from reports.compare import compare, compare_pairs, pairs_of
from reports.frames import load
from reports.gate import Gate, conditions, judge, met
from reports.sides import Side
from reports.unmatched import gaps
from tests.reports_cases import failed, row, write_run


def rows_of(names, *labels, **columns):
    given = {"saving": 0.5, "reach": 0.9} | columns
    return [row(name, label, **given) for name in names for label in labels]


def pairs(tmp_path, old, new, **manifest):
    runs = [load(write_run(tmp_path / "old", old)), load(write_run(tmp_path / "new", new))]
    if manifest:
        runs[1] = load(write_run(tmp_path / "again", new, **manifest))
    return pairs_of(*runs)


def command(*arguments):
    sys.argv = ["compaction-evals", "compare", *map(str, arguments)]
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_a_run_that_lacks_planned_rows_fails_in_every_output(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [])
    old = write_run(tmp_path / "old", rows_of("a", "x"))
    planned = [item.cell_id for item in rows_of("abc", "x")]
    new = write_run(tmp_path / "new", rows_of("a", "x"), cells=planned)
    said = f"the candidate is incomplete: 2 of 3 rows are missing in rows.jsonl ({new})"

    code = command(old, new, "--fail-on", "reach<-0.02", "--md", tmp_path / "m", "--json")

    out, errors = capsys.readouterr()
    assert code == 1
    assert f"failed: {said}" in errors
    assert json.loads(out)["failed"] == [said]
    text = (tmp_path / "m").read_text("utf-8").replace("\\", "")
    assert text.startswith(f"**Compaction gate: failed**\n- {said}\n")


@pytest.mark.parametrize(("side", "which"), [("old", "baseline"), ("new", "candidate")])
def test_a_run_that_was_stopped_fails_on_either_side(tmp_path, side, which):
    runs = {
        name: load(
            write_run(
                tmp_path / name,
                rows_of("a", "x"),
                **({"cells": None, "planned_cells": 9} if name == side else {}),
            )
        )
        for name in ("old", "new")
    }

    (said,) = gaps(pairs_of(*runs.values()))

    assert said.startswith(f"the {which} is incomplete: the run has not ended, 1 of at most 9 cell")


def test_rows_that_only_other_settings_lack_do_not_fail_a_comparison(tmp_path):
    """Where the folder tells: each setting of a finished run has so many cells."""
    rows = rows_of("ab", "x", "y", "z")
    tells = {"cells_by_setting": {"x": 2, "y": 2, "z": 3, "gone": 2}}
    cells = [*(item.cell_id for item in rows), "z-c", "gone-a", "gone-b"]
    run = load(write_run(tmp_path / "run", rows, cells=cells, **tells))
    old = load(write_run(tmp_path / "old", rows, cells=cells))
    sides = {name: Side(run, name) for name in "xyz"}

    assert run.lacking == {"z", "gone"}
    assert [*gaps([(sides["x"], sides["y"])])] == []
    (said,) = gaps([(sides["x"], sides["y"]), (sides["x"], sides["z"])])
    assert said.startswith("the run is incomplete: 3 of 9 rows are missing")
    # A folder that does not tell may lack any.
    (said,) = gaps([(Side(old, "x"), sides["x"])])
    assert said.startswith("the baseline is incomplete: 3 of 9 rows are missing")


def test_one_run_that_is_compared_with_itself_is_named_once(tmp_path):
    run = load(write_run(tmp_path / "run", rows_of("a", "x", "y"), cells=["gone"]))

    (said,) = gaps([(Side(run, "x"), Side(run, "y"))])

    assert said.startswith("the run is incomplete: 1 of 1 rows are missing")


def test_transcripts_of_the_baseline_that_the_candidate_lacks_fail_by_setting(tmp_path):
    old = rows_of("abc", "x", "y", "z")
    new = rows_of("ab", "x") + rows_of("abcd", "y") + rows_of("ab", "z")

    said = [*gaps(pairs(tmp_path, old, new))]

    assert said == ["not run in the candidate under x and z, or on other content: c (1 transcript)"]


def test_changed_content_and_whole_kinds_count_as_not_run_and_new_ones_do_not(tmp_path):
    old = rows_of("ab", "x") + rows_of("m", "x", provenance="authored")
    new = [*rows_of("a", "x"), row("b", "x", saving=0.5, transcript_digest="other")]
    new += rows_of("n", "x", provenance="generated")

    said = [*gaps(pairs(tmp_path, old, new))]

    assert said == [
        "not run in the candidate, or on other content: b and m (2 transcripts)",
    ]


def test_a_failed_cell_is_run_and_fails_as_a_failure(tmp_path):
    given = pairs(tmp_path, rows_of("ab", "x"), [*rows_of("a", "x"), failed("b", "x", "no")])

    assert [*gaps(given)] == []
    assert judge([], compare_pairs(given)).failed == ("failed in the candidate only: b",)


def test_a_whole_run_has_no_gaps(tmp_path):
    assert [*gaps(pairs(tmp_path, rows_of("ab", "x"), rows_of("ab", "x")))] == []


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("reach<-0.02", "Reach of new on the recorded transcripts: -0.2"),
        ("reach<-2%", "Reach of new on the recorded transcripts: -20 %"),
        ("reach.high<0.5", "Reach of new on the recorded transcripts: -0.08596"),
        ("peak_tokens_after>0", "Mean peak of new on the recorded transcripts: 1,250"),
    ],
)
def test_a_condition_that_holds_says_the_value_in_its_unit(tmp_path, text, reading):
    # Alike sessions, joined by one that gains all: -0.2 + 1.2 * (1 - 0.05 ** (1 / 30)) = -0.08596.
    old = rows_of([f"t{at:02}" for at in range(30)], "old", peak_tokens_after=1_000.0)
    new = rows_of([f"t{at:02}" for at in range(30)], "new", reach=0.7, peak_tokens_after=2_250.0)
    run = load(write_run(tmp_path / "run", old + new))
    found = compare(Side(run, "old"), Side(run, "new"))

    (said,) = met(conditions([text]), found)

    assert said.startswith(f"{text}: {reading}")


def test_a_verdict_says_the_interval_that_decided(tmp_path):
    names = [f"t{at:02}" for at in range(30)]
    run = load(
        write_run(tmp_path / "run", rows_of(names, "old") + rows_of(names, "new", reach=0.7))
    )
    found = compare(Side(run, "old"), Side(run, "new"))
    (reach,) = (each for each in found[0].differences if each.measure.name == "reach")

    (said,) = met(conditions(["reach=inferior"]), found)

    ends = f"{reach.verdict_low:,.4g} to {reach.verdict_high:,.4g}"
    assert said.endswith(f"Reach of new on the recorded transcripts: -0.2 (90 %: {ends})")


@pytest.mark.parametrize(
    ("gate", "first"),
    [
        (Gate(), "Compaction gate: no condition was given (--fail-on); nothing newly failed"),
        (Gate(("reach<-0.02",)), "Compaction gate: passed (reach\\<-0.02)"),
        (Gate((), ("a",)), "**Compaction gate: failed**"),
    ],
)
def test_a_gate_says_what_it_asked_for(gate, first):
    assert compare_text.markdown((), gate).startswith(first)
