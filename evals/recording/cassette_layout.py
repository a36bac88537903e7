"""A compact cassette layout: what the requests of a conversation repeat is stored once.

Registered with vcrpy as a serializer; pure text to dict and back, lossless for the bodies that
vcrpy sees. A body that could not be rebuilt to the letter is kept as it is.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

JsonValue = Any
"""What `json.loads` returns."""
FORMAT = "compaction-evals/cassette"
HISTORY_KEYS = ("messages", "input", "contents")
"""Body keys that hold the conversation: Chat Completions and Anthropic, Responses, Gemini."""
ANSWER_KEYS = ("choices", "output", "content", "candidates")
"""Keys of an answer that stay where they are: nothing repeats them as they stand."""
SHARED_MIN_CHARS = 200
PARTS = ("request", "response")
REST_KEY = "$rest"
"""Where a part of an interaction names what it shares with others."""
OWN_HEADERS = ("x-body-digest",)
"""Headers that differ from request to request."""
VALUE_KEY = "$value"
"""Of a request in memory: its body as JSON value, which shares messages with other requests."""


def serialize(cassette_dict: Mapping[str, Any]) -> str:
    """Write a vcrpy cassette as ASCII JSON, one message and one interaction per line."""
    tables = SharedValues()
    lines = [_ascii(_pack_entry(entry, tables)) for entry in cassette_dict["interactions"]]
    others = {key: cassette_dict[key] for key in cassette_dict if key != "interactions"}
    parts = [f'{{"format":{json.dumps(FORMAT)}', f'"others":{_ascii(others)}']
    for name, rows in (("messages", tables.messages), ("shared", tables.shared)):
        parts.append(f'"{name}":[\n' + ",\n".join(_ascii(row) for row in rows) + "\n]")
    parts.append('"interactions":[\n' + ",\n".join(lines) + "\n]}\n")
    return ",\n".join(parts)


def deserialize(text: str) -> dict[str, Any]:
    """Rebuild the dict that `serialize` was given; bodies come back to the letter.

    Raises:
        ValueError: the text is not in this layout.
    """
    data = json.loads(text)
    if not is_compact(data):
        raise ValueError(f"not a cassette of the layout {FORMAT!r}; load it as vcrpy JSON or YAML")
    tables = SharedValues(data["messages"], data["shared"])
    interactions = [_unpack_entry(entry, tables) for entry in data["interactions"]]
    return {**data["others"], "interactions": interactions}


def is_compact(data: JsonValue) -> bool:
    """Tell whether parsed JSON is a cassette in this layout."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def with_values(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the interactions with the values of JSON bodies under `VALUE_KEY`, never as text."""
    tables = SharedValues(data["messages"], data["shared"])
    return [_with_values(entry, tables) for entry in data["interactions"]]


class GrowingLayout:
    """The layout while it grows: a row per interaction, with the values it is the first to share.

    `deserialize` reads what `serialize` wrote at once; rows are for files that are appended to.
    """

    def __init__(self) -> None:
        self._tables = SharedValues()

    def pack(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of one interaction."""
        tables = self._tables
        known = (len(tables.messages), len(tables.shared))
        packed = _pack_entry(entry, tables)
        return {
            "messages": tables.messages[known[0] :],
            "shared": tables.shared[known[1] :],
            "interaction": packed,
        }

    def unpack(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the interaction of a row; rows are taken in the order in which they were made."""
        tables = self._tables
        for table, values in ((tables.messages, row["messages"]), (tables.shared, row["shared"])):
            for value in values:
                tables.put(table, value)
        return _unpack_entry(row["interaction"], tables)


def _pack_entry(entry: Mapping[str, Any], tables: "SharedValues") -> dict[str, Any]:
    packed = {**entry, **_mapped_bodies(entry, lambda body: _pack_body(body, tables))}
    for name in PARTS:
        if isinstance(part := packed.get(name), dict):
            packed[name] = _pack_part(part, tables)
    return packed


def _unpack_entry(row: Mapping[str, Any], tables: "SharedValues") -> dict[str, Any]:
    entry = _whole(row, tables)
    return {**entry, **_mapped_bodies(entry, lambda body: _unpack_body(body, tables))}


def _pack_part(part: Mapping[str, Any], tables: "SharedValues") -> dict[str, Any]:
    """Share all of a request or an answer but its body and the headers that no other has."""
    own = {key: part[key] for key in ("body",) if key in part}
    rest = {key: value for key, value in part.items() if key not in own}
    if isinstance(headers := rest.get("headers"), dict):
        own["own_headers"] = {key: headers[key] for key in OWN_HEADERS if key in headers}
        rest["headers"] = {k: v for k, v in headers.items() if k not in OWN_HEADERS}
    return {REST_KEY: tables.put(tables.shared, rest), **{k: v for k, v in own.items() if v != {}}}


def _whole(row: Mapping[str, Any], tables: "SharedValues") -> dict[str, Any]:
    """Return an interaction with what it shares, its bodies still packed."""
    entry = dict(row)
    for name in PARTS:
        if not isinstance(part := entry.get(name), dict) or REST_KEY not in part:
            continue  # written before requests shared more than their bodies
        rest = dict(tables.shared[part[REST_KEY]])
        if own_headers := part.get("own_headers"):
            rest["headers"] = {**rest["headers"], **own_headers}
        entry[name] = {**rest, "body": part["body"]} if "body" in part else rest
    return entry


def _with_values(row: Mapping[str, Any], tables: "SharedValues") -> dict[str, Any]:
    entry = _whole(row, tables)
    request, response = dict(entry["request"]), entry["response"]
    body = request.pop("body", None)
    if isinstance(body, dict) and "$json" in body:
        request[VALUE_KEY] = tables.unpack(body["$json"])
    else:
        request["body"] = _unpack_body(body, tables)
    answer = _mapped_bodies({"response": response}, lambda packed: _unpack_body(packed, tables))
    return {**entry, "request": request, **answer}


def _mapped_bodies(entry: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Apply `change` to the request body and to the text of the response body."""
    changed: dict[str, Any] = {}
    request, response = entry.get("request"), entry.get("response")
    if isinstance(request, dict) and "body" in request:
        changed["request"] = {**request, "body": change(request["body"])}
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        body = response["body"]
        if "string" in body:
            body = {**body, "string": change(body["string"])}
        changed["response"] = {**response, "body": body}
    return changed


def dumps(value: JsonValue, *, indent: int | None = None) -> str:
    """Write JSON as the OpenAI clients do (compact) or as its server does (indent 2)."""
    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent)


def _ascii(value: JsonValue) -> str:
    # vcrpy writes files in the locale's encoding; ASCII survives every one of them.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


class SharedValues:
    """The values that requests share, each stored once and found again by its text."""

    def __init__(self, messages: Sequence[Any] = (), shared: Sequence[Any] = ()) -> None:
        self.messages = list(messages)
        self.shared = list(shared)
        self._index: dict[tuple[int, str], int] = {}

    def put(self, table: list[Any], value: JsonValue) -> int:
        key = (id(table), dumps(value))
        if key not in self._index:
            self._index[key] = len(table)
            table.append(value)
        return self._index[key]

    def pack(self, body: JsonValue) -> JsonValue:
        if not isinstance(body, dict):
            return body
        return {key: self._pack_item(key, value) for key, value in body.items()}

    def _pack_item(self, key: str, value: JsonValue) -> JsonValue:
        if key in HISTORY_KEYS and isinstance(value, list):
            return {"$messages": _runs([self.put(self.messages, item) for item in value])}
        if not isinstance(value, dict | list):
            return value
        large = key not in ANSWER_KEYS and len(dumps(value)) >= SHARED_MIN_CHARS
        if large or _is_reference(value):
            return {"$shared": self.put(self.shared, value)}
        return value

    def unpack(self, body: JsonValue) -> JsonValue:
        if not isinstance(body, dict):
            return body
        return {key: self._unpack_item(value) for key, value in body.items()}

    def _unpack_item(self, value: JsonValue) -> JsonValue:
        if not _is_reference(value):
            return value
        if "$shared" in value:
            return self.shared[value["$shared"]]
        return [self.messages[i] for start, stop in value["$messages"] for i in range(start, stop)]


def _is_reference(value: JsonValue) -> bool:
    """Tell references from values; a value of that shape is stored behind a reference itself."""
    return isinstance(value, dict) and set(value) in ({"$messages"}, {"$shared"})


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """Write indices as half-open `[start, stop]` runs."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][1] == index:
            runs[-1][1] += 1
        else:
            runs.append([index, index + 1])
    return runs


def _pack_body(body: JsonValue, tables: SharedValues) -> JsonValue:
    """Replace a body by what rebuilds it exactly; text that would come back changed stays text."""
    if isinstance(body, bytes):
        return {"$base64": base64.b64encode(body).decode("ascii")}
    if not isinstance(body, str):
        return None if body is None else {"$value": body}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(value, dict):
        return body
    for indent in (None, 2):
        if dumps(value, indent=indent) == body:
            return {"$json": tables.pack(value), "indent": indent}
    return body


def _unpack_body(packed: JsonValue, tables: SharedValues) -> JsonValue:
    if not isinstance(packed, dict):
        return packed
    if "$base64" in packed:
        return base64.b64decode(packed["$base64"])
    if "$json" in packed:
        return dumps(tables.unpack(packed["$json"]), indent=packed["indent"])
    return packed["$value"]
