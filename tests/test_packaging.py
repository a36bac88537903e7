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


def test_the_datasets_of_the_wheel_are_those_of_the_checkout_to_the_byte(wheel):
    packed = zipfile.ZipFile(wheel)
    names = {name for name in packed.namelist() if name.startswith("evals/_datasets/")}
    files = [path for path in (ROOT / "datasets").rglob("*") if path.is_file()]

    expected = {
        f"evals/_datasets/{path.relative_to(ROOT / 'datasets').as_posix()}" for path in files
    }
    assert names == expected
    for path in files:
        name = f"evals/_datasets/{path.relative_to(ROOT / 'datasets').as_posix()}"
        assert packed.read(name) == path.read_bytes(), name


def test_the_wheel_leaves_the_name_datasets_to_others(scripts, tmp_path):
    look = "import importlib.util; print(importlib.util.find_spec('datasets'))"
    assert run(scripts / "python", "-c", look, cwd=tmp_path).stdout == "None\n"
    theirs = tmp_path / "theirs" / "datasets"
    theirs.mkdir(parents=True)
    (theirs / "__init__.py").write_text("OWNER = 'somebody else'")
    code = (
        f"import sys; sys.path.append({str(theirs.parent)!r}); import evals.loading, datasets; "
        "print(datasets.OWNER, len(evals.loading.bundled_files()) > 0)"
    )

    done = run(scripts / "python", "-c", code, cwd=tmp_path)

    assert done.stdout == "somebody else True\n"


def test_the_installed_command_lists_the_datasets(scripts, tmp_path):
    text = run(scripts / "compaction-evals", "list", "datasets", cwd=tmp_path).stdout

    names = [path.parent.name for path in (ROOT / "datasets").glob("*/facts.json")]
    assert [name for name in names if name not in text] == []


def test_the_installed_command_makes_a_report_of_the_bundled_datasets(scripts, tmp_path):
    command = (scripts / "compaction-evals", "run", "--strategy", "three_layer", "--no-controls")

    run(*command, "--out", tmp_path / "out", cwd=tmp_path)

    assert (tmp_path / "out" / "report.html").stat().st_size > 0
    rows = (tmp_path / "out" / "rows.jsonl").read_text("utf-8").splitlines()
    assert len(rows) == len(list((ROOT / "datasets").glob("*/facts.json")))


def test_the_installed_command_records_a_scenario(scripts, tmp_path):
    scenario = ROOT / "tests" / "scenarios" / "feed-relay" / "scenario.yaml"

    run(scripts / "compaction-evals", "record", scenario, "--out", tmp_path, cwd=tmp_path)

    bundled = ROOT / "datasets" / "short-feed-relay" / "cassette.json"
    assert (tmp_path / "cassette.json").read_bytes() == bundled.read_bytes()
