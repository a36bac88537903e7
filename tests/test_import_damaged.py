"""Damaged files load with a report or are refused with a reason; nothing else ever happens."""

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.errors import TranscriptError
from evals import loading
from evals.transcripts import from_native, to_native

FIXTURES = Path(__file__).parent / "fixtures"
SOUND = sorted(
    path
    for folder in (
        *("claude_code", "openai_chat", "tau_bench", "vcr_cassette"),
        *("codex", "pi", "gemini_cli", "copilot_cli", "cline", "opencode"),
        *("inspect_ai", "swe_agent", "mini_swe_agent", "openhands", "openhands_sdk", "atif"),
        *("langchain", "langfuse_otel", "google_adk", "openai_responses", "anthropic_messages"),
        *("sharegpt", "bfcl_memory", "locomo", "longmemeval"),
    )
    for path in (FIXTURES / folder).iterdir()
    if path.name not in ("truncated.json", "unknown_role.json", "no_model.yaml")
)
by_name = pytest.mark.parametrize("path", SOUND, ids=lambda path: path.name)
EXAMPLES = settings.default.max_examples // 3
IS_THOROUGH = settings.default.max_examples > 25
"""In the `ci` profile: every value for every field. Otherwise two that take turns."""
VALUES = (None, -1, "x", [None], {"type": 1})


def assert_loads_or_refuses(path, data):
    path.write_bytes(data)
    try:
        transcripts = loading.load_file(path)
    except TranscriptError:
        return
    for transcript in transcripts:
        assert transcript.messages
        assert transcript == from_native(to_native(transcript), where="x")
        assert replace(transcript, source="y").digest == transcript.digest


@by_name
def test_a_file_cut_anywhere_loads_or_is_refused(path, tmp_path_factory):
    data = path.read_bytes()
    target = tmp_path_factory.mktemp("cut") / path.name

    for end in sorted(random.Random(1).sample(range(len(data)), min(EXAMPLES, len(data)))):
        assert_loads_or_refuses(target, data[:end])


@by_name
@settings(max_examples=EXAMPLES, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), max_size=4))
def test_a_file_with_flipped_bits_loads_or_is_refused(path, tmp_path_factory, flips):
    data = bytearray(path.read_bytes())
    for place, mask in flips:
        data[place % len(data)] ^= mask

    assert_loads_or_refuses(tmp_path_factory.getbasetemp() / f"flipped-{path.name}", bytes(data))


@by_name
@settings(max_examples=EXAMPLES, deadline=None)
@given(seed=st.integers(0, 10**6), keep=st.booleans())
def test_shuffled_and_repeated_lines_load_or_are_refused(path, tmp_path_factory, seed, keep):
    chance = random.Random(seed)
    lines = path.read_bytes().split(b"\n")
    chosen = lines + chance.choices(lines, k=3) if keep else chance.sample(lines, len(lines))

    target = tmp_path_factory.getbasetemp() / f"shuffled-{path.name}"
    assert_loads_or_refuses(target, b"\n".join(chosen))


def in_turn(keys):
    """Yield fields with the values they get."""
    for index, key in enumerate(keys):
        few = (VALUES[index % len(VALUES)], VALUES[(index + 2) % len(VALUES)])
        yield from ((key, value) for value in (VALUES if IS_THOROUGH else few))


@pytest.mark.parametrize(
    "path", [p for p in SOUND if p.suffix in (".json", ".jsonl")], ids=lambda path: path.name
)
def test_a_field_of_another_type_loads_or_is_refused(path, tmp_path):
    """Each kind of field is replaced by a value of a type that it never has."""
    text = path.read_text(encoding="utf-8-sig")
    values = [json.loads(line) for line in text.split("\n") if _is_json(line)] or [json.loads(text)]

    for key, value in in_turn(sorted({key for item in values for key in _keys(item)})):
        lines = [json.dumps(_replaced(item, key, value)) for item in values]
        assert_loads_or_refuses(tmp_path / path.name, "\n".join(lines).encode())


def _is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _keys(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _replaced(value, key, new):
    if isinstance(value, dict):
        return {k: new if k == key else _replaced(v, key, new) for k, v in value.items()}
    return [_replaced(item, key, new) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", ["chat.yaml", "providers.yaml", "compacted.yaml"])
def test_a_cassette_field_of_another_type_loads_or_is_refused(name, tmp_path):
    yaml = pytest.importorskip("yaml")
    document = yaml.safe_load((FIXTURES / "vcr_cassette" / name).read_text())
    for item in document["interactions"]:
        for side in ("request", "response"):
            body = item[side].get("body")
            text = body["string"] if isinstance(body, dict) else body
            if isinstance(text, str) and text.startswith("{"):
                item[side] = {**item[side], "parsed_body": json.loads(text)}
            elif isinstance(text, bytes):
                item[side] = {**item[side], "parsed_body": json.loads(gzip.decompress(text))}

    for key, value in in_turn(sorted(set(_keys(document)))):
        data = json.dumps(_replaced(document, key, value), default=str).encode()
        assert_loads_or_refuses(tmp_path / "cassette.json", data)
