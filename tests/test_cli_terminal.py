"""What a terminal, a pipe, a narrow window and a shell that completes are given."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.reports_cases import small_rows, write_run

CLI = [sys.executable, "-m", "evals.cli"]
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m")
TIME_LEFT = re.compile(r"\d:\d\d:\d\d")


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("terminal") / "run", small_rows())


def in_terminal(*arguments, **environment):
    """Run a command with a terminal on both outputs; return what it wrote there."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40", **environment}
    process = subprocess.Popen(
        [*CLI, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:
            break  # how Linux says that the other end is closed
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(parts).decode("utf-8")


def in_pipe(*arguments, **environment):
    done = subprocess.run(
        [*CLI, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == (1 if arguments[0] == "recommend" else 0), done.stderr
    return done.stdout, done.stderr


@pytest.mark.slow
def test_a_terminal_is_shown_progress_with_the_time_left(run_path, tmp_path):
    shown = in_terminal("report", run_path, "--export", tmp_path / "out")

    assert "reporting" in shown
    assert "exporting" in shown
    assert TIME_LEFT.search(shown)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("compare", "a", "a"), ("report", "a")])
def test_no_color_is_respected(run_path, arguments):
    named = [run_path if each == "a" else each for each in arguments]
    coloured = in_terminal(*named)

    assert "\x1b[" in coloured
    assert not COLOUR.search(in_terminal(*named, NO_COLOR="1"))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare", "list"])
def test_a_pipe_gets_text_alone_and_no_progress(run_path, command):
    given = {"report": [run_path], "compare": [run_path, run_path], "list": ["metrics"]}

    out, errors = in_pipe(command, *given[command])

    assert "\x1b" not in out
    assert errors == ""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare", "recommend", "list"])
def test_forty_columns_are_enough(run_path, command):
    """No line is longer, and no word of a head or a verdict is cut with an ellipsis.

    `recommend` ends with 1: no setting of this run can be named.
    """
    given = {
        "report": [run_path],
        "compare": [f"{run_path}::idle", f"{run_path}::xun(k=2)"],
        "recommend": [run_path],
        "list": ["strategies"],
    }

    out, _ = in_pipe(command, *given[command], COLUMNS="40")

    lines = out.replace(str(run_path), "run").splitlines()
    assert [line for line in lines if len(line.rstrip()) > 40] == []
    assert "…" not in out


def completions(shell, line):
    words = line.split(" ")
    env = {
        **os.environ,
        "_COMPACTION_EVALS_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return subprocess.run(CLI, capture_output=True, text=True, env=env, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("compaction-evals rec", ["record", "recommend"]),
        ("compaction-evals run --strategy my", ["my_pi_agent"]),
        ("compaction-evals check three", ["three_layer"]),
        ("compaction-evals sweep cle", ["clear_tool_results"]),
        ("compaction-evals list ", ["strategies", "metrics", "datasets"]),
    ],
)
def test_a_shell_completes_commands_and_strategies(shell, line, offered):
    found = re.findall(r"[a-z_]{4,}", completions(shell, line))

    assert set(offered) <= set(found)
    assert "what to do next" not in found
    assert "identity" not in found


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_names_the_variable_that_is_answered(shell):
    # Typer looks at the parent process for the shell, unless this is set.
    undetected = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    out, _ = in_pipe("--show-completion", shell, **undetected)

    assert f"_COMPACTION_EVALS_COMPLETE=complete_{shell}" in out
