"""What holds for every importer: its fixtures, the native round trip, and how one is added."""

import json
from pathlib import Path

import pytest

from compaction.errors import TranscriptError
from evals import importers
from evals.checkup import check_file
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from evals.transcripts import NATIVE_FORMAT, from_native, to_native
from tests.import_cases import FIXTURES, SAMPLES, needs_samples

FILES = sorted(
    path for name in importers.IMPORTERS for path in (FIXTURES / name).glob("*") if path.is_file()
)
README = Path(__file__).parents[1] / "README.md"

NEW_FORMAT = '''
"""Chats as plain text: `who: what`, one message a line."""

from compaction.messages import messages_from_openai
from evals.transcripts import Transcript, single_segment

FORMAT = "plain-text"
ROLES = {"me": "user", "bot": "assistant"}


def matches(head):
    return head.layout == "text" and head.text.startswith("me: ")


def read(path, source):
    lines = [line.split(": ", 1) for line in path.read_text().splitlines()]
    messages = messages_from_openai([{"role": ROLES[who], "content": what} for who, what in lines])
    yield Transcript("chat", single_segment(messages), source=source, format=FORMAT)
'''


def read_or_refused(path):
    """The transcripts of a fixture; none if it is one that must be refused."""
    try:
        return load_file(path)
    except TranscriptError:
        return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_native_format_gives_back_an_equal_transcript(path, tmp_path):
    transcripts = read_or_refused(path)
    native = tmp_path / "native.jsonl"
    native.write_text("".join(json.dumps(to_native(t)) + "\n" for t in transcripts))

    assert not transcripts or load_file(native) == transcripts
    assert [from_native(to_native(t), where="x").digest for t in transcripts] == [
        t.digest for t in transcripts
    ]


@needs_samples
def test_the_native_format_gives_back_every_sample(tmp_path):
    native = tmp_path / "native.jsonl"
    for path in sorted(path for path in SAMPLES.rglob("*") if path.is_file()):
        transcripts = read_or_refused(path)
        native.write_text("".join(json.dumps(to_native(t)) + "\n" for t in transcripts))

        assert not transcripts or load_file(native) == transcripts, path


def test_every_importer_has_fixtures_that_it_reads():
    formats = {t.format for path in FILES for t in read_or_refused(path)}

    assert formats >= {importer.FORMAT for importer in importers.importers()} - {NATIVE_FORMAT}


def test_a_format_is_added_with_one_file_and_one_line(tmp_path, monkeypatch):
    (tmp_path / "plain_text.py").write_text(NEW_FORMAT)
    monkeypatch.setattr(importers, "__path__", [*importers.__path__, str(tmp_path)])
    chat = tmp_path / "chat.txt"
    chat.write_text("me: hello\nbot: hi\n")
    with pytest.raises(UnknownFormatError):
        load_file(chat)

    monkeypatch.setattr(importers, "IMPORTERS", (*importers.IMPORTERS, "plain_text"))

    check = check_file(chat)
    assert (check.format, check.refusal, check.transcripts[0].requests) == ("plain-text", None, 1)


def test_the_readme_says_how_a_format_is_added():
    text = " ".join(README.read_text().split())

    assert "a module in `evals/importers/`" in text
    for name in ("`FORMAT`", "`matches(head)`", "`read(path, source)`", "`IMPORTERS`"):
        assert name in text
