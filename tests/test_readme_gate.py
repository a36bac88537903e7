"""The GitHub job of the README, step by step in a shell, on pull requests that it must judge."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

README = Path(__file__).parents[1] / "README.md"
BASE = "${{ github.event.pull_request.base.sha }}"
NOISE = "the build printed another line that nobody reads again\n" * 60
SHORTENED = """
def compact(messages):
    return [
        {**m, "content": m["content"][:LIMIT]} if m["role"] == "tool" else m for m in messages
    ]
"""
KEEPS = SHORTENED.replace("LIMIT", "100")
LOSES = SHORTENED.replace("LIMIT", "5")

pytestmark = pytest.mark.slow


def steps():
    code = re.search(r"```yaml\n(# \.github/workflows.*?)```", README.read_text("utf-8"), re.DOTALL)
    return yaml.safe_load(code[1])["jobs"]["compaction"]["steps"]


def talk():
    """Return an agent that finds a file at first, and opens it when much has been read since."""
    found, needed = "see /srv/data/ledger-2041.db here", "/srv/data/ledger-2041.db"
    messages = [{"role": "user", "content": "Repair the ledger."}]
    results = [found, *[NOISE] * 6, "opened"]
    commands = ["find", *[f"make step-{at}" for at in range(6)], f"open {needed}"]
    for at, (command, result) in enumerate(zip(commands, results, strict=True)):
        function = {"name": "run", "arguments": json.dumps({"command": command})}
        call = {"id": f"c{at}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": result})
    return [*messages, {"role": "assistant", "content": "Repaired."}]


class Project:
    """A repository with logs, whose last commit is the pull request."""

    def __init__(self, folder):
        self.folder, self.temporary = folder / "project", folder / "runner"
        (self.folder / "logs").mkdir(parents=True)
        self.temporary.mkdir()
        (self.folder / "logs" / "ledger.json").write_text(json.dumps(talk()), "utf-8")
        program = folder / "bin" / "compaction-evals"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evals.cli "$@"\n')
        program.chmod(0o755)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(README.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "a"),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org"),
        }
        self.shell("git init -q")

    def commit(self, code=None):
        if code is not None:
            (self.folder / "mypkg").mkdir(exist_ok=True)
            (self.folder / "mypkg" / "compact.py").write_text(code)
        self.shell("git add logs mypkg 2>/dev/null || git add logs; git commit -qm x --allow-empty")
        return self.shell("git rev-parse HEAD").stdout.strip()

    def shell(self, script):
        return subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def judged(self, base):
        """Run the job as GitHub does; return the step that failed, if any, and the summary."""
        stopped = None
        for step in steps():
            script = step.get("run", "").replace(BASE, base)
            if not script or script.startswith("pip install"):
                continue
            if "if" in step:
                assert step["if"] == "always() && hashFiles('comment.md') != ''"
                is_wanted = (self.folder / "comment.md").exists()
            else:
                is_wanted = stopped is None
            if is_wanted and (done := self.shell(script)).returncode:
                stopped = done
        summary = Path(self.environment["GITHUB_STEP_SUMMARY"])
        return stopped, summary.read_text("utf-8") if summary.exists() else ""


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_a_first_compaction_that_loses_nothing_passes(project):
    base = project.commit()
    project.commit(KEEPS)

    stopped, summary = project.judged(base)

    assert stopped is None, stopped.stderr
    assert summary.startswith("Compaction gate: passed (reach\\<-0.02)")
    assert "| Reach | 100.0 % | 100.0 % |" in summary
    assert "the baseline on conversation (1 transcript)" in summary


@pytest.mark.parametrize("is_first", [True, False])
def test_where_nothing_is_compacted_the_job_passes_and_says_so(project, is_first):
    idle = "def compact(messages):\n    return messages\n"
    for at in range(4):
        talked = json.dumps(talk()[: -3 - 2 * at])
        (project.folder / "logs" / f"short-{at}.json").write_text(talked, "utf-8")
    base = project.commit(None if is_first else idle)
    project.commit(f"{idle}# again\n")

    stopped, summary = project.judged(base)

    assert stopped is None, stopped.stderr
    assert summary.startswith("Compaction gate: passed (reach\\<-0.02)")
    assert "Nothing was compacted: neither side saved 1 % on any transcript" in summary


def test_a_first_compaction_that_loses_is_stopped_with_the_value(project):
    base = project.commit()
    project.commit(LOSES)

    stopped, summary = project.judged(base)

    assert "failed: reach<-0.02: Reach of mypkg.compact:compact on the " in stopped.stderr
    assert "transcripts: -1" in stopped.stderr
    assert summary.startswith("**Compaction gate: failed**")


def test_a_later_version_is_compared_with_the_one_before_on_the_logs_of_the_request(project):
    base = project.commit(KEEPS)
    (project.folder / "logs" / "second.json").write_text(json.dumps(talk()[:-1]), "utf-8")
    project.commit(LOSES)

    stopped, summary = project.judged(base)

    assert "Reach of mypkg.compact:compact on the recorded transcripts: -1" in stopped.stderr
    assert "| Reach | 100.0 % | 0.0 % | -100.0 |" in summary
    assert "| 2 (2) |" in summary


def test_where_nothing_can_be_compared_the_error_is_the_last_word(project):
    fails = "def compact(messages):\n    raise ValueError('no')\n"
    base = project.commit(fails)
    project.commit(f"{fails}# still\n")

    stopped, summary = project.judged(base)

    assert (stopped.returncode, summary) == (2, "")
    assert "have no transcript in common that both scored" in stopped.stderr
