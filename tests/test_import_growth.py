"""Reading time grows with the file, not with its square."""

import json
import time

import pytest

from evals.loading import load_file
from tests.import_cases import FIXTURES

SMALL, FACTOR = 400, 8
MAX_GROWTH = 4 * FACTOR
"""Linear is FACTOR and quadratic its square, 64; between them lies room for a busy machine."""


def codex_lines(n):
    lines = (FIXTURES / "codex" / "rollout.jsonl").read_text().split("\n")
    return [lines[0], *(lines[i] for _ in range(n) for i in (5, 10, 11, 14))]


def pi_lines(n):
    lines = (FIXTURES / "pi" / "list.jsonl").read_text().split("\n")
    return [lines[0], *(lines[i] for _ in range(n) for i in (2, 3, 4, 5))]


def gemini_lines(n):
    lines = (FIXTURES / "gemini_cli" / "chat.jsonl").read_text().split("\n")
    rows = [json.loads(lines[i]) for i in (1, 4, 5)]
    repeated = [{**row, "id": f"{i}-{row['id']}"} for i in range(n) for row in rows]
    return [lines[0], *(json.dumps(row) for row in repeated)]


def copilot_lines(n):
    lines = (FIXTURES / "copilot_cli" / "events.jsonl").read_text().split("\n")
    rows = [json.loads(lines[i]) for i in (3, 6, 11, 14)]
    repeated = [{**row, "id": f"{i}-{row['id']}"} for i in range(n) for row in rows]
    return [lines[0], *(json.dumps(row) for row in repeated)]


def cline_lines(n):
    document = json.loads((FIXTURES / "cline" / "session.json").read_text())
    return [json.dumps({**document, "messages": document["messages"][:4] * n})]


def opencode_lines(n):
    document = json.loads((FIXTURES / "opencode" / "export.json").read_text())
    messages = [document["messages"][i] for i in (0, 2, 3)] * n
    return [json.dumps({**document, "messages": messages})]


MAKERS = [codex_lines, pi_lines, gemini_lines, copilot_lines, cline_lines, opencode_lines]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_reading_time_grows_with_the_file(make, tmp_path):
    seconds = {}
    for size in (SMALL, SMALL * FACTOR):
        path = tmp_path / f"{size}.jsonl"
        path.write_text("\n".join(make(size)) + "\n")
        tries = []
        for _ in range(2):
            start = time.process_time()
            (transcript, *_) = load_file(path)
            tries.append(time.process_time() - start)
        seconds[size] = min(tries)
        assert transcript.n_requests >= size

    assert seconds[SMALL * FACTOR] < MAX_GROWTH * seconds[SMALL]
