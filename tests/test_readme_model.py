"""The README's commands on repeating everything with one's own model, as printed."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evals.cli import app
from evals.datasets_folder import bundled_datasets
from evals.recording.scripted_answers import Reply
from evals.recording.scripted_endpoint import serve_script

README = Path(__file__).parents[1] / "README.md"
FEWER = ("--questions", "2", "--no-actions")


def section() -> str:
    return README.read_text("utf-8").partition("## Ask a model\n")[2].partition("\n## ")[0]


def commands(base_url: str) -> list[list[str]]:
    """Return the arguments of each command, with a model and an endpoint that exist."""
    (block,) = re.findall(r"```bash\n(.*?)```", section(), re.DOTALL)
    lines = block.replace("\\\n", " ").strip().split("\n")
    real = {"M": "small-model", "U": base_url}
    return [[real.get(word, word) for word in shlex.split(line)[1:]] for line in lines]


def answer(body: dict) -> Reply:
    text = " ".join(str(message["content"]) for message in body["messages"])
    is_probe = "answer exactly UNKNOWN" in text
    return Reply("relay.check" if is_probe else f"## Goal\nrelay.check in {len(text)} characters")


def test_it_takes_ten_lines():
    _, _, prose = section().rpartition("```")

    assert 5 <= len(prose.strip().split("\n")) <= 10


@pytest.mark.slow
def test_another_model_can_be_asked_with_these_commands(tmp_path: Path, monkeypatch):
    relay = next(each for each in bundled_datasets() if each.name == "short-feed-relay")
    copy = tmp_path / "datasets" / relay.name
    shutil.copytree(relay, copy, ignore=shutil.ignore_patterns("models"))
    monkeypatch.chdir(tmp_path)

    with serve_script(answer, model="small-model") as endpoint:
        _, dry, probe, run = commands(endpoint.base_url)
        said = CliRunner().invoke(app, [*dry, *FEWER])
        assert endpoint.requests == []
        recorded = CliRunner().invoke(app, [*probe, *FEWER])
        asked = len(endpoint.requests)
        graded = CliRunner().invoke(app, [*run, "--out", "out", "--no-controls"])

        assert len(endpoint.requests) == asked
    expected = int(said.stdout.split()[2])
    assert 20 < asked <= expected
    assert "at most $" in said.stdout
    assert recorded.exit_code == graded.exit_code == 0
    assert "unrecorded" not in graded.output
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Answers of small-model, recorded. They say nothing about other models." in report
    assert "rank correlation of a lost fact" in report
