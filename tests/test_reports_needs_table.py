"""Reach by kind of need and by gap, with numbers that are worked out here."""

from pathlib import Path

import pytest

from evals.results import RunFolder
from reports import needs_table as table
from reports.frames import load
from reports.needs_table import BESIDE, COUNTS, column_of_gap, needs_table
from reports.page import html
from reports.tables import markdown
from tests.reports_cases import row, write_run

COLUMNS = ["digest", "class", "kind", "request", "gap", "status"]
USES = (
    # (class, kind, request, gap): two requests over long gaps, one of them with three needs.
    ("path", "need", 5, 4),
    ("path", "need", 5, 12),
    ("identifier", "need", 5, 40),
    ("identifier", "need", 9, 31),
    ("path", "need", 9, 3),
    ("path", "need", 2, 1),
    # Not part of reach, so not of this table.
    ("quote", "quote", 9, 20),
    ("path", "derived", 9, 20),
)


def sidecar(statuses: str) -> dict:
    """Return the needs of `USES`: L is lost, M mentioned, S visible, R recoverable, T restated."""
    names = {"L": "lost", "M": "mentioned", "S": "visible_source", "R": "recoverable"}
    names["T"] = "restated"
    rows = [
        [f"d{at}", *use, names[status]]
        for at, (use, status) in enumerate(zip(USES, statuses, strict=True))
    ]
    return {"needs": {"columns": COLUMNS, "rows": rows}}


def run_of(folder: Path, cells: list[tuple], sidecars: dict[str, dict]):
    rows = [
        row(transcript, label, saving=saving, reach=reach, needs=4, is_control=is_control)
        for transcript, label, saving, reach, is_control in cells
    ]
    path = write_run(folder, rows)
    for cell_id, content in sidecars.items():
        RunFolder(path).write_sidecar(cell_id, content)
    return load(path)


@pytest.fixture
def run(tmp_path):
    """One setting that saves 50 % of two transcripts; truncation was run at 40 and 60 % on both."""
    cells = [(name, "clear", 0.5, 1 / 6 + 0.5, False) for name in "ab"]
    cells += [
        (name, f"truncate(keep_tokens={keep}%)", 1 - keep / 100, 0.5, True)
        for name in "ab"
        for keep in (80, 60, 40)
    ]
    return run_of(
        tmp_path / "run",
        cells,
        {
            # Request 5: one path of two, no name; request 9: its name.
            "a-clear": sidecar("SLLTSSSS"),
            "b-clear": sidecar("SRTSLSLL"),
            "a-truncate(keep_tokens=80%)": sidecar("LLLLLLLL"),
            "a-truncate(keep_tokens=60%)": sidecar("SSSSSSLL"),
            "a-truncate(keep_tokens=40%)": sidecar("SLLLSSLL"),
            "b-truncate(keep_tokens=60%)": sidecar("SSSLSSLL"),
            "b-truncate(keep_tokens=40%)": sidecar("SSLLSSSS"),
        },
    )


def lines_of(found):
    return {line.name: dict(zip(found.heads[1:], line.cells, strict=True)) for line in found.lines}


def test_reach_is_macro_over_requests_and_then_over_transcripts(run):
    found = needs_table(run, "recorded")

    reach = lines_of(found)["clear"]
    # a: request 5 reaches 1 of 3, request 9 all; b: all of both.
    assert reach["All, gap over 3"] == "83.3"
    assert reach["Path"] == "75.0"
    # a: 0 of request 5, 1 of request 9; b: both.
    assert reach["Name"] == "75.0"
    # Requests 2 and 9: a reaches both, b loses that of 9.
    assert reach["Gap 1 to 3"] == "75.0"
    assert reach["Gap 4 to 10"] == "100.0"
    assert reach["Gap 11 to 30"] == "50.0"
    assert reach["Gap over 30"] == "75.0"


def test_truncation_is_read_between_the_two_sizes_beside_the_saving(run):
    beside = lines_of(needs_table(run, "recorded"))[BESIDE]

    # Halfway between 40 and 60 % saved. a: 1 and 1/6; b: 1/2 and 1/3.
    assert beside["All, gap over 3"] == "50.0"
    # a: 1 and 1/2; b: 1 and 1.
    assert beside["Path"] == "87.5"
    # a: 1 and 0; b: 1/2 and 0.
    assert beside["Name"] == "37.5"


def test_kinds_and_long_gaps_add_up_to_all_needs_and_quotes_are_none(run):
    found = needs_table(run, "recorded")

    counts = lines_of(found)[COUNTS]
    assert counts["All, gap over 3"] == "8 (2)"
    assert [counts["Path"], counts["Name"]] == ["4 (2)", "4 (2)"]
    gaps = ("Gap 4 to 10", "Gap 11 to 30", "Gap over 30")
    assert [counts[name] for name in gaps] == ["2 (2)", "2 (2)", "4 (2)"]
    assert counts["Gap 1 to 3"] == "4 (2)"
    assert "URL" not in found.heads


def test_both_forms_show_the_table_with_its_definition(run):
    cells = ["83.3", "75.0", "75.0", "75.0", "100.0", "50.0", "75.0"]

    text, page = markdown(run), html(run)

    assert f"### {table.TITLE}, recorded" in text
    assert f"| `clear` | {' | '.join(cells)} |" in text
    assert f"| {COUNTS} | 8 (2) |" in text
    assert "".join(f"<td>{cell}</td>" for cell in cells) in page
    for form in (text, page):
        assert "1 is a value that had just arrived" in form


def test_gaps_fall_into_the_columns_that_name_them():
    heads = [column_of_gap(gap) for gap in (1, 3, 4, 10, 11, 30, 31, 500)]

    assert heads == [
        *("Gap 1 to 3", "Gap 1 to 3", "Gap 4 to 10", "Gap 4 to 10"),
        *("Gap 11 to 30", "Gap 11 to 30", "Gap over 30", "Gap over 30"),
    ]


def test_without_truncation_there_is_no_line_for_it(tmp_path):
    run = run_of(
        tmp_path / "run", [("a", "clear", 0.5, 0.5, False)], {"a-clear": sidecar("SLLTSSSS")}
    )

    found = needs_table(run, "recorded")

    assert [line.name for line in found.lines] == ["clear", COUNTS]


def test_a_run_whose_sidecars_tell_of_no_needs_has_no_table(tmp_path):
    run = run_of(tmp_path / "run", [("a", "clear", 0.5, 0.5, False)], {})

    assert needs_table(run, "recorded") is None
    assert table.TITLE not in markdown(run) + html(run)


def test_each_strategy_is_shown_once_and_the_named_setting_first(tmp_path):
    labels = ["clear(k=1)", "clear(k=2)", "xun", "summary", "snip"]
    cells = [("a", label, 0.5, 0.9 - at / 10, False) for at, label in enumerate(labels)]
    run = run_of(tmp_path / "run", cells, {f"a-{label}": sidecar("SLLTSSSS") for label in labels})

    found = needs_table(run, "recorded")

    shown = [line.name for line in found.lines if line.is_setting]
    assert shown == ["clear(k=1)", "xun", "summary"]


def test_of_many_transcripts_those_with_the_most_needs_are_shown_and_it_says_so(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(table, "MAX_TRANSCRIPTS", 2)
    cells = [(name, "clear", 0.5, 0.5, False) for name in "abc"]
    run = run_of(tmp_path / "run", cells, {f"{name}-clear": sidecar("SLLTSSSS") for name in "abc"})

    found = needs_table(run, "recorded")

    assert lines_of(found)[COUNTS]["All, gap over 3"] == "8 (2)"
    assert "over the 2 transcripts with the most needs, of up to 3 transcripts" in found.notes[-1]
