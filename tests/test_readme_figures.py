"""The picture and the table that open the README are those of the bundled run."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from evals.metrics import METRICS_VERSION
from evals.results import ResultsError, RunFolder
from reports.frames import load
from tests.reports_cases import small_rows, write_run

ROOT = Path(__file__).resolve().parents[1]
BUNDLED = ROOT / "compaction-runs" / "bundled"


@pytest.fixture(scope="module")
def figures():
    place = ROOT / ".ci" / "readme_figures.py"
    spec = importlib.util.spec_from_file_location("readme_figures", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_finished(folder):
    try:
        manifest = RunFolder(folder).manifest()
    except ResultsError:
        return False
    is_done = "finished_at" in manifest and manifest["metrics_version"] == METRICS_VERSION
    return is_done and (folder / "run.json").stat().st_mtime > newest_source()


def newest_source():
    """Return when the code or the data was last changed: an older run is of something else."""
    folders = ("compaction", "evals", "datasets")
    files = (path for name in folders for path in (ROOT / name).rglob("*"))
    return max(
        path.stat().st_mtime for path in files if path.is_file() and "__pycache__" not in path.parts
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Take the run that the README's first command has made, else make it."""
    if is_finished(BUNDLED):
        return load(BUNDLED)
    out = tmp_path_factory.mktemp("bundled") / "run"
    command = [sys.executable, "-m", "evals.cli", "run", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return load(out)


@pytest.mark.slow
def test_picture_and_table_are_those_of_the_bundled_run(figures, run):
    readme = figures.README.read_text("utf-8")
    picture = figures.PICTURE.read_text("utf-8")

    assert figures.with_table(readme, figures.table_of(run)) == readme
    assert figures.mark_of(run) in picture


def test_another_run_is_told_from_the_one_in_the_readme(figures, tmp_path):
    run = load(write_run(tmp_path / "run", small_rows()))

    assert figures.with_table(
        figures.README.read_text("utf-8"), figures.table_of(run)
    ) != figures.README.read_text("utf-8")
    picture = figures.picture_of(run)
    assert picture.startswith("<svg")
    assert figures.mark_of(run) in picture
    assert figures.mark_of(run) not in figures.PICTURE.read_text("utf-8")
