"""What of a recorded exchange may reach the disk: no credentials, no identity, no clock.

Requests are cleaned before they are stored and before they are looked up, so that the two agree.
"""

import hashlib
import json
import re
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

DIGEST_HEADER = "x-body-digest"
KEPT_HEADERS = frozenset(
    {"accept", "content-type", "content-encoding", "retry-after", "anthropic-version"}
)
"""Every other header is dropped, which covers credentials, cookies, organisations and dates."""
SECRET_QUERY_KEYS = ("key", "api_key", "api-key", "token", "access_token", "sig", "signature")
_MARKS = ("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "xox", "earer")
# In JSON text a secret may follow an escape such as \n, whose letter would hide its start.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf]))"
_SECRET = re.compile(
    _START + r"(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|AKIA[0-9A-Z]{16}|xox[a-z]-[A-Za-z0-9-]{10,})"
)
_BEARER = re.compile(r"(?i)(bearer\s+)[A-Za-z0-9._~+/=-]{16,}")


class RecordedRequest(Protocol):
    """What is needed of a vcrpy request."""

    uri: str
    body: Any
    headers: Any


Exchange = TypeVar("Exchange", bound=RecordedRequest)


def redact_secrets(text: str) -> str:
    """Replace what has the shape of an API key, a token or a bearer credential."""
    # 5 ms per 300 kB by pattern, 0.1 ms by marks; a conversation passes here once per request.
    if not any(mark in text for mark in _MARKS) and "EARER" not in text:
        return text
    return _BEARER.sub(r"\1[REDACTED]", _SECRET.sub("[REDACTED]", text))


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
    """Redact the body, keep harmless headers, add the digest; drop a loopback port and user."""
    request.body = _redacted_body(request.body)
    request.headers = {**_kept(request.headers), DIGEST_HEADER: body_digest(request.body)}
    parts = urlsplit(request.uri)
    host = parts.netloc.rpartition("@")[2]
    if parts.hostname in ("127.0.0.1", "localhost", "::1"):
        host = "localhost"
    request.uri = urlunsplit(parts._replace(netloc=host))
    return request


def clean_response(response: dict[str, Any]) -> dict[str, Any] | None:
    """Redact the body and keep harmless headers; None, which is not stored, for a failure."""
    if response["status"]["code"] >= 400:
        return None
    body = {**response["body"], "string": _redacted_body(response["body"]["string"])}
    return {**response, "headers": _kept(response["headers"]), "body": body}


def _kept(headers: Any) -> dict[str, Any]:
    lower = {name.lower(): value for name, value in headers.items()}
    return {name: value for name, value in sorted(lower.items()) if name in KEPT_HEADERS}


def _redacted_body(body: object) -> object:
    if isinstance(body, str):
        return redact_secrets(body)
    if not isinstance(body, bytes):
        return body
    try:
        return redact_secrets(body.decode("utf-8")).encode("utf-8")
    except UnicodeDecodeError:
        return body
