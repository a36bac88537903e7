"""The wheel, installed where no checkout is in sight."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run without what would let the checkout leak into the other environment."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"}
    }
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--no-deps", "-q", "-w", folder, cwd=folder)
    return next(folder.glob("compaction_evals-*.whl"))


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of executables of an environment that holds nothing but the wheel's needs."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    executables = folder / ("Scripts" if os.name == "nt" else "bin")
    run(executables / "python", "-m", "pip", "install", "-q", wheel, cwd=folder)
    return executables


def test_the_wheel_holds_code_and_data_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    datasets = {path.name for path in (ROOT / "datasets").iterdir() if path.is_dir()}

    tops = {name.split("/")[0] for name in names}
    packed = {name.split("/")[2] for name in names if name.startswith("evals/_datasets/")}

    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "compaction",
        "evals",
        "reports",
    }
    assert {f"{package}/py.typed" for package in ("compaction", "evals", "reports")} <= {*names}
    assert datasets <= packed
    assert not [name for name in names if "_datasets/" in name and name.endswith(".py")]


def test_the_installed_package_finds_the_datasets_it_carries(scripts, tmp_path):
    code = "from evals.datasets_folder import datasets_folder; print(datasets_folder())"

    folder = Path(run(scripts / "python", "-c", code, cwd=tmp_path).stdout.strip())

    assert (folder.parent.name, folder.name) == ("evals", "_datasets")
    assert ROOT not in folder.parents


def test_the_installed_command_makes_a_report_of_the_bundled_datasets(scripts, tmp_path):
    if not (ROOT / "evals" / "cli.py").exists():
        pytest.skip("evals/cli.py does not exist yet")

    run(scripts / "compaction-evals", "run", "--out", tmp_path / "out", cwd=tmp_path)

    assert (tmp_path / "out" / "report.html").stat().st_size > 0
    assert (tmp_path / "out" / "rows.jsonl").stat().st_size > 0
