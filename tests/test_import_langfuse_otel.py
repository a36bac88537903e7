"""Traces against hand counts, and real ones against the normalised form that Langfuse expects."""

import json

import pytest

from compaction.errors import TranscriptError
from evals.importers.files import UnknownFormatError
from evals.loading import load_file
from tests.import_cases import (
    FIXTURES,
    SAMPLES,
    calls,
    expected,
    needs_samples,
    shape,
    unexpected,
    usage_sums,
)

FOLDER = FIXTURES / "langfuse_otel"
TRACES = ("claude-agent-2025-12-22", "langgraph-js-2025-10-30", "pydantic-ai-tools-2025-12-04")


def test_calls_in_any_order_are_sorted_and_repeat_nothing():
    agent, judge = load_file(FOLDER / "trace.json")

    assert shape(agent) == [(6, 2)]
    assert [r.time for r in agent.segments[0].requests] == [1767323042, 1767323049]
    assert calls(agent) == (2, 0)
    assert agent.messages[2].reasoning == "Two files."
    assert [m.text for m in agent.messages[3:5]] == ["8443", '{"error": "none"}']
    assert shape(judge) == [(2, 1)]
    assert (agent.session, agent.project) == ("se1", "p1")
    assert judge.cluster == agent.cluster
    assert [tool["function"]["name"] for tool in agent.tools] == ["read"]


def test_usage_details_add_up_to_the_total():
    agent, judge = load_file(FOLDER / "trace.json")

    assert usage_sums(agent) == (2, (40 + 10) + 70, (8 + 12) + 6, 10, 0)
    assert usage_sums(judge) == (1, 12, 1, 0, 0)


def test_calls_that_log_only_the_last_input_are_put_together():
    (transcript,) = load_file(FOLDER / "last_input_only.json")

    assert [m.role for m in transcript.messages] == [
        *("system", "user", "assistant", "assistant", "assistant", "tool", "tool", "assistant"),
    ]
    assert [m.tool_call_id for m in transcript.messages if m.is_result] == ["w2", "w1"]
    assert calls(transcript) == (2, 0)
    assert shape(transcript) == [(8, 4)]
    assert usage_sums(transcript) == (1, 19, 5, 0, 0)
    assert any("without their whole input" in text for text in expected(transcript))
    assert unexpected(transcript) == {}


def test_opentelemetry_spans_are_read_by_their_attributes():
    (transcript,) = load_file(FOLDER / "otlp.jsonl")

    assert shape(transcript) == [(5, 2)]
    assert [m.role for m in transcript.messages] == [
        *("system", "user", "assistant", "tool", "assistant"),
    ]
    assert usage_sums(transcript) == (2, 50 + 90, 9 + 7, 0, 0)
    assert [r.time for r in transcript.segments[0].requests] == [1767323045, 1767323050]


def test_a_trace_without_a_model_call_is_refused(tmp_path):
    document = json.loads((FOLDER / "trace.json").read_text())
    document["observations"] = [o for o in document["observations"] if o["type"] == "TOOL"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))

    with pytest.raises(UnknownFormatError, match="no model call"):
        load_file(path)


def test_spans_that_are_their_own_parents_end(tmp_path):
    document = json.loads((FOLDER / "last_input_only.json").read_text())
    for observation in document["observations"]:
        if observation["type"] in ("SPAN", "TOOL"):
            observation["parentObservationId"] = observation["id"]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))

    (transcript,) = load_file(path)

    assert calls(transcript) == (2, 2)


def plain(message):
    """What the expected form and ours have in common."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    made = [
        (call["id"], call["name"], json.loads(call["arguments"]))
        for call in message.get("tool_calls", [])
    ]
    made += [(b["id"], b["name"], b["input"]) for b in blocks if b.get("type") == "tool_use"]
    text = "\n".join(b["text"] for b in blocks if b.get("type") == "text") if blocks else content
    role = message.get("role")
    # The expected form keeps a tool's name where LangChain's tracer writes it: in the role.
    return (role if role in ("system", "user", "assistant") else "tool", text or "", made)


def ours(message):
    made = [(c.call_id, c.name, json.loads(c.arguments)) for c in message.tool_calls]
    return (message.role, message.text, made)


@needs_samples
@pytest.mark.parametrize("name", TRACES)
def test_real_traces_agree_with_the_normalised_form_beside_them(name):
    transcripts = load_file(SAMPLES / "langfuse_otel" / f"{name}.trace.json")
    oracle = json.loads((SAMPLES / "langfuse_otel" / f"{name}.chatml.json").read_text())
    trace = json.loads((SAMPLES / "langfuse_otel" / f"{name}.trace.json").read_text())
    generations = sorted(
        (o for o in trace["observations"] if o["type"] == "GENERATION"),
        key=lambda observation: observation["startTime"],
    )
    found = {
        request.time: (segment.messages[: request.position], segment.answer(request))
        for transcript in transcripts
        for segment in transcript.segments
        for request in segment.requests
    }

    assert len(found) == len(generations)
    for (_, (sent, answer)), generation in zip(sorted(found.items()), generations, strict=True):
        known = oracle[generation["id"]]
        assert ours(answer) == plain(known["output"]["data"][-1])
        if known["input"]["success"]:
            assert [ours(m) for m in sent] == [plain(m) for m in known["input"]["data"]]


@needs_samples
@pytest.mark.parametrize(
    ("name", "segments", "n_calls"),
    [(TRACES[0], [(8, 4)], (2, 0)), (TRACES[1], [(4, 2)], (1, 0)), (TRACES[2], [(9, 3)], (3, 0))],
)
def test_real_traces_agree_with_their_manifest(name, segments, n_calls):
    first = load_file(SAMPLES / "langfuse_otel" / f"{name}.trace.json")[0]

    assert shape(first) == segments
    assert calls(first) == n_calls
    assert unexpected(first) == {}


@needs_samples
@pytest.mark.parametrize("name", TRACES)
def test_an_expected_form_is_no_conversation(name):
    with pytest.raises(TranscriptError, match="not a conversation"):
        load_file(SAMPLES / "langfuse_otel" / f"{name}.chatml.json")
