"""The same run gives the same bytes, whatever order its rows were written in."""

import json
import random
import shutil

import pytest

from evals.results import RunFolder
from evals.running import RunRequest, execute
from reports.frames import load
from reports.page import html
from reports.tables import markdown
from tests.reports_cases import row, small_rows, small_sidecar, write_run
from tests.run_cases import write_chats

SWEPT = [
    row(
        name,
        f"xun(keep={keep}, share={share}%)",
        strategy="xun",
        parameters={"keep": str(keep), "share": f"{share}%"},
        saving=0.7 - keep / 40,
        reach=0.4 + keep / 40,
        needs=20,
        lost=20 - keep,
    )
    for name in "ab"
    for keep in (2, 8, 16)
    for share in (5, 50, 100)
]


def reports(path):
    run = load(path)
    return html(run), markdown(run)


@pytest.mark.parametrize(
    ("rows", "write"), [(small_rows(), markdown), (SWEPT, html)], ids=["small", "swept"]
)
def test_rows_in_any_order_give_the_same_bytes(tmp_path, rows, write):
    path = write_run(tmp_path / "run", rows)
    RunFolder(path).write_sidecar(rows[0].cell_id, small_sidecar())
    expected = write(load(path))
    mixed = (path / "rows.jsonl").read_text("utf-8").splitlines(keepends=True)

    random.Random(1).shuffle(mixed)
    (path / "rows.jsonl").write_text("".join(mixed), "utf-8")

    assert write(load(path)) == expected


@pytest.mark.slow
def test_one_process_and_two_give_the_same_bytes(tmp_path):
    from rich.console import Console

    data = write_chats(tmp_path / "data", 4)
    folders = [tmp_path / "one", tmp_path / "two"]
    for jobs, out in enumerate(folders, 1):
        asked = RunRequest(
            paths=(data,),
            strategies=("xun",),
            grid={"token_threshold": ["30%", "60%"]},
            jobs=jobs,
            out=out,
            command="the same command",
        )
        execute(asked, Console(quiet=True))
    manifests = [json.loads((path / "run.json").read_text("utf-8")) for path in folders]
    for name in ("finished_at", "started_at"):
        assert manifests[1].pop(name, "")
        manifests[0].pop(name)

    assert manifests[0] == manifests[1]
    shutil.copy(folders[0] / "run.json", folders[1] / "run.json")
    assert reports(folders[0]) == reports(folders[1])
