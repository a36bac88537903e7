"""The README's Python runs as printed, against a scripted endpoint."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from evals.cli import app
from evals.recording.scripted_endpoint import Reply, serve_script
from tests.reports_cases import small_rows, write_run

README = Path(__file__).parents[1] / "README.md"


def block(first_line: str) -> str:
    """Return the Python block of the README that begins with a comment line."""
    blocks = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return next(code for code in blocks if code.startswith(first_line))


def call(number: int) -> Reply:
    arguments = json.dumps({"path": "notes.txt"})
    function = {"name": "read_file", "arguments": arguments}
    return Reply(tool_calls=[{"id": f"call_{number}", "type": "function", "function": function}])


def run(code: str, folder: Path, base_url: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("port 8080 is left to open\n" * 200, "utf-8")
    return tmp_path


@pytest.mark.slow
def test_the_agent_of_the_readme_compacts_and_resumes_without_a_second_summary(folder: Path):
    code = block("# agent.py").replace("60_000", "4_000")
    summary = Reply("<summary>## Goal\nRead notes.txt; port 8080 is left to open.</summary>")
    script = [call(0), call(1), call(2), summary, call(3), Reply("Port 8080 is left to open.")]
    with serve_script(script, model="gpt-5.2", created=0) as endpoint:
        first = run(code, folder, endpoint.base_url)
        asked = len(endpoint.requests)

    with serve_script([Reply("Still port 8080.")], model="gpt-5.2", created=0) as endpoint:
        second = run(code, folder, endpoint.base_url)

        assert "Port 8080 is left to open." in first.stdout, first.stderr
        assert "ContextCompacted" in first.stdout
        assert asked == len(script)
        assert "Still port 8080." in second.stdout, second.stderr
        assert len(endpoint.requests) == 1


def test_the_notebook_of_the_readme_has_frames_and_a_chart_that_displays_itself(
    tmp_path, monkeypatch
):
    write_run(tmp_path / "compaction-runs" / "bundled", small_rows())
    monkeypatch.chdir(tmp_path)
    *lines, last = ast.parse(block("# notebook.py")).body
    names: dict[str, object] = {}
    exec(compile(ast.Module(lines, []), "notebook.py", "exec"), names)

    chart = eval(compile(ast.Expression(last.value), "notebook.py", "eval"), names)

    run = names["run"]
    assert len(run.rows) == len(small_rows())
    assert set(run.settings()["label"]) == {row.label for row in small_rows()}
    (kind, shown) = next(iter(chart._repr_mimebundle_().items()))
    assert kind in ("text/html", "application/vnd.vegalite.v6+json")
    assert "xun(k=2)" in str(shown)


def commands() -> list[list[str]]:
    """Return the arguments of every command line in a fenced block of the README."""
    blocks = re.findall(r"```bash\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.split("&&")]
    found = [shlex.split(part)[1:] for part in parts if part.startswith("compaction-evals")]
    return [words for words in found if words]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_of_the_readme_has_the_flags_that_it_is_given(words):
    name, *arguments = words

    command = get_command(app).commands[name]
    with command.make_context(name, arguments) as context:
        assert context.params


def test_commands_were_found_in_the_readme():
    assert {"run", "audit", "sweep", "compare", "check", "record", "probe", "explain"} <= {
        words[0] for words in commands()
    }


@pytest.mark.slow
def test_the_compactor_of_the_readme_is_a_strategy(tmp_path: Path):
    (tmp_path / "keep_ten.py").write_text(block("# keep_ten.py"), "utf-8")
    command = [sys.executable, "-m", "evals.cli", "run", "--no-controls", "--out", "run"]

    done = subprocess.run(
        [*command, "--strategy", "keep_ten.py:keep_ten"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    lines = (tmp_path / "run" / "rows.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["status"] for row in rows} == {"ok"}, done.stderr
    assert any(row["engaged"] for row in rows)
    assert done.returncode == 1
    assert "calls_stay_paired" in done.stderr
