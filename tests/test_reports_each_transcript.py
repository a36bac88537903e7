from reports import tables
from reports.each_transcript import MAX_ROWS, each_table
from reports.frames import load
from tests.reports_cases import row, write_run

COSTS = {"cost_before_usd": 2.0, "cost_after_usd": 2.5, "saved_usd": -0.5}


def run_of(path, rows):
    return load(write_run(path, rows))


def test_each_transcript_has_what_was_saved_and_kept_of_it_the_longest_first(tmp_path):
    rows = [
        row("short", "x", saving=0.5, reach=0.25, needs=8, lost=4, mentioned=2),
        row("idle", "x", saving=0.0, reach=1.0, needs=3, lost=0, input_tokens_before=500.0),
        row("none", "x", saving=0.2, reach=None, needs=0, input_tokens_before=2_000.0),
        row("long", "x", saving=0.25, reach=1.0, needs=4, input_tokens_before=8_000.0, **COSTS),
    ]

    found = each_table(run_of(tmp_path / "run", rows), rows[0].provenance)

    assert found.label == "x"
    assert [(line[0], *line[2:]) for line in found.rows] == [
        ("long", "8.0", "25.0", "-0.5000", "100.0", "4", "4", "0"),
        ("none", "2.0", "20.0", "–", "–", "–", "–", "–"),
        # 8 needs: 4 lost and 2 only mentioned leave 2.
        ("short", "1.0", "50.0", "–", "25.0", "8", "2", "4"),
        # Where a setting did nothing there is nothing to judge.
        ("idle", "0.5", "0.0", "–", "–", "–", "–", "–"),
    ]


def test_it_is_of_the_setting_that_the_answer_names_and_stands_in_the_markdown(tmp_path):
    rows = [
        row("a", "keeps", saving=0.3, reach=0.9, needs=10, source="logs/a|b.json"),
        row("a", "loses", saving=0.3, reach=0.1, needs=10, source="logs/a|b.json"),
    ]

    text = tables.markdown(run_of(tmp_path / "run", rows))

    provenance = rows[0].provenance
    section = text[text.index(f"### Each transcript, {provenance}, `keeps`") :].split("\n\n")[1]
    assert "`logs/a\\|b.json`" in section
    assert " 90.0 |" in section


def test_without_an_engaged_setting_there_is_no_table(tmp_path):
    run = run_of(tmp_path / "run", [row("a", "x", saving=0.0, reach=1.0)])

    assert each_table(run, "recorded") is None
    assert "### Each transcript" not in tables.markdown(run)


def test_of_very_many_transcripts_the_longest_are_shown_and_the_rest_counted(tmp_path):
    rows = [row(f"t{at}", "x", saving=0.5, reach=1.0) for at in range(MAX_ROWS + 3)]
    run = run_of(tmp_path / "run", rows)

    found = each_table(run, rows[0].provenance)

    assert (len(found.rows), found.n_left_out) == (MAX_ROWS, 3)
    assert "And 3 shorter ones" in tables.markdown(run)
