"""Cells to rows: resume, failures, processes, and what makes a cell a new one."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from compaction.errors import CompactionError
from evals import cells as cells_module
from evals.fidelity.placebo import PlaceboChoice
from evals.results import RunFolder
from evals.settings import Setting
from evals.sweep import ModelChoice
from tests.run_cases import CODE, calls_made, numbers, sweep, write_chats, write_code

GRID = (
    Setting("identity"),
    Setting("xun", {"token_threshold": "50%"}),
    Setting("random_drop"),
    Setting("truncate", {"keep_tokens": "50%"}),
)


@pytest.fixture
def data(tmp_path):
    return write_chats(tmp_path / "data", 2)


def test_every_transcript_has_a_row_under_every_setting(tmp_path, data):
    rows = sweep(data, tmp_path / "run", *GRID)

    assert len(rows) == 8
    assert {row.status for row in rows} == {"ok"}
    assert len({row.cell_id for row in rows}) == 8
    folder = RunFolder(tmp_path / "run")
    assert numbers(sorted(folder.rows(), key=lambda row: (row.source, row.label))) == numbers(rows)
    assert all(folder.sidecar(row.cell_id) is not None for row in rows)


def test_a_second_run_computes_nothing(tmp_path, data):
    code = write_code(tmp_path)
    setting = Setting(f"{code}:newest")
    first = sweep(data, tmp_path / "run", setting, *GRID)
    made = calls_made(tmp_path)

    second = sweep(data, tmp_path / "run", setting, *GRID)

    assert made > 0
    assert calls_made(tmp_path) == made
    assert second == first
    assert [row.seconds for row in second] == [row.seconds for row in first]


def test_only_what_is_new_is_computed(tmp_path, data):
    setting = Setting(f"{write_code(tmp_path)}:newest")
    sweep(data / "chat_0.json", tmp_path / "run", setting)
    made = calls_made(tmp_path)

    rows = sweep(data / "chat_1.json", tmp_path / "run", setting)
    again = sweep(data, tmp_path / "run", setting)

    assert calls_made(tmp_path) == 2 * made
    assert again[1:] == rows


def test_a_failing_cell_is_a_row_not_a_gap_and_the_others_go_on(tmp_path, data):
    code = write_code(tmp_path)

    rows = sweep(data, tmp_path / "run", Setting(f"{code}:fails"), *GRID)

    failed = [row for row in rows if row.status == "error"]
    assert len(rows) == 10
    assert [row.strategy for row in failed] == [f"{code}:fails"] * 2
    assert all("request 0" in row.error and "no luck" in row.error for row in failed)
    assert all(row.requests > 0 and row.saving_fraction is None for row in failed)


def test_a_failed_row_is_tried_again_and_replaced(tmp_path):
    data = write_chats(tmp_path / "data", 1)
    setting = Setting(f"{write_code(tmp_path)}:fails_once")

    first = sweep(data, tmp_path / "run", setting)
    second = sweep(data, tmp_path / "run", setting)

    assert [row.status for row in (*first, *second)] == ["error", "ok"]
    assert first[0].cell_id == second[0].cell_id
    assert list(RunFolder(tmp_path / "run").rows()) == second


def test_a_setting_that_cannot_be_bound_is_a_row(tmp_path, data):
    rows = sweep(data, tmp_path / "run", Setting("xun", {"token_threshold": "-1"}), GRID[0])

    assert [(row.strategy, row.status) for row in rows] == [
        ("identity", "ok"),
        ("xun", "error"),
    ] * 2


def test_a_transcript_that_cannot_be_judged_gives_failed_rows_and_the_next_goes_on(
    tmp_path, data, monkeypatch
):
    def find_facts(prepared):
        if prepared.transcript.source.endswith("chat_0.json"):
            raise RuntimeError("cannot be judged\nat all")
        return facts(prepared)

    facts = cells_module.find_facts
    monkeypatch.setattr(cells_module, "find_facts", find_facts)

    rows = sweep(data, tmp_path / "run", GRID[0], GRID[1])

    assert [row.status for row in rows] == ["error", "error", "ok", "ok"]
    assert rows[0].error == "RuntimeError: cannot be judged"


@pytest.mark.slow
def test_two_processes_give_the_rows_of_one(tmp_path, data):
    alone = sweep(data, tmp_path / "one", *GRID)
    shared = sweep(data, tmp_path / "two", *GRID, jobs=2)

    assert numbers(shared) == numbers(alone)
    assert len((tmp_path / "two" / "rows.jsonl").read_text("utf-8").splitlines()) == 8


KILLED = """
import sys
from pathlib import Path
from evals.settings import Setting
from tests.run_cases import sweep
from tests.test_sweep import GRID

data, out, spec = sys.argv[1:]
sweep(Path(data), Path(out), *GRID, Setting(spec), Setting("salad"))
"""


@pytest.mark.slow
def test_a_run_that_was_killed_and_started_again_equals_one_that_was_not(tmp_path, data):
    setting = Setting(f"{write_code(tmp_path)}:slow")
    out = tmp_path / "killed"
    root = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(data), str(out), setting.strategy],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    rows_path = out / "rows.jsonl"
    limit = time.monotonic() + 60
    while time.monotonic() < limit and not (rows_path.exists() and rows_path.stat().st_size > 4000):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with rows_path.open("ab") as file:
        file.write(b'{"cell_id": "half a ro')
    kept = len(list(RunFolder(out).rows()))

    resumed = sweep(data, out, *GRID, setting, Setting("salad"))
    whole = sweep(data, tmp_path / "whole", *GRID, setting, Setting("salad"))

    assert 0 < kept < len(whole) == 12
    assert numbers(resumed) == numbers(whole)
    stored = sorted(RunFolder(out).rows(), key=lambda row: (row.source, row.label))
    assert numbers(stored) == numbers(whole)


def test_what_determines_a_row_makes_a_new_cell(tmp_path, monkeypatch):
    data = write_chats(tmp_path / "data", 1)
    setting = Setting("truncate", {"keep_tokens": "400"})

    def cell(*settings, **fields):
        (row,) = sweep(data, tmp_path / "run", *settings, **fields)
        return row.cell_id

    cells = [
        cell(setting),
        cell(Setting("truncate", {"keep_tokens": "401"})),
        cell(Setting("random_drop")),
        cell(setting, seed=1),
        cell(setting, placebo=PlaceboChoice()),
        cell(setting, model=ModelChoice("some-model", "http://127.0.0.1:9/v1")),
        cell(setting, model=ModelChoice("some-model", "http://127.0.0.1:8/v1")),
    ]
    for name in ("METRICS_VERSION", "EXTRACTOR_VERSION", "MATCHER_VERSION"):
        with monkeypatch.context() as patch:
            patch.setattr(cells_module, name, "next")
            cells.append(cell(setting))

    assert len(set(cells)) == len(cells) == 10
    assert cell(setting) == cells[0]
    assert len(list(RunFolder(tmp_path / "run").rows())) == 10


def test_a_row_of_an_older_definition_is_computed_anew(tmp_path, data, monkeypatch):
    setting = Setting(f"{write_code(tmp_path)}:newest")
    sweep(data, tmp_path / "run", setting)
    made = calls_made(tmp_path)

    monkeypatch.setattr(cells_module, "METRICS_VERSION", "next")
    sweep(data, tmp_path / "run", setting)

    assert calls_made(tmp_path) == 2 * made


def test_changed_code_is_a_new_cell(tmp_path):
    data = write_chats(tmp_path / "data", 1)
    setting = Setting(f"{write_code(tmp_path)}:newest")
    first = sweep(data, tmp_path / "run", setting)

    write_code(tmp_path, CODE.replace("messages[:1] + messages[-1:]", "messages[-1:]"))
    second = sweep(data, tmp_path / "run", setting)
    write_code(tmp_path)
    third = sweep(data, tmp_path / "run", setting)

    assert first[0].cell_id != second[0].cell_id
    assert third == first


def test_changed_content_is_a_new_cell_under_the_same_name(tmp_path):
    data = write_chats(tmp_path / "data", 1)
    first = sweep(data, tmp_path / "run", GRID[0])

    write_chats(tmp_path / "data", 1, n_messages=23)
    second = sweep(data, tmp_path / "run", GRID[0])

    assert first[0].source == second[0].source
    assert first[0].cell_id != second[0].cell_id


def test_a_folder_that_cannot_be_written_ends_the_run_with_its_reason(tmp_path, data):
    (tmp_path / "run" / "rows.jsonl").mkdir(parents=True)

    with pytest.raises(CompactionError, match=r"rows\.jsonl|cannot write"):
        sweep(data, tmp_path / "run", GRID[0])


def test_a_cell_that_takes_too_long_is_a_row(tmp_path, data):
    rows = sweep(data, tmp_path / "run", GRID[1], cell_seconds=-1.0)

    assert [row.status for row in rows] == ["error", "error"]
    assert all("out of time" in row.error for row in rows)


def test_rows_say_what_they_are_rows_of(tmp_path, data):
    (row, _) = sweep(data, tmp_path / "run", GRID[1])

    assert row.source == str(data / "chat_0.json")
    assert row.label == "xun(token_threshold=50%)"
    assert row.parameters == {"token_threshold": "50%"}
    assert row.resolved["token_threshold"] == round(row.peak_tokens_before / 2)
    assert (row.is_control, row.messages, row.requests) == (False, 21, 10)
    assert replace(row, seconds=0.0) != row
