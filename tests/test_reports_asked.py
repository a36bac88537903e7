"""The table of what a model still answers, and unrecorded cells beside failed ones."""

from rich.console import Console

from evals.results import RunFolder
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

COUNTED = {
    "is_counted": True,
    "status": "restated",
    "by": ["judge", "exact"],
    "compacted": ["right", "right"],
}
LEFT_OUT = {**COUNTED, "is_counted": False}


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
        "Right, [95 %] or range": "50.0 to 100.0",
        "Unknown, %": "25.0",
        "Wrong, %": "12.5",
        "Effect retained, %": "50.0",
        "Next requests": "–",
        "Same tool, %": "–",
        "Same tool beyond A/A, points": "–",
        "Same call, %": "–",
        "Same call A/A, %": "–",
        "Same call beyond A/A, points": "–",
    }
    assert "small-model" in found.notes[0]
    assert "say nothing about other models" in found.notes[0]
    assert "2 questions" in found.notes[2]


def test_ten_transcripts_have_an_interval(tmp_path):
    rights = [at % 2 / 1 for at in range(10)]
    run = run_of(
        tmp_path,
        *(
            row(f"t{at}", "plain", saving=0.5, probe_right_fraction=right, **ASKED)
            for at, right in enumerate(rights)
        ),
    )

    (line,) = asked(run).rows

    # Student's t of ten zeros and ones, five each: 50 +- 2.262 * 52.7 / sqrt(10).
    assert line[3:5] == ("50.0", "[12.3, 87.7]")


def test_next_calls_stand_beside_what_the_model_repeats_itself(tmp_path):
    acted = {
        "action_model": "small-model",
        "actions_asked": 3,
        "action_tool_fraction": 1.0,
        "action_tool_beyond_aa": 0.25,
        "action_call_aa_fraction": 0.75,
    }
    run = run_of(
        tmp_path,
        row(
            "a", "plain", saving=0.5, action_call_fraction=0.5, action_call_beyond_aa=-0.25, **acted
        ),
        row(
            "b", "plain", saving=0.5, action_call_fraction=1.0, action_call_beyond_aa=0.25, **acted
        ),
    )

    (line,) = asked(run).rows

    assert line[8:] == ("6", "100.0", "+25.0", "75.0", "75.0", "0.0")
    assert "does not repeat itself is not put down to a view" in asked(run).notes[1]


def test_answers_that_are_none_are_named_with_their_reason(tmp_path):
    cells = [
        row("a", "plain", saving=0.5, probe_right_fraction=0.5, probe_fault="x", **ASKED),
        row("a", "xun", saving=0.5, probe_fault="x", **{**ASKED, "probes_counted": 0}),
    ]
    run = run_of(tmp_path, *cells)
    faults = ["port uncompacted: the model refused", "ticket over the view: the answer is empty"]
    RunFolder(run.path).write_sidecar(cells[0].cell_id, {"probe_faults": faults})
    RunFolder(run.path).write_sidecar(cells[1].cell_id, {"probe_faults": faults[:1]})

    notes = " ".join(asked(run).notes)

    assert "no scores: the answer is empty (1), the model refused (1)." in notes


def test_the_judge_is_held_against_the_grader_over_all_answers_once(tmp_path):
    cells = [
        row("a", label, saving=0.5, probe_right_fraction=0.5, **ASKED) for label in ("plain", "xun")
    ]
    run = run_of(tmp_path, *cells)
    # Uncompacted answers stand in every cell of a transcript: 2 x right, 1 x wrong in both, once.
    common = [
        ["f", "uncompacted", True, True],
        ["g", "uncompacted", True, True],
        ["h", "uncompacted", False, False],
    ]
    RunFolder(run.path).write_sidecar(
        cells[0].cell_id, {"judged": [*common, ["f", "over the view", True, False]]}
    )
    RunFolder(run.path).write_sidecar(cells[1].cell_id, {"judged": common})

    # Of 4 pairs 3 agree; by chance 3/4 x 2/4 + 1/4 x 2/4 = 1/2: kappa 0.5.
    notes = " ".join(asked(run).notes)
    assert (
        "kappa 0.50 over 4 answers (3 right, 1 not); for a headline it takes 0.80 over 50" in notes
    )
    assert "The judge is the model that answered, and no person labelled its verdicts." in notes


def test_verdicts_of_an_unproven_judge_are_named(tmp_path):
    cell = row("a", "plain", saving=0.5, probe_right_fraction=0.5, **ASKED)
    run = run_of(tmp_path, cell)
    RunFolder(run.path).write_sidecar(cell.cell_id, {"probes": [COUNTED, LEFT_OUT]})

    notes = " ".join(asked(run).notes)
    assert "Judged: 1 answer of 2; the others needed no judge." in notes
    assert "is not known; record it with `probe --judge all`" in notes


def test_replicates_split_the_variance(tmp_path):
    spread = {
        "probe_replicates": 5,
        "probe_variance_questions": 0.15,
        "probe_variance_answers": 0.05,
    }
    run = run_of(
        tmp_path, row("a", "plain", saving=0.5, probe_right_fraction=0.5, **ASKED, **spread)
    )

    assert "5 replicates: 0.150 between questions, 0.050 between answers" in asked(run).notes[-1]


def test_replicates_of_summaries_split_the_variance_between_conversations_and_summaries(tmp_path):
    def of(transcript, number, right):
        resolved = {"prompt": "plain", "replicate": number}
        label = f"summary_once(replicate={number})"
        return row(
            transcript, label, saving=0.5, resolved=resolved, probe_right_fraction=right, **ASKED
        )

    run = run_of(tmp_path, of("a", 0, 0.0), of("a", 1, 1.0), of("b", 0, 1.0), of("b", 1, 1.0))

    # Means 0.5 and 1. Within: (0.25 + 0.25) / 2 = 0.25. Between: (0.125 - 0.25) / 2 < 0.
    assert (
        "4 summaries of 2 conversations and prompts: 0.000 between these, 0.250 between summaries"
        in asked(run).notes[-1]
    )
    assert "widest range of one of these is 0 to 100 %" in asked(run).notes[-1]


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


def test_views_that_nobody_was_asked_about_are_named_with_the_command_that_asks(tmp_path):
    nobody = {**ASKED, "probes_counted": 0, "probes_unrecorded": 10}
    run = run_of(
        tmp_path,
        row("a", "plain", saving=0.5, probe_right_fraction=0.5, **ASKED),
        row("a", "xun(k=2)", saving=0.5, parameters={"k": "2", "n": "a b"}, **nobody),
        row("b", "xun(k=2)", saving=0.5, **nobody),
        row("a", "idle", saving=0.0, **nobody),
        row("a", "salad", saving=0.5, is_control=True, **nobody),
    )

    (note,) = [note for note in asked(run).notes if note.startswith("Not recorded")]

    assert note == (
        "Not recorded: 2 cells of 1 setting about whose views no model was asked. To record the "
        "first: compaction-evals probe a.jsonl --model small-model --base-url URL --strategy xun "
        "--set k=2 --set 'n=a b'"
    )


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
    console = Console(width=200, record=True)
    console.print(tables.terminal(run, width=200))
    for text in (console.export_text(), tables.markdown(run), html(run)):
        assert "record it: compaction-evals probe a.json" in " ".join(text.split())


def test_every_report_says_whose_summaries_they_are_and_that_it_says_nothing_of_others(tmp_path):
    run = run_of(
        tmp_path,
        row("a", "summary_once(prompt=plain)", saving=0.5, summary_model="small-model"),
        row("b", "summary_once(prompt=xun)", saving=0.5, summary_model="small-model"),
        row("a", "summary_once(by=extractive)", saving=0.5, summary_model="extractive"),
    )

    console = Console(width=300, record=True)
    console.print(tables.terminal(run, width=300))
    for text in (console.export_text(), tables.markdown(run), html(run)):
        assert (
            "Summaries of summary_once(prompt=plain) and summary_once(prompt=xun) were written by "
            "small-model. They say nothing about other models."
        ) in " ".join(text.split())
