"""`sweep` from the command line: what it runs, what it prints, that it goes on where it stopped."""

import json
import shlex
import sys

import pytest

from evals.cli import main
from evals.results import RunFolder
from tests.cost_cases import prices
from tests.run_cases import write_chats


@pytest.fixture
def chats(tmp_path):
    return write_chats(tmp_path / "chats", count=1, n_messages=13)


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["compaction-evals", "sweep", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr()
    return stopped.value.code, said.out, said.err


def test_values_and_paths_may_stand_in_any_order_and_controls_run_beside(
    chats, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "run"
    arguments = ["clear_tool_results", "keep_last_results=1:3:2", chats, "trigger_tokens=none,50%"]

    code, said, _ = command(monkeypatch, capsys, *arguments, "--out", out, "--json")

    rows = [*RunFolder(out).rows()]
    assert code == 0
    assert [row.label for row in rows if not row.is_control] == [
        f"clear_tool_results(keep_last_results={keep}, trigger_tokens={trigger})"
        for keep in (1, 3)
        for trigger in ("none", "50%")
    ]
    assert {row.strategy for row in rows if row.is_control} >= {"identity", "truncate"}
    (found,) = json.loads(said)["recommendations"]
    assert (found["provenance"], found["transcripts"]) == ("recorded", 1)


def test_the_same_command_goes_on_where_it_stopped(chats, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    arguments = ["clear_tool_results", chats, "keep_last_results=1,3", "--out", out]
    first = command(monkeypatch, capsys, *arguments)
    lines = (out / "rows.jsonl").read_text().splitlines(keepends=True)
    (out / "rows.jsonl").write_text("".join(lines[:5]))

    second = command(monkeypatch, capsys, *arguments)

    again = (out / "rows.jsonl").read_text().splitlines(keepends=True)
    assert again[:5] == lines[:5]
    assert len(again) == len(lines)
    assert second[:2] == first[:2]


def test_a_price_file_that_was_of_no_use_is_named(chats, tmp_path, monkeypatch, capsys):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps([prices(model=name).to_json() for name in ("mine", "ours")]))
    arguments = ["clear_tool_results", chats, "keep_last_results=1", "--out", tmp_path / "run"]

    _, _, unused = command(monkeypatch, capsys, *arguments, "--price-file", path)
    _, _, without = command(monkeypatch, capsys, *arguments)

    assert "Price file: used for 0 of 1 transcript; it has prices of mine and ours" in unused
    assert "Price file" not in without


def test_the_exit_code_is_of_the_run_and_the_command_to_gate_on_is_named(
    chats, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "run"
    arguments = ["clear_tool_results", chats, "keep_last_results=1,3", "--min-reach", "99%"]

    code, said, error = command(monkeypatch, capsys, *arguments, "--out", out)

    (line,) = [line for line in error.splitlines() if line.startswith("to gate on it")]
    gate = f"compaction-evals recommend {out} --min-reach 99%"
    assert line == f"to gate on it (exit code 1 now, no setting is named): {gate}"
    monkeypatch.setattr(sys, "argv", shlex.split(gate))
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (code, stopped.value.code) == (0, 1)
    assert "Self-checks of the instrument: " in said


def test_the_command_to_gate_on_names_a_folder_that_looks_like_a_flag(
    chats, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    arguments = ["clear_tool_results", chats, "keep_last_results=1", "--out", "./-run\x1b[31m"]

    _, _, error = command(monkeypatch, capsys, *arguments)

    assert error.replace("\n", "").isprintable()
    assert "compaction-evals recommend $'./-run\\x1b[31m'" in error


def test_the_command_that_measures_the_medians_runs_them(chats, tmp_path, monkeypatch, capsys):
    write_chats(tmp_path / "more", count=2, n_messages=31)
    arguments = ["drop_oldest", chats, tmp_path / "more", "keep_tail_tokens=60%", "--seed", "4"]
    options = ["--min-reach", "0", "--out", tmp_path / "run", "--json"]
    _, said, _ = command(monkeypatch, capsys, *arguments, *options)
    (found,) = json.loads(said)["recommendations"]
    share = found["chosen"]["shares"]["keep_tail_tokens"]
    ours = found["configurations"][-1]
    assert ours["framework"] == "compaction (this library)"
    words = shlex.split(ours["measure_command"])

    monkeypatch.setattr(sys, "argv", [*words, "--out", str(tmp_path / "again")])
    with pytest.raises(SystemExit):
        main()

    assert share["least"] < share["median"] < share["most"]
    assert words[-4:] == ["--seed", "4", "--min-reach", "0"]
    first, again = (
        [row for row in RunFolder(tmp_path / name).rows() if not row.is_control]
        for name in ("run", "again")
    )
    assert {row.transcript for row in again} == {row.transcript for row in first}
    assert {row.resolved["keep_tail_tokens"] for row in again} == {share["median"]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("clear_tool_results",), "nothing to vary: name a parameter of clear_tool_results"),
        (("clear_tool_result", "k=1,2"), "did you mean 'clear_tool_results'?"),
        (("clear_tool_results", "keep_last_result=1,2"), "did you mean 'keep_last_results'?"),
        (("clear_tool_results", "keep_last_results=1:9:0"), "the step of '1:9:0' must be above 0"),
        (("clear_tool_results", "min_chars=1", "min_chars=2"), "sweep has 'min_chars' twice"),
        (
            ("clear_tool_results", "min_chars=1", "--grid", "min_chars=2"),
            "min_chars is in --grid and beside it; leave one out",
        ),
        (("snip_middle", "./no=thing", "keep_head=1,2"), "no=thing"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_one_line(arguments, said, monkeypatch, capsys):
    code, _, error = command(monkeypatch, capsys, *arguments)

    assert code == 2
    assert said in error
    assert error.count("\n") == 1


def test_a_config_file_may_hold_the_grid(chats, tmp_path, monkeypatch, capsys):
    config = tmp_path / "c.toml"
    config.write_text('[sweep]\ngrid = {keep_last_results = ["1:3:1"]}\nmin-reach = "50%"\n')
    out = tmp_path / "run"
    arguments = ["--config", config, "sweep", "clear_tool_results", chats, "--out", out, "--json"]
    monkeypatch.setattr(sys, "argv", ["compaction-evals", *map(str, arguments)])

    with pytest.raises(SystemExit):
        main()

    (found,) = json.loads(capsys.readouterr().out)["recommendations"]
    assert found["min_reach"] == 0.5
    labels = {row.label for row in RunFolder(out).rows() if not row.is_control}
    assert labels == {f"clear_tool_results(keep_last_results={keep})" for keep in (1, 2, 3)}
