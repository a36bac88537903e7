"""What a run refuses before it starts, and what is said of a run folder that lacks rows."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from evals.results import ROWS_FILE, RunFolder, incomplete
from reports.frames import load
from tests.reports_cases import row, small_rows, write_run
from tests.run_cases import chat, one_error, write_chats, write_code

IDENTITY = ("--strategy", "identity", "--no-controls")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def without_rows(path, keep):
    """Cut a run's rows down to some; what its manifest says stays."""
    rows = (path / ROWS_FILE).read_text("utf-8").splitlines(keepends=True)
    (path / ROWS_FILE).write_text("".join(rows[:keep]), "utf-8")
    return len(rows)


@pytest.mark.slow
def test_missing_rows_are_counted_and_every_reader_of_the_run_says_so(command, tmp_path):
    path = write_run(tmp_path / "run", small_rows())
    total = without_rows(path, 5)
    said = f"{total - 5} of {total} rows are missing in rows.jsonl; to continue: "
    said += "compaction-evals run logs"

    assert load(path).incomplete == f"incomplete: {said}"
    code, out, errors = command("report", path)
    assert (code, errors) == (0, [])
    assert f"Incomplete: {said}" in " ".join(out.split())
    assert f"Incomplete: {said}" in (path / "report.md").read_text("utf-8")
    assert f"Incomplete: {said}" in (path / "report.html").read_text("utf-8")
    for reader in (("recommend", path), ("compare", f"{path}::xun", f"{path}::xun")):
        assert command(*reader)[2][0] == f"{path}: incomplete: {said}"
    # Its transcript is nowhere, but what is missing was said before.
    assert command("explain", path, "a")[2][0] == f"{path}: incomplete: {said}"


def test_a_run_that_has_not_ended_says_how_many_cells_there_are_at_most():
    manifest = {"command": "compaction-evals run x", "planned_cells": 9}

    assert incomplete(manifest, {"a", "b"}) == (
        "incomplete: the run has not ended, 2 of at most 9 cells are there; "
        "to continue: compaction-evals run x"
    )
    assert incomplete(manifest | {"cells": ["a", "b"]}, {"b", "a", "of another run"}) is None


def test_a_whole_run_says_nothing(tmp_path):
    path = write_run(tmp_path / "run", small_rows())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(path).incomplete is None


@pytest.mark.parametrize("out", ["good", "good/../good", "link", "."])
def test_a_folder_with_other_files_is_no_run_folder(command, tmp_path, out):
    data = write_chats(tmp_path / "good", 1)
    (tmp_path / "link").symlink_to(data)

    error = one_error(command("run", "good", *IDENTITY, "--out", out))

    assert "holds other files (" in error
    assert error.endswith("a run wants a folder of its own, choose another --out")
    assert [path.name for path in data.iterdir()] == ["chat_0.json"]


@pytest.mark.slow
def test_a_run_folder_an_empty_one_and_one_of_a_killed_run_are_taken(command, tmp_path):
    write_chats(tmp_path / "good", 1)
    (tmp_path / "out" / "cells").mkdir(parents=True)
    (tmp_path / "out" / ".lock").touch()
    (tmp_path / "out" / ROWS_FILE).touch()

    for _ in range(2):
        code, _, errors = command("run", "good", *IDENTITY, "--out", "out")
        assert (code, errors) == (0, [])


@pytest.mark.slow
def test_another_run_in_the_same_folder_says_what_it_replaces(command, tmp_path):
    write_chats(tmp_path / "good", 2)
    first = ("run", "good/chat_0.json", "good/chat_1.json", *IDENTITY, "--out", "out")
    command(*first)

    more = command(*first, "--strategy", "salad")
    other = command("run", "good/chat_1.json", *IDENTITY, "--out", "out")
    again = command(*first)

    assert [said[2] for said in (more, again)] == [[], []]
    assert other[2] == [
        "replaced: the report was of another run, 3 of its 4 cells are not in this one; their rows "
        "are kept, and it is made again by: compaction-evals run good/chat_0.json good/chat_1.json "
        "--strategy identity --no-controls --out out --strategy salad"
    ]
    assert len(list(RunFolder(tmp_path / "out").rows())) == 4


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((*IDENTITY, "--reader", "M"), "--reader changes nothing here: give --probes too, or"),
        (
            (*IDENTITY, "--reader", "M", "--probes"),
            "--reader M: no such answers about these transcripts are recorded; compaction-evals "
            "probe good/chat_0.json --model M --base-url URL records them",
        ),
        (
            ("--strategy", "summary_once", "--reader", "M"),
            "--reader M: no such answers about these transcripts are recorded; ",
        ),
        ((*IDENTITY, "--probes"), "--probes: no such answers about these transcripts are recorded"),
    ],
)
def test_answers_that_were_never_recorded_are_not_asked_for_in_silence(
    command, tmp_path, flags, said
):
    write_chats(tmp_path / "good", 1)

    assert said in one_error(command("run", "good", *flags, "--out", "out"))
    assert not (tmp_path / "out").exists()


def test_the_models_that_there_are_answers_of_are_named(command):
    data = Path(__file__).parents[1] / "datasets" / "short-feed-relay"

    error = one_error(command("run", data, *IDENTITY, "--probes", "--reader", "M", "--out", "out"))

    assert "are recorded; there are those of " in error


@pytest.mark.slow
def test_a_transcript_without_a_request_is_named_and_alone_it_is_an_error(command, tmp_path):
    (tmp_path / "asked.json").write_text('[{"role": "user", "content": "hi"}]')

    error = one_error(command("run", "asked.json", *IDENTITY, "--out", "out"))
    write_chats(tmp_path / "good", 1)
    code, _, errors = command("run", "asked.json", "good", *IDENTITY, "--out", "out")

    assert error.startswith("error: asked.json: no request to a model in it, so there is nothing")
    assert code == 0
    assert errors == ["noted: no request to a model in asked.json: nothing to replay there"]
    manifest = json.loads((tmp_path / "out" / "run.json").read_text("utf-8"))
    assert manifest["without_requests"] == ["asked.json"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", ""], "argument 2, after run, is empty; give a value or leave it out"),
        (["run", "x", " "], "argument 3, after x, is empty"),
        (["run", "x", "--out="], "--out= is empty"),
        (["run", "x", "--out", ""], "argument 4, after --out, is empty"),
        (["doctor", ""], "argument 2, after doctor, is empty"),
        (["report", ""], "argument 2, after report, is empty"),
        (["--config=", "run"], "--config= is empty"),
        ([""], "argument 1 is empty"),
    ],
)
def test_an_empty_argument_is_not_the_current_folder(command, tmp_path, arguments, said):
    write_chats(tmp_path / "x", 1)

    assert one_error(command(*arguments)).startswith(f"error: {said}")


@pytest.mark.parametrize("given", ["=3", " =3", "k=", "k= ", "k"])
def test_a_parameter_without_name_or_value_says_which(command, tmp_path, given):
    write_chats(tmp_path / "x", 1)
    lacks = "no name before the =" if given.strip().startswith("=") else "no value"

    error = one_error(command("run", "x", "--strategy", "xun", "--set", given))

    assert error == f"error: --set takes KEY=VALUE, got {given!r}, which has {lacks}"


@pytest.mark.slow
def test_one_bad_file_among_those_named_is_a_line_and_exit_1(command, tmp_path):
    data = write_chats(tmp_path / "good", 2)
    (data / "cut.json").write_text(json.dumps(chat())[:900])
    (data / "notes.md").write_text("# Notes")
    named = [f"good/{name}" for name in ("cut.json", "chat_0.json", "notes.md", "chat_1.json")]

    code, _, errors = command("run", *named, *IDENTITY, "--out", "out")

    assert code == 1
    assert [line.split(":")[:2] for line in errors] == [
        ["not read", " good/cut.json"],
        ["not read", " good/notes.md"],
    ]
    assert len(list(RunFolder(tmp_path / "out").rows())) == 2


def test_of_named_files_without_any_transcript_the_first_reason_is_given(command, tmp_path):
    (tmp_path / "a.md").write_text("# Notes")
    (tmp_path / "b.md").write_text("# Notes")

    error = one_error(command("run", "a.md", "b.md", "--out", "out"))

    assert error.startswith("error: a.md")
    assert error.endswith(" (and 1 more file without a transcript)")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "run.json is not the record of a run: it names no command"),
        ('{"command": "x", "cells": 3}', "run.json is damaged: cells is no list"),
        ('{"command": "x", "versions": []}', "run.json is damaged: versions is no object"),
    ],
)
def test_a_manifest_that_is_none_is_no_run(command, tmp_path, content, said):
    path = write_run(tmp_path / "run", [row("a", "xun")])
    (path / "run.json").write_text(content)

    for arguments in (("report", path), ("recommend", path), ("explain", path, "a")):
        assert said in one_error(command(*arguments))


def test_what_is_no_exception_is_one_line_too(command, monkeypatch, tmp_path):
    class Panic(BaseException):
        """As native code raises it."""

    def panics(_paths):
        raise Panic("in native code")

    monkeypatch.setattr("evals.running.survey", panics)
    write_chats(tmp_path / "x", 1)

    error = one_error(command("run", "x", *IDENTITY, "--out", "out"), "internal error: ")

    assert error == "internal error: Panic: in native code; run again with --debug"


@pytest.mark.slow
def test_code_that_stops_the_program_is_a_failed_row(command, tmp_path):
    write_chats(tmp_path / "x", 1)
    spec = write_code(tmp_path, "def f(messages):\n    raise KeyboardInterrupt('mine')\n")

    code, _, errors = command("run", "x", "--strategy", f"{spec}:f", "--no-controls")

    assert code == 1
    assert "raised KeyboardInterrupt: mine (my_code.py, line 2)" in errors[0]


@pytest.fixture
def odd_places(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    write_chats(tmp_path / "good", 1)
    return ("loop", "folder", "file", "pipe", "nothing")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "{}"),
        ("sweep", "xun", "{}", "token_threshold=25%,50%"),
        ("audit", "{}"),
        ("report", "{}"),
        ("recommend", "{}"),
        ("compare", "{}", "{}"),
        ("explain", "{}", "x"),
        ("record", "{}"),
        ("probe", "{}", "--model", "m", "--base-url", "http://127.0.0.1:9", "--dry-run"),
        ("check", "{}"),
        ("check", "{}.py:f"),
        ("run", "good", "--strategy", "{}:f"),
        ("run", "good", "--price-file", "{}"),
        ("--config", "{}", "run"),
    ],
    ids=" ".join,
)
def test_a_path_that_is_something_else_is_one_line(command, odd_places, arguments):
    for place in odd_places:
        # Reading a pipe that nobody writes to would never end.
        if place == "pipe" and ("--config" in arguments or "--price-file" in arguments):
            continue
        error = one_error(command(*(argument.format(place) for argument in arguments)))

        assert place in error
        assert error.startswith("error: "), error
        assert "Errno" not in error


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-"])
def test_where_standard_error_is_closed_the_exit_code_is_the_same(tmp_path, closed):
    line = f'"{sys.executable}" -m evals.cli report "{tmp_path}" {closed}'

    done = subprocess.run(["sh", "-c", line], check=False, capture_output=True)

    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("flag", ["--junit", "--sarif"])
@pytest.mark.usefixtures("odd_places")
def test_a_report_of_check_into_a_loop_of_links_is_written(command, tmp_path, flag):
    code, _, errors = command("check", "xun", "--examples", "1", "--no-recorded", flag, "loop")

    # A link is replaced by the file, wherever it led.
    assert (code, errors) == (0, [])
    assert (tmp_path / "loop").is_file()


@pytest.mark.parametrize("name", ["report", "audit", "check", "compare", "doctor", "record"])
def test_a_command_without_its_argument_says_where_to_look(command, name):
    error = one_error(command(name))

    assert error.startswith("error: Missing argument ")
    assert error.endswith(f"; see compaction-evals {name} --help")
