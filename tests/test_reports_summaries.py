"""A model's summaries beside extractive ones: on the same transcripts, by hand."""

from reports import page, tables
from reports.frames import load
from reports.summaries import NOTE, TITLE, summaries
from tests.reports_cases import row, small_rows, write_run

COPIED = {"parameters": {"by": "extractive", "at_tokens": "35%"}, "summary_model": "extractive"}
WRITTEN = {
    "parameters": {"prompt": "plain", "at_tokens": "35%"},
    "summary_model": "m-1",
    "own_seconds": 30.0,
}


def rows():
    copied, written = "summary_once(by=extractive)", "summary_once(prompt=plain)"
    return [
        row("a", copied, saving=0.4, reach=0.5, facts_kept_fraction=0.8, **COPIED),
        row("b", copied, saving=0.2, reach=0.7, facts_kept_fraction=0.6, **COPIED),
        row("c", copied, saving=0.2, reach=0.1, **COPIED),
        row("a", written, saving=0.5, reach=0.3, unsupported_fraction=0.25, **WRITTEN),
        row("b", written, saving=0.3, reach=0.5, unsupported_fraction=0.75, **WRITTEN),
        row("c", written, saving=0.0, reach=1.0, compactions_failed=1, **WRITTEN),
    ]


def test_both_are_over_the_transcripts_on_which_both_engaged(tmp_path):
    found = summaries(load(write_run(tmp_path / "run", rows())))

    assert found.rows == (
        (
            "summary_once(prompt=plain)",
            "m-1",
            "2, 1",
            "40.0 / 30.0",
            "40.0 / 60.0",
            "– / 70.0",
            "50.0 / –",
            "60",
        ),
    )


def test_a_failed_summary_beside_one_that_was_used_is_in_the_numbers_as_the_note_says(tmp_path):
    written = row("c", rows()[-1].label, saving=0.5, reach=0.9, compactions_failed=1, **WRITTEN)

    found = summaries(load(write_run(tmp_path / "run", [*rows()[:-1], written])))

    assert found.rows[0][2:4] == ("3, 1", "43.3 / 26.7")
    assert "in the numbers only where the setting engaged" in NOTE


def test_another_place_is_no_twin_and_other_runs_have_no_table(tmp_path):
    elsewhere = {**COPIED, "parameters": {"by": "extractive", "at_tokens": "50%"}}
    copied = row("a", "summary_once(by=extractive)", saving=0.4, reach=0.5, **elsewhere)

    for name, given in (("elsewhere", [copied, *rows()[3:]]), ("other", small_rows())):
        run = load(write_run(tmp_path / name, given))
        assert summaries(run) is None
        assert TITLE not in tables.markdown(run)


def test_page_and_markdown_show_it(tmp_path):
    run = load(write_run(tmp_path / "run", rows()))

    assert f"## {TITLE}" in tables.markdown(run)
    assert NOTE in tables.markdown(run)
    content = page.html(run)
    assert f"<h2>{TITLE.replace(chr(39), '&#39;')}</h2>" in content
    assert "<td>40.0 / 60.0</td>" in content
