"""`probe` on the command line: what it says, and what it refuses."""

import pytest
from typer.testing import CliRunner

from compaction.errors import CompactionError
from evals.cli import app
from evals.scripted_endpoint import serve_script
from tests.probe_cases import MODEL, reader_that_reads, write_dataset


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

    assert dry.stdout.startswith("7 calls not recorded yet (6 probe answer, 1 summary): ")
    assert "7 new answers, $0.0000 spent" in first.stdout
    assert "0 new answers, $0.0000 spent" in second.stdout


def test_a_model_without_key_and_endpoint_is_refused_before_anything_is_read(dataset, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    result = invoke(dataset, "--model", MODEL)

    assert isinstance(result.exception, CompactionError)
    assert "OPENAI_API_KEY" in str(result.exception)
