"""Tables and charts as files that other programs read."""

import sys
import xml.etree.ElementTree as ElementTree

import pandas as pd
import pytest

from evals.cli import main
from evals.results import ResultsError, RunFolder
from reports.exports import export, has_parquet, pictures
from reports.frames import load
from tests.reports_cases import small_rows, small_sidecar, write_run


@pytest.fixture
def run_path(tmp_path):
    path = write_run(tmp_path / "run", small_rows())
    RunFolder(path).write_sidecar("a-xun(k=2)", small_sidecar())
    return path


def test_the_tables_come_back_with_every_row(run_path, tmp_path):
    export(load(run_path), tmp_path / "out")

    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    assert len(rows) == len(small_rows())
    assert sorted(rows["reach"].dropna()) == sorted(
        item.reach for item in small_rows() if item.reach is not None
    )
    assert rows.loc[rows["violations"] > 0, "violated"].tolist() == ['{"calls_stay_paired": 4}']
    settings = pd.read_csv(tmp_path / "out" / "settings.csv")
    assert set(settings["label"]) == {item.label for item in small_rows()}


def test_every_chart_of_the_page_is_a_picture_twice(run_path, tmp_path):
    run = load(run_path)

    written = export(run, tmp_path / "out")

    names = [name for name, _ in pictures(run)]
    assert "pareto-1" in names
    for name in names:
        svg = (tmp_path / "out" / f"{name}.svg").read_text("utf-8")
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert {path.suffix for path in written} >= {".csv", ".svg", ".png"}


def test_parquet_keeps_the_types(run_path, tmp_path):
    if not has_parquet():
        pytest.skip("pyarrow is not installed")

    export(load(run_path), tmp_path / "out")

    rows = pd.read_parquet(tmp_path / "out" / "rows.parquet")
    assert rows["engaged"].dtype == bool
    assert len(rows) == len(small_rows())


def test_the_command_says_what_it_wrote(run_path, tmp_path, monkeypatch, capsys):
    target = tmp_path / "out"
    monkeypatch.setattr(
        sys, "argv", ["compaction-evals", "report", str(run_path), "--export", str(target)]
    )

    with pytest.raises(SystemExit) as stop:
        main()

    assert stop.value.code == 0
    assert f"wrote {target / 'rows.csv'}" in capsys.readouterr().out.replace("\n", "")


def test_a_file_in_the_place_of_the_folder_is_one_line(run_path, tmp_path):
    (tmp_path / "taken").write_text("x")

    with pytest.raises(ResultsError, match="cannot write to"):
        export(load(run_path), tmp_path / "taken")
