"""From the flags of `run` to a finished run folder, without the reports."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from compaction.errors import CompactionError
from evals.metrics import MADE_BY_REPORTS, METRICS, METRICS_VERSION
from evals.results import Row, RunFolder
from evals.running import RunRequest, execute, settings_of, verdict
from evals.settings import TRUNCATE_POINTS, check
from tests.run_cases import numbers, quiet, write_chats, write_code

DATA = Path(__file__).parents[2] / "shared" / "data"


def heard(asked):
    """Run and return what was finished, what was said, and the exit code."""
    out = io.StringIO()
    console = Console(file=out, width=400)
    finished = execute(asked, console)
    code = verdict(finished, console)
    return finished, out.getvalue().splitlines(), code


def test_without_a_strategy_systems_run_at_four_thresholds_beside_boundary_and_controls():
    settings = settings_of(RunRequest())

    labels = [setting.label for setting in settings]
    assert labels[:4] == [
        "xun",
        "xun(token_threshold=25%)",
        "xun(token_threshold=50%)",
        "xun(token_threshold=75%)",
    ]
    assert sum(not setting.is_control for setting in settings) == 12 + 7
    assert labels[12] == "summary_once(prompt=headings, at_tokens=35%)"
    assert labels[17:19] == [
        "summary_once(by=extractive, at_tokens=35%)",
        "clear_once(at_tokens=35%)",
    ]
    assert labels[19:23] == ["identity", "drop_all", "random_drop", "salad"]
    assert sum(label.startswith("truncate(") for label in labels) == TRUNCATE_POINTS == 16
    assert settings_of(RunRequest(with_controls=False)) == settings[:19]
    check(settings)


@pytest.mark.parametrize("asked", [{"with_probes": True}, {"reader": "m"}])
def test_named_paths_are_run_with_recorded_summaries_where_answers_are_asked_for(asked):
    logs = (Path("logs"),)

    assert settings_of(RunRequest(logs, **asked)) == settings_of(RunRequest())
    assert not any(one.only_where_recorded for one in settings_of(RunRequest(logs)))


def test_a_grid_is_every_combination_and_a_named_control_runs_once():
    asked = RunRequest(
        strategies=("xun", "identity"),
        fixed={},
        grid={},
    )
    grid = RunRequest(
        strategies=("xun",),
        fixed={"token_threshold": "50%"},
        grid={"toolcall_keep_max": ["2", "4"], "max_retries": ["0", "1"]},
        with_controls=False,
    )

    assert [setting.label for setting in settings_of(asked)].count("identity") == 1
    assert [setting.label for setting in settings_of(grid)] == [
        f"xun(token_threshold=50%, toolcall_keep_max={keep}, max_retries={retries})"
        for keep in (2, 4)
        for retries in (0, 1)
    ]


@pytest.mark.parametrize("flags", [{"fixed": {"a": "1"}}, {"grid": {"a": ["1"]}}])
def test_a_parameter_of_no_strategy_is_refused(flags):
    with pytest.raises(CompactionError, match="need --strategy"):
        settings_of(RunRequest(**flags))


INCIDENT = Path(__file__).resolve().parents[1] / "datasets/settlement-incident/cassette.json"


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    out = tmp_path_factory.mktemp("bundled") / "run"
    grid = {"toolcall_keep_max": ["2", "4", "8", "16"]}
    asked = RunRequest(
        paths=(INCIDENT,),
        strategies=("xun",),
        fixed={"token_threshold": "50%"},
        grid=grid,
        out=out,
        command="the command",
    )
    return heard(asked), out


@pytest.mark.slow
def test_the_grid_of_the_readme_gives_differing_rows_on_the_bundled_conversation(bundled):
    (finished, lines, code), _ = bundled
    rows = [row for row in finished.rows if row.strategy == "xun"]

    assert len(rows) == 4
    assert len({row.input_tokens_after for row in rows}) == 4
    assert all(row.engaged for row in rows)
    assert (lines, code) == ([], 0)


def test_the_manifest_says_what_was_run_with_what(bundled):
    (finished, _, _), out = bundled

    manifest = RunFolder(out).manifest()

    assert manifest["command"] == "the command"
    assert manifest["cells"] == sorted(row.cell_id for row in finished.rows)
    assert len(manifest["settings"]) == len(manifest["cells"]) == 4 + 20
    assert manifest["cells_by_setting"] == {each["label"]: 1 for each in manifest["settings"]}
    assert manifest["metrics_version"] == METRICS_VERSION
    assert [metric["name"] for metric in manifest["metrics"]] == [item.name for item in METRICS]
    assert manifest["measuring_counter"] == "tiktoken/o200k_base"
    assert manifest["versions"]["tiktoken"]
    assert (manifest["refused"], manifest["noted"]) == ([], [])


def test_every_metric_is_a_column_of_a_row_or_made_by_a_report():
    columns = set(Row.__dataclass_fields__) | MADE_BY_REPORTS

    assert [item.name for item in METRICS if item.name not in columns] == []
    assert all(item.unit and item.definition.endswith(".") for item in METRICS)


def test_the_same_command_finds_its_folder_again(tmp_path, monkeypatch):
    write_chats(tmp_path / "data", 1)
    monkeypatch.chdir(tmp_path)
    asked = RunRequest(paths=(Path("data"),), strategies=("identity",), with_controls=False)

    first, again = execute(asked, quiet()), execute(asked, quiet())
    seeded = execute(RunRequest(**{**_fields(asked), "seed": 1}), quiet())

    assert first.folder == again.folder
    assert first.rows == again.rows
    assert first.folder.parent == Path("compaction-runs")
    assert seeded.folder != first.folder


def _fields(asked):
    return {name: getattr(asked, name) for name in RunRequest.__dataclass_fields__}


def test_failures_breaches_and_damage_are_a_line_each_and_exit_1(tmp_path):
    data = write_chats(tmp_path / "data", 1)
    (data / "cut.json").write_text('[{"role": "user", "content": "hel')
    code = write_code(
        tmp_path,
        "def fails(messages):\n    raise ValueError('no luck')\n"
        "def twice(messages):\n    return messages + messages\n",
    )
    asked = RunRequest(
        paths=(data,),
        strategies=(f"{code}:fails", f"{code}:twice"),
        with_controls=False,
        out=tmp_path / "run",
    )

    finished, lines, exit_code = heard(asked)

    assert exit_code == 1
    assert [line.split(":")[0] for line in lines] == ["not read", "failed", "broken"]
    assert "cut.json" in lines[0]
    assert f"on {data / 'chat_0.json'}" in lines[1]
    assert "request 0" in lines[1]
    assert "never_grows at" in lines[2]
    assert len(finished.cells) == 2


@pytest.mark.parametrize(("is_control", "exit_code"), [(True, 0), (False, 1)])
def test_a_control_that_breaks_a_rule_is_no_failure_of_the_run(tmp_path, is_control, exit_code):
    data = write_chats(tmp_path / "data", 1)
    asked = RunRequest(
        paths=(data,), strategies=("xun",), with_controls=False, out=tmp_path / "run"
    )
    finished = execute(asked, quiet())
    (row,) = finished.rows
    row = replace(row, is_control=is_control, violations=2, violated={"never_grows": 2})
    RunFolder(finished.folder).append(row)

    assert verdict(finished, quiet()) == exit_code


@pytest.mark.slow
def test_many_failures_are_summed_up(tmp_path):
    data = write_chats(tmp_path / "data", 12, n_messages=5)
    code = write_code(tmp_path)
    asked = RunRequest(
        paths=(data,), strategies=(f"{code}:fails",), with_controls=False, out=tmp_path / "run"
    )

    _, lines, exit_code = heard(asked)

    assert exit_code == 1
    assert len(lines) == 11
    assert lines[-1] == "failed: 2 more cells, see rows.jsonl"


def test_what_was_mended_or_left_out_of_a_file_is_said(tmp_path):
    glued = '{"role":"user","content":"hi"}{"role":"assistant","content":"yo"}\n'
    (tmp_path / "glued.jsonl").write_text(glued + '{"role":"user","content":"more"}\n')
    orphan = [
        {"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "x", "content": "r"},
        {"role": "assistant", "content": "yo"},
    ]
    (tmp_path / "orphan.json").write_text(json.dumps(orphan))
    (tmp_path / "README.md").write_text("hello")
    asked = RunRequest(paths=(tmp_path,), strategies=("identity",), out=tmp_path / "run")

    _, lines, exit_code = heard(asked)

    assert exit_code == 0
    assert lines[0] == f"passed over, no conversation: {tmp_path / 'README.md'}"
    assert [line.split(":")[0] for line in lines[1:]] == ["noted", "noted"]
    assert "glued.jsonl, line 1: 2 records glued on one line" in lines[1]
    assert "orphan.json, messages[1]: a result for call 'x'" in lines[2]


def test_names_with_markup_and_line_breaks_stay_on_their_line(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    name = "[bold]x\n\x1b[31m<b>.json"
    (write_chats(tmp_path / "made", 1) / "chat_0.json").rename(data / name)
    code = write_code(tmp_path)
    asked = RunRequest(
        paths=(data,), strategies=(f"{code}:fails",), with_controls=False, out=tmp_path / "run"
    )

    _, lines, _ = heard(asked)

    assert len(lines) == 1
    assert "[bold]x\\n\\x1b[31m<b>.json" in lines[0]


@pytest.mark.skipif(not DATA.is_dir(), reason="the real samples are not here")
@pytest.mark.parametrize("kind", ["claude_code", "openai_chat", "tau2_bench", "vcr_cassettes"])
@pytest.mark.slow
def test_real_conversations_run_under_every_system_without_error_or_breach(kind, tmp_path):
    paths = tuple(sorted((DATA / kind).iterdir()))
    if kind == "claude_code":
        paths = tuple(path for path in paths if path.stat().st_size < 600_000)
    settings = {
        "xun": ("token_threshold", ["30%", "60%"]),
        "my_pi_agent": ("context_budget", ["30%", "60%"]),
        "three_layer": ("context_limit_chars", ["30%", "60%"]),
    }
    for strategy, (threshold, shares) in settings.items():
        asked = RunRequest(
            paths=paths,
            strategies=(strategy,),
            grid={threshold: shares},
            with_controls=False,
            out=tmp_path / strategy,
        )

        finished, lines, exit_code = heard(asked)

        # three_layer decides in characters: below some 300 tokens a summary of fewer characters
        # can have more tokens than what it replaces.
        tiny = [row for row in finished.rows if row.peak_tokens_before < 300]
        broken = [row for row in finished.rows if row.violations and row not in tiny]
        assert broken == []
        assert {rule for row in tiny for rule in row.violated} <= {"never_grows"}
        assert not any(line.startswith(("failed", "not read")) for line in lines)
        assert exit_code == any(row.violations for row in tiny)
        assert {row.status for row in finished.rows} == {"ok"}
        assert all(row.engaged == (row.saving_fraction >= 0.01) for row in finished.rows)
        assert all(row.compactions or not row.engaged for row in finished.rows)


@pytest.mark.skipif(not DATA.is_dir(), reason="the real samples are not here")
def test_a_grid_on_a_real_session_differs_where_it_engages_and_the_default_never_fires(tmp_path):
    paths = (DATA / "claude_code" / "cc-2.1.7-glued-records.jsonl",)
    asked = RunRequest(
        paths=paths,
        strategies=("xun",),
        fixed={"token_threshold": "50%"},
        grid={"toolcall_keep_max": ["2", "4", "8", "16"]},
        with_controls=False,
        out=tmp_path / "grid",
    )
    literal = RunRequest(
        paths=paths, strategies=("xun",), with_controls=False, out=tmp_path / "literal"
    )

    rows, default = execute(asked, quiet()).rows, execute(literal, quiet()).rows

    engaged = [row for row in rows if row.engaged]
    assert len(engaged) >= 2
    assert len({row.input_tokens_after for row in engaged}) == len(engaged)
    assert [(row.engaged, row.compactions, row.reach) for row in default] == [
        (False, 0, 1.0 if default[0].needs else None)
    ]
    assert numbers(execute(asked, quiet()).rows) == numbers(rows)
