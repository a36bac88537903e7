"""What tests of importers count, in one place."""

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = Path(__file__).resolve().parents[2] / "shared" / "data"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="no sample data beside this")


def shape(transcript):
    """Messages and requests of each segment."""
    return [(len(segment.messages), len(segment.requests)) for segment in transcript.segments]


def usages(transcript):
    return [request.usage for segment in transcript.segments for request in segment.requests]


def usage_sums(transcript):
    """Requests with usage, and their input, output, cached and written tokens."""
    found = [usage for usage in usages(transcript) if usage]
    keys = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")
    return (len(found), *(sum(getattr(usage, key) for usage in found) for key in keys))


def calls(transcript):
    """Distinct call ids, and how many of them have no result."""
    made = {call.call_id for message in transcript.messages for call in message.tool_calls}
    answered = {message.tool_call_id for message in transcript.messages if message.is_result}
    return len(made), len(made - answered)


def unexpected(transcript):
    return {item.where: item.reason for item in transcript.skipped if not item.expected}


def expected(transcript):
    return [f"{item.where}: {item.reason}" for item in transcript.skipped if item.expected]


def write_lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def session_lines(name, n_turns, text):
    """A Claude Code session of `n_turns` calls, each with a long result that is told twice."""
    parent = None
    for i in range(n_turns):
        call = {"type": "tool_use", "id": f"{name}-{i}", "name": "Read", "input": {"path": "a"}}
        result = {"type": "tool_result", "tool_use_id": f"{name}-{i}", "content": f"{i} {text}"}
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": f"m{name}{i}", "role": "assistant", "content": [call], "usage": usage}
        for role, body, more in (
            ("assistant", message, {}),
            ("user", {"role": "user", "content": [result]}, {"toolUseResult": f"{i} {text}"}),
        ):
            uuid = f"{name}-{i}-{role}"
            kept = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": name}
            yield json.dumps({**kept, "message": body, **more})
            parent = uuid
