"""Speed and memory of scanning large logs, each in a process of its own.

Run with `pytest tests/benchmarks/test_importers.py -s -n0`. Files are made in `tmp_path`.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1_000_000
MIN_MEGABYTES_PER_SECOND = 50.0
MAX_RESIDENT_MEGABYTES = 300.0
SCAN = """
import json, sys, time
from pathlib import Path
from evals.checkup import check_file
from evals.doctor import to_json
from evals.importers import importers
from tests.peak_memory import peak_kib

importers()
started = time.process_time()
check = check_file(Path(sys.argv[1]), calibrate=False)
seconds = time.process_time() - started
report = {**to_json(check), "seconds": seconds, "resident_megabytes": peak_kib() / 1000}
print(json.dumps(report))
"""
WORDS = [
    "the",
    "of",
    "path",
    "value",
    "import",
    "self",
    "return",
    "config",
    "test",
    "error",
    "file",
    "line",
    "number",
    "read",
]


def records(session: str, n_turns: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """A Claude Code session: record sizes and kinds as in real ones of version 2.1."""
    fixed = {"cwd": "/home/u/project", "version": "2.1.36", "sessionId": session}
    parent: str | None = None

    def text(n_chars: int) -> str:
        line = f"{chance.random()} {' '.join(chance.choices(WORDS, k=30))}\n"
        return (line * (n_chars // len(line) + 1))[:n_chars]

    def record(number: str, **fields: object) -> dict[str, Any]:
        nonlocal parent
        uuid = f"{session}-{number}"
        links = {"parentUuid": parent, "uuid": uuid, "isSidechain": False, "userType": "external"}
        parent = uuid
        return {**links, **fixed, "timestamp": "2026-01-02T03:04:05.678Z", **fields}

    yield record("start", type="user", message={"role": "user", "content": text(300)})
    for turn in range(n_turns):
        call_id = f"toolu-{session}-{turn}"
        usage = {"input_tokens": 3, "cache_read_input_tokens": 1000 + turn, "output_tokens": 120}
        answer = {"id": f"msg-{session}-{turn}", "role": "assistant", "model": "m", "usage": usage}
        thought = {"type": "thinking", "thinking": text(500), "signature": text(1000)}
        call = {"type": "tool_use", "id": call_id, "name": "Edit", "input": {"new": text(400)}}
        yield record(f"{turn}-0", type="assistant", message={**answer, "content": [thought]})
        yield record(f"{turn}-1", type="assistant", message={**answer, "content": [call]})
        progress = {"type": "bash_progress", "output": text(400)}
        yield record(f"{turn}-2", type="progress", data=progress)
        output = text(int(chance.lognormvariate(7.6, 1.2)))
        result = {"type": "tool_result", "tool_use_id": call_id, "content": output}
        yield record(
            f"{turn}-3",
            type="user",
            message={"role": "user", "content": [result]},
            toolUseResult={"type": "text", "file": {"filePath": "a.py", "content": output}},
        )


def write_log(path: Path, n_megabytes: int, turns_per_session: int) -> tuple[int, int]:
    """Write sessions until the size is reached; return how many sessions and calls there are."""
    chance = random.Random(1)
    n_bytes = n_sessions = n_calls = 0
    with path.open("w") as file:
        while n_bytes < n_megabytes * MEGABYTE:
            for record in records(f"{n_sessions:08}", turns_per_session, chance):
                line = json.dumps(record, separators=(",", ":")) + "\n"
                n_bytes += file.write(line)
                n_calls += "toolUseResult" in record
                if n_bytes >= n_megabytes * MEGABYTE and "toolUseResult" in record:
                    break
            n_sessions += 1
    return n_sessions, n_calls


def scan(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", SCAN, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    megabytes = path.stat().st_size / MEGABYTE
    print(
        f"\n{path.name}: {megabytes:.0f} MB, {report['messages']} messages, "
        f"{report['seconds']:.1f} s, {megabytes / report['seconds']:.0f} MB/s, "
        f"peak {report['resident_megabytes']:.0f} MB"
    )
    return report


def test_two_hundred_megabytes_are_scanned_at_fifty_a_second(tmp_path):
    path = tmp_path / "session.jsonl"
    _, n_calls = write_log(path, 200, 10**9)

    reports = [scan(path) for _ in range(3)]

    assert {report["calls"] for report in reports} == {n_calls}
    assert 200 / min(report["seconds"] for report in reports) >= MIN_MEGABYTES_PER_SECOND


@pytest.mark.parametrize("turns_per_session", [10**9, 200], ids=["one session", "many sessions"])
def test_half_a_gigabyte_is_scanned_in_bounded_memory(turns_per_session, tmp_path):
    path = tmp_path / "log.jsonl"
    n_sessions, n_calls = write_log(path, 500, turns_per_session)

    report = scan(path)

    assert (len(report["transcripts"]), report["calls"]) == (n_sessions, n_calls)
    assert report["resident_megabytes"] <= MAX_RESIDENT_MEGABYTES
