"""The session file: damage, half lines, full disks, and processes killed while they write."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compaction.errors import SessionError
from compaction.messages import Message
from compaction.session import Session
from tests.session_cases import older, session_of, talk, texts, write_lines

HEAD = {"type": "session", "format": "compaction-session/1"}
MESSAGE = older("e1", None, "user", "q")
DAMAGED = {
    "not json": ([HEAD, MESSAGE], b'{"id": "e2",\n', "line 3: not JSON"),
    "not utf-8": ([HEAD], b'{"id": "\xff"}\n', "line 2: not JSON"),
    "an empty line": ([HEAD], b"\n", "line 2: not JSON"),
    "zero bytes": ([HEAD, MESSAGE], b"\0\0\0\0\n", "line 3: not JSON"),
    "no object": ([HEAD], b"[1]\n", "line 2: not a JSON object"),
    "another format": ([], b'{"type": "session", "format": "x/9"}\n', "line 1: not in the format"),
    "foreign": ([], b'{"messages": []}\n', "line 1: an entry needs a text 'id'"),
    "unknown type": ([HEAD], b'{"id": "a", "type": "note"}\n', "line 2: unknown entry type 'note'"),
    "no role": ([HEAD], b'{"id": "a", "content": "x"}\n', "line 2: unknown role None"),
    "same id": ([HEAD, MESSAGE, MESSAGE], b"", "line 3: the id 'e1' is there already"),
    "lost parent": (
        [HEAD, older("e2", "e1", "user", "q")],
        b"",
        "line 2: the parent 'e1' is on no line before",
    ),
    "lost target": ([HEAD], b'{"type": "rewind", "to": "e9"}\n', "line 2: a step back to 'e9'"),
    "bad count": (
        [HEAD],
        b'{"id":"s","type":"compaction","summary":"","metadata":{"covered_count":-1}}\n',
        "line 2: 'covered_count' must be a number from 0 on, got -1",
    ),
    "no summary": (
        [HEAD],
        b'{"id":"s","type":"compaction"}\n',
        "line 2: a compaction needs a text",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named_with_its_line_and_kept(name: str, tmp_path: Path) -> None:
    lines, raw, message = DAMAGED[name]
    path = write_lines(tmp_path / "s.jsonl", *lines)
    path.write_bytes(path.read_bytes() + raw)
    before = path.read_bytes()

    with pytest.raises(SessionError) as raised:
        Session.load(path)

    assert f"s.jsonl, {message}" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == before


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot read"):
        Session.load(tmp_path / "none.jsonl")


def test_a_line_that_was_cut_anywhere_is_set_aside_and_the_rest_loads(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    session_of(talk(3), whole)
    raw = whole.read_bytes()
    start = raw.rindex(b"\n", 0, -1) + 1

    for length in range(start + 1, len(raw) - 1):
        path = tmp_path / f"cut-{length}.jsonl"
        path.write_bytes(raw[:length])
        session = Session.load(path)
        assert texts(session.get_full_history_messages()) == ["m0", "m1"]
        assert session.torn_line == 4
        assert path.read_bytes() == raw[:length]
        session.append(Message("user", "again"))
        aside = path.with_name(path.name + ".torn")
        assert aside.read_bytes() == raw[start:length] + b"\n"
        assert session.torn_line is None
        assert texts(Session.load(path).get_full_history_messages()) == ["m0", "m1", "again"]


def test_a_whole_last_line_without_its_newline_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session_of(talk(3), path)
    path.write_bytes(path.read_bytes()[:-1])

    session = Session.load(path)
    session.append(Message("assistant", "m3"))

    assert texts(Session.load(path).get_full_history_messages()) == ["m0", "m1", "m2", "m3"]


def test_a_second_writer_is_noticed_and_nothing_of_either_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = session_of(talk(2), path)
    Session.load(path).append(Message("user", "from elsewhere"))

    with pytest.raises(SessionError, match="something else wrote to it"):
        session.append(Message("user", "mine"))

    assert len(session.entries) == 2
    assert texts(Session.load(path).get_full_history_messages())[-1] == "from elsewhere"


def test_a_disk_that_is_full_in_the_middle_of_a_line_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = session_of(talk(2), path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))

    try:
        with pytest.raises(SessionError, match="cannot write"):
            session.append(Message("user", "x" * 1_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_bytes() == before
    assert len(session.entries) == 2
    session.append(Message("user", "there is room again"))
    assert len(Session.load(path).entries) == 3


def test_a_folder_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = Session(tmp_path / "file" / "s.jsonl")

    with pytest.raises(SessionError, match="cannot write"):
        session.append(Message("user", "x"))
    assert session.get_full_history_messages() == ()


def test_lone_surrogates_and_line_separators_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    odd = [Message("user", "a\ud800b"), Message("assistant", "x\u2028y\r\nz\x00"), Message("user")]

    session_of(odd, path)

    assert Session.load(path).get_full_history_messages() == tuple(odd)


WRITER = """
import sys
from pathlib import Path
from compaction.messages import Message
from compaction.session import Session

session = Session.open(Path(sys.argv[1]), sync=False)
start = len(session.get_full_history_messages())
print("ready", flush=True)
for number in range(start, 10**9):
    session.append(Message("user", f"{number}:" + "x" * (number * 7919 % 20_000)))
    if number % 10 == 9:
        session.add_summary_cache(f"up to {number}", number)
"""


def killed_writers(path: Path, times: int) -> Iterator[Session]:
    """Yield the session after each of several processes was killed while it wrote."""
    for attempt in range(times):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "PYTHONPATH": "."},
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(0.03 + 0.017 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        yield Session.load(path)


def test_a_process_killed_while_it_writes_loses_at_most_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    before = 0

    for session in killed_writers(path, 4):
        messages = session.get_full_history_messages()
        assert [m.text.partition(":")[0] for m in messages] == [
            str(number) for number in range(len(messages))
        ]
        assert all(
            len(m.text.partition(":")[2]) == i * 7919 % 20_000 for i, m in enumerate(messages)
        )
        assert len(messages) > before
        before = len(messages)
        cache = session.get_latest_compaction_cache()
        if len(messages) > 10:
            assert cache is not None
            assert cache["summary"] == f"up to {cache['covered_count']}"
            assert len(messages) - cache["covered_count"] <= 11
