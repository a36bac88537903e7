"""The compactions that transcripts hold themselves, as a table of a report."""

from evals.results import RunFolder
from reports import page, tables
from reports.frames import load
from reports.recorded import recorded_compactions
from tests.reports_cases import row, small_rows, write_run

REQUESTS = {"before": [900.0, 1_000.0, 200.0, 300.0, 150.0], "segment": [0, 0, 1, 1, 2]}


def run_of(path):
    rows = [row("a|b", "xun", saving=0.5, reach=0.9, segments=3, unresolvable_needs=4)]
    rows += [row("plain", "xun", saving=0.5, reach=0.9)]
    folder = RunFolder(write_run(path, rows))
    folder.write_sidecar(rows[0].cell_id, {"requests": REQUESTS})
    return load(path)


def test_each_compaction_is_a_row_with_what_went(tmp_path):
    found = recorded_compactions(run_of(tmp_path / "run"))

    assert found.rows == (
        ("a|b", "1", "2", "1,000", "200", "20.0", "2"),
        ("a|b", "2", "4", "300", "150", "50.0", "1"),
    )
    assert found.note.startswith("1 transcript had been compacted when recorded, 2 times in all")
    assert "4 references used afterwards came from before such a compaction" in found.note


def test_a_compaction_after_which_nothing_was_asked_is_a_row_too(tmp_path):
    rows = [row("a", "xun", saving=0.5, reach=0.9, segments=3)]
    folder = RunFolder(write_run(tmp_path / "run", rows))
    requests = {"before": [900.0, 300.0], "segment": [0, 2], "first_message": [0, 5, 7, 9]}
    folder.write_sidecar(rows[0].cell_id, {"requests": requests})

    found = recorded_compactions(load(tmp_path / "run"))

    assert found.rows == (
        ("a", "1", "–", "900", "–", "–", "0"),
        ("a", "2", "1", "900", "300", "33.3", "1"),
        ("a", "3", "–", "300", "–", "–", "0"),
    )
    assert found.note.startswith("1 transcript had been compacted when recorded, 3 times in all")
    assert found.note.endswith("–: no request followed it.")


def test_page_and_markdown_show_it(tmp_path):
    run = run_of(tmp_path / "run")

    assert "| `a\\|b` | 2 | 4 | 300 | 150 | 50.0 | 1 |" in tables.markdown(run)
    assert "<bdi>a|b</bdi></th><td>2</td><td>4</td><td>300</td>" in page.html(run)


def test_without_any_it_is_said_on_the_page_only(tmp_path):
    run = load(write_run(tmp_path / "run", small_rows()))

    assert "None of the transcripts had been compacted" in page.html(run)
    assert "Recorded compactions" not in tables.markdown(run)
