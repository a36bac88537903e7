"""Runs that are killed, doubled, or out of space; and runs of very many cells."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evals.results import ResultsError, RunFolder
from evals.settings import Setting
from tests.run_cases import sweep, write_chats, write_code

ROOT = Path(__file__).resolve().parents[1]
KILLS = int(os.environ.get("DURABILITY_KILLS", "3"))
"""Random moments at which a run is killed; twenty on demand."""
CELLS = int(os.environ.get("DURABILITY_CELLS", "1500"))
"""Cells of the long run; 100000 on demand."""

RUN = """
import sys
from evals.cli import main

sys.argv = ["compaction-evals", "run", *sys.argv[1:]]
main()
"""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    """Wait for a process; return its exit code and what it said."""
    with process:
        _, said = process.communicate(timeout=300)
    return process.returncode, said


def totals(out):
    """Return everything that a report is made of, but for the time that it took."""
    manifest = RunFolder(out).manifest()
    rows = []
    for row in RunFolder(out).rows():
        content = row.to_json()
        del content["seconds"]
        rows.append((content, RunFolder(out).sidecar(row.cell_id)))
    rows.sort(key=lambda item: item[0]["cell_id"])
    return rows, manifest["cells"], manifest["corpus_digest"], manifest["settings"]


N_CELLS = 9
"""Of the run that is killed: three transcripts under three settings."""
MAX_TRIES = 20


def n_rows(out):
    path = RunFolder(out).rows_path
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed_midway(out, moments, *flags):
    """Kill a run at a random moment between its first and its last row; return its folder.

    One that was over before the signal came is tried again in another folder.
    """
    for number in range(MAX_TRIES):
        folder = out.with_name(f"{out.name}-{number}")
        rows_wanted, pause_seconds = moments.randrange(1, N_CELLS), moments.uniform(0, 0.02)
        process = start(*flags, "--out", folder)
        while n_rows(folder) < rows_wanted and process.poll() is None:
            time.sleep(0.001)
        time.sleep(pause_seconds)
        process.send_signal(signal.SIGKILL)
        code, _ = ended(process)
        if code == -signal.SIGKILL and 0 < n_rows(folder) < N_CELLS:
            return folder
    pytest.fail(f"none of {MAX_TRIES} kills landed while a run was writing its rows")


@pytest.mark.slow
def test_a_run_killed_at_any_moment_and_started_again_has_the_same_totals(tmp_path):
    data = write_chats(tmp_path / "data", 3)
    flags = (data, "--strategy", "xun", "--grid", "toolcall_keep_max=1,2,4", "--no-controls")
    assert ended(start(*flags, "--out", tmp_path / "whole")) == (0, "")
    moments = random.Random(KILLS)

    for number in range(KILLS):
        out = killed_midway(
            tmp_path / f"killed-{number}", moments, *flags, "--jobs", 1 + number % 2
        )
        kept = {row.cell_id: row for row in RunFolder(out).rows()}

        assert 0 < len(kept) < N_CELLS
        assert "finished_at" not in RunFolder(out).manifest()
        assert ended(start(*flags, "--out", out)) == (0, "")
        done = {row.cell_id: row for row in RunFolder(out).rows()}
        assert all(done[cell] == row for cell, row in kept.items()), "none was made a second time"
        assert totals(out) == totals(tmp_path / "whole")


def test_a_second_run_on_a_folder_is_refused_while_the_first_goes_on(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create()

    with folder.locked():
        process = start(
            write_chats(tmp_path / "data", 1), "--strategy", "xun", "--out", folder.path
        )
        code, said = ended(process)

    assert code == 2
    assert f"another run is writing to {folder.path}; wait for it, or choose another --out" in said
    assert not folder.rows_path.exists()


def test_a_folder_is_free_again_when_its_run_was_killed(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.create()
    code = (
        "import sys, time; from pathlib import Path; from evals.results import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).locked():\n    print(flush=True)\n    time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path)], cwd=ROOT, stdout=subprocess.PIPE
    )
    process.stdout.readline()
    with pytest.raises(ResultsError, match="another run"), folder.locked():
        pytest.fail("two runs in one folder")

    process.kill()
    process.wait()
    process.stdout.close()

    with folder.locked():
        assert folder.path.exists()


@pytest.mark.slow
def test_a_full_disk_ends_the_run_in_one_line_and_keeps_what_is_there(tmp_path):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"
    before = sweep(data, out, Setting("identity"))
    limit_bytes = (out / "rows.jsonl").stat().st_size + 100

    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes}))\n" + RUN
    )
    flags = ("--strategy", "identity", "--strategy", "salad", "--no-controls", "--out", str(out))
    done = subprocess.run(
        [sys.executable, "-c", code, str(data), *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    kept = [row for row in RunFolder(out).rows() if row.status == "ok"]
    assert [row.cell_id for row in kept] == [row.cell_id for row in before]
    again = sweep(data, out, Setting("identity"), Setting("salad"))
    assert [row.status for row in again] == ["ok", "ok"]


@pytest.mark.slow
def test_a_strategy_that_never_returns_costs_its_deadline_and_no_other_cell(tmp_path):
    data = write_chats(tmp_path / "data", 2)
    hanging = write_code(tmp_path, "def hangs(messages):\n    while True: pass\n")
    flags = (
        "--strategy",
        f"{hanging}:hangs",
        "--strategy",
        "xun",
        "--no-controls",
        "--timeout",
        "1",
    )
    out = tmp_path / "run"

    code, said = ended(start(data, *flags, "--jobs", 2, "--out", out))

    rows = list(RunFolder(out).rows())
    assert code == 1
    assert sorted((row.strategy.endswith("hangs"), row.status) for row in rows) == [
        (False, "ok"),
        (False, "ok"),
        (True, "error"),
        (True, "error"),
    ]
    assert "Traceback" not in said


MANY = """
import sys
from pathlib import Path
from evals.settings import expand
from tests.peak_memory import peak_kib
from tests.run_cases import sweep_streaming

data, out, n = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
count = sweep_streaming(data, out, *expand("random_drop", {}, {"seed": [str(i) for i in range(n)]}))
print(count, peak_kib())
"""


def peak_kib(data, out, n):
    done = subprocess.run(
        [sys.executable, "-c", MANY, str(data), str(out), str(n)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, peak = map(int, done.stdout.split())
    assert count == n
    return peak


@pytest.mark.slow
def test_memory_of_very_many_cells_is_bounded(tmp_path):
    data = write_chats(tmp_path / "data", 1, n_messages=5)

    few, many = (peak_kib(data, tmp_path / str(n), n) for n in (CELLS // 10, CELLS))
    resumed = peak_kib(data, tmp_path / str(CELLS), CELLS)

    # A row has some 3 kB on disk: what stays in memory is its id, its place and its setting.
    per_cell_kib = (many - few) / (CELLS - CELLS // 10)
    assert per_cell_kib < 2, (few, many)
    assert resumed < many * 1.2, (many, resumed)
