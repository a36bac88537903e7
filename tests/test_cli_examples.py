"""The example in the help of every command is a command that works, offline, as it stands there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evals.cli import COMMANDS
from tests.run_cases import write_chats

ROOT = Path(__file__).parents[1]
PROGRAM = "compaction-evals"
BUNDLED_RUN = "--out compaction-runs/bundled"
COMPACTED = "--strategy xun --set token_threshold=50% --no-controls --jobs 1"
NEEDED = {
    "explain": [f"run datasets/settlement-incident {COMPACTED} {BUNDLED_RUN}"],
    "recommend": [f"run datasets/settlement-incident {COMPACTED} {BUNDLED_RUN}"],
    "report": [f"run logs {COMPACTED} {BUNDLED_RUN}"],
    "compare": [f"run logs {COMPACTED} --out {out}" for out in ("base-run", "new-run")],
}
"""Command -> what has to be run before it."""
ENDS = {"recommend": 3}
"""Command -> its exit code where that is not 0: one session confirms nothing."""

pytestmark = pytest.mark.slow


def example_of(command):
    text = " ".join((COMMANDS[command].__doc__ or "").split())
    return text.partition("Example: ")[2]


@pytest.fixture
def place(tmp_path, command):
    """Return a folder that holds what the examples name, and little of it."""
    write_chats(tmp_path / "logs", 1)
    sessions = tmp_path / "home" / ".claude" / "projects" / "shop"
    sessions.mkdir(parents=True)
    # Only the first was compacted when it was recorded; only the second is understood wholly.
    session = "session.jsonl" if command == "audit" else "branches.jsonl"
    shutil.copy(ROOT / "tests/fixtures/claude_code" / session, sessions)
    for name in ("settlement-incident", "short-feed-relay"):
        shutil.copytree(ROOT / "datasets" / name, tmp_path / "datasets" / name)
    scenario = "tests/scenarios/settlement-service"
    shutil.copytree(ROOT / scenario, tmp_path / scenario)
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "compact.py").write_text(
        "def compact(messages):\n    return [m for m in messages if m]\n", "utf-8"
    )
    return tmp_path


def run(place, command):
    """Run a line of a shell with the home folder there and every proxy a closed door."""
    program = f"{sys.executable} -m evals.cli"
    line = re.sub(rf"^{PROGRAM}(?= |$)", program, command)
    env = {key: value for key, value in os.environ.items() if not key.startswith("OPENAI_")}
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    return subprocess.run(
        ["sh", "-c", line],
        cwd=place,
        env={**env, **closed, "HOME": str(place / "home"), "NO_PROXY": "127.0.0.1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_in_the_help_works(place, command):
    example = example_of(command)
    assert example.startswith(f"{PROGRAM} {command}")
    for line in NEEDED.get(command, ()):
        before = run(place, f"{PROGRAM} {line}")
        assert before.returncode == 0, before.stderr

    done = run(place, example)

    expected = (ENDS.get(command, 0), 0)
    assert (done.returncode, done.stderr.count("error:")) == expected, done.stderr
    assert done.stdout.strip()
    LEFT.get(command, lambda folder: None)(place)


def is_page(path):
    assert path.read_text("utf-8").startswith("<!doctype html>")


def check_run(place):
    (out,) = (place / "compaction-runs").iterdir()
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text("utf-8").splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    is_page(out / "report.html")


LEFT = {
    "audit": lambda place: is_page(place / "audit" / "audit.html"),
    "run": check_run,
    "report": lambda place: is_page(place / "compaction-runs/bundled/report.html"),
    "init": lambda place: compile((place / "tests/test_compaction.py").read_text(), "t", "exec"),
    "record": lambda place: json.loads(
        (place / "datasets/settlement-incident/cassette.json").read_text("utf-8")
    ),
}
"""Command -> what it must have left."""
