"""Tables and charts as files that other programs read."""

import re
import sys
import xml.etree.ElementTree as ElementTree
from contextlib import redirect_stdout
from io import StringIO

import pandas as pd
import pytest

from evals.cli import main
from evals.results import ResultsError, RunFolder
from reports.exports import export, files_of, has_parquet, pictures
from reports.frames import load
from tests.reports_cases import row, small_rows, small_sidecar, write_run


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    path = write_run(tmp_path_factory.mktemp("exports") / "run", small_rows())
    RunFolder(path).write_sidecar("a-xun(k=2)", small_sidecar())
    return path


@pytest.fixture(scope="module")
def exported(run_path):
    """Export by the command, once for all tests; return the folder and what was said."""
    target = run_path.parent / "out"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        command = ["compaction-evals", "report", str(run_path), "--export", str(target)]
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            main()
    assert stop.value.code == 0
    return target, said.getvalue()


def test_the_tables_come_back_with_every_row(exported):
    folder, _ = exported

    rows = pd.read_csv(folder / "rows.csv")
    assert len(rows) == len(small_rows())
    assert sorted(rows["reach"].dropna()) == sorted(
        item.reach for item in small_rows() if item.reach is not None
    )
    assert rows.loc[rows["violations"] > 0, "violated"].tolist() == ['{"calls_stay_paired": 4}']
    assert "key" not in rows.columns  # how the report names a transcript to itself
    assert "\x1f" not in (folder / "rows.csv").read_text("utf-8")
    settings = pd.read_csv(folder / "settings.csv")
    assert set(settings["label"]) == {item.label for item in small_rows()}


def test_a_name_in_a_table_steers_no_terminal_and_is_no_formula(tmp_path):
    odd = {"project": "/a\x1b[31m/\u202eb\r\nc", "error": "-1+cmd|' /C calc'!A0", "source": "=1+1"}
    run = load(write_run(tmp_path / "run", [row("@SUM(A1)", "xun", saving=0.5, **odd)]))

    export([file for file in files_of(run) if file[0] == "rows.csv"], tmp_path / "out")

    text = (tmp_path / "out" / "rows.csv").read_bytes().decode("utf-8")
    assert text.replace("\n", "").isprintable()
    (found,) = pd.read_csv(tmp_path / "out" / "rows.csv").to_dict("records")
    assert found["project"] == r"/a\u001b[31m/\u202eb\u000d c"
    assert found["error"] == "'-1+cmd|' /C calc'!A0"
    assert (found["source"], found["transcript"]) == ("'=1+1", "'@SUM(A1)")
    assert found["saving_fraction"] == 0.5


def test_every_chart_of_the_page_is_a_picture_twice(exported, run_path):
    folder, _ = exported

    names = [name for name, _ in pictures(load(run_path))]
    assert "pareto-1" in names
    for name in names:
        svg = (folder / f"{name}.svg").read_text("utf-8")
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_parquet_keeps_the_types(exported):
    if not has_parquet():
        pytest.skip("pyarrow is not installed")

    rows = pd.read_parquet(exported[0] / "rows.parquet")
    assert rows["engaged"].dtype == bool
    assert len(rows) == len(small_rows())


def test_the_command_says_what_it_wrote(exported):
    folder, said = exported

    names = re.findall(r"wrote (.*)", said)
    assert sorted(names) == sorted(map(str, folder.iterdir()))


def test_a_file_in_the_place_of_the_folder_is_one_line(run_path, tmp_path):
    (tmp_path / "taken").write_text("x")

    with pytest.raises(ResultsError, match="cannot write to"):
        export((), tmp_path / "taken")
