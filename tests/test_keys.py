"""Keys come from the environment, go to the endpoint, and stay nowhere."""

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from evals.cli import app
from evals.recording.scripted_answers import Fault
from evals.recording.scripted_endpoint import serve_script
from tests.probe_cases import MODEL, reader_that_reads, write_dataset

KEY = "sk-proj-" + "Zx81" * 12
WORDS = ("key", "token", "secret", "password", "auth", "credential", "header", "bearer")
SIZES = ("max_tokens", "tokens")


def flags():
    commands = get_command(app).commands
    return [
        (name, option)
        for name, command in commands.items()
        for parameter in command.params
        for option in parameter.opts
    ]


def test_no_flag_takes_a_key():
    named = [
        (name, option)
        for name, option in flags()
        for word in WORDS
        if word in option and not option.endswith(SIZES)
    ]

    assert len(flags()) > 60
    assert named == []


@pytest.mark.parametrize("name", ["api-key", "api_key", "key", "token", "openai_api_key"])
def test_no_config_file_takes_a_key(tmp_path, monkeypatch, name):
    (tmp_path / "compaction-evals.toml").write_text(f'[probe]\n{name} = "{KEY}"\n', "utf-8")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["probe", "x", "--model", "m"])

    assert result.exit_code != 0
    assert KEY not in result.output
    assert f"{name.replace('_', '-')}" in str(result.exception).replace("_", "-")


@pytest.mark.slow
def test_the_key_reaches_the_endpoint_and_no_file(tmp_path, monkeypatch):
    folder = tmp_path / "work" / "relay"
    folder.mkdir(parents=True)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    cassette = write_dataset(folder)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.chdir(tmp_path / "work")

    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        base = ["--model", MODEL, "--base-url", endpoint.base_url]
        asked = ["--strategy", "summary_once", "--set", "at_tokens=50%"]
        probed = CliRunner().invoke(app, ["probe", str(cassette), *base, *asked])
        run = CliRunner().invoke(
            app, ["run", str(cassette), *asked, "--no-controls", "--probes", "--out", "out"]
        )
        headers = [found["authorization"] for found in endpoint.headers]

    assert probed.exit_code == run.exit_code == 0
    assert set(headers) == {f"Bearer {KEY}"}
    files = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
    assert len(files) > 8
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert KEY not in probed.output + run.output


def test_a_key_that_an_endpoint_says_back_is_not_written_down(tmp_path, monkeypatch):
    folder = tmp_path / "relay"
    folder.mkdir()
    cassette = write_dataset(folder)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = Fault("status", 401, text=f"Incorrect API key provided: {KEY}")
    with serve_script(lambda _: said) as endpoint:
        CliRunner().invoke(
            app, ["probe", str(cassette), "--model", MODEL, "--base-url", endpoint.base_url]
        )

        assert endpoint.requests
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "failures.json" for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
