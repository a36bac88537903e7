"""Counters. The measuring counter (`TiktokenCounter`) makes every reported number; the others are
what real systems decide by. The two are never mixed.

All counters measure one message at a time and add up, so that a running total is cheap.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Protocol

from compaction.history import Entries, Measure, View, exchanged
from compaction.image_tokens import image_tokens
from compaction.messages import Json, Message, Part, canonical_json
from compaction.vocabulary import count_text_tokens, load_encoding

TOKENS_PER_MESSAGE: Final = 3
TOKENS_PER_NAME: Final = 1
TOKENS_PER_REQUEST: Final = 3
"""Framing of a message, of its name, and of the reply that a request asks for.

Source: OpenAI Cookbook, "How to count tokens with tiktoken", gpt-4o family.
"""
MEDIA_TOKENS: Final = 765
"""What a file or audio part of unknown extent is taken for: a 1024 x 1024 image in high detail."""

_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/=_-]{512,}")


class TokenCounter(Measure, Protocol):
    """A measure whose unit is tokens."""

    def count_text(self, text: str) -> int: ...


class TiktokenCounter:
    """Exact counts by one of OpenAI's encodings, offline, each message counted once.

    Reasoning counts only if the provider is sent it back (`include_reasoning`). Media count by the
    provider's rule, never as base64 text. Not safe to share between threads.
    """

    def __init__(
        self, encoding_name: str = "o200k_base", *, include_reasoning: bool = False
    ) -> None:
        self.name = f"tiktoken/{encoding_name}" + ("+reasoning" if include_reasoning else "")
        self._encoding_name = encoding_name
        self._include_reasoning = include_reasoning
        self._counted: dict[Message, int] = {}

    @cached_property
    def _encoding(self):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a tiktoken type
        return load_encoding(self._encoding_name)

    def count_text(self, text: str) -> int:
        return count_text_tokens(self._encoding, text) if text else 0

    def count(self, message: Message) -> int:
        counted = self._counted.get(message)
        if counted is None:
            counted = self._counted[message] = self._count(message)
        return counted

    def count_tools(self, tools: Sequence[Json]) -> int:
        """Count tool schemas as the compact JSON they are sent as."""
        return sum(self.count_text(canonical_json(tool)) for tool in tools)

    def _count(self, message: Message) -> int:
        total = TOKENS_PER_MESSAGE
        if isinstance(message.content, str):
            total += self.count_text(message.content)
        else:
            total += sum(self._count_part(part) for part in message.parts)
        for call in message.tool_calls:
            total += TOKENS_PER_MESSAGE + self.count_text(call.name)
            total += self.count_text(call.arguments)
        if message.name is not None:
            total += TOKENS_PER_NAME + self.count_text(message.name)
        if self._include_reasoning and message.reasoning:
            total += self.count_text(message.reasoning)
        return total

    def _count_part(self, part: Part) -> int:
        if part.kind in ("text", "refusal"):
            return self.count_text(part.text)
        if part.kind == "image":
            return image_tokens(part.to_openai())
        if part.kind in ("file", "audio"):
            return MEDIA_TOKENS
        return self.count_text(_BASE64_RUN.sub("", part.raw))


class CharCounter:
    """Characters of text, reasoning and calls: what some systems decide by, and exact in tests."""

    name = "chars"

    def count_text(self, text: str) -> int:
        return len(text)

    def count(self, message: Message) -> int:
        calls = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        return len(message.text) + len(message.reasoning or "") + calls


_JSON: Final = json.JSONEncoder(ensure_ascii=False)


class JsonCharCounter:
    """Characters of the message's JSON as `json.dumps(..., ensure_ascii=False)` writes it."""

    name = "json_chars"

    def __init__(self) -> None:
        self._counted: dict[Message, int] = {}

    def count_text(self, text: str) -> int:
        return len(_JSON.encode(text))

    def count(self, message: Message) -> int:
        counted = self._counted.get(message)
        if counted is None:
            counted = len(_JSON.encode(message.to_openai()))
            self._counted[message] = counted
        return counted


class EstimatingCounter:
    """A quarter of the characters and 3 a message, as LangChain estimates tokens.

    Source: langchain-core 1.8.3, `messages/utils.py`, `count_tokens_approximately`.
    """

    name = "estimated_tokens"

    def count_text(self, text: str) -> int:
        return -(-len(text) // 4)

    def count(self, message: Message) -> int:
        chars = len(message.role) + len(message.name or "") + len(message.tool_call_id or "")
        chars += len(message.text)
        calls = [
            {"name": call.name, "args": "", "id": call.call_id, "type": "tool_call"}
            for call in message.tool_calls
        ]
        if calls:
            # There the arguments are a dict, written about as long as their JSON.
            chars += len(repr(calls)) + sum(len(call.arguments) - 2 for call in message.tool_calls)
        images = sum(part.kind == "image" for part in message.parts)
        return -(-chars // 4) + TOKENS_PER_MESSAGE + 85 * images


class RunningTotal:
    """The summed size of a view that changes a little from call to call.

    Only entries that came or went since the view before are measured.
    """

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._view = View(())
        self._total = 0

    def total(self, entries: Entries, *, unchanged: int | None = None) -> int:
        """Return the size of a view; `unchanged` leading entries, if the caller knows that."""
        return self.of(View(entries), unchanged=unchanged)

    def know(self, view: View, total: int) -> None:
        """Take in a view whose size is known."""
        self._view, self._total = view, total

    def of(self, view: View, *, unchanged: int | None = None) -> int:
        """Do the same for a view that may know of what it was made."""
        if view.entries is not self._view.entries:
            same = view.same_as(self._view) if unchanged is None else unchanged
            gone, come = exchanged(self._view.entries, view.entries, same)
            count = self._measure.count
            self._total += sum(count(entry.message) for entry in come)
            self._total -= sum(count(entry.message) for entry in gone)
            self._view = view
        return self._total


def total_of(measure: Measure, messages: Iterable[Message]) -> int:
    """Return the summed size of `messages`."""
    return sum(measure.count(message) for message in messages)
