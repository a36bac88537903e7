"""Reading time grows with the file, not with its square."""

import json
import time
from dataclasses import replace

import pytest

from evals.importers import importers
from evals.loading import load_file
from evals.transcripts import NATIVE_FORMAT, single_segment, to_native
from tests.import_cases import FIXTURES, session_lines

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


def native_lines(n):
    (chat,) = load_file(FIXTURES / "openai_chat" / "messages.json")
    messages = chat.messages[:2] + chat.messages[2:6] * n
    return [json.dumps(to_native(replace(chat, segments=single_segment(messages))))]


def claude_code_lines(n):
    return list(session_lines("s", n, "x" * 20))


def claude_code_sessions(n):
    return [line for i in range(n // 2) for line in session_lines(f"s{i}", 2, "x" * 20)]


def cassette_of_separate_requests(n):
    """Many conversations of one request each, as a classifier makes them."""
    return [
        json.dumps(
            {"version": 1, "interactions": [_interaction(f"question {i}") for i in range(n)]}
        )
    ]


def _interaction(question):
    asked = {"model": "m", "messages": [{"role": "user", "content": question}]}
    answer = {"role": "assistant", "content": "yes"}
    given = {"id": "x", "object": "chat.completion", "model": "m", "choices": [{"message": answer}]}
    request = {"uri": "https://api.openai.com/v1/chat/completions", "method": "POST"}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}}
    return {
        "request": {**request, "headers": {}, "body": json.dumps(asked)},
        "response": {**response, "body": {"string": json.dumps(given)}},
    }


def inspect_samples(n):
    log = document("inspect_ai/log.json")
    return [json.dumps({**log, "samples": log["samples"][:1] * n})]


def inspect_messages(n):
    log = document("inspect_ai/log.json")
    sample = {**log["samples"][0], "events": []}
    sample["messages"] = sample["messages"][:2] + sample["messages"][2:5] * n
    return [json.dumps({**log, "samples": [sample]})]


def mini_swe_agent_lines(n):
    run = document("mini_swe_agent/run.traj.json")
    return [json.dumps({**run, "messages": run["messages"][:2] + run["messages"][2:4] * n})]


def tau_bench_lines(n):
    (run, *_) = document("tau_bench/tau.json")
    return [json.dumps([{**run, "traj": run["traj"][:2] + run["traj"][2:6] * n}])]


def locomo_lines(n):
    chat = document("locomo/flat.json")
    said = [{**chat["session_1"][i % 2], "dia_id": f"D1:{i}"} for i in range(2 * n)]
    asked = [
        {"question": "q", "answer": "Miso", "evidence": [f"D1:{i}"], "category": 1}
        for i in range(n)
    ]
    return [json.dumps({**chat, "session_1": said, "qa": asked})]


def longmemeval_lines(n):
    row = document("longmemeval/set.json")[0]
    fields = ("haystack_dates", "haystack_session_ids", "haystack_sessions")
    return [json.dumps([{**row, **{field: row[field] * n for field in fields}}])]


def langchain_lines(n):
    turn = json.loads((FIXTURES / "langchain" / "states.jsonl").read_text().split("\n")[1])
    return [json.dumps({**turn, "messages": turn["messages"] * n})]


def anthropic_lines(n):
    history = document("anthropic_messages/history.json")
    return [json.dumps(history * n)]


def openai_chat_lines(n):
    chat = document("openai_chat/messages.json")
    return [json.dumps(chat[:2] + chat[2:6] * n)]


def openai_chat_conversations(n):
    line = (FIXTURES / "openai_chat" / "conversations.jsonl").read_text().split("\n")[0]
    return [line] * n


def logged_calls(n):
    """Many observations without a common history."""
    trace = document("langfuse_otel/trace.json")
    made = [{**o, "id": f"{i}-{o['id']}"} for i in range(n) for o in trace["observations"]]
    return [json.dumps({**trace, "observations": made})]


def bfcl_lines(n):
    row = json.loads(
        (FIXTURES / "bfcl_memory" / "memory_shop.conversation.jsonl").read_text().split("\n")[0]
    )
    return [json.dumps({**row, "id": f"memory_prereq_{i}-shop-{i}"}) for i in range(n)]


MAKERS = [
    *(codex_lines, pi_lines, gemini_lines, copilot_lines, cline_lines, opencode_lines),
    *(swe_agent_lines, openhands_lines, openhands_sdk_lines, partial_trace_lines, atif_lines),
    *(google_adk_lines, sharegpt_lines, responses_lines, native_lines, claude_code_lines),
    *(claude_code_sessions, cassette_of_separate_requests, inspect_samples, inspect_messages),
    *(mini_swe_agent_lines, tau_bench_lines, locomo_lines, longmemeval_lines, langchain_lines),
    *(anthropic_lines, openai_chat_lines, openai_chat_conversations, logged_calls, bfcl_lines),
]


def test_every_importer_is_made_to_grow(tmp_path):
    formats = set()
    for make in MAKERS:
        path = tmp_path / make.__name__
        path.write_text("\n".join(make(2)) + "\n")
        formats |= {transcript.format for transcript in load_file(path)}

    # A native file keeps the format that it was recorded in.
    assert formats == {importer.FORMAT for importer in importers()} - {NATIVE_FORMAT}


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
            transcripts = load_file(path)
            tries.append(time.process_time() - start)
        seconds[size] = min(tries)
        n_messages = sum(len(transcript.messages) for transcript in transcripts)
        assert n_messages >= size

    assert seconds[SMALL * FACTOR] < MAX_GROWTH * seconds[SMALL]
