"""The table of what a model still answers, and unrecorded cells beside failed ones."""

from reports import tables
from reports.asked import HEADS, asked
from reports.faults import failures, unrecorded
from reports.frames import load
from reports.page import html
from tests.reports_cases import failed, row, write_run

ASKED = {
    "probe_reader": "small-model",
    "probes": 10,
    "probes_counted": 8,
    "probes_unrecorded": 0,
    "probes_not_read": 2,
    "probes_ungraded": 0,
    "probe_unknown_fraction": 0.25,
    "probe_effect_retained": 0.5,
}


def run_of(tmp_path, *rows):
    return load(write_run(tmp_path / "run", list(rows)))


def test_fractions_are_means_over_transcripts(tmp_path):
    run = run_of(
        tmp_path,
        row("a", "plain", saving=0.5, probe_right_fraction=0.5, probe_wrong_fraction=0.25, **ASKED),
        row("b", "plain", saving=0.5, probe_right_fraction=1.0, probe_wrong_fraction=0.0, **ASKED),
        row("a", "identity", saving=0.0, **{**ASKED, "probes_counted": 0}),
    )

    found = asked(run)

    (line,) = found.rows
    assert dict(zip(HEADS, line, strict=True)) == {
        "Setting": "plain",
        "Data": "recorded",
        "Questions (transcripts)": "16 (2)",
        "Right, %": "75.0",
        "Unknown, %": "25.0",
        "Wrong, %": "12.5",
        "Effect retained, %": "50.0",
        "Next requests": "–",
        "Same tool, %": "–",
        "Same call, %": "–",
        "Same call beyond A/A, points": "–",
    }
    assert "small-model" in found.notes[0]
    assert "say nothing about other models" in found.notes[0]
    assert "2 questions" in found.notes[2]


def test_every_report_has_the_table_and_escapes_it(tmp_path):
    hostile = {**ASKED, "probe_reader": "<b>m|x</b>"}
    run = run_of(tmp_path, row("a", "plain", saving=0.5, probe_right_fraction=0.5, **hostile))

    assert "## What a model still answers" in tables.markdown(run)
    assert "<b>m" not in tables.markdown(run)
    assert "<h2>What a model still answers</h2>" in html(run)
    assert "<b>m" not in html(run)


def test_a_run_that_asked_nobody_has_no_such_table(tmp_path):
    run = run_of(tmp_path, row("a", "plain", saving=0.5))

    assert asked(run) is None
    assert "still answers" not in tables.markdown(run)


def test_what_was_never_recorded_is_no_failure(tmp_path):
    missing = "no recorded summary; record it: compaction-evals probe a.json"
    run = run_of(
        tmp_path,
        row("a", "plain", saving=0.5),
        failed("a", "xun", "boom"),
        row("a", "summary_once", status="unrecorded", error=missing),
        row("b", "summary_once", status="unrecorded", error=missing),
    )

    assert [fault.text for fault in failures(run).shown] == ["boom"]
    assert unrecorded(run).n_all == 2
    assert "compaction-evals probe a.json" in unrecorded(run).shown[0].text
    assert "compaction-evals probe" in tables.markdown(run)
