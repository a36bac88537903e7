"""Text of lost needs: only if the run was told to keep it, cut, escaped and counted."""

from pathlib import Path

from evals.results import RunFolder
from reports.frames import load
from reports.lost import HOW_TO, MAX_NEEDS, MAX_VALUE_CHARS, lost_of
from reports.page import html
from reports.tables import markdown
from tests.reports_cases import row, write_run

COLUMNS = ["digest", "class", "kind", "request", "gap", "status", "value", "source"]


def run_with(path: Path, needs: list[list], *, show_text: bool = True, **columns) -> Path:
    columns = {"lost": len(needs), **columns}
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=40, **columns),
        row("a", "truncate(k=1)", saving=0.6, reach=0.1, is_control=True),
    ]
    folder = write_run(path / "run", rows, show_text=show_text)
    content = {"needs": {"columns": COLUMNS, "rows": needs}}
    RunFolder(folder).write_sidecar(rows[0].cell_id, content)
    return folder


def need(value: str, *, kind: str = "need", gap: int = 9, status: str = "lost") -> list:
    return ["d", "path", kind, 12, gap, status, value, 3]


def test_only_what_was_lost_over_a_long_gap_is_listed(tmp_path):
    needs = [
        need("src/lost.py"),
        need("src/undeclared.py", status="undeclared"),
        need("src/near.py", gap=3),
        need("src/seen.py", status="restated"),
        need("src/quoted.py", kind="quote"),
    ]

    found = lost_of(load(run_with(tmp_path, needs)), "recorded")

    assert [part.needs for part in found] == [
        (
            ("12", "path", "src/lost.py", "9", "3", "lost"),
            ("12", "path", "src/undeclared.py", "9", "3", "not declared"),
        )
    ]


def test_without_the_flag_there_is_no_text_and_the_way_to_it_is_named(tmp_path):
    run = load(run_with(tmp_path, [need("my/secret/path")], show_text=False))

    for text in (markdown(run), html(run)):
        assert "my/secret/path" not in text
        assert HOW_TO in text


def test_at_most_twenty_needs_of_a_transcript_are_listed(tmp_path):
    needs = [need(f"src/{at}.py") for at in range(MAX_NEEDS + 3)]

    run = load(run_with(tmp_path, needs))

    assert [(len(part.needs), part.n_hidden) for part in lost_of(run, "recorded")] == [(20, 3)]
    assert "and 3 more." in markdown(run)
    assert "and 3 more." in html(run)


def test_needed_text_is_cut_and_stays_text(tmp_path):
    hostile = "<script>alert(1)</script>\x1b[31m | `x` \u202e" + "y" * 1_000
    run = load(run_with(tmp_path, [need(hostile)]))

    part = lost_of(run, "recorded")[0]
    assert len(part.needs[0][2]) == MAX_VALUE_CHARS
    assert "<script>alert(1)" not in html(run)
    assert "&lt;script&gt;alert(1)" in html(run)
    lines = [line for line in markdown(run).splitlines() if "alert(1)" in line]
    assert len(lines) == 1
    assert "\x1b" not in lines[0]
    assert lines[0].replace("\\|", "").count("|") == 7


def test_a_run_that_lost_nothing_says_so(tmp_path):
    run = load(run_with(tmp_path, []))

    assert "None over long gaps." in markdown(run)
