"""Paired comparisons by hand, gates, and what could not be compared."""

import json
import math
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.cli import main
from evals.power import bounded_sessions_needed
from evals.results import ResultsError
from reports import compare_notes, compare_text
from reports.compare import compare, compare_pairs, labels_of, pairs_of
from reports.frames import load
from reports.gate import conditions, met, unmeasured
from reports.measures import with_margins
from reports.sides import Side
from tests.reports_cases import failed, row, write_run


def run_of(path, rows):
    return load(write_run(path, rows))


@pytest.fixture
def run(tmp_path):
    """Return `old` and `new` on three transcripts; on c `new` saves nothing."""
    return run_of(
        tmp_path / "run",
        [
            row("a", "old", saving=0.5, reach=0.9),
            row("b", "old", saving=0.5, reach=0.6),
            row("c", "old", saving=0.5, reach=0.8),
            row("a", "new", saving=0.6, reach=0.8),
            row("b", "new", saving=0.4, reach=0.6),
            row("c", "new", saving=0.0, reach=1.0),
        ],
    )


def found_in(comparison, name):
    return next(each for each in comparison.differences if each.measure.name == name)


def test_what_a_model_still_answers_is_compared_pair_by_pair(tmp_path):
    run = run_of(
        tmp_path / "probed",
        [
            row("a", "xun", saving=0.5, probe_right_fraction=0.5),
            row("b", "xun", saving=0.5, probe_right_fraction=0.75),
            row("c", "xun", saving=0.5, probe_right_fraction=None),
            row("a", "plain", saving=0.5, probe_right_fraction=0.25),
            row("b", "plain", saving=0.5, probe_right_fraction=0.75),
            row("c", "plain", saving=0.5, probe_right_fraction=0.1),
        ],
    )

    (comparison,) = compare(Side(run, "xun"), Side(run, "plain"))

    right = found_in(comparison, "probe_right_fraction")
    assert (right.n, right.difference) == (2, -0.125)
    assert (right.wins, right.ties, right.losses) == (0, 1, 1)


def test_a_difference_by_hand(run):
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    reach = found_in(comparison, "reach")
    # -0.1, 0, and +0.2 on c, where the candidate did nothing and so lost nothing.
    assert (reach.n, reach.baseline, reach.candidate) == (
        3,
        pytest.approx(2.3 / 3),
        pytest.approx(0.8),
    )
    assert reach.difference == pytest.approx(0.1 / 3)
    assert (reach.wins, reach.ties, reach.losses) == (1, 1, 1)
    saving = found_in(comparison, "saving_fraction")
    assert (saving.n, saving.wins, saving.ties, saving.losses) == (3, 1, 0, 2)
    assert saving.difference == pytest.approx((0.1 - 0.1 - 0.5) / 3)


def test_few_sessions_get_numbers_and_no_verdict(run):
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    reach = found_in(comparison, "reach")
    assert (reach.low, reach.high, reach.verdict, reach.detectable) == (
        None,
        None,
        "not supported",
        None,
    )
    assert (reach.p, reach.p_holm) == (None, None)
    assert compare_notes.FEW in [*compare_notes.notes(comparison)]


def test_the_transcripts_that_moved_most_come_first(tmp_path):
    changes = {f"t{n:02}": ((-1) ** n) * n / 100 for n in range(1, 15)}
    rows = [row(name, "old", saving=0.5, reach=0.5) for name in changes]
    rows += [row(name, "new", saving=0.5, reach=0.5 + by) for name, by in changes.items()]

    (comparison,) = compare(*(Side(run_of(tmp_path / "r", rows), x) for x in ("old", "new")))

    assert [moved.transcript for moved in comparison.moved] == [
        f"t{n:02}" for n in range(14, 4, -1)
    ]
    assert comparison.moved[0].difference == pytest.approx(0.14)


def test_a_lower_violation_count_is_a_win_and_a_higher_one_a_regression(tmp_path):
    rows = [row(name, "old", saving=0.5, violations=n) for name, n in (("a", 2), ("b", 0))]
    rows += [row(name, "new", saving=0.5, violations=n) for name, n in (("a", 1), ("b", 3))]

    (comparison,) = compare(*(Side(run_of(tmp_path / "r", rows), x) for x in ("old", "new")))

    violations = found_in(comparison, "violations")
    assert (violations.wins, violations.losses) == (1, 1)
    assert comparison.new_violations == ("b",)
    assert comparison.is_regression


def test_a_new_failure_is_a_regression_and_an_old_one_is_not(tmp_path):
    rows = [row("a", "old", saving=0.5), failed("b", "old", "x"), row("c", "old", saving=0.5)]
    rows += [failed("a", "new", "x"), failed("b", "new", "x"), row("c", "new", saving=0.5)]

    (comparison,) = compare(*(Side(run_of(tmp_path / "r", rows), x) for x in ("old", "new")))

    assert comparison.new_failures == ("a",)
    assert ("b", "failed in both") in [
        (each.transcript, each.reason) for each in comparison.unmatched
    ]


def test_runs_are_compared_by_setting_and_changed_transcripts_are_named(tmp_path):
    old = [row(name, label, saving=0.5) for name in "abc" for label in ("x", "y")]
    new = [row(name, "x", saving=0.6) for name in "abd"]
    new[1] = row("b", "x", saving=0.6, transcript_digest="other")

    (comparison,) = compare_pairs(
        pairs_of(run_of(tmp_path / "1", old), run_of(tmp_path / "2", new))
    )

    assert comparison.candidate == "x"
    assert found_in(comparison, "saving_fraction").n == 1
    assert {(each.transcript, each.reason) for each in comparison.unmatched} == {
        ("b", "its content differs between the runs"),
        ("c", "only in the baseline"),
        ("d", "only in the candidate"),
    }


def test_kinds_of_transcripts_are_never_pooled(tmp_path):
    rows = [
        row(name, label, saving=0.5, provenance=kind)
        for name, kind in (("a", "recorded"), ("b", "authored"))
        for label in ("x", "y")
    ]
    found = compare(*(Side(run_of(tmp_path / "r", rows), label) for label in "xy"))

    assert [each.provenance for each in found] == ["recorded", "authored"]
    assert all(found_in(each, "saving_fraction").n == 1 for each in found)


def test_nothing_in_common_is_said(tmp_path):
    one = run_of(tmp_path / "1", [row("a", "x", saving=0.5)])
    other = run_of(tmp_path / "2", [row("b", "x", saving=0.5)])

    with pytest.raises(ResultsError, match="no transcript in common"):
        compare(Side(one, "x"), Side(other, "x"))
    with pytest.raises(ResultsError, match="no setting 'z'; it has x"):
        compare(Side(one, "z"), Side(other, "x"))
    renamed = run_of(tmp_path / "3", [row("a", "y", saving=0.5)])
    with pytest.raises(ResultsError, match="no setting in common"):
        compare_pairs(pairs_of(one, renamed))


def many(shift, noise=0.01, n=24):
    rows = [row(f"t{at}", "old", saving=0.5, reach=0.8) for at in range(n)]
    return rows + [
        row(f"t{at}", "new", saving=0.5, reach=0.8 + shift + noise * math.sin(at))
        for at in range(n)
    ]


@pytest.mark.parametrize(
    ("shift", "n", "verdict"),
    [
        (0.0, 24, "inconclusive"),
        (0.0, 80, "non-inferior"),
        (-0.02, 110, "non-inferior"),
        (-0.1, 24, "inconclusive"),
        (-0.1, 80, "inferior"),
        (-0.05, 80, "inconclusive"),
    ],
)
def test_verdicts_need_the_margin_and_sessions(tmp_path, shift, n, verdict):
    run = run_of(tmp_path / "r", many(shift, n=n))

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    found = found_in(comparison, "reach")
    assert (found.verdict, found.verdict_by) == (verdict, "bounded")
    saving = found_in(comparison, "saving_fraction")
    assert (saving.verdict, saving.verdict_by) == ("non-inferior", "bootstrap")


def test_a_margin_can_be_set(tmp_path):
    run = run_of(tmp_path / "r", many(0.0))

    (narrow,) = compare(Side(run, "old"), Side(run, "new"), with_margins({"reach": 0.11}))
    (wide,) = compare(Side(run, "old"), Side(run, "new"), with_margins({"reach": 0.13}))

    # 24 sessions that lose nothing show 1 - 0.05 ** (1 / 24) = 0.117.
    assert found_in(narrow, "reach").verdict == "inconclusive"
    assert found_in(wide, "reach").verdict == "non-inferior"
    with pytest.raises(ResultsError, match="must be >= 0"):
        with_margins({"reach": -1})
    said = r"a margin of rech: no measure 'rech' \(did you mean reach\?\); there are reach, facts_"
    with pytest.raises(ResultsError, match=said):
        with_margins({"rech": 1})


@settings(max_examples=10)
@given(st.lists(st.floats(-0.3, 0.3).map(lambda x: round(x, 3)), min_size=8, max_size=12))
def test_swapping_the_sides_swaps_everything(tmp_path_factory, changes):
    rows = [row(f"t{n}", "old", saving=0.5, reach=0.5) for n in range(len(changes))]
    rows += [row(f"t{n}", "new", saving=0.5, reach=0.5 + by) for n, by in enumerate(changes)]
    run = run_of(tmp_path_factory.mktemp("r"), rows)

    (there,), (back,) = (
        compare(Side(run, one), Side(run, other)) for one, other in (("old", "new"), ("new", "old"))
    )

    for one, other in zip(there.differences, back.differences, strict=True):
        assert one.difference == pytest.approx(-other.difference)
        assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
        assert one.p == pytest.approx(other.p)


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("reach<-0.02", True),
        ("reach<-2%", True),
        ("reach < -0.3", False),
        ("reach.high<0", True),
        ("reach.low<-50%", False),
        ("reach.low<-15%", True),
        ("reach=inferior", True),
        ("inferior", True),
        ("saving_fraction<0", False),
        ("saving_fraction<=0", True),
        ("saving_fraction=non-inferior", True),
    ],
)
def test_gates(tmp_path, condition, is_met):
    found = compare(*(Side(run_of(tmp_path / "r", many(-0.25)), x) for x in ("old", "new")))

    assert bool([*met(conditions([condition]), found)]) == is_met


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rech<-0.02", "did you mean reach"),
        ("reach", "no condition"),
        ("reach<", "no condition"),
        ("reach<1.2.3", "no number"),
        ("reach=worse", "no condition"),
    ],
)
def test_a_wrong_gate_is_explained(text, said):
    with pytest.raises(ResultsError, match=said):
        conditions([text])


def test_a_gate_that_cannot_close_is_named(run):
    found = compare(Side(run, "old"), Side(run, "new"))
    wanted = conditions(["reach.low<-0.02", "facts_kept_fraction<0", "reach<-0.02", "inferior"])

    assert [*unmeasured(wanted, found)] == [
        "reach.low<-0.02 (fewer than 10 sessions have it)",
        "facts_kept_fraction<0 (no transcript has it on both sides)",
        "inferior (fewer than 10 sessions have it)",
    ]


def test_a_gate_on_what_has_no_margin_says_so(run):
    found = compare(Side(run, "old"), Side(run, "new"))

    assert [*unmeasured(conditions(["violations=inferior"]), found)] == [
        "violations=inferior (it has no margin)"
    ]


def test_controls_are_not_compared_between_runs(tmp_path):
    rows = [row("a", "x", saving=0.5), row("a", "identity", saving=0.0, is_control=True)]

    assert labels_of(run_of(tmp_path / "r", rows)) == ["x"]


def ended(*arguments):
    sys.argv = ["compaction-evals", *map(str, arguments)]
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_the_command_gates(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [])
    path = write_run(tmp_path / "run", many(-0.1))
    sides = (f"{path}::old", f"{path}::new")

    assert ended("compare", *sides) == 0
    assert "inferior" in capsys.readouterr().out
    assert ended("compare", *sides, "--fail-on", "reach<-0.02") == 1
    assert (
        "failed: reach<-0.02: Reach of new on the recorded transcripts: -0.09959"
        in capsys.readouterr().err
    )
    assert ended("compare", *sides, "--fail-on", "reach<-0.5") == 0
    assert ended("compare", *sides, "--fail-on", "rech<-0.5") == 2
    capsys.readouterr()
    comment = tmp_path / "comment.md"
    unknown = ("--fail-on", "facts_kept_fraction<0", "--md", comment)
    assert ended("compare", *sides, *unknown) == 1
    said = "cannot be judged on these transcripts: facts_kept_fraction<0"
    assert f"failed: {said}" in capsys.readouterr().err
    assert "**Compaction gate: failed**" in comment.read_text("utf-8")
    assert ended("compare", path, tmp_path / "nowhere") == 2
    assert "is not a run folder" in capsys.readouterr().err


def test_the_command_writes_json_and_markdown(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [])
    hostile = "a|b<script>`*"
    rows = [row(hostile, "old", saving=0.5, reach=0.9), row(hostile, "new", saving=0.5, reach=0.1)]
    path = write_run(tmp_path / "run", rows)
    target = tmp_path / "comment.md"

    code = ended("compare", f"{path}::old", f"{path}::new", "--json", "--md", target)

    content = json.loads(capsys.readouterr().out)
    assert code == 0
    reach = content["comparisons"][0]["differences"][0]
    assert (reach["measure"]["name"], round(reach["difference"], 9)) == ("reach", -0.8)
    text = target.read_text("utf-8")
    assert text.startswith("Compaction gate: no condition was given (--fail-on); nothing newly")
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "| Reach | 90.0 % | 10.0 % | -80.0 |" in text


def test_the_interval_that_decides_stands_beside_the_verdict(tmp_path):
    rows = [
        row(f"t{at}", label, saving=0.5, reach=reach)
        for at in range(12)
        for label, reach in (("old", 0.9), ("new", 0.85 + 0.08 * (at % 2)))
    ]
    run = run_of(tmp_path / "run", rows)

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))
    found = found_in(comparison, "reach")

    # As if one more session had lost all: the bootstrap of these never goes below -5 points.
    assert found.low >= -0.05
    assert found.verdict_low < -0.2
    assert found.difference < found.verdict_high
    ends = f"{100 * found.verdict_low:+.1f} to {100 * found.verdict_high:+.1f}"
    assert compare_text.cells(found)[-1] == f"inconclusive (90 %: {ends})"
    saving = compare_text.cells(found_in(comparison, "saving_fraction"))[-1]
    assert saving == "non-inferior (90 % bootstrap: 0.0 to 0.0)"


def test_transcripts_that_broke_or_failed_are_paired_by_mcnemar(tmp_path):
    broken = {"violations": 1, "violated": {"never_grows": 1}}
    rows = [row(f"t{at}", "old", saving=0.5, reach=0.9) for at in range(8)]
    rows += [row(f"t{at}", "new", saving=0.5, reach=0.9, **broken) for at in range(6)]
    rows += [failed("t6", "new", "no"), row("t7", "new", saving=0.5, reach=0.9)]
    run = run_of(tmp_path / "run", rows)

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    broke, gave_up = comparison.outcomes
    assert (broke.n, broke.only_baseline, broke.only_candidate) == (7, 0, 6)
    assert broke.p == pytest.approx(2 / 2**6)
    assert (gave_up.n, gave_up.only_baseline, gave_up.only_candidate, gave_up.p) == (8, 0, 1, 1.0)
    assert (
        "Transcripts that broke a rule in one of them only: 0 in the baseline, 6 in the candidate, "
        "of 7; exact McNemar p = 0.031."
    ) in list(compare_notes.notes(comparison))


def test_what_only_one_run_has_is_named(tmp_path, monkeypatch, capsys):
    old = write_run(
        tmp_path / "old",
        [
            row("a", "same", saving=0.5, reach=0.9),
            row("a", "gone", saving=0.5, reach=0.9),
            row("m", "same", saving=0.5, reach=0.9, provenance="authored"),
        ],
    )
    new = write_run(
        tmp_path / "new",
        [row("a", "same", saving=0.5, reach=0.9), row("a", "come", saving=0.5, reach=0.9)],
    )
    wanted = [
        "Settings only in the baseline, not compared: gone.",
        "Transcripts only in the baseline, not compared: all authored ones.",
        "Settings only in the candidate, not compared: come.",
    ]
    monkeypatch.setattr(
        sys,
        "argv",
        ["compaction-evals", "compare", str(old), str(new), "--md", str(tmp_path / "m")],
    )

    with pytest.raises(SystemExit) as stopped:
        main()

    out, text = capsys.readouterr().out, (tmp_path / "m").read_text()
    assert stopped.value.code == 1
    assert "- not run in the candidate, or on other content: m (1 transcript)" in text
    assert [line in out for line in wanted] == [True] * 3
    assert [f"- {line}" in text for line in wanted] == [True] * 3


@pytest.mark.parametrize("text", ["reach<-2", "reach.low<-5", "facts_kept_fraction>=1", "reach<1"])
def test_points_given_for_a_share_are_refused(text):
    with pytest.raises(ResultsError, match="is a share, so its difference is between -1 and 1"):
        conditions([text])


@pytest.mark.parametrize("name", ["violations", "peak_tokens_after", "model_calls"])
def test_percent_of_a_count_is_refused(name):
    with pytest.raises(ResultsError, match=f"{name} is a count, so its difference is no percent"):
        conditions([f"{name}>5%"])

    assert conditions([f"{name}>5"])[0].number == 5


def test_a_margin_that_nothing_can_exceed_is_refused():
    with pytest.raises(ResultsError, match=r"the margin of reach must be below 1, got 5\.0"):
        with_margins({"reach": 5.0})

    assert with_margins({"model_calls": 5.0})


def test_a_saving_may_fall_by_more_than_all(tmp_path):
    (condition,) = conditions(["saved_usd_fraction<-2"])

    assert condition.number == -2


def test_an_inconclusive_verdict_says_how_many_sessions_it_takes(tmp_path):
    rows = [
        row(f"t{at}", label, saving=0.5, reach=reach)
        for at in range(12)
        for label, reach in (("old", 0.5), ("new", 0.3 if at % 2 else 0.7))
    ]
    run = run_of(tmp_path / "run", rows)

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))
    found = found_in(comparison, "reach")

    # Standard deviation 0.2089: 108 sessions by a normal test, and more by the one that decides.
    assert (found.verdict, found.needed) == ("inconclusive", 159)
    assert bounded_sessions_needed(0.2 * math.sqrt(12 / 11), 0.05, floor=-1.0) == 159
    assert found.least_margin == pytest.approx(1 - 0.05 ** (1 / 12))
    assert (
        "Inconclusive; sessions that would show in four of five cases that a candidate which is as "
        "good is not inferior: Reach 159 (at best these 12 show a margin of 22.1 points)."
    ) in list(compare_notes.notes(comparison))


def test_runs_of_controls_alone_have_nothing_to_compare(tmp_path):
    runs = [
        run_of(tmp_path / name, [row("a", "identity", saving=0.0, reach=1.0, is_control=True)])
        for name in ("old", "new")
    ]

    with pytest.raises(ResultsError, match="There are only controls and only controls"):
        compare_pairs(pairs_of(*runs))


def namesakes(folder, label="s", places=("a.json", "b.json", "c.json")):
    return [
        replace(
            row("conversation", label, saving=0.5, reach=0.5, needs=4),
            cell_id=f"{label}{place}",
            transcript_digest=f"digest of {place}",
            source=f"{folder}/{place}",
        )
        for place in places
    ]


def test_what_is_missing_is_not_taken_for_changed_because_of_a_namesake(tmp_path):
    whole = load(write_run(tmp_path / "whole", namesakes("old")))
    part = load(write_run(tmp_path / "part", namesakes("new", places=("a.json",))))

    (found,) = compare(Side(whole, "s"), Side(part, "s"))
    (turned,) = compare(Side(part, "s"), Side(whole, "s"))

    assert {(each.transcript, each.reason) for each in found.unmatched} == {
        ("b.json", "only in the baseline"),
        ("c.json", "only in the baseline"),
    }
    assert {(each.transcript, each.reason) for each in turned.unmatched} == {
        ("b.json", "only in the candidate"),
        ("c.json", "only in the candidate"),
    }


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    rows = [
        *namesakes("x", places=("a.json",)),
        *(
            replace(each, transcript_digest="y", cell_id="y")
            for each in namesakes("y", places=("a.json",))
        ),
    ]
    more = [
        replace(rows[0], transcript=f"{at}", cell_id=f"{at}", transcript_digest=f"{at}")
        for at in range(2)
    ]

    names = set(load(write_run(tmp_path / "run", [*rows, *more])).names.values())

    assert names == {"x/a.json", "y/a.json", "0", "1"}


def test_only_what_has_a_verdict_is_in_the_family_that_p_is_adjusted_for(tmp_path):
    """Ten sessions have reach, three of them quotes: no interval, no verdict, no part in it."""
    rows = []
    for at in range(10):
        quotes = {"quote_kept_fraction": 1.0} if at < 3 else {}
        rows.append(row(f"t{at}", "old", saving=0.5, reach=0.5, **quotes))
        worse = {"quote_kept_fraction": 0.5} if at < 3 else {}
        rows.append(row(f"t{at}", "new", saving=0.5, reach=0.6 - 0.2 * (at < 2), **worse))
    run = run_of(tmp_path / "run", rows)

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    reach, quotes, saving = (
        found_in(comparison, name) for name in ("reach", "quote_kept_fraction", "saving_fraction")
    )
    # Eight up and two down of 0.1: as often as 0, 1, 2, 8, 9 or 10 of ten coins, 112 of 1,024.
    assert reach.p == pytest.approx(112 / 1024)
    assert (saving.p, quotes.p, quotes.p_holm) == (1.0, None, None)
    # Reach and saved input have a verdict, quotes and dollars none: twice, and not four times.
    assert reach.p_holm == pytest.approx(2 * 112 / 1024)
    content = json.loads(json.dumps(compare_text.as_json([comparison])))
    written = {each["measure"]["name"]: each for each in content["comparisons"][0]["differences"]}
    assert (written["quote_kept_fraction"]["p"], written["quote_kept_fraction"]["p_holm"]) == (
        None,
        None,
    )
    assert (written["violations"]["p"], written["violations"]["p_holm"]) == (1.0, None)


def test_equal_rows_are_said_to_be_so_and_not_given_an_interval(tmp_path):
    run = run_of(tmp_path / "run", many(0.0, noise=0.0))

    (comparison,) = compare(Side(run, "old"), Side(run, "new"))

    shown = compare_text.cells(found_in(comparison, "reach"))
    assert compare_text.HEADS[4] == "95 % bootstrap"
    assert shown[4] == "identical on all 24"
    # Of the bound it stands in the verdict: 1 - 0.05 ** (1 / 24) either way.
    assert shown[-1] == "inconclusive (90 %: -11.7 to +11.7)"
    assert "0.0 to 0.0" not in compare_text.markdown([comparison]).replace("0.0 to 0.0)", "")


def test_a_margin_that_a_file_sets_wrongly_is_named_with_file_key_and_the_nearest_measure(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("sys.argv", [])
    monkeypatch.chdir(tmp_path)
    path = write_run(tmp_path / "run", many(0.0))
    (tmp_path / "mine.toml").write_text("[compare]\nmargin = {reech = 0.03}\n")

    code = ended("--config", "mine.toml", "compare", f"{path}::old", f"{path}::new")

    said = capsys.readouterr().err
    assert code == 2
    assert "a margin of reech: no measure 'reech' (did you mean reach?); there are reach, " in said
    assert "(flags from mine.toml: [compare] margin)" in said
