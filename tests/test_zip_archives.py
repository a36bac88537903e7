"""Archives of logs: each member is read, what is no conversation is told, bad ones are refused."""

import gzip
import json
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.errors import TranscriptError
from evals.importers import zip_archives
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from tests.import_cases import FIXTURES, expected

CHAT = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_every_member_is_read_under_the_name_of_the_archive(tmp_path):
    path = archive(
        tmp_path / "logs.zip",
        {
            "a/chat.json": CHAT,
            "b/run.traj": (FIXTURES / "swe_agent" / "text.traj").read_bytes(),
            "README.md": "# Logs",
            "__MACOSX/._a": "x",
            ".hidden": CHAT,
        },
    )

    chat, run = load_file(path)

    assert [chat.format, run.format] == ["openai-chat", "swe-agent"]
    assert chat.source == f"{path}/a/chat.json"
    assert run.name == "run"
    assert [text.split(": ")[0] for text in expected(chat)] == [f"{path}/README.md"]


def test_names_of_members_are_no_paths(tmp_path):
    path = archive(tmp_path / "logs.zip", {"a/../../outside.json": CHAT, "/abs.json": CHAT})

    before = sorted(tmp_path.parent.iterdir())

    load_file(path)

    assert sorted(tmp_path.parent.iterdir()) == before


def test_an_archive_within_an_archive_of_logs_is_read(tmp_path):
    eval_log = (FIXTURES / "inspect_ai" / "log.eval").read_bytes()
    path = archive(tmp_path / "logs.zip", {"log.eval": eval_log})

    assert [t.format for t in load_file(path)] == ["inspect"] * 3


def test_an_archive_without_a_conversation_is_refused(tmp_path):
    path = archive(tmp_path / "logs.zip", {"README.md": "# Logs"})

    with pytest.raises(UnknownFormatError, match="no conversation in the archive"):
        load_file(path)


def test_a_damaged_member_is_named(tmp_path):
    path = archive(tmp_path / "logs.zip", {"a.json": CHAT * 50})
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)

    with pytest.raises(TranscriptError, match=r"a\.json is damaged"):
        load_file(path)


def test_a_member_beyond_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(zip_archives, "MAX_UNPACKED_BYTES", 100)
    path = archive(tmp_path / "logs.zip", {"a.json": "[" + " " * 1000 + "]"})

    with pytest.raises(TranscriptError, match="larger than"):
        load_file(path)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_flipped_bits_load_or_are_refused(tmp_path_factory, place, mask):
    data = bytearray((FIXTURES / "inspect_ai" / "log.eval").read_bytes())
    data[place % len(data)] ^= mask
    path = tmp_path_factory.getbasetemp() / "flipped.eval"
    path.write_bytes(data)

    try:
        transcripts = load_file(path)
    except TranscriptError:
        return
    assert all(transcript.messages for transcript in transcripts)


@pytest.mark.parametrize(
    "name",
    [
        "atif/trajectory.json",
        "google_adk/session.json",
        "inspect_ai/log.json",
        "langchain/states.jsonl",
        "langfuse_otel/otlp.jsonl",
        "openhands/output.jsonl",
        "swe_agent/calls.traj",
    ],
)
def test_a_gzip_file_is_the_same_conversation(tmp_path, name):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress((FIXTURES / name).read_bytes()))

    packed, plain = load_file(path), load_file(FIXTURES / name)

    assert [t.digest for t in packed] == [t.digest for t in plain]
