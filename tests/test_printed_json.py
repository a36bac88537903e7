"""JSON of commands, whatever the names in it are."""

import contextlib
import json
import sys
from dataclasses import replace

import pytest

from evals.audit.command import json_text
from evals.cli import main
from evals.doctor import examine
from evals.printed_json import printed_json
from tests.audit_cases import compacted
from tests.reports_cases import row, write_run
from tests.test_audit_text import audit_of

HOSTILE = '\x1b[31m\x9b2J\u202e\u2066\ud800\U000e0041"\\ naïve 名'


def test_a_terminal_is_told_nothing_and_nothing_is_lost():
    text = printed_json({HOSTILE: [HOSTILE, {"n": 1.5}]})

    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert json.loads(text) == {HOSTILE: [HOSTILE, {"n": 1.5}]}
    assert "naïve 名" in text
    assert text.encode()


def test_what_is_not_json_is_not_printed():
    with pytest.raises(ValueError, match="JSON compliant"):
        printed_json({"a": float("nan")})


@pytest.mark.parametrize("command", ["recommend", "compare"])
def test_names_in_runs_are_escaped(tmp_path, capsys, monkeypatch, command):
    rows = [row(HOSTILE[:9], f"{HOSTILE[:9]}(k=2)", saving=0.5, reach=0.5, needs=2, lost=1)]
    run = str(write_run(tmp_path / "run", rows))
    arguments = [run, "--json"] if command == "recommend" else [run, run, "--json"]

    monkeypatch.setattr(sys, "argv", ["compaction-evals", command, *arguments])
    with contextlib.suppress(SystemExit):
        main()

    said = capsys.readouterr().out
    assert HOSTILE[:9] in json.dumps(json.loads(said), ensure_ascii=False).replace(
        "\\u001b", "\x1b"
    )
    assert said.replace("\n", "").isprintable()


def test_names_of_files_are_escaped(tmp_path, capsys):
    (tmp_path / "a\u202eb.json").write_text("[]")

    examine([tmp_path], as_json=True)

    said = capsys.readouterr().out
    assert "a\\u202eb.json" in said
    assert said.replace("\n", "").isprintable()


def test_an_audit_is_escaped():
    text = json_text(audit_of(replace(compacted(), name="a\x9b\u202e")))

    assert "a\\u009b\\u202e" in text
    assert text.replace("\n", "").isprintable()
