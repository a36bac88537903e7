"""Quotes: earlier bytes that an edit call must reproduce to work."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from compaction.messages import Message
from evals.extraction.message_text import decoded, leaves

MIN_QUOTE_CHARS: Final = 12

_QUOTE_KEYS: Final = frozenset({"old_string", "old_str", "oldText", "old_text", "search"})
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
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
        except (ValueError, RecursionError):
            continue
        for key, quote in leaves(arguments):
            if key not in _QUOTE_KEYS or not isinstance(quote, str):
                continue
            if len(quote.strip()) >= MIN_QUOTE_CHARS and quote not in seen:
                seen.add(quote)
                yield quote


class QuoteIndex:
    """Finds the messages that hold quotes, looking only at those with a quote's rarest word.

    Every message against every quote would be the square of a long coding session.
    """

    def __init__(self, messages: Sequence[Message], quotes: Iterable[str]) -> None:
        self._words_of = {quote: _inner_words(quote) for quote in quotes}
        self._texts: list[tuple[str, str]] = []
        """Of each message: as it is, and as an edit would quote it."""
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        wanted = frozenset().union(*self._words_of.values())
        for at, message in enumerate(messages if self._words_of else ()):
            text, quotable = message.text, quotable_text(message)
            self._texts.append((text, quotable))
            searched = f"{text}\n{quotable}" if message.role == "assistant" else text
            for word in wanted.intersection(_WORD.findall(searched)):
                self._places[word].append(at)

    def holders(self, quote: str, before: int) -> list[int]:
        """Return the messages that hold a quote, among those before one."""
        candidates: Sequence[int] = range(before)
        if words := self._words_of[quote]:
            places: list[list[int]] = [self._places.get(word, []) for word in words]
            candidates = min(places, key=len)
        texts = self._texts
        return [
            at
            for at in candidates
            if at < before and (quote in texts[at][0] or quote in texts[at][1])
        ]


def _inner_words(quote: str) -> frozenset[str]:
    """Return the words of a quote that are whole wherever it stands: not those at its ends."""
    found = (match for match in _WORD.finditer(quote))
    return frozenset(m[0] for m in found if m.start() > 0 and m.end() < len(quote))
