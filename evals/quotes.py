"""Quotes: earlier bytes that an edit call must reproduce to work."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from compaction.messages import Message
from evals.message_text import decoded

MIN_QUOTE_CHARS: Final = 12

_QUOTE_KEYS: Final = frozenset({"old_string", "old_str", "oldText", "old_text", "search"})
_LINE_NUMBER: Final = re.compile(r"(?m)^[ \t]*\d{1,6}(?:→|\t|[|:] ?)")


def holds_quote(quote: str, text: str) -> bool:
    """Whether quoted bytes stand in a text, as it is or behind the line numbers of a viewer."""
    return quote in text or quote in without_line_numbers(text)


def without_line_numbers(text: str) -> str:
    """Remove what file viewers put before each line, so that quoted bytes can be found."""
    return _LINE_NUMBER.sub("", text)


@lru_cache(maxsize=65_536)
def quotable_text(message: Message) -> str:
    if message.role == "assistant":
        return "\n".join(decoded(call.arguments) for call in message.tool_calls) + message.text
    return without_line_numbers(message.text) if message.is_result else message.text


def quotes_of(message: Message) -> Iterator[str]:
    """Yield the bytes that the edits of a message must find, each once."""
    seen = set()
    for call in message.tool_calls:
        try:
            arguments = json.loads(call.arguments)
        except ValueError:
            continue
        for quote in _quoted_values(arguments):
            if len(quote.strip()) >= MIN_QUOTE_CHARS and quote not in seen:
                seen.add(quote)
                yield quote


def _quoted_values(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _QUOTE_KEYS and isinstance(item, str):
                yield item
            else:
                yield from _quoted_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _quoted_values(item)
