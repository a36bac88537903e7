"""The lines below a table, its order, and what cells say."""

import pytest

from evals.metrics import METRICS
from evals.needs import LONG_GAP_REQUESTS
from reports import notes
from reports.columns import COLUMNS
from reports.frames import load
from reports.league import Block, blocks
from tests.reports_cases import failed, row, write_run

FATES = "Needs reached/ only mentioned/ repeatable/ lost"


def block_of(path, rows) -> Block:
    return blocks(load(write_run(path / "run", rows)))[0]


def cell_of(block: Block, label: str, title: str) -> str:
    at = [column.title for column in block.columns].index(title)
    return next(line.cells[at].text for line in block.lines if line.label == label)


def truncation(*names: str) -> list:
    return [
        row(name, "truncate(k=1)", saving=0.6, reach=0.4, is_control=True, needs=4)
        for name in names
    ]


def test_every_column_has_a_definition():
    known = {metric.name for metric in METRICS}

    assert {column.metric for column in COLUMNS} <= known


def test_a_long_gap_is_the_same_in_reports_and_scores():
    assert notes.LONG_GAP_REQUESTS == LONG_GAP_REQUESTS


def test_transcripts_with_needs_are_counted_once_per_block(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4),
        row("b", "x", saving=0.5),
        row("a", "y", saving=0.5, reach=0.9, needs=4),
        *truncation("a"),
    ]

    text = "\n".join(block_of(tmp_path, rows).notes)

    assert text.count("1 of 2 transcripts has needs over long gaps") == 1


def test_nothing_is_said_of_needs_where_nothing_was_scored(tmp_path):
    block = block_of(tmp_path, [failed("a", "x", "no")])

    assert not any("long gap" in note for note in block.notes)


def test_a_setting_that_engaged_on_few_transcripts_with_needs_comes_below(tmp_path):
    rows = [
        row(name, label, saving=0.5 if name in engaged else 0.0, reach=reach, needs=4)
        for label, engaged, reach in (
            ("default", "a", 1.0),
            ("half", "ab", 0.6),
            ("all", "abc", 0.5),
        )
        for name in "abcd"
    ]

    block = block_of(tmp_path, rows)

    assert [line.label for line in block.lines] == ["half", "all", "default"]


def test_a_saving_beyond_truncation_has_its_numbers_and_no_comparison(tmp_path):
    rows = [
        row("a", "far", saving=0.9, reach=0.2, needs=4),
        row("a", "near", saving=0.5, reach=0.9, needs=4),
        *truncation("a"),
    ]

    block = block_of(tmp_path, rows)

    assert cell_of(block, "far", "Reach, % of needs (n)") == "20.0 (1)"
    assert cell_of(block, "far", "Saved, % of tokens") == "90.0"
    assert cell_of(block, "far", "Vs truncation: n") == "–"
    assert cell_of(block, "far", "Vs truncation: difference, points") == "–"
    assert cell_of(block, "near", "Vs truncation: n") == "1"
    # 0.5 / 0.6 of the way from all reached to 40 %.
    assert cell_of(block, "near", "Vs truncation: difference, points") == "+40.0"


def test_what_repeats_another_column_is_left_out(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4),
        row("b", "x", saving=0.3, reach=0.7, needs=4),
    ]

    def titles(*names):
        block = block_of(tmp_path / str(len(names)), [*rows, *truncation(*names)])
        return [column.title for column in block.columns if "there" in column.title]

    assert titles("a", "b") == []
    assert titles("a") == ["Vs truncation: saved there, %", "Vs truncation: reach there, %"]


def test_without_any_truncation_saved_and_reach_are_over_all_and_say_their_n(tmp_path):
    block = block_of(tmp_path, [row("a", "x", saving=0.5, reach=0.9, needs=4)])

    assert cell_of(block, "x", "Reach, % of needs (n)") == "90.0 (1)"
    assert not any("truncation" in column.title for column in block.columns)
    assert not any("truncation" in note for note in block.notes)


def test_needs_that_code_says_nothing_about_are_counted(tmp_path):
    silent = {"undeclared": 83, "not_declared": ("keeps_system", "recoverable")}
    rows = [
        row("a", "m.py:f(k=1)", saving=0.5, reach=0.3, needs=118, **silent),
        row("a", "m.py:f(k=2)", saving=0.5, reach=0.4, needs=118, **silent),
        row("a", "xun", saving=0.5, reach=0.9, needs=118, lost=5, mentioned=6, regenerable=7),
    ]

    block = block_of(tmp_path, rows)

    assert cell_of(block, "m.py:f(k=1)", FATES) == "35/0/0/0, 83 not declared"
    assert cell_of(block, "xun", FATES) == "100/6/7/5"
    said = [note for note in block.notes if "not declared" in note]
    assert said == ["m.py:f: not declared, so not checked: keeps_system and recoverable."]


def test_settings_with_one_result_are_said_to_be_the_same(tmp_path):
    rows = [
        row(
            name, f"pi({value})" if value else "pi", saving=saving, reach=0.5, parameters=parameters
        )
        for value, parameters, last in (
            ("", {}, 0.3),
            ("25%", {"budget": "25%"}, 0.3),
            ("50%", {"budget": "50%"}, 0.4),
        )
        for name, saving in (("a", 0.3), ("b", last))
    ]

    same = [note for note in block_of(tmp_path, rows).notes if "same result" in note]

    assert same == ["pi: the same result with budget default and 25%: it made no difference here."]


@pytest.mark.parametrize(("failed_steps", "is_shown"), [(0, False), (2, True)])
def test_failed_steps_have_a_column_only_if_there_are_any(tmp_path, failed_steps, is_shown):
    rows = [row("a", "x", saving=0.5, reach=0.9, compactions_failed=failed_steps)]

    titles = [column.title for column in block_of(tmp_path, rows).columns]

    assert ("Failed steps" in titles) is is_shown
