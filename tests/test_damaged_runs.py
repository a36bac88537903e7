"""Damaged run folders, and flags that make no sense: one line that says what and where."""

import json
from types import SimpleNamespace

import pytest

from compaction.errors import StrategyError
from evals.cli import main
from evals.commands.explain import ExplainError, _chosen
from evals.config import ConfigError, read_config
from evals.results import ResultsError, RunFolder
from evals.settings import MAX_SETTINGS, expand
from reports.faults import rules_of
from reports.frames import load
from reports.measures import with_margins
from tests.reports_cases import row, small_rows, write_run


def rows_of(folder):
    return [json.loads(line) for line in folder.rows_path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"reach": "x"}, "reach is 'x', not a number"),
        ({"cost_before_usd": [1]}, r"cost_before_usd is '\[1\]', not a number"),
        (None, "it has no cell_id, and "),
    ],
)
def test_a_row_that_is_none_is_named_with_file_and_line(tmp_path, changed, said):
    folder = RunFolder(write_run(tmp_path / "run", small_rows()))
    rows = rows_of(folder)
    rows[1] = {} if changed is None else rows[1] | changed
    folder.rows_path.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")

    with pytest.raises(ResultsError, match=rf"rows.jsonl, line 2 is not a row: {said}.*delete"):
        load(folder.path)


def test_a_row_that_is_nested_without_end_is_no_row(tmp_path):
    folder = RunFolder(write_run(tmp_path / "run", small_rows()))
    with folder.rows_path.open("a") as file:
        file.write("[" * 200_000 + "\n")

    with pytest.raises(ResultsError, match="is not a row"):
        load(folder.path)


@pytest.mark.parametrize("content", ["[", "[]", "[" * 200_000])
def test_a_damaged_manifest_says_what_to_do(tmp_path, content):
    path = write_run(tmp_path / "run", small_rows())
    (path / "run.json").write_text(content)

    with pytest.raises(ResultsError, match=r"run.json .*delete it and run again"):
        load(path)


def test_statements_of_rules_that_are_none_are_left_out(tmp_path):
    assert rules_of(load(write_run(tmp_path / "run", small_rows(), rules="x"))) == ()


def test_a_grid_nobody_waits_for_is_refused():
    values = [str(number) for number in range(1_000)]

    with pytest.raises(StrategyError, match=r"a x b has 1,000,000 combinations, more than 10,000"):
        expand("xun", {}, {"a": values, "b": values})
    assert len(expand("xun", {}, {"a": values, "b": values[:10]})) == MAX_SETTINGS


@pytest.mark.parametrize("margin", [float("nan"), float("inf"), -0.1])
def test_a_margin_is_a_number(margin):
    with pytest.raises(ResultsError, match="must be >= 0 and finite"):
        with_margins({"reach": margin})


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "[run]\njobs = " + "9" * 5_000])
def test_a_config_file_that_no_parser_takes_is_no_toml(tmp_path, text):
    path = tmp_path / "compaction-evals.toml"
    path.write_text(text)

    with pytest.raises(ConfigError, match="is no TOML"):
        read_config(path, {"run": {"jobs": SimpleNamespace()}})


def test_transcripts_of_one_name_are_told_apart_by_their_files():
    rows = [row("chat", "xun", source=f"logs/{name}.json", transcript_digest=name) for name in "ab"]

    with pytest.raises(ExplainError, match=r"'chat' may be any of logs/a.json, logs/b.json"):
        _chosen(rows, "chat", None)
    with pytest.raises(ExplainError, match=r"it has logs/a.json, logs/b.json"):
        _chosen(rows, "other", None)
    with pytest.raises(ExplainError, match="no transcript ''"):
        _chosen(rows, "", None)
    assert _chosen(rows, "logs/b.json", "xun").transcript_digest == "b"


@pytest.mark.parametrize("target", ["RUN", ".", "/", ".."])
def test_a_folder_in_place_of_a_file_is_one_line(tmp_path, monkeypatch, capsys, target):
    path = write_run(tmp_path / "run", [row("a", "old", saving=0.5), row("a", "new", saving=0.4)])
    target = target.replace("RUN", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", f"{path}::old", f"{path}::new", "--md", target]
    monkeypatch.setattr("sys.argv", ["compaction-evals", *arguments])

    with pytest.raises(SystemExit) as stopped:
        main()

    said = " ".join(capsys.readouterr().err.split())
    assert stopped.value.code == 2
    assert f"cannot write {target}: Is a directory; choose another place" in said
    assert "internal error" not in said


def test_a_report_that_cannot_be_written_is_one_line_and_leaves_the_old_one(
    tmp_path, monkeypatch, capsys
):
    path = write_run(tmp_path / "run", [row("a", "old", saving=0.5)])
    (path / "report.html").mkdir()
    (path / "report.html" / "mine").touch()
    monkeypatch.setattr("sys.argv", ["compaction-evals", "report", str(path)])

    with pytest.raises(SystemExit) as stopped:
        main()

    said = " ".join(capsys.readouterr().err.split())
    assert stopped.value.code == 2
    assert said.startswith(f"error: cannot write {path}/report.html: Is a directory")
