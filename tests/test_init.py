import subprocess
import sys

import pytest
import yaml

from compaction.errors import CompactionError
from evals.starter import FILES, write_starter


@pytest.mark.slow
def test_the_starter_test_is_green_as_it_is_and_red_for_a_broken_compactor(tmp_path):
    write_starter(tmp_path)
    path = tmp_path / "tests" / "test_compaction.py"

    def run():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
        options = ["--strict-markers", "--compaction-examples=10"]
        return subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    first = run()
    path.write_text(path.read_text().replace("    return messages\n", "    return messages[-3:]\n"))
    second = run()

    assert first.returncode == 0, first.stdout
    assert second.returncode == 1
    assert "calls_stay_paired" in second.stdout


def test_the_ci_job_runs_the_starter_test(tmp_path):
    write_starter(tmp_path)

    job = yaml.safe_load((tmp_path / ".github/workflows/compaction.yml").read_text())

    steps = job["jobs"]["contract"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert any("pytest tests/test_compaction.py" in command for command in commands)
    assert any("compaction-evals" in command for command in commands)


def test_nothing_is_overwritten_without_being_asked(tmp_path):
    write_starter(tmp_path)
    path = tmp_path / "tests" / "test_compaction.py"
    path.write_text("mine")
    (tmp_path / ".github/workflows/compaction.yml").unlink()

    with pytest.raises(CompactionError, match=r"test_compaction\.py is there already"):
        write_starter(tmp_path)

    assert path.read_text() == "mine"
    assert not (tmp_path / ".github/workflows/compaction.yml").exists()
    write_starter(tmp_path, overwrite=True)
    assert path.read_text() != "mine"


def test_the_command_says_what_it_wrote_and_fails_in_one_line(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "evals.cli", "init", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    first, second, third = run(), run(), run(".", "--force")

    assert first.returncode == 0
    assert first.stdout.splitlines() == [f"wrote {name}" for name in FILES]
    assert second.returncode == 2
    assert second.stderr.startswith("error: tests/test_compaction.py is there already")
    assert second.stderr.count("\n") == 1
    assert third.returncode == 0


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "tests").write_text("a file")

    with pytest.raises(CompactionError, match="cannot write"):
        write_starter(tmp_path)
