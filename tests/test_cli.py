"""Flags, listings and exit codes; the commands run as a user runs them."""

import subprocess
import sys

import pytest

from compaction.errors import CompactionError
from evals.cli import app, main
from evals.commands.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE
from tests.run_cases import write_chats, write_code

COMMANDS = sorted(command.name or command.callback.__name__ for command in app.registered_commands)


@pytest.fixture
def command(capsys, monkeypatch):
    """Run the command line in this process: exit code, standard output, lines of standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["compaction-evals", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err.splitlines()

    return call


def test_the_exit_codes_are_those_of_the_design():
    assert (EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED) == (1, 2, 130)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example(command, name):
    code, out, errors = command(name, "--help")

    assert (code, errors) == (0, [])
    assert f"Example: compaction-evals {name}" in out


def test_the_help_of_the_program_names_every_command(command):
    _, out, _ = command("--help")

    listed = {line.split()[0] for line in out.partition("Commands:")[2].split("\n") if line.split()}
    assert {"run", "report", "list"} <= set(COMMANDS) <= listed


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "sys.argv = ['compaction-evals', 'run', '--help']\n"
        "from evals.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'pandas', 'altair', 'openai', 'tiktoken', 'vcr', 'scipy', 'hypothesis'}\n"
        "sys.exit(sorted(heavy & set(sys.modules)) or 0)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("strategies", ["xun", "token_threshold=192000", "identity (control)", "my_pi_agent"]),
        ("metrics", ["reach", "saving_fraction", "share of needs"]),
        ("datasets", ["settlement-incident", "43"]),
    ],
)
def test_what_there_is_can_be_listed(command, monkeypatch, what, names):
    monkeypatch.setenv("COLUMNS", "200")

    code, out, errors = command("list", what)

    assert (code, errors) == (0, [])
    assert [name for name in names if name not in out] == []


def test_a_listing_shows_brackets_as_they_are(command, monkeypatch):
    """Rich would take `[x]` for markup."""
    from evals import listing

    monkeypatch.setattr(
        listing,
        "METRICS",
        [listing.METRICS[0].__class__("a", "b", "[u]", "higher", "[red]x[/red]")],
    )

    _, out, _ = command("list", "metrics")

    assert "[red]x[/red]" in out
    assert "[u]" in out


def test_a_run_writes_rows_sidecars_manifest_and_reports(command, tmp_path):
    data = write_chats(tmp_path / "my data", 1)
    out = tmp_path / "my run"

    code, printed, errors = command(
        "run",
        data,
        "--strategy",
        "xun",
        "--set",
        "token_threshold=50%",
        "--grid",
        "toolcall_keep_max=1,2",
        "--no-controls",
        "--out",
        out,
    )

    assert (code, errors) == (0, [])
    assert {"rows.jsonl", "run.json", "report.html", "report.md", "cells"} <= {
        path.name for path in out.iterdir()
    }
    assert len(list((out / "cells").iterdir())) == 2
    assert "xun(token_threshold=50%, toolcall_keep_max=1)" in (out / "report.md").read_text("utf-8")
    assert "report.html" in printed


def test_report_writes_the_pages_again(command, tmp_path):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"
    command("run", data, "--strategy", "identity", "--out", out)
    before = (out / "report.md").read_text("utf-8")
    (out / "report.md").unlink()

    code, _, errors = command("report", out)

    assert (code, errors) == (0, [])
    assert (out / "report.md").read_text("utf-8") == before


@pytest.mark.slow
def test_a_breach_is_exit_1_and_the_report_is_there(command, tmp_path):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"
    spec = write_code(tmp_path, "def twice(messages):\n    return messages + messages\n")

    code, _, errors = command("run", data, "--strategy", f"{spec}:twice", "--out", out)

    assert code == 1
    assert len(errors) == 1
    assert errors[0].startswith(f"broken: {spec}:twice on {data / 'chat_0.json'} ")
    assert (out / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run", "--frobnicate"], "No such option: --frobnicate"),
        (
            ["run", "--config", "x.toml"],
            "No such option: --config here; it stands before the command",
        ),
        (["run", "--jobs", "0"], "'--jobs'"),
        (["run", "--jobs", "two"], "'--jobs'"),
        (["run", "--timeout", "0"], "'--timeout'"),
        (["run", "--strategy"], "--strategy"),
        (["report"], "Missing argument 'RUN'"),
        (["list", "foo"], "cannot list 'foo'; known: strategies, metrics, datasets"),
        (["run", "--base-url", "http://127.0.0.1:9"], "--base-url needs --model"),
        (["run", "--set", "a=1"], "--set and --grid need --strategy"),
        (["run", "--strategy", "xun", "--set", "ab"], "--set takes KEY=VALUE, got 'ab'"),
        (["run", "--strategy", "xun", "--set", "=1"], "--set takes KEY=VALUE, got '=1'"),
        (["run", "--strategy", "xun", "--set", "a="], "--set takes KEY=VALUE, got 'a='"),
        (
            ["run", "--strategy", "xun", "--set", "a=1", "--set", "a=2"],
            "--set has 'a' twice",
        ),
        (["run", "--strategy", "xun", "--grid", "a=1,,2"], "--grid a has an empty value"),
        (["run", "--strategy", "xun", "--grid", "a="], "--grid takes KEY=VALUE, got 'a='"),
        (["run", "--strategy", "xum"], "unknown strategy 'xum' (did you mean 'xun'?)"),
        (
            ["run", "--strategy", "xun", "--set", "token_treshold=5"],
            "xun has no parameter 'token_treshold' (did you mean 'token_threshold'?)",
        ),
        (
            ["run", "--strategy", "xun", "--set", "token_threshold=many"],
            "token_threshold must be int, got 'many'",
        ),
        (
            ["run", "--strategy", "xun", "--set", "token_threshold=-5"],
            "token_threshold must be >= 1, got -5",
        ),
        (["run", "--strategy", "xun", "--set", "enabled=50%"], "enabled"),
        (["run", "--strategy", "no_such_module_x:f"], "no_such_module_x"),
        (["run", "--strategy", "no_such_file.py:f"], "no_such_file.py"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_is_one_line_and_exit_2(
    command, tmp_path, monkeypatch, arguments, expected
):
    write_chats(tmp_path / "data", 1)
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "run":
        arguments = ["run", "data", *arguments[1:]]

    code, out, errors = command(*arguments)

    assert code == 2
    assert out == ""
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert expected in errors[0]
    assert not (tmp_path / "compaction-runs").exists()


def test_equal_values_of_a_grid_run_once(command, tmp_path):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"

    command(
        "run",
        data,
        "--strategy",
        "xun",
        "--grid",
        "toolcall_keep_max=2, 2,4",
        "--no-controls",
        "--out",
        out,
    )

    assert len((out / "rows.jsonl").read_text("utf-8").splitlines()) == 2


def test_an_error_is_a_traceback_only_with_debug(command, monkeypatch):
    code, _, errors = command("run", "missing.json")
    assert (code, errors) == (
        2,
        ["error: missing.json: no such file or folder; correct the path"],
    )

    monkeypatch.setattr(sys, "argv", ["compaction-evals", "--debug", "run", "missing.json"])
    with pytest.raises(CompactionError, match=r"missing\.json"):
        main()


def test_an_interrupt_says_that_the_run_can_go_on(command, monkeypatch, tmp_path):
    from evals import running

    def interrupted(asked, console):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "execute", interrupted)

    code, _, errors = command("run", tmp_path)

    assert code == 130
    assert errors == ["stopped; what was done is kept, the same command continues"]
