"""The terminal table at several widths, and the Markdown report."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from reports.frames import Run, load
from reports.tables import markdown, terminal
from reports.wording import points
from tests.reports_cases import HOSTILE, failed, hostile_rows, row, small_rows, write_run

GOLDEN = Path(__file__).parent / "golden" / "report_small.md"


@pytest.fixture
def small(tmp_path) -> Run:
    return load(write_run(tmp_path / "run", small_rows()))


def printed(run: Run, width: int, **options) -> str:
    out = io.StringIO()
    Console(file=out, width=width, **options).print(terminal(run, width=width))
    return out.getvalue()


def line_with(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def test_the_markdown_of_the_small_run_is_the_golden_one(small):
    """Write the new text into the file after reading the difference."""
    assert markdown(small) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(small, width):
    assert max(map(len, printed(small, width).splitlines())) <= width


def test_eighty_columns_show_saving_reach_difference_and_truncation(small):
    cells = line_with(printed(small, 80), "xun(k=2)").split()

    assert cells[:7] == ["xun(k=2)", "20.0", "80.0", "(2)", "+5.0", "2", "75.0"]


def test_sixty_columns_keep_tokens_dollars_reach_and_difference_with_its_n(tmp_path):
    costs = {"cost_before_usd": 2.0, "cost_after_usd": 2.5}
    rows = [row("a", "x" * 40, saving=0.5, reach=0.9, **costs), *small_rows()]

    text = printed(load(write_run(tmp_path / "run", rows)), 60)

    head = " ".join(text.split("Recorded")[1].split("───")[0].split("\n", 1)[1].split())
    assert head == "Vs Vs Saved Saved Reach % trunc trunc Setting % $ % (n) pts n"


def test_thirty_columns_show_saved_and_reach_and_count_what_has_no_room(small):
    text = printed(small, 30)

    assert line_with(text, "xun(k=2)").split() == ["xun(k=2)", "20.0", "80.0", "(2)"]
    n_columns = markdown(small).split("## Authored")[0].split("| Setting |")[1].split("\n")[0]
    assert f"{n_columns.count('|') - 2} more columns in report.md." in text


def test_a_wide_terminal_shows_every_column(small):
    text = printed(small, 300)

    for word in ("[95 %]", "lost", "Comp", "Mean", "Eng/"):
        assert word in text, word
    assert "70.0 to 90.0" in text
    assert "report.md" not in text.split("Authored")[0]


def test_a_column_without_any_value_is_left_out(tmp_path):
    without = load(write_run(tmp_path / "1", [row("a", "x", saving=0.5, reach=0.5)]))
    with_facts = [row("a", "x", saving=0.5, reach=0.5, facts_kept_fraction=0.0)]

    assert "| Facts" not in markdown(without)
    assert "Mean" not in markdown(without).split("What the columns mean")[0]
    assert "| Facts" in markdown(load(write_run(tmp_path / "2", with_facts)))


def test_strategies_come_by_reach_then_saving_and_controls_last(tmp_path):
    rows = [
        row("a", "low", saving=0.9, reach=0.1),
        row("a", "never", saving=0.0, reach=1.0),
        row("a", "same_but_less", saving=0.2, reach=0.8),
        row("a", "same", saving=0.3, reach=0.8),
        row("a", "identity", saving=0.0, reach=1.0, is_control=True),
    ]
    names = ("low", "never", "same_but_less", "same", "identity")

    text = printed(load(write_run(tmp_path / "run", rows)), 80)

    starts = [line.split(" ")[0] for line in text.splitlines()]
    order = [start for start in starts if start in names]
    assert order == ["same", "same_but_less", "low", "never", "identity"]
    between = starts[starts.index("never") : starts.index("identity")]
    assert any(start.startswith("──") for start in between)


def test_what_did_nothing_reads_not_engaged(small):
    assert "not engaged" in markdown(small)
    assert "not" in line_with(printed(small, 80), "identity").split()


def test_the_sizes_of_truncation_are_one_line_over_the_same_transcripts(small):
    text = printed(small, 200)

    # At 25 % of a: 1 - 0.2 * 25/40; b was not measured beyond 20 %, so it is in no number.
    assert (
        "truncate, 4 sizes: reach, %: 87.5 at 25 % saved, 70.0 at 50 % saved, 45.0 at 75 % saved; "
        "over the 1 transcript on which all of these were measured."
    ) in text
    assert "truncate(keep_tokens" not in text


def test_savings_that_no_transcript_reaches_are_left_out_of_that_line(tmp_path):
    rows = [item for item in small_rows() if item.label != "truncate(keep_tokens=25%)"]
    rows.append(row("a", "truncate(keep_tokens=25%)", saving=0.7, reach=0.5, is_control=True))

    text = markdown(load(write_run(tmp_path / "run", rows)))

    assert "70.0 at 50 % saved; over the 1 transcript on which all of these were measured." in text


def test_the_head_says_what_was_run(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=0.5, calibration_error_fraction=0.02),
        row("b", "x", saving=0.5, reach=0.5, provenance="authored"),
    ]

    text = printed(load(write_run(tmp_path / "run", rows)), 200)

    assert "2 transcripts (1 authored, 1 recorded), 1 setting, 40 requests, 2.0 thousand" in text
    assert "by o200k_base" in text
    assert "recorded usage in 1 of 1 recorded transcript, median error 2.0 %" in text
    assert "Files" not in text


def test_the_usage_of_made_transcripts_is_no_calibration(tmp_path):
    rows = [
        row("a", "x", saving=0.5, calibration_error_fraction=0.5),
        row("b", "x", saving=0.5, calibration_error_fraction=0.0, provenance="authored"),
        row("c", "x", saving=0.5, provenance="generated"),
    ]

    text = printed(load(write_run(tmp_path / "run", rows)), 200)

    assert "1 of 1 recorded transcript, median error 50.0 %" in text
    assert "Usage of 1 authored transcript is computed, not billed" in text
    assert "generated transcript is" not in text


def test_files_that_were_not_read_or_passed_over_are_counted(tmp_path):
    rows = [row("a", "x", saving=0.5)]
    files = {"refused": ["bad.json:1: not JSON"], "passed_over": ["a", "b"], "noted": []}

    text = markdown(load(write_run(tmp_path / "run", rows, **files)))

    assert "Files: 1 not read, 2 passed over; see run.json." in text
    assert "- Files refused: `1`\n- Files passed over: `2`\n- Notes on files: `0`" in text


def test_a_placebo_rate_is_said_only_above_two_percent(tmp_path):
    low = load(write_run(tmp_path / "1", [row("a", "x", saving=0.5, placebo_fraction=0.02)]))
    high = load(write_run(tmp_path / "2", [row("a", "x", saving=0.5, placebo_fraction=0.021)]))

    assert "Placebo" not in markdown(low)
    assert "Placebo rate 2.1 (1) %" in markdown(high)


def test_a_broken_rule_is_named_with_its_first_place(tmp_path):
    rows = [row("a", "x", saving=0.5, violations=3, violated={"calls_stay_paired": 3})]
    run = load(write_run(tmp_path / "run", rows))
    place = {"rule": "calls_stay_paired", "request": 7, "pointer": "/4", "explanation": "secret"}

    _write_sidecar(tmp_path / "run", rows[0].cell_id, {"violations": [place]})

    expected = "calls_stay_paired at 3 of 20 requests; first at request 7, /4"
    assert expected in printed(run, 200)
    assert expected in markdown(run)
    assert "secret" not in markdown(run)


def test_rules_broken_by_controls_are_not_listed(tmp_path):
    rows = [row("a", "x", violations=3, violated={"no_growth": 3}, saving=0.5, is_control=True)]

    assert "No strategy broke" in markdown(load(write_run(tmp_path / "run", rows)))


def test_failures_of_one_kind_are_one_line_and_kinds_beyond_ten_are_counted(tmp_path):
    rows = [failed(f"t{at}", "x", "request 1: boom") for at in range(4)]
    rows += [failed(f"u{at}", "x", f"request {at}: other") for at in range(12)]

    text = printed(load(write_run(tmp_path / "run", rows)), 80)

    assert "Failed cells: 16" in text
    assert "x on t0: request 1: boom (and 3 more cells)" in text
    assert text.count(": other") == 9
    assert "and 3 more kinds" in text


def test_a_rule_broken_on_several_transcripts_is_one_line(tmp_path):
    rows = [
        row(f"t{at}", "x", saving=0.5, violations=2, violated={"no_growth": 2}) for at in range(3)
    ]

    text = printed(load(write_run(tmp_path / "run", rows)), 80)

    assert "Broken rules: 3" in text
    assert text.count("no_growth") == 1
    assert "x on t0: no_growth at 2 of 20 requests (and 2 more transcripts)" in text


def test_faults_that_a_caller_lists_are_not_printed_again(tmp_path):
    rows = [
        row("a", "x", saving=0.5, violations=2, violated={"no_growth": 2}, compactions_failed=1),
        failed("b", "x", "request 1: boom"),
    ]
    run = load(write_run(tmp_path / "run", rows))
    out = io.StringIO()

    Console(file=out, width=80).print(terminal(run, width=80, show_faults=False))

    assert "boom" not in out.getvalue()
    assert "Broken rules" not in out.getvalue()
    assert "Failed steps: 1" in out.getvalue()


def test_hostile_names_steer_neither_terminal_nor_markdown(tmp_path):
    run = load(write_run(tmp_path / "run", hostile_rows()))

    for text in (printed(run, 80), markdown(run)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\u202e" in text
        assert len(text) < 20_000
    found = [part.splitlines() for part in markdown(run).split("\n\n") if part.startswith("|")]
    assert len(found) == 2
    for table in found:
        assert {line.replace("\\|", "").count("|") for line in table} == {table[0].count("|")}


def test_names_in_markdown_are_code_and_cannot_end_it(tmp_path):
    rows = [row("a", name, saving=0.5, reach=0.5) for name in HOSTILE]

    lines = markdown(load(write_run(tmp_path / "run", rows))).splitlines()

    assert any(line.startswith("| `<script>alert(1)</script>` |") for line in lines)
    assert any(line.startswith("| ``a`b\\|c`` |") for line in lines)


def test_a_pipe_gets_plain_text(small):
    assert "\x1b[" not in printed(small, 80)


def test_a_run_without_rows_still_has_a_report(tmp_path):
    run = load(write_run(tmp_path / "run", []))

    assert "Nothing was measured" in markdown(run)
    assert "No cell was run." in printed(run, 80)


def _write_sidecar(path: Path, cell_id: str, content: dict) -> None:
    from evals.results import RunFolder

    RunFolder(path).write_sidecar(cell_id, content)


def test_self_checks_are_a_line_and_one_more_for_each_that_is_not_met(tmp_path):
    rows = [
        row("a", "identity", saving=0.0, reach=0.5),
        row("a", "drop_all", saving=0.9, reach=0.0),
    ]
    broken = load(write_run(tmp_path / "run", rows))

    text = " ".join(printed(broken, 200).split())

    assert (
        "Self-checks of the instrument: 2 of 3 met. recorded: identity reaches everything: " in text
    )
    assert "**NO**, at least 50.0 %" in markdown(broken)
    assert "- recorded: identity saves nothing: **yes**, at most 0.000 %" in markdown(broken)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.001, "+0.1"), (0.0004, "0.0"), (-0.0001, "0.0"), (-0.001, "-0.1"), (0.05, "+5.0")],
)
def test_a_difference_has_its_sign_unless_it_is_written_as_nothing(value, text):
    assert points(value) == text


def test_columns_of_zeros_give_way_on_a_narrow_terminal(tmp_path):
    def head(name, **columns):
        rows = [row("a", "x", saving=0.5, reach=0.9, **columns)]
        text = printed(load(write_run(tmp_path / name, rows)), 44)
        return text.split("Recorded")[1].split("───")[0]

    failed, broken = head("f", compactions_failed=1), head("b", violations=2)

    assert ("steps" in failed, "Viol" in failed) == (True, False)
    assert ("steps" in broken, "Viol" in broken) == (False, True)
