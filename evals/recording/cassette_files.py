"""Cassette files as values: JSON or YAML whatever the file is called, never Python objects.

vcrpy's own YAML loader built any object that a file named until it was made safe; no version of
it is relied on.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaction.errors import TranscriptError
from evals.recording.cassette_layout import JsonValue

MAX_ALIAS_GROWTH = 20
"""PyYAML writes an alias for a value that occurs again; nine nested ones are a billion strings."""


class CassetteError(TranscriptError):
    """A cassette that cannot be used; the text names the file and what to do."""


def read_cassette(path: Path) -> dict[str, Any]:
    """Return the mapping at the top of a cassette.

    Raises:
        CassetteError: missing, empty, undecodable, or asking for objects.
    """
    if not path.is_file():
        raise CassetteError(f"{path}: no such cassette; record it first or correct the path")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{path}: not UTF-8 ({error.reason}); record it again") from error
    if not text.strip():
        raise CassetteError(f"{path}: the cassette is empty; record it again")
    data = parse_cassette(path, text)
    if not isinstance(data, dict):
        raise CassetteError(f"{path}: not a cassette (no mapping at the top); check the path")
    return data


def parse_cassette(path: Path, text: str) -> JsonValue:
    """Return the value of JSON or YAML text; `path` is for messages.

    Raises:
        CassetteError: undecodable, or asking for objects.
    """
    return _from_json(path, text) if text.lstrip().startswith("{") else _from_yaml(path, text)


def _from_json(path: Path, text: str) -> JsonValue:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CassetteError(f"{path}: not JSON ({error}); record the cassette again") from error


def _from_yaml(path: Path, text: str) -> JsonValue:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(text, Loader=loader)
        if _written_chars(value, {}) > MAX_ALIAS_GROWTH * max(len(text), 10_000):
            raise CassetteError(f"{path}: aliases make it far larger than it is; record it again")
        return value
    except yaml.constructor.ConstructorError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        text = f"{path}:{line}: refused, the file asks for a Python object ({error.problem})"
        raise CassetteError(f"{text}; record the cassette again") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problem = " ".join(str(error).split())
        raise CassetteError(f"{path}: not YAML ({problem}); record the cassette again") from error


def _written_chars(value: JsonValue, known: dict[int, int]) -> int:
    """Return about how long a value is when every alias in it is written out.

    Raises:
        ValueError: a value contains itself.
    """
    if not isinstance(value, dict | list):
        return len(value) if isinstance(value, str | bytes) else 1
    key = id(value)
    if key not in known:
        known[key] = -1
        items = (x for pair in value.items() for x in pair) if isinstance(value, dict) else value
        known[key] = 1 + sum(_written_chars(item, known) for item in items)
    if known[key] < 0:
        raise ValueError("an alias inside of what it names")
    return known[key]


def dump_yaml(cassette_dict: Mapping[str, Any]) -> str:
    """Write a vcrpy cassette as plain YAML, which vcrpy can read by itself. ASCII."""
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(dict(cassette_dict), Dumper=dumper, width=100)
    return text
