"""What a scripted endpoint says: answers of Chat Completions with usage, whole or in pieces.

The same answers as of the Responses API are made from these in
`evals.recording.scripted_responses`.

Usage follows from the request, so it is the same on every machine; nothing is billed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from compaction.image_tokens import image_tokens

Json = dict[str, Any]
MESSAGE_OVERHEAD_TOKENS = 4
CACHE_STEP_TOKENS = 128
CACHE_MIN_TOKENS = 1024
"""OpenAI caches prompts from 1,024 tokens on, in steps of 128 (prompt caching guide)."""
PIECE_CHARS = 7
"""Of a streamed text: shorter than a key, as with real models."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One assistant message: text, tool calls (as Chat Completions dicts), or both."""

    content: str | None = None
    tool_calls: tuple[Json, ...] = ()
    elapsed_seconds: int = 12
    """Added to `created`; the clock of the answers is the script's, not the machine's."""
    delay_seconds: float = 0.0
    """Really waited before the answer."""
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One answer that fails."""

    kind: Literal["status", "cut_off", "slow", "malformed"]
    """`slow` closes the connection without an answer, `malformed` answers what is no JSON."""
    status: int = 503
    """Used by `status` only."""
    delay_seconds: float = 0.0
    """Waited before anything is sent."""
    retry_after_seconds: float | None = None
    """Sent as a header with `status`."""
    text: str = "scripted fault"
    """The message of the error that `status` sends."""


Said = Reply | Fault | None
"""None is the end of the script."""


@dataclass(slots=True)
class Completions:
    """Makes the answers of one conversation, each with the usage that follows from its request."""

    model: str
    created: int
    """Unix time of the last answer."""
    count_tokens: Callable[[str], int]
    _answered: int = 0
    _previous: Sequence[Json] = ()
    _sizes_tokens: dict[str, int] = field(default_factory=dict)

    def make(self, body: Json, reply: Reply) -> Json:
        """Return the completion that answers a request."""
        self.created += reply.elapsed_seconds
        completion = self._completion(body, reply)
        self._answered += 1
        self._previous = messages_of(body)
        return completion

    def _completion(self, body: Json, reply: Reply) -> Json:
        message: Json = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
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
        messages = messages_of(body)
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


def messages_of(body: Json) -> list[Json]:
    """Return the messages of a request; items of the Responses API as messages of their text."""
    if "messages" in body:
        found: list[Json] = body["messages"]
        return found
    return [
        {"content": str(item.get("content") or item.get("output") or item.get("arguments") or "")}
        for item in body["input"]
    ]


def chunks_of(completion: Json, *, with_usage: bool) -> Iterator[Json]:
    """Yield a completion in the pieces of a stream; `with_usage` adds a last one with the usage."""
    (choice,) = completion["choices"]
    message = choice["message"]
    deltas: list[Json] = [{"role": "assistant", "content": "" if message["content"] else None}]
    deltas += [{"content": piece} for piece in pieces_of(message["content"] or "")]
    if message["refusal"]:
        deltas.append({"refusal": message["refusal"]})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = {"name": call["function"]["name"], "arguments": ""}
        head = {"index": index, "id": call["id"], "type": "function", "function": function}
        deltas.append({"tool_calls": [head]})
        for piece in pieces_of(call["function"]["arguments"]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    kept = {key: completion[key] for key in ("id", "created", "model")}
    common = {**kept, "object": "chat.completion.chunk"}
    for delta in deltas:
        yield {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield {**common, "choices": [last]}
    if with_usage:
        yield {**common, "choices": [], "usage": completion["usage"]}


def pieces_of(text: str) -> Iterator[str]:
    return (text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS))


def quarter_of_chars(text: str) -> int:
    """Estimate tokens as characters / 4, rounded up."""
    return -(-len(text) // 4)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
