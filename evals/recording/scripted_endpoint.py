"""A real HTTP server on loopback that answers Chat Completions and Responses from a script.

It exists to record and to test: the client, the wire and the cassette are real, the answers are
not a model's. It answers whole or streamed, plain or gzip, late, with errors, or not to the end.
"""

import gzip
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evals.recording.scripted_answers import (
    Completions,
    Fault,
    Json,
    Reply,
    Said,
    chunks_of,
    quarter_of_chars,
)
from evals.recording.scripted_responses import events_of, response_of

_LISTS = {"/v1/chat/completions": "messages", "/v1/responses": "input"}
"""Path -> the list that says in a body what was said."""
MISSING_BYTES = 500
"""By which an answer that is cut off falls short of its announced length."""


@dataclass(slots=True)
class ScriptedEndpoint:
    """The state of one server: what it will say next and what it was asked."""

    say: Callable[[Json], Said]
    completions: Completions
    base_url: str = ""
    requests: list[Json] = field(default_factory=list)
    """Bodies received, faults included, oldest first."""
    headers: list[dict[str, str]] = field(default_factory=list)
    """Of each of them, names in lower case."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Json, headers: dict[str, str]) -> tuple[Said, Json]:
        """Return what the script says to a request and, if that is a reply, its completion."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            said = self.say(body)
            return said, self.completions.make(body, said) if isinstance(said, Reply) else {}


@contextmanager
def serve_script(
    script: Iterable[Reply | Fault] | Callable[[Json], Said],
    *,
    model: str = "scripted",
    created: int = 1_767_225_600,
    count_tokens: Callable[[str], int] = quarter_of_chars,
    compress: bool = False,
) -> Iterator[ScriptedEndpoint]:
    """Serve a script on a free loopback port; `base_url` of the result ends in `/v1`.

    Args:
        script: The answers in order, a fault in the place of one answer; or a function from the
            body of a request to its answer.
        model: The model name that answers carry.
        created: Unix time before the first answer.
        count_tokens: What `usage` is counted with.
        compress: Send gzip to clients that accept it.
    """
    say = script if callable(script) else _in_order(script)
    endpoint = ScriptedEndpoint(say, Completions(model, created, count_tokens))
    server = _Server(endpoint, compress=compress)
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _in_order(script: Iterable[Reply | Fault]) -> Callable[[Json], Said]:
    answers = iter(script)
    return lambda _: next(answers, None)


class _Server(ThreadingHTTPServer):
    def __init__(self, endpoint: ScriptedEndpoint, *, compress: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = endpoint
        self.compress = compress

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that are gone; tests kill them on purpose."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        problem = _problem(self.path, raw)
        if problem:
            self._send_error(*problem)
            return
        endpoint, body = self.server.endpoint, json.loads(raw)
        lower = {name.lower(): value for name, value in self.headers.items()}
        said, completion = endpoint.answer(body, lower)
        if said is None:
            self._send_error(400, f"the script ended after {len(endpoint.requests) - 1} answers")
            return
        time.sleep(said.delay_seconds)
        if isinstance(said, Fault):
            self._fail(said, is_stream=bool(body.get("stream")))
        else:
            is_chat = "messages" in body
            self._send(200, *(_encoded if is_chat else _encoded_response)(completion, body))

    def _fail(self, fault: Fault, *, is_stream: bool) -> None:
        self.close_connection = True
        if fault.kind == "status":
            wait = fault.retry_after_seconds
            headers = {} if wait is None else {"retry-after": f"{wait:g}"}
            self._send_error(fault.status, fault.text, headers)
        elif fault.kind == "malformed":
            self._send(200, b'{"id": "chatcmpl-broken", "choices": [', "application/json")
        elif fault.kind == "cut_off":
            start: Json = {"id": "chatcmpl-cut", "choices": []}
            kind = "text/event-stream" if is_stream else "application/json"
            raw = _event(start) if is_stream else _dumps(start).encode("utf-8")
            self._send(200, raw, kind, missing_bytes=MISSING_BYTES)

    def _send_error(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        self._send(status, _dumps(_error(text)).encode("utf-8"), "application/json", headers)

    def _send(
        self,
        status: int,
        raw: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        missing_bytes: int = 0,
    ) -> None:
        more = dict(headers or {})
        if self.close_connection:  # else a client takes the connection for its next request
            more["connection"] = "close"
        if self.server.compress and "gzip" in self.headers.get("accept-encoding", ""):
            raw, more["content-encoding"] = gzip.compress(raw, mtime=0), "gzip"
        self.send_response(status)
        length = str(len(raw) + missing_bytes)
        for name, value in {"content-type": kind, "content-length": length, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a test that prints every request hides its own failure."""


def _encoded(completion: Json, body: Json) -> tuple[bytes, str]:
    """Return an answer and its content type; a stream, if the request asks for one."""
    if not body.get("stream"):
        return _dumps(completion).encode("utf-8"), "application/json"
    with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
    events = [_event(chunk) for chunk in chunks_of(completion, with_usage=with_usage)]
    return b"".join([*events, b"data: [DONE]\n\n"]), "text/event-stream"


def _encoded_response(completion: Json, body: Json) -> tuple[bytes, str]:
    """Do what `_encoded` does, in the shape of the Responses API."""
    response = response_of(completion)
    if not body.get("stream"):
        return _dumps(response).encode("utf-8"), "application/json"
    return b"".join(
        f"event: {event['type']}\n".encode() + _event(event) for event in events_of(response)
    ), "text/event-stream"


def _event(chunk: Json) -> bytes:
    return f"data: {_dumps(chunk)}\n\n".encode()


def _problem(path: str, raw: bytes) -> tuple[int, str] | None:
    name = _LISTS.get(path.split("?")[0])
    if name is None:
        return 404, f"no such path: {path}"
    try:
        body = json.loads(raw)
    except ValueError:
        return 400, "the body is not JSON"
    if not isinstance(body, dict) or not isinstance(body.get(name), list):
        return 400, f"the body has no list `{name}`"
    return None


def _error(text: str) -> Json:
    return {"error": {"message": text, "type": "scripted_endpoint", "code": None, "param": None}}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
