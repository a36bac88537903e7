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


def document(name):
    return json.loads((FIXTURES / name).read_text())


def swe_agent_lines(n):
    run = document("swe_agent/calls.traj")
    return [json.dumps({**run, "history": [*run["history"][:2], *run["history"][2:4] * n]})]


def openhands_lines(n):
    run = json.loads((FIXTURES / "openhands" / "output.jsonl").read_text().split("\n")[0])
    events = []
    for i in range(n):
        for event in json.loads(json.dumps(run["history"][9:11])):
            event["id"] = len(events)
            event["tool_call_metadata"]["model_response"]["id"] = f"gen-{i}"
            events.append(event)
    return [json.dumps({**run, "history": events})]


def openhands_sdk_lines(n):
    lines = (FIXTURES / "openhands_sdk" / "events.jsonl").read_text().split("\n")
    repeated = []
    for i in range(n):
        for line in lines[7:9]:
            event = json.loads(line)
            repeated.append({**event, "id": f"{i}-{event['id']}", "llm_response_id": f"r{i}"})
        state = json.loads(lines[7 - 1])
        repeated.append({**state, "timestamp": f"2026-01-02T04:{i // 60 % 60:02}:{i % 60:02}"})
    return [json.dumps(event) for event in repeated]


def partial_trace_lines(n):
    trace = document("langfuse_otel/last_input_only.json")
    span, first, *turns = trace["observations"]
    repeated = [{**o, "id": f"{i}-{o['id']}"} for i in range(n) for o in (turns[0], turns[3])]
    return [json.dumps({**trace, "observations": [span, first, *repeated]})]


def google_adk_lines(n):
    session = document("google_adk/session.json")
    return [json.dumps({**session, "events": session["events"][2:4] * n})]


def sharegpt_lines(n):
    row = document("sharegpt/turns.json")[0]
    return [json.dumps([{**row, "conversations": row["conversations"][:3] * n}])]


def responses_lines(n):
    items = document("openai_responses/items.json")
    return [json.dumps({"model": "m", "input": [items[0], items[6]] * n})]


def atif_lines(n):
    run = document("atif/trajectory.json")
    return [json.dumps({**run, "steps": run["steps"][3:4] * n})]


MAKERS = [
    *(codex_lines, pi_lines, gemini_lines, copilot_lines, cline_lines, opencode_lines),
    *(swe_agent_lines, openhands_lines, openhands_sdk_lines, partial_trace_lines, atif_lines),
    *(google_adk_lines, sharegpt_lines, responses_lines),
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
@pytest.mark.timing
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
