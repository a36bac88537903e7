"""Runs on a Dask cluster of this process: the same rows as without, resumed, and plain errors."""

import json
import sys
from types import SimpleNamespace

import pytest

from compaction.errors import CompactionError
from evals.cli import main
from evals.cluster import run_on_cluster
from evals.loading import survey
from evals.results import RunFolder
from evals.settings import Setting
from evals.sweep import Plan
from tests.run_cases import calls_made, numbers, sweep, write_chats, write_code

XUN = [Setting("xun", {"toolcall_keep_max": str(number)}) for number in (1, 2, 2)]


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as made:
        yield made


def on_cluster(cluster, data, out, *settings):
    folder, rows = RunFolder(out), []
    folder.create()
    found = survey([data]).locations
    run_on_cluster(Plan(settings=settings), found, folder, cluster.scheduler_address, rows.append)
    return sorted(rows, key=lambda row: (row.source, row.label))


@pytest.mark.slow
def test_the_rows_and_sidecars_are_those_of_a_run_without_a_cluster(cluster, tmp_path):
    data = write_chats(tmp_path / "data", 3)
    settings = (*XUN[:2], Setting("identity"))

    here = sweep(data, tmp_path / "here", *settings)
    there = on_cluster(cluster, data, tmp_path / "there", *settings)

    assert numbers(there) == numbers(here)
    folders = [RunFolder(tmp_path / name) for name in ("here", "there")]
    assert [len(list(folder.rows())) for folder in folders] == [9, 9]
    for row in here:
        first, second = (folder.sidecar(row.cell_id) for folder in folders)
        assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


@pytest.mark.slow
def test_what_is_done_is_not_done_again_and_what_failed_is(cluster, tmp_path):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"
    spec = write_code(tmp_path)
    settings = (Setting(f"{spec}:newest"), Setting(f"{spec}:fails_once"))

    first = on_cluster(cluster, data, out, *settings)
    calls = calls_made(tmp_path)
    second = on_cluster(cluster, data, out, *settings)

    assert sorted(row.status for row in first) == ["error", "ok"]
    assert [row.status for row in second] == ["ok", "ok"]
    assert calls_made(tmp_path) == calls > 0
    assert len(RunFolder(out).rows_path.read_text("utf-8").splitlines()) == 3


@pytest.mark.slow
def test_a_worker_that_cannot_read_a_transcript_ends_the_run_in_one_line(cluster, tmp_path):
    data = write_chats(tmp_path / "data", 1)
    found = survey([data]).locations
    (data / "chat_0.json").unlink()
    folder = RunFolder(tmp_path / "run")
    folder.create()

    with pytest.raises(CompactionError, match=r"chat_0\.json"):
        run_on_cluster(Plan(settings=(XUN[0],)), found, folder, cluster.scheduler_address, print)


@pytest.mark.slow
def test_the_flag_runs_there(cluster, tmp_path, monkeypatch, capsys):
    data, out = write_chats(tmp_path / "data", 2), tmp_path / "run"
    flags = ["--strategy", "xun", "--no-controls", "--dask", cluster.scheduler_address]
    monkeypatch.setattr(
        sys, "argv", ["compaction-evals", "run", str(data), *flags, "--out", str(out)]
    )

    with pytest.raises(SystemExit) as stopped:
        main()

    assert (stopped.value.code, capsys.readouterr().err) == (0, "")
    assert len(list(RunFolder(out).rows())) == 2


def refusing(*_arguments, **_options):
    raise OSError("Timed out trying to connect")


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (None, r"pip install 'compaction-evals\[dask\]'"),
        (SimpleNamespace(Client=refusing, as_completed=iter), "no scheduler answers at tcp://x:1"),
    ],
)
def test_without_dask_or_a_scheduler_it_is_one_line(monkeypatch, tmp_path, module, said):
    monkeypatch.setitem(sys.modules, "distributed", module)

    with pytest.raises(CompactionError, match=said):
        run_on_cluster(Plan(settings=()), [], RunFolder(tmp_path), "tcp://x:1", print)
