"""vcrpy cassettes: read them safely, store them without repetition, record and replay them.

Here: a reader for every cassette layout met so far, a compact serializer for vcrpy, a recorder
with our settings. Not here: what a recorded conversation means (`evals.importers`).
"""

import datetime
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from compaction.errors import TranscriptError
from evals import cassette_layout
from evals.cassette_layout import JsonValue, deserialize, dumps, serialize
from evals.redaction import (
    DIGEST_HEADER,
    SECRET_QUERY_KEYS,
    clean_request,
    clean_response,
)

if TYPE_CHECKING:
    from vcr.cassette import Cassette
    from vcr.request import Request

MAX_DECODED_BYTES = 256_000_000
MAX_ALIAS_GROWTH = 20
"""PyYAML writes an alias for a value that occurs again; nine nested ones are a billion strings."""


class CassetteError(TranscriptError):
    """A cassette that cannot be used; the text names the file and what to do."""


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
    data = _cassette_dict(source)
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


def _cassette_dict(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise CassetteError(f"{path}: no such cassette; record it first or correct the path")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CassetteError(f"{path}: not UTF-8 ({error.reason}); record it again") from error
    if not text.strip():
        raise CassetteError(f"{path}: the cassette is empty; record it again")
    data = _parse_text(path, text)
    if not isinstance(data, dict):
        raise CassetteError(f"{path}: not a cassette (no mapping at the top); check the path")
    return data


def _parse_text(path: Path, text: str) -> JsonValue:
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


def _interaction(entry: Mapping[str, Any]) -> Interaction:
    request, response = entry["request"], entry["response"]
    status = response.get("status", response.get("status_code", 200))
    recorded_at = entry.get("recorded_at")
    return Interaction(
        uri=str(request["uri"]),
        method=str(request["method"]),
        request_body=_request_value(request),
        response_status=int(status["code"] if isinstance(status, dict) else status),
        response_body=_response_text(response),
        recorded_at=None if recorded_at is None else str(_plain(recorded_at)),
    )


def _request_value(request: Mapping[str, Any]) -> JsonValue:
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


@contextmanager
def recorder(
    path: Path | str, *, mode: Literal["replay", "record", "extend"] = "replay"
) -> Iterator["Cassette"]:
    """Open a cassette with this project's settings, in the compact layout.

    Requests match on method, path and the digest of the redacted body. Answers with a status of
    400 or more are passed on and not stored: a replayed repeat would return them for ever.

    Args:
        path: The cassette file.
        mode: `replay` needs the file and refuses anything new; `record` starts afresh and writes
            only if the block succeeds; `extend` adds what is missing.

    Raises:
        CassetteError: the cassette to replay cannot be used (vcrpy would carry on without it).
    """
    import vcr

    if mode == "replay" or (mode == "extend" and Path(path).exists()):
        load_cassette(path)
    modes = {"replay": "none", "record": "all", "extend": "new_episodes"}
    machine = vcr.VCR(
        decode_compressed_response=True,
        before_record_request=clean_request,
        before_record_response=clean_response,
        filter_query_parameters=SECRET_QUERY_KEYS,
    )
    machine.register_serializer("compact", _CompactSerializer)
    machine.register_matcher("digest", _same_digest)
    with machine.use_cassette(
        path,
        serializer="compact",
        match_on=("method", "path", "digest"),
        record_mode=vcr.mode(modes[mode]),
        allow_playback_repeats=True,
        persister=_Files(can_load=mode != "record"),
        record_on_exception=mode == "extend",
    ) as cassette:
        yield cassette


def is_unrecorded(error: BaseException) -> bool:
    """Tell whether a call failed because the replayed cassette holds no answer to it."""
    from vcr.errors import CannotOverwriteExistingCassetteException

    return isinstance(error, CannotOverwriteExistingCassetteException)


@dataclass(frozen=True, slots=True)
class _Files:
    """vcrpy's persister, except that it can start afresh and never leaves half a file."""

    can_load: bool

    def load_cassette(self, path: str, serializer: object) -> tuple[Any, ...]:
        from vcr.persisters.filesystem import CassetteNotFoundError, FilesystemPersister

        if not self.can_load:
            raise CassetteNotFoundError
        loaded: tuple[Any, ...] = FilesystemPersister.load_cassette(path, serializer)
        return loaded

    def save_cassette(self, path: str, cassette_dict: object, serializer: object) -> None:
        from vcr.persisters.filesystem import FilesystemPersister

        partial = Path(f"{path}.partial")
        FilesystemPersister.save_cassette(partial, cassette_dict, serializer)
        partial.replace(path)


class _CompactSerializer:
    """Writes the compact layout and reads any other JSON or YAML cassette too."""

    serialize = staticmethod(serialize)

    @staticmethod
    def deserialize(text: str) -> dict[str, Any]:
        data = _parse_text(Path("cassette"), text)
        return deserialize(text) if cassette_layout.is_compact(data) else data


def _same_digest(first: "Request", second: "Request") -> bool:
    return bool(first.headers[DIGEST_HEADER] == second.headers[DIGEST_HEADER])
