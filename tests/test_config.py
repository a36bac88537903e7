"""Flags from a file: what they mean, what stands above them, and what is refused."""

import json
import sys
from pathlib import Path

import pytest

from evals.cli import known_flags, main
from evals.config import CONFIG_FILE, ConfigError, read_config

FLAGS = known_flags()
TALK = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Done. " * 40}]


def config_of(tmp_path, text):
    path = tmp_path / "given.toml"
    path.write_text(text, "utf-8")
    return read_config(path, FLAGS)


def test_every_flag_of_every_command_has_its_name_in_the_file():
    assert {"run", "compare", "check", "doctor", "report", "list", "init"} <= set(FLAGS)
    assert FLAGS["run"]["cell-timeout"].parameter == "cell_timeout"
    assert FLAGS["run"]["set"].parameter == "set_"
    assert FLAGS["run"]["show-text"].is_switch
    assert FLAGS["run"]["paths"].takes_many
    assert FLAGS["compare"]["fail-on"].takes_many
    assert not FLAGS["run"]["jobs"].takes_many


def test_tables_stand_for_repeated_flags(tmp_path):
    config = config_of(
        tmp_path,
        """
        [run]
        jobs = 2
        show-text = true
        strategy = ["xun", "mine.py:f"]
        set = {token_threshold = "50%", enabled = true}
        grid = {toolcall_keep_max = [2, 4], "xun.max_retries" = [1]}
        cell_timeout = 5.5
        [compare]
        margin = {reach = 0.03}
        fail-on = ["reach<-0.02"]
        """,
    )

    assert config.defaults["run"] == {
        "jobs": 2,
        "show_text": True,
        "strategy": ["xun", "mine.py:f"],
        "set_": ["token_threshold=50%", "enabled=true"],
        "grid": ["toolcall_keep_max=2,4", "xun.max_retries=1"],
        "cell_timeout": 5.5,
    }
    assert config.defaults["compare"] == {"margin": ["reach=0.03"], "fail_on": ["reach<-0.02"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run]\njosb = 2", r"\[run\] has no flag 'josb' \(did you mean 'jobs'\?\)"),
        ("[rnu]\njobs = 2", r"\[rnu\] is no command \(did you mean 'run'\?\)"),
        ("jobs = 2", r"jobs stands in no table; put it below .*\[run\], \[sweep\]"),
        ("no-controls = true", r"no-controls stands in no table; put it below .*\[run\]"),
        ("joobs = 2", r"\[joobs\] is no command"),
        ("[run]\nfail_on = ['reach<0']", r"no flag 'fail_on'; it is one of \[compare\]"),
        ("[run]\nno-controls = true", r"no flag 'no-controls'; write controls = false"),
        ("run = 2", "must be a table of flags, not int"),
        ("[run]\nshow-text = 1", "show-text must be true or false, not int"),
        ("[run]\nstrategy = true", "strategy must be text or a list, not true or false"),
        ("[run]\njobs = [1]", "jobs must be text or a number, not a list"),
        ("[run]\njobs = true", "jobs must be text or a number, not true or false"),
        ("[run]\nseed = 2026-01-01", "must be text or a number, not date"),
        ("[run.grid]\nk = ['a,b']", "cannot have a comma"),
        ("[run.grid]\nk = [{}]", "must be text or a number, not a table"),
        ("[run\n", "is no TOML"),
        ('"" = 1', "a table has an empty name; it must be that of a command"),
        ("['']\na = 1", "a table has an empty name"),
        ("[run]\n'' = 3", r"\[run\] has a flag with an empty name; known: paths"),
        ("[run]\nset = {'' = 3}", r"\[run\] set has an empty name; write set = \{NAME = VALUE\}"),
        ("[run.grid]\n' ' = [1]", r"\[run\] grid has an empty name"),
        ("[run]\nout = ''", r"\[run\] out is empty; give a value or leave it out"),
        ("[run]\npaths = [' ']", r"\[run\] paths is empty"),
        ("[run]\nset = {a = ''}", r"\[run\] set is empty"),
    ],
)
def test_what_no_flag_takes_is_refused_with_its_place(tmp_path, text, said):
    with pytest.raises(ConfigError, match=said):
        config_of(tmp_path, text)


def test_one_value_needs_no_list(tmp_path):
    config = config_of(tmp_path, "[run]\nstrategy = 'xun'\ngrid = 'toolcall_keep_max=2,4'\n")

    assert config.defaults["run"] == {"strategy": ["xun"], "grid": ["toolcall_keep_max=2,4"]}


def test_a_file_without_an_end_is_refused():
    with pytest.raises(ConfigError, match="/dev/zero is too large for a config file"):
        read_config(Path("/dev/zero"), FLAGS)


def test_an_unreadable_file_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere\.toml: No such file"):
        read_config(tmp_path / "nowhere.toml", FLAGS)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is no TOML"):
        read_config(tmp_path / "binary.toml", FLAGS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.json").write_text(json.dumps({"messages": TALK}))
    return tmp_path


def ended(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["compaction-evals", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def manifest(folder):
    return json.loads((folder / "run.json").read_text())


def test_a_run_takes_flags_from_the_folder_and_writes_down_that_it_did(folder, monkeypatch, capsys):
    text = 'paths = ["talk.json"]\nstrategy = ["xun"]\ncontrols = false\nseed = 7\nout = "one"'
    (folder / CONFIG_FILE).write_text(f"[run]\n{text}\n")

    code = ended(monkeypatch, "run")

    assert code == 0
    assert f"flags from {CONFIG_FILE}" in capsys.readouterr().err
    found = manifest(folder / "one")
    assert (found["seed"], [each["label"] for each in found["settings"]]) == (7, ["xun"])
    assert found["config"]["flags"]["seed"] == 7


def test_the_command_line_comes_before_the_file(folder, monkeypatch):
    other = folder / "other.toml"
    other.write_text('[run]\nstrategy = ["xun"]\ncontrols = false\nseed = 7\n')

    given = ("run", "talk.json", "--strategy", "three_layer", "--seed", "9", "--out", "two")
    code = ended(monkeypatch, "--config", "other.toml", *given)

    assert code == 0
    found = manifest(folder / "two")
    assert (found["seed"], [each["label"] for each in found["settings"]]) == (9, ["three_layer"])


def test_a_wrong_value_is_one_line_and_exit_2(folder, monkeypatch, capsys):
    (folder / CONFIG_FILE).write_text("[run]\njobs = 'two'\n")

    assert ended(monkeypatch, "run") == 2
    error = capsys.readouterr().err
    assert "--jobs" in error
    assert "Traceback" not in error


def test_a_wrong_value_of_the_file_is_named_with_file_and_key(folder, monkeypatch, capsys):
    (folder / "o.toml").write_text("[sweep]\ncell_timeout = 0\n")

    assert ended(monkeypatch, "--config", "o.toml", "sweep", "xun") == 2
    from_file = capsys.readouterr().err
    assert ended(monkeypatch, "--config", "o.toml", "sweep", "xun", "--cell-timeout", "-1") == 2
    typed = capsys.readouterr().err

    assert from_file.startswith("error: o.toml: [sweep] cell-timeout: Invalid value for '--cell-t")
    assert typed.startswith("error: Invalid value for '--cell-timeout'")


def test_what_a_command_finds_wrong_names_the_flags_of_the_file(folder, monkeypatch, capsys):
    (folder / "o.toml").write_text("[run]\nstrategy = 'xxun'\nset = {a = 1}\n")

    assert ended(monkeypatch, "--config", "o.toml", "run") == 2
    from_file = capsys.readouterr().err
    assert ended(monkeypatch, "run", "--strategy", "xxun") == 2
    typed = capsys.readouterr().err

    assert from_file.startswith("error: unknown strategy 'xxun' (did you mean 'xun'?)")
    assert from_file.endswith("(flags from o.toml: [run] strategy, set)\n")
    assert "flags from" not in typed
