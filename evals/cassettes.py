"""What a vcrpy cassette holds, as values, whatever its layout.

Recording and replaying is in `evals.recording.recorder`, what a conversation means in
`evals.importers`.
"""

import datetime
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.recording import cassette_layout
from evals.recording.cassette_files import CassetteError, read_cassette
from evals.recording.cassette_layout import VALUE_KEY, JsonValue, dumps

MAX_DECODED_BYTES = 256_000_000


@dataclass(frozen=True, slots=True)
class Interaction:
    """One recorded request with its answer. The JSON values are shared: do not change them."""

    uri: str
    method: str
    request_body: JsonValue
    """The parsed JSON value; None if there was no body or it was not JSON."""
    response_status: int
    response_body: str | bytes
    """Decompressed; an event stream is left as its text. Bytes only if it is not UTF-8."""
    recorded_at: str | None = None

    def response_json(self) -> JsonValue:
        """Return the parsed answer, or None if it is not JSON (an event stream, an HTML error)."""
        return _parsed(self.response_body)


def load_cassette(path: Path | str) -> list[Interaction]:
    """Read vcrpy YAML, vcrpy JSON or the compact layout, whatever the file is called.

    Raises:
        CassetteError: missing, empty, undecodable, without interactions, or asking for objects.
    """
    source = Path(path)
    data = read_cassette(source)
    entries = _entries(source, data)
    if not isinstance(entries, list) or not entries:
        raise CassetteError(f"{source}: no interactions; record the cassette again")
    interactions = []
    for index, entry in enumerate(entries):
        try:
            interactions.append(_interaction(entry))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            text = f"{source}: interaction {index} is not a vcrpy interaction ({error!r})"
            raise CassetteError(f"{text}; record the cassette again") from error
    return interactions


def _entries(path: Path, data: Mapping[str, Any]) -> JsonValue:
    if not cassette_layout.is_compact(data):
        return data.get("interactions")
    try:
        return cassette_layout.with_values(data)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        text = f"{path}: damaged compact cassette ({error!r}); record it again"
        raise CassetteError(text) from error


def _interaction(entry: Mapping[str, Any]) -> Interaction:
    request, response = entry["request"], entry["response"]
    status = response.get("status", response.get("status_code", 200))
    recorded_at = entry.get("recorded_at")
    return Interaction(
        uri=str(request["uri"]),
        method=str(request["method"]),
        request_body=request_value(request),
        response_status=int(status["code"] if isinstance(status, dict) else status),
        response_body=_response_text(response),
        recorded_at=None if recorded_at is None else str(_plain(recorded_at)),
    )


def request_value(request: Mapping[str, Any]) -> JsonValue:
    """Return the JSON value of a recorded request's body, or None."""
    if VALUE_KEY in request:
        return request[VALUE_KEY]
    if "parsed_body" in request:
        return _plain(request["parsed_body"])
    body = request.get("body")
    if isinstance(body, dict) and set(body) == {"string"}:
        body = body["string"]
    return _parsed(_decoded(body)) if isinstance(body, str | bytes) else _plain(body)


def _response_text(response: Mapping[str, Any]) -> str | bytes:
    if "parsed_body" in response:
        return dumps(_plain(response["parsed_body"]))
    body = response.get("body", response.get("content"))
    if isinstance(body, dict):
        body = body.get("string", body.get("base64_string"))
    return _decoded(body) if isinstance(body, str | bytes) else ""


def _decoded(body: str | bytes) -> str | bytes:
    if isinstance(body, str):
        return body
    if body[:2] == b"\x1f\x8b":
        unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            body = unzip.decompress(body, MAX_DECODED_BYTES)
        except zlib.error as error:
            raise ValueError(f"broken gzip body: {error}") from error
        if unzip.unconsumed_tail:
            raise ValueError(f"a body is larger than {MAX_DECODED_BYTES} bytes when unpacked")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _parsed(text: str | bytes) -> JsonValue:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _plain(value: JsonValue) -> JsonValue:
    """Turn what YAML makes of unquoted scalars into JSON values."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
