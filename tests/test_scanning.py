"""Scanning without counting tokens: the same sums, without the texts in memory."""

import gc
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from evals import checkup
from evals.checkup import check_file
from evals.importers import outlines
from evals.importers.outlines import is_outlining, outlined, outlining
from evals.loading import load_file
from tests.import_cases import FIXTURES, SAMPLES, needs_samples, session_lines

LINES = sorted(path for path in FIXTURES.rglob("*.jsonl") if "reports" not in path.parts)


def full_check(path, monkeypatch):
    """Check a file with its texts, as calibration does, but without counting tokens."""
    with monkeypatch.context() as patched:
        patched.setattr(checkup, "_calibrations", lambda _: ())
        return check_file(path, calibrate=True)


def without_summaries(check):
    """Leave out the texts of summaries: outlines of them are no less."""
    return replace(
        check,
        transcripts=tuple(
            replace(
                t, compactions=tuple(replace(c, summary=bool(c.summary)) for c in t.compactions)
            )
            for t in check.transcripts
        ),
    )


@pytest.mark.parametrize("path", LINES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_outline_gives_the_same_sums_as_the_texts(path, monkeypatch):
    monkeypatch.setattr(outlines, "MAX_CHARS", 60)

    brief, full = check_file(path, calibrate=False), full_check(path, monkeypatch)

    assert without_summaries(brief) == without_summaries(full)


@needs_samples
def test_an_outline_of_every_sample_gives_the_same_sums(monkeypatch):
    for path in sorted(SAMPLES.rglob("*.jsonl")):
        brief, full = check_file(path, calibrate=False), full_check(path, monkeypatch)

        assert without_summaries(brief) == without_summaries(full), path


def test_stand_ins_are_short_and_differ_where_the_texts_differ():
    long, other = "a" * 5000, "a" * 4999 + "b"
    arguments = json.dumps({"path": "x", "content": long})

    value = outlined({"a": [long, long, other], "b": arguments, "n": 1, "s": "short"})

    first, same, different = value["a"]
    assert first == same != different
    assert (value["n"], value["s"]) == (1, "short")
    assert set(json.loads(value["b"])) == {"path", "content"}
    assert len(json.dumps(value)) < 600


def test_texts_are_whole_again_after_a_scan():
    with outlining():
        assert is_outlining()

    (transcript, *_) = load_file(FIXTURES / "claude_code" / "session.jsonl")

    assert not is_outlining()
    assert not any("characters, " in message.text for message in transcript.messages)


def test_memory_does_not_grow_with_the_length_of_texts(tmp_path):
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(session_lines("s", 200, "x" * 50_000)))
    check_file(path, calibrate=False)
    gc.collect()

    tracemalloc.start()
    check = check_file(path, calibrate=False)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert check.transcripts[0].calls == 200
    assert path.stat().st_size > 20_000_000
    assert peak_bytes < 2_000_000


def test_sessions_glued_into_one_file_are_conversations_of_their_own(tmp_path):
    path = tmp_path / "all.jsonl"
    lines = [line for name in ("one", "two", "three") for line in session_lines(name, 4, "x")]
    path.write_text("\n".join(lines))

    transcripts = load_file(path)

    assert [(t.session, len(t.messages), t.n_requests) for t in transcripts] == [
        ("one", 8, 4),
        ("two", 8, 4),
        ("three", 8, 4),
    ]
    assert len({t.name for t in transcripts}) == 3


def test_a_session_that_links_to_the_one_before_goes_on_with_it(tmp_path):
    first, second = list(session_lines("one", 2, "x")), list(session_lines("two", 2, "x"))
    linked = json.loads(second[0])
    linked["parentUuid"] = json.loads(first[-1])["uuid"]
    path = tmp_path / "resumed.jsonl"
    path.write_text("\n".join([*first, json.dumps(linked), *second[1:]]))

    (transcript,) = load_file(path)

    assert (len(transcript.messages), transcript.n_requests) == (8, 4)


def test_a_thousand_small_files_are_scanned_one_after_the_other(tmp_path, capsys):
    from evals import doctor

    text = "\n".join(session_lines("s", 2, "x"))
    for i in range(1000):
        (Path(tmp_path) / f"{i}.jsonl").write_text(text)

    code = doctor.examine([tmp_path], as_json=True, calibrate=False)

    report = json.loads(capsys.readouterr().out)
    assert code == 0
    assert sum(file["requests"] for file in report["files"]) == 2000
