"""`probe` on the command line: what it says, and what it refuses."""

import json

import pytest
from typer.testing import CliRunner

from compaction.errors import CompactionError
from evals.cli import app
from evals.recording.scripted_answers import Fault
from evals.recording.scripted_endpoint import serve_script
from tests.probe_cases import MODEL, reader_that_reads, write_dataset

PRICES = json.dumps({"model": MODEL, "usd_per_million_tokens": {"input": 1, "output": 1}})


def invoke(*arguments):
    return CliRunner().invoke(app, ["probe", *map(str, arguments)])


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "relay"
    folder.mkdir()
    return write_dataset(folder)


def test_a_recording_says_what_it_asked_and_a_second_one_asks_nothing(dataset):
    chosen = ("--strategy", "summary_once", "--set", "at_tokens=50%", "--no-actions")
    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        asked = (dataset, "--model", MODEL, "--base-url", endpoint.base_url, *chosen)
        dry, first, second = invoke(*asked, "--dry-run"), invoke(*asked), invoke(*asked)

    assert dry.stdout.startswith(
        "at most 13 calls, not recorded yet (6 judge verdict, 6 probe answer, 1 summary): "
    )
    assert "7 new answers, $0.0000 spent" in first.stdout
    assert "0 new answers, $0.0000 spent" in second.stdout


def test_a_limit_ends_a_recording_in_one_line_and_a_higher_one_goes_on(dataset, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES, "utf-8")
    chosen = ("--strategy", "clear_once", "--set", "at_tokens=50%", "--no-actions")
    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        asked = (dataset, "--model", MODEL, "--base-url", endpoint.base_url, *chosen)
        priced = (*asked, "--price-file", prices, "--price", MODEL)
        dry = invoke(*priced, "--dry-run")
        assert endpoint.requests == []
        limited = invoke(*priced, "--max-cost", "0.0004")
        before = len(endpoint.requests)
        rest = invoke(*priced, "--max-cost", "1")
        sent = [str(body) for body in endpoint.requests]

    assert "at most 12 calls, not recorded yet" in dry.stdout
    assert "minutes unknown" in dry.stdout
    assert float(dry.stdout.partition("at most $")[2].split()[0]) > 0.0004
    assert "--max-cost 0.0004 reached" in str(limited.exception)
    assert 0 < before < 6
    assert f"{6 - before} new answers" in rest.stdout
    assert len(sent) == len(set(sent)) == 6


def test_calls_that_failed_are_named_and_make_the_command_fail(dataset):
    chosen = ("--strategy", "clear_once", "--set", "at_tokens=50%", "--no-actions")
    said = Fault("status", 400, text="maximum context length is 10 tokens")

    def say(body):
        has_view = "WX-3318" in str(body)
        return said if has_view else reader_that_reads(body)

    with serve_script(say, model=MODEL) as endpoint:
        result = invoke(dataset, "--model", MODEL, "--base-url", endpoint.base_url, *chosen)

    assert result.exit_code == 1
    assert "2 new answers" in result.stdout
    assert "failed, 4 times: probe answer: " in result.stderr
    assert "maximum context length is 10 tokens" in result.stderr


def test_a_model_without_key_and_endpoint_is_refused_before_anything_is_read(dataset, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    result = invoke(dataset, "--model", MODEL)

    assert isinstance(result.exception, CompactionError)
    assert "OPENAI_API_KEY" in str(result.exception)
