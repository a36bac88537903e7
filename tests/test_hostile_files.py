"""Files made to harm: each is refused in one line, quickly and in little memory."""

import gzip
import io
import json
import os
import random
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from compaction.errors import TranscriptError
from evals import doctor
from evals.checkup import check_file, check_files
from evals.importers import unpacking
from evals.importers.files import UnknownFormatError
from evals.importers.jsonl import read_records
from evals.importers.reports import Report
from evals.loading import find_files, load_file, survey
from tests.import_cases import FIXTURES

CHAT = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
LINE = json.dumps({"role": "user", "content": "a" * 1000}) + "\n"


@pytest.fixture
def small_limits(monkeypatch):
    """Look at ratios above 1 MB, so that a bomb is made in no time."""
    monkeypatch.setattr(unpacking, "FREE_BYTES", 1_000_000)


@pytest.mark.parametrize("content", [b" " * 5_000_000, b"[" + b" " * 5_000_000, LINE * 5_000])
def test_an_archive_that_unpacks_to_far_more_than_a_log_is_refused(small_limits, tmp_path, content):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", content)

    with pytest.raises(TranscriptError, match="more than 100 times its size"):
        load_file(tmp_path / "bomb.zip")


@pytest.mark.parametrize(
    "content", ['[{"role": "user", "content": "' + "a" * 5_000_000, LINE * 5000]
)
def test_a_gzip_bomb_is_refused_before_it_is_unpacked(small_limits, tmp_path, content, monkeypatch):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(content.encode()))
    unpacked = []
    monkeypatch.setattr(unpacking, "refuse_bomb", _noting(unpacked, unpacking.refuse_bomb))

    with pytest.raises(TranscriptError, match="more than 100 times its size"):
        load_file(tmp_path / "bomb.gz")

    assert max(unpacked) < 2_100_000


def _noting(unpacked, refuse):
    def noted(unpacked_bytes, packed_bytes, source):
        unpacked.append(unpacked_bytes)
        refuse(unpacked_bytes, packed_bytes, source)

    return noted


def test_a_log_that_packs_fifty_times_is_no_bomb(small_limits, tmp_path):
    chance = random.Random(1)
    texts = (f"{chance.random()} {'a' * 1000}" for _ in range(3000))
    lines = "".join(json.dumps({"role": "user", "content": text}) + "\n" for text in texts)
    (tmp_path / "log.gz").write_bytes(gzip.compress(lines.encode()))

    (transcript,) = load_file(tmp_path / "log.gz")

    assert len(lines) > 50 * (tmp_path / "log.gz").stat().st_size
    assert len(transcript.messages) == 3000


def test_archives_in_archives_are_not_passed_over_in_silence(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.json", CHAT)
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
        archive.writestr("b.json", CHAT)
    (tmp_path / "twice.gz").write_bytes(gzip.compress(gzip.compress(CHAT.encode())))

    check = check_file(tmp_path / "outer.zip")

    assert [item.reason for item in check.not_understood] == [
        "an archive in an archive; unpack it first"
    ]
    assert len(check.transcripts) == 1
    with pytest.raises(TranscriptError, match="gzip within gzip"):
        load_file(tmp_path / "twice.gz")


def test_a_damaged_member_does_not_hide_the_others(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("a.json", CHAT)
        archive.writestr("b.json", CHAT[:40])

    check = check_file(tmp_path / "logs.zip")

    assert len(check.transcripts) == 1
    assert [item.where for item in check.not_understood] == [f"{tmp_path}/logs.zip/b.json"]


def test_members_of_one_name_are_each_read_once(tmp_path):
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("a.json", CHAT)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.json", CHAT.replace("b", "c"))

    assert [t.messages[-1].text for t in load_file(tmp_path / "logs.zip")] == ["b", "c"]


def test_blanks_without_end_are_not_called_an_empty_file(tmp_path):
    (tmp_path / "blank").write_bytes(b" " * 100_000)

    with pytest.raises(UnknownFormatError, match="begins with 65536 blanks"):
        load_file(tmp_path / "blank")


def test_a_long_line_of_text_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "text"
    with path.open("wb") as file:
        file.write(b"a")
        file.truncate(40_000_000_000)

    tracemalloc.start()
    with pytest.raises(UnknownFormatError, match="binary data"):
        load_file(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak_bytes < 5_000_000


@pytest.mark.parametrize(
    "text",
    [
        "interactions:\n- !!python/object/apply:os.system [touch pwned]\n",
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
            for old, new in zip("abcdefghi", "bcdefghij", strict=True)
        )
        + "interactions: *j\n",
        "interactions: &a\n- request: {uri: u, method: POST, parsed_body: &b {messages: [*b]}}\n",
    ],
    ids=["tag", "laughs", "itself"],
)
def test_yaml_that_makes_objects_or_grows_without_end_is_refused(tmp_path, text):
    path = tmp_path / "cassette.yaml"
    path.write_text(text)

    with pytest.raises(TranscriptError, match=r"Python object|far larger|alias inside") as caught:
        load_file(path)

    assert "\n" not in str(caught.value)


def test_yaml_aliases_as_pyyaml_writes_them_are_read(tmp_path):
    text = (FIXTURES / "vcr_cassette" / "chat.yaml").read_text()
    path = tmp_path / "cassette.yaml"
    path.write_text(text + "shared: &id001 [application/json]\nagain: [*id001, *id001]\n")

    assert [t.digest for t in load_file(path)] == [
        t.digest for t in load_file(FIXTURES / "vcr_cassette" / "chat.yaml")
    ]


@pytest.mark.parametrize("depth", [150, 400, 700, 990, 100_000])
@pytest.mark.parametrize(
    ("name", "field"),
    [("inspect_ai/log.json", "arguments"), ("claude_code/session.jsonl", "input")],
)
def test_deep_nesting_loads_or_is_refused(tmp_path, depth, name, field):
    text = (FIXTURES / name).read_text()
    deep = "[" * depth + "]" * depth
    path = tmp_path / Path(name).name
    path.write_text(text.replace(f'"{field}": {{', f'"{field}": {{"deep": {deep}, '))

    check = check_file(path, calibrate=False)

    assert "deep" in path.read_text()
    assert check.refusal is None or "nested too deeply" in check.refusal or "JSON" in check.refusal


def test_what_is_no_regular_file_is_told_and_nothing_waits_for_it(tmp_path):
    (tmp_path / "a.json").write_text(CHAT)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    report = survey([tmp_path])

    assert [item.path.name for item in report.locations] == ["a.json"]
    assert {
        item.path.name: item.reason.split("; ")[0].split(": ")[1]
        for item in (*report.passed_over, *report.refused)
    } == {
        "pipe": "a pipe or a device",
        "zero": "a pipe or a device",
        "gone": "a link that leads nowhere",
        "loop": "cannot be read (Too many levels of symbolic links)",
    }
    with pytest.raises(TranscriptError, match="a pipe or a device"):
        survey([tmp_path / "pipe"])


def test_a_folder_that_cannot_be_listed_does_not_hide_the_others(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(CHAT)
    (tmp_path / "secret").mkdir()
    listed = Path.iterdir

    def denied(folder):
        if folder.name == "secret":
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", denied)

    report = survey([tmp_path])

    assert len(report.locations) == 1
    assert "the folder cannot be listed" in report.refused[0].reason


def test_a_file_that_shrinks_or_grows_while_it_is_read_ends_in_a_report(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(LINE * 2000)
    report = Report()

    grown = [record.line for record in _changing(path, report, path.read_text() + '{"role": ')]
    shrunk = [record.line for record in _changing(path, Report(), LINE)]

    assert grown[-1] == 2000
    assert [item.reason.split(",")[0] for item in report.skipped()] == ["cut off"]
    assert len(shrunk) < 2000


def _changing(path, report, content):
    records = read_records(path, "x", report)
    yield next(records)
    path.write_text(content)
    yield from records


def test_names_with_control_characters_are_one_harmless_line(tmp_path, capsys):
    (tmp_path / "a\x1b[31m\nb\u202e.json").write_text('[{"role": "us')

    code = doctor.examine([tmp_path], as_json=False)

    out = capsys.readouterr().out
    assert code == 1
    assert not {"\x1b", "\u202e"} & set(out)
    assert r"a\x1b[31m\nb\u202e.json" in out


def test_a_file_listed_twice_through_links_is_checked_once(tmp_path):
    (tmp_path / "a.json").write_text(CHAT)
    (tmp_path / "b.json").symlink_to(tmp_path / "a.json")

    assert check_files([tmp_path], calibrate=False)[0] == len(find_files([tmp_path])) == 1
