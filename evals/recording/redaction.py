"""What of a recorded exchange may reach the disk: no credentials, no identity, no clock.

Requests are cleaned before they are stored and before they are looked up, so that the two agree.
"""

import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from evals.recording.cassette_files import CassetteError
from evals.recording.secret_shapes import redact_secrets

DIGEST_HEADER = "x-body-digest"
IsAnswer = Callable[[Any], bool]
"""Tells from the body of a reply, without secrets, whether it is one to keep."""
KEPT_HEADERS = frozenset({"accept", "content-type", "retry-after", "anthropic-version"})
"""Every other header is dropped, which covers credentials, cookies, organisations and dates."""
SECRET_QUERY_KEYS = frozenset(
    {"key", "api_key", "api-key", "apikey", "token", "access_token", "auth", "sig", "signature"}
    | {"secret", "client_secret", "password", "subscription-key", "code"}
)
_MAX_UNPACKED_BYTES = 256_000_000
CLOCK_KEY = "timings"
"""What llama.cpp's server adds to an answer: how long it took, different every time."""
_SCOPE = ("index", "item_id", "output_index", "content_index")
"""Keys that tell apart the texts which a stream gives in pieces."""
Place = tuple[Any, ...]


class RecordedRequest(Protocol):
    """What is needed of a vcrpy request."""

    uri: str
    body: Any
    headers: Any


Exchange = TypeVar("Exchange", bound=RecordedRequest)


def body_digest(body: bytes | str | None) -> str:
    """Digest a request body, blind to key order and spacing if it is JSON."""
    raw = body.encode("utf-8") if isinstance(body, str) else body or b""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    if value is not None:
        raw = json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def clean_request(request: Exchange) -> Exchange:
    """Redact the body and the address, keep harmless headers, add the digest.

    A loopback port, a user in the address and parameters that hold keys are dropped. A request
    that has a digest comes from a cassette and is clean; a long one would take seconds again.
    """
    if DIGEST_HEADER in request.headers:
        return request
    request.body = _redacted_body(request.body)
    request.headers = {**_kept(request.headers), DIGEST_HEADER: body_digest(request.body)}
    parts = urlsplit(request.uri)
    host = parts.netloc.rpartition("@")[2]
    if parts.hostname in ("127.0.0.1", "localhost", "::1"):
        host = "localhost"
    query = [item for item in parse_qsl(parts.query) if item[0].lower() not in SECRET_QUERY_KEYS]
    address = urlunsplit(parts._replace(netloc=host, query=urlencode(query), fragment=""))
    request.uri = redact_secrets(address)
    return request


def clean_response(
    response: dict[str, Any], *, is_answer: IsAnswer | None = None
) -> dict[str, Any] | None:
    """Redact the body and keep harmless headers; None, which is not stored, for a failure.

    What is a failure is told by the status, and by `is_answer` from the body.

    Raises:
        CassetteError: the body is packed in a way that cannot be looked into.
    """
    if response["status"]["code"] >= 400:
        return None
    lower = {name.lower(): value for name, value in response["headers"].items()}
    body = _redacted_body(response["body"]["string"])
    if is_answer is not None and not is_answer(body):
        return None
    packed = [
        item for item in lower.get("content-encoding", ()) if item not in ("identity", "gzip")
    ]
    if packed and isinstance(body, bytes) and not _is_text(body):
        raise CassetteError(
            f"an answer in the encoding {', '.join(packed)} cannot be searched for credentials, "
            "so it is not recorded; have the endpoint send gzip or plain text"
        )
    kept = without_clock(body)
    return {**response, "headers": _kept(lower), "body": {**response["body"], "string": kept}}


def without_clock(body: object) -> object:
    """Return the body of an answer, of the type it was given in, without its server's timings."""
    if not isinstance(body, str | bytes):
        return body
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(value, dict) or CLOCK_KEY not in value:
        return body
    rest = {key: item for key, item in value.items() if key != CLOCK_KEY}
    text = json.dumps(rest, ensure_ascii=False, separators=(",", ":"))
    return text if isinstance(body, str) else text.encode()


def _kept(headers: Any) -> dict[str, Any]:
    lower = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in sorted(lower.items()) if name in KEPT_HEADERS}


def _is_text(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _redacted_body(body: object) -> object:
    """Return a body unpacked and without secrets, of the type it was given in."""
    if isinstance(body, str):
        return _redacted_text(body)
    if not isinstance(body, bytes):
        return body
    raw = _unpacked(body)
    # Latin-1 gives any bytes back as they were, and the shapes of secrets are ASCII.
    encoding = "utf-8" if _is_text(raw) else "latin-1"
    return _redacted_text(raw.decode(encoding)).encode(encoding)


def _unpacked(body: bytes) -> bytes:
    if body[:2] != b"\x1f\x8b":
        return body
    unzip = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        return unzip.decompress(body, _MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise CassetteError(
            f"a gzip body cannot be unpacked, so it is not recorded: {error}"
        ) from error


def _redacted_text(text: str) -> str:
    is_stream = text.lstrip().startswith(("data:", "event:", ":")) and "\ndata:" in f"\n{text}"
    return redact_secrets(_without_split_secrets(text) if is_stream else text)


def _without_split_secrets(stream: str) -> str:
    """Redact what the events of a stream make together: a key comes in pieces of a few letters."""
    lines = stream.split("\n")
    events = {number: value for number, line in enumerate(lines) if (value := _event(line))}
    pieces: dict[Place, list[tuple[int, Place]]] = defaultdict(list)
    for number, event in events.items():
        scope = tuple(event.get(key) for key in _SCOPE)
        for place, name in _texts(event, (), ()):
            pieces[(scope, name)].append((number, place))
    changed = set()
    for places in pieces.values():
        whole = "".join(_at(events[number], place) for number, place in places)
        if (clean := redact_secrets(whole)) != whole:
            for position, (number, place) in enumerate(places):
                _put(events[number], place, clean if position == 0 else "")
                changed.add(number)
    for number in changed:
        lines[number] = f"data: {json.dumps(events[number], ensure_ascii=False)}"
    return "\n".join(lines)


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("data:"):
        return None
    try:
        value = json.loads(line.removeprefix("data:"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _texts(value: Any, place: Place, name: Place) -> Iterator[tuple[Place, Place]]:
    """Yield where texts lie, and by what name the pieces of one text are known in all events."""
    if isinstance(value, str):
        yield place, name
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*place, key), (*name, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            number = item.get("index", at) if isinstance(item, dict) else at
            yield from _texts(item, (*place, at), (*name, number))


def _at(value: Any, place: Place) -> str:
    for key in place:
        value = value[key]
    return str(value)


def _put(value: Any, place: Place, text: str) -> None:
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = text
