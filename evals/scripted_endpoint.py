"""A real HTTP server on loopback that answers Chat Completions from a script.

It exists to record and to test: the client, the wire and the cassette are real, the answers are
not a model's. No streaming.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from compaction.image_tokens import image_tokens

Json = dict[str, Any]
MESSAGE_OVERHEAD_TOKENS = 4
CACHE_STEP_TOKENS = 128
CACHE_MIN_TOKENS = 1024
"""OpenAI caches prompts from 1,024 tokens on, in steps of 128 (prompt caching guide)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message: text, tool calls (as Chat Completions dicts), or both."""

    content: str | None = None
    tool_calls: tuple[Json, ...] = ()
    elapsed_seconds: int = 12
    """Added to `created`; the clock of the answers is the script's, not the machine's."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One answer that fails."""

    kind: Literal["status", "cut_off", "slow"]
    status: int = 503
    """Used by `status` only."""
    delay_seconds: float = 0.0
    """Waited before anything is sent; `slow` then closes the connection without an answer."""


@dataclass(slots=True)
class ScriptedEndpoint:
    """The state of one server: what it will say next and what it was asked."""

    script: Iterator[Reply | Fault]
    model: str
    created: int
    count_tokens: Callable[[str], int]
    base_url: str = ""
    requests: list[Json] = field(default_factory=list)
    """Bodies received, faults included, oldest first."""
    _answered: int = 0
    _previous: Sequence[Json] = ()
    _sizes_tokens: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: Json) -> Json | Fault | None:
        """Return the completion for a request, a fault, or None at the end of the script."""
        with self._lock:
            self.requests.append(body)
            reply = next(self.script, None)
            if reply is None or isinstance(reply, Fault):
                return reply
            self.created += reply.elapsed_seconds
            completion = self._completion(body, reply)
            self._answered += 1
            self._previous = body["messages"]
            return completion

    def _completion(self, body: Json, reply: Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.content, "refusal": None}
        if reply.tool_calls:
            message["tool_calls"] = list(reply.tool_calls)
        seed = f"{self.model}.{self._answered}.{_dumps(message)}"
        reason = "tool_calls" if reply.tool_calls else "stop"
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{hashlib.sha256(seed.encode()).hexdigest()[:29]}",
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
            "usage": self._usage(body, message),
        }

    def _usage(self, body: Json, message: Json) -> Json:
        messages: list[Json] = body["messages"]
        shared = 0
        for old, new in zip(self._previous, messages, strict=False):
            if old != new:
                break
            shared += 1
        tools_tokens = self._size_tokens(_dumps(body["tools"])) if body.get("tools") else 0
        sizes = [self._message_tokens(item) for item in messages]
        prefix_tokens = tools_tokens + sum(sizes[:shared]) if shared else 0
        cached = prefix_tokens // CACHE_STEP_TOKENS * CACHE_STEP_TOKENS
        prompt, output = tools_tokens + sum(sizes), self._message_tokens(message)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
            "prompt_tokens_details": {"cached_tokens": cached if cached >= CACHE_MIN_TOKENS else 0},
        }

    def _message_tokens(self, message: Json) -> int:
        content, calls = message.get("content"), message.get("tool_calls")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        total = MESSAGE_OVERHEAD_TOKENS + sum(self._part_tokens(part) for part in parts)
        for call in calls or ():
            function = call["function"]
            total += self._size_tokens(function["name"]) + self._size_tokens(function["arguments"])
        return total

    def _part_tokens(self, part: Json) -> int:
        if part["type"] == "image_url":
            return image_tokens(part)
        return self._size_tokens(part["text"] if part["type"] == "text" else _dumps(part))

    def _size_tokens(self, text: str) -> int:
        if text not in self._sizes_tokens:
            self._sizes_tokens[text] = self.count_tokens(text)
        return self._sizes_tokens[text]


def quarter_of_chars(text: str) -> int:
    """Estimate tokens as characters / 4, rounded up."""
    return -(-len(text) // 4)


@contextmanager
def serve_script(
    script: Iterable[Reply | Fault],
    *,
    model: str = "scripted",
    created: int = 1_767_225_600,
    count_tokens: Callable[[str], int] = quarter_of_chars,
) -> Iterator[ScriptedEndpoint]:
    """Serve a script on a free loopback port; `base_url` of the result ends in `/v1`.

    Args:
        script: The answers in order; a fault takes the place of one answer.
        model: The model name that answers carry.
        created: Unix time before the first answer.
        count_tokens: What `usage` is counted with.
    """
    endpoint = ScriptedEndpoint(iter(script), model, created, count_tokens)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(endpoint))
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(endpoint: ScriptedEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            problem = _problem(self.path, raw)
            if problem:
                self._send(*problem)
                return
            answer = endpoint.answer(json.loads(raw))
            if answer is None:
                count = len(endpoint.requests) - 1
                self._send(400, _error(f"the script ended after {count} answers"))
            elif isinstance(answer, Fault):
                self._fail(answer)
            else:
                self._send(200, answer)

        def _fail(self, fault: Fault) -> None:
            time.sleep(fault.delay_seconds)
            self.close_connection = True
            if fault.kind == "status":
                self._send(fault.status, _error("scripted fault"))
            elif fault.kind == "cut_off":
                self._send(200, {"id": "chatcmpl-cut"}, missing_bytes=500)

        def _send(self, status: int, body: Json, *, missing_bytes: int = 0) -> None:
            raw = _dumps(body).encode("utf-8")
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw) + missing_bytes))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a test that prints every request hides its own failure."""

    return Handler


def _problem(path: str, raw: bytes) -> tuple[int, Json] | None:
    if path != "/v1/chat/completions":
        return 404, _error(f"no such path: {path}")
    try:
        body = json.loads(raw)
    except ValueError:
        return 400, _error("the body is not JSON")
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return 400, _error("the body has no list `messages`")
    return (400, _error("this endpoint does not stream")) if body.get("stream") else None


def _error(text: str) -> Json:
    return {"error": {"message": text, "type": "scripted_endpoint", "code": None, "param": None}}


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
