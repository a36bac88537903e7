"""Paths to transcripts: what is found, what is refused, and that damaged files never crash."""

import gzip
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.errors import TranscriptError
from evals import loading
from evals.importers import IMPORTERS, importers
from evals.importers.files import UnknownFormatError
from evals.importers.jsonl import read_records
from evals.importers.reports import Report, unique_names
from evals.transcripts import from_native, to_native

FIXTURES = Path(__file__).parent / "fixtures"
SOUND = sorted(
    path
    for folder in ("claude_code", "openai_chat", "tau_bench", "vcr_cassette")
    for path in (FIXTURES / folder).iterdir()
    if path.name not in ("truncated.json", "unknown_role.json", "no_model.yaml")
)
by_name = pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def write_chat(path, messages=CHAT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(messages))
    return path


@by_name
def test_the_native_format_gives_back_an_equal_transcript(path, tmp_path):
    transcripts = loading.load_file(path)
    native = tmp_path / "native.jsonl"
    native.write_text("".join(json.dumps(to_native(t)) + "\n" for t in transcripts))

    again = loading.load_file(native)

    assert again == transcripts
    assert [from_native(to_native(t), where="x") for t in transcripts] == transcripts


def test_a_native_list_and_a_single_native_document_are_read(tmp_path):
    (transcript,) = loading.load_file(FIXTURES / "openai_chat" / "messages.json")
    (tmp_path / "one.json").write_text(json.dumps(to_native(transcript), indent=1))
    (tmp_path / "two.json").write_text(json.dumps([to_native(transcript)] * 2, indent=1))

    names = [t.name for t in loading.load_file(tmp_path / "two.json")]

    assert loading.load_file(tmp_path / "one.json") == [transcript]
    assert names == ["conversation", "conversation#2"]


def test_a_format_is_recognised_by_content_not_by_its_name(tmp_path):
    chat = tmp_path / "session.jsonl"
    chat.write_bytes((FIXTURES / "vcr_cassette" / "chat.yaml").read_bytes())

    assert loading.load_file(chat)[0].format == "vcr-cassette"


def test_every_importer_keeps_the_protocol_and_names_its_format():
    formats = [importer.FORMAT for importer in importers()]

    assert len(set(formats)) == len(IMPORTERS)
    assert all(callable(i.matches) and callable(i.read) for i in importers())


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"", UnknownFormatError, "empty"),
        (b"\xef\xbb\xbf \n", UnknownFormatError, "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", UnknownFormatError, "binary"),
        (b"# A readme\n", UnknownFormatError, "known format"),
        (b'{"a": 1}', UnknownFormatError, "known format"),
        ("[]".encode("utf-16"), TranscriptError, "UTF-16"),
        (b'[{"role": "user", "content": "a"}', TranscriptError, ":1: not JSON"),
        (b'[\n{"role": "user",\n "content": "\xff"}]', TranscriptError, ":3: not UTF-8"),
        (b"[" * 100_000, TranscriptError, "JSON"),
        (gzip.compress(b"[]" * 50, mtime=0)[:20], TranscriptError, "gzip"),
    ],
)
def test_what_is_no_transcript_is_refused_with_the_file_and_a_reason(
    tmp_path, content, error, says
):
    path = tmp_path / "file"
    path.write_bytes(content)

    with pytest.raises(error, match=says) as caught:
        loading.load_file(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lines_end_at_line_feeds_only_and_a_byte_order_mark_is_passed_over(tmp_path):
    text = "one\u2028two\x85three\r"
    path = tmp_path / "chat.jsonl"
    lines = [json.dumps({"role": "user", "content": text}, ensure_ascii=False)] * 2
    path.write_bytes(("\ufeff" + "\r\n\n".join(lines)).encode())

    (transcript,) = loading.load_file(path)

    assert [m.text for m in transcript.messages] == [text, text]
    assert transcript.skipped == ()


def test_broken_lines_are_reported_where_they_are(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": \n{"c": 1} {"d": 2}[3]\n\n\xff\n{"e": 1}{"f')
    report = Report()

    values = [(r.line, r.value) for r in read_records(path, "x", report)]

    assert values == [(1, {"a": 1}), (3, {"c": 1}), (3, {"d": 2}), (3, [3]), (6, {"e": 1})]
    found = [(item.where, item.expected) for item in report.skipped()]
    assert found == [("line 2", False), ("line 3", True), ("line 5", False), ("line 6", False)]
    assert "after 1 whole record" in report.skipped()[3].reason


def test_a_folder_is_read_recursively_without_hidden_and_run_folders(tmp_path):
    for name in ("b.json", "a.json", "sub/c.json", ".hidden/d.json", "run/e.json", ".f.json"):
        write_chat(tmp_path / name)
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "run" / "rows.jsonl").write_text("")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)

    files = loading.find_files([tmp_path, tmp_path / "a.json"])

    assert [str(f.relative_to(tmp_path)) for f in files] == ["a.json", "b.json", "sub/c.json"]


def test_a_hidden_folder_that_is_named_is_read(tmp_path):
    write_chat(tmp_path / ".claude" / "a.json")

    assert len(loading.find_files([tmp_path / ".claude"])) == 1


def test_missing_paths_and_run_folders_are_errors(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "rows.jsonl").write_text("")

    with pytest.raises(TranscriptError, match="no such file or folder"):
        loading.find_files([tmp_path / "missing"])
    with pytest.raises(TranscriptError, match="a run folder"):
        loading.find_files([tmp_path])


def test_a_folder_with_other_files_lists_them_and_goes_on(tmp_path):
    write_chat(tmp_path / "a.json")
    (tmp_path / "README.md").write_text("# Logs")
    (tmp_path / "z.json").write_text('[{"role": "user", "cont')

    report = loading.survey([tmp_path])

    assert [location.path.name for location in report.locations] == ["a.json"]
    assert [item.path.name for item in report.passed_over] == ["README.md"]
    assert [item.path.name for item in report.refused] == ["z.json"]


def test_a_named_file_that_cannot_be_read_is_refused_and_alone_an_error(tmp_path):
    write_chat(tmp_path / "a.json")
    (tmp_path / "README.md").write_text("# Logs")

    report = loading.survey([tmp_path / "a.json", tmp_path / "README.md"])

    assert [item.path.name for item in report.refused] == ["README.md"]
    assert report.passed_over == []
    with pytest.raises(TranscriptError, match=r"README\.md"):
        loading.survey([tmp_path / "README.md"])


def test_a_folder_without_a_transcript_says_what_was_looked_for(tmp_path):
    (tmp_path / "README.md").write_text("# Logs")

    with pytest.raises(TranscriptError, match=r"no transcript in 1 file; looked for .*claude"):
        loading.survey([tmp_path])


def test_a_location_fetches_its_transcript_and_notices_a_change(tmp_path):
    path = tmp_path / "tau.json"
    path.write_bytes((FIXTURES / "tau_bench" / "tau.json").read_bytes())
    locations = loading.survey([path]).locations

    names = [loading.load(location).name for location in locations]
    write_chat(path)

    assert (
        names == [location.name for location in locations] == ["task 3 trial 0", "task 3 trial 1"]
    )
    with pytest.raises(TranscriptError, match="changed since"):
        loading.load(locations[1])


def test_facts_beside_a_cassette_go_to_its_longest_conversation(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cassette.yaml").write_bytes((FIXTURES / "vcr_cassette" / "chat.yaml").read_bytes())
    (folder / "facts.json").write_text('[{"id": "price-a", "values": ["10"]}]')

    chat, title = loading.load_file(folder / "cassette.yaml")

    assert (chat.name, title.name) == ("shop", "shop/2 gpt-test-1")
    assert [fact["id"] for fact in chat.facts] == ["price-a"]
    assert title.facts == ()
    assert chat.provenance == "recorded"


def test_bundled_datasets_load_with_facts_at_the_messages_they_name():
    datasets = loading.load_bundled()

    annotated = [dataset for dataset in datasets if dataset.facts]
    assert annotated
    assert {dataset.provenance for dataset in datasets} == {"authored"}
    for dataset in annotated:
        messages = dataset.messages
        for fact in dataset.facts:
            assert fact["evidence"] in messages[fact["stated_at"]].text, fact["id"]


@given(st.lists(st.sampled_from(["a", "a#2", "a#3", "b"])))
def test_names_become_unique_and_the_first_of_each_is_kept(names):
    unique = unique_names(names)

    assert len(set(unique)) == len(unique) == len(names)
    assert all(given.startswith(name) for given, name in zip(unique, names, strict=True))


@pytest.mark.timing
def test_reading_takes_linear_time(tmp_path):
    def seconds(turns):
        lines = []
        for i in range(turns):
            common = {"sessionId": "s", "uuid": f"u{i}", "parentUuid": f"u{i - 1}"}
            kind = "assistant" if i % 2 else "user"
            message = {"id": f"m{i}", "role": kind, "content": [{"type": "text", "text": "x" * 50}]}
            lines.append(json.dumps({**common, "type": kind, "message": message}))
        path = tmp_path / f"{turns}.jsonl"
        path.write_text("\n".join(lines))
        started = time.process_time()
        loading.load_file(path)
        return time.process_time() - started

    seconds(100)

    assert seconds(12_000) < 10 * seconds(3_000)


def test_an_authored_conversation_is_known_wherever_it_lies(tmp_path):
    """A copy, and one written in the native format without its provenance."""
    (cassette,) = [path for path in loading.bundled_files() if "feed-relay" in str(path)]
    copy = tmp_path / "copied.json"
    copy.write_bytes(cassette.read_bytes())
    (found,) = loading.load_file(copy)
    native = tmp_path / "native.json"
    native.write_text(json.dumps({**to_native(found), "provenance": "recorded"}))

    assert found.provenance == "authored"
    assert loading.load_file(native)[0].provenance == "authored"


def test_a_conversation_with_one_real_model_in_it_is_recorded(tmp_path):
    (cassette,) = [path for path in loading.bundled_files() if "feed-relay" in str(path)]
    (found,) = loading.load_file(cassette)
    raw = {**to_native(found), "provenance": "recorded"}
    raw["segments"][0]["requests"][3]["model"] = "gpt-4.1"
    native = tmp_path / "native.json"
    native.write_text(json.dumps(raw))

    assert loading.load_file(native)[0].provenance == "recorded"
