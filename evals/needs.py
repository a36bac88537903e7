"""Needs: what the recorded assistant used that an earlier tool result or user message had brought.

Extraction only; it is done once per transcript and shared by every setting. What became of a need
under a strategy is `evals.need_status`. Definitions: DESIGN section 8.
"""

import json
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from compaction.messages import INSTRUCTION_ROLES, Message, canonical_json, digest_of
from evals.prepare import Prepared, PreparedSegment
from evals.reference_tokens import ESCAPE
from evals.references import Reference, extract_references, matches

NeedKind = Literal["need", "pinned", "derived", "reread", "quote", "derived_quote"]
"""`need` is the headline. Pinned: also in the instructions or the first user message. Derived:
first seen in the assistant's own words. Reread: used only to repeat a call that was made before.
Quote: earlier bytes that an edit must reproduce; derived if the assistant had written them."""

MAX_EARLIER_BLOCKS: Final = 5
"""A reference that stands in more earlier messages is not specific. Source: DESIGN section 8."""
MAX_NEEDS_PER_REQUEST: Final = 20
"""One large write must not outweigh a hundred small steps; the sample is by digest."""
LONG_GAP_REQUESTS: Final = 3
"""The headline counts gaps above this. Source: DESIGN section 8."""
MIN_QUOTE_CHARS: Final = 12
NORMALISED_CLASSES: Final = frozenset({"key_value", "error_line"})
"""Classes whose values do not stand in a text as they are written here."""

_QUOTE_KEYS: Final = frozenset({"old_string", "old_str", "oldText", "old_text", "search"})
_LINE_NUMBER: Final = re.compile(r"(?m)^[ \t]*\d{1,6}(?:→|\t|[|:] ?)")
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Need:
    """One reference or quote, used at one request. Indices of messages count within the segment."""

    kind: NeedKind
    value: str
    """Canonical text of the reference, or the quoted bytes."""
    reference: Reference | None
    """None for quotes."""
    request: int
    gap: int
    """Requests since the last earlier message that holds it; 1 if that has just arrived."""
    sources: tuple[int, ...]
    """Earlier tool results and user messages that hold it; of a pinned one instructions too."""
    others: tuple[int, ...]
    """Earlier messages of the assistant that hold it."""

    @property
    def is_long(self) -> bool:
        return self.gap > LONG_GAP_REQUESTS

    @property
    def class_name(self) -> str:
        return self.reference.kind if self.reference else "quote"

    @property
    def digest(self) -> str:
        """Stands for the value in results, which hold no text of a conversation."""
        return digest_of(self.value)[:12]


@dataclass(frozen=True)
class NeedSet:
    """All needs of a transcript."""

    by_request: dict[int, tuple[Need, ...]]
    """Request index -> its needs."""
    index: "ReferenceIndex"
    """Finds needed references in texts that a strategy wrote."""
    placebo_fraction: float | None
    """Share of distinct needed references that an unrelated text of equal size holds too."""
    placebo_by_class: dict[str, float]


class ReferenceIndex:
    """Finds which of a fixed set of references stand in a text, looking at its words first.

    A reference is looked for only where all its words are, and a text is searched only if it has
    the rarest of them, so that texts without any needed reference cost one pass over their words.
    """

    def __init__(self, wanted: Iterable[Reference]) -> None:
        known = frozenset(wanted)
        self._normalised = frozenset(item for item in known if item.kind in NORMALISED_CLASSES)
        self._keys = frozenset(_key_word(item) for item in self._normalised)
        words_of = {item: frozenset(_WORD.findall(item.value)) for item in known - self._normalised}
        common = Counter(word for words in words_of.values() for word in words)
        self._by_word: defaultdict[str, list[tuple[Reference, frozenset[str]]]] = defaultdict(list)
        self._wordless = [reference for reference, words in words_of.items() if not words]
        for reference, words in words_of.items():
            if words:
                rarest = min(words, key=lambda word: (common[word], -len(word), word))
                self._by_word[rarest].append((reference, words))
        self._gate = frozenset(self._by_word)

    def found_in(self, text: str) -> Iterator[Reference]:
        """Yield each needed reference of a text once."""
        words = _all_words(text)
        candidates = [
            reference
            for word in self._gate & words
            for reference, needed in self._by_word[word]
            if needed <= words
        ]
        candidates += self._wordless
        has_keys = "" in self._keys or not self._keys.isdisjoint(words)
        if candidates or has_keys:
            references = extract_references(text)
            yield from (item for item in candidates if matches(item, text, references))
            if has_keys:
                yield from references & self._normalised


def _all_words(text: str) -> frozenset[str]:
    """Return the words of a text, as it stands and with escapes read as spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    words = frozenset(_WORD.findall(text))
    return words.union(_WORD.findall(ESCAPE.sub(" ", text))) if "\\" in text else words


def _key_word(reference: Reference) -> str:
    """Return a word that every text with a normalised reference has, or "" if it has none."""
    head = reference.value.partition("=")[0] if reference.kind == "key_value" else reference.value
    return max(_WORD.findall(head), key=lambda word: (word.isalpha(), len(word)), default="")


def find_needs(prepared: Prepared, *, placebo: str = "") -> NeedSet:
    """Extract the needs of every request.

    Args:
        prepared: The transcript.
        placebo: Text of an unrelated conversation; its beginning, as long as this transcript's
            text, is searched for the same references. Empty: no placebo rate.
    """
    used = [_used_references(segment) for segment in prepared.segments]
    index = ReferenceIndex({ref for segment in used for refs in segment for ref in refs})
    pinned = _pinned_text(prepared)
    by_request: dict[int, tuple[Need, ...]] = {}
    for segment, references in zip(prepared.segments, used, strict=True):
        finder = _SegmentNeeds(segment, index, pinned)
        for request, wanted in zip(segment.requests, references, strict=True):
            found = [*finder.references_at(request.index, request.recorded.position, wanted)]
            found += finder.quotes_at(request.index, request.recorded.position)
            if found:
                by_request[request.index] = _capped(found)
    rates = _placebo(by_request, prepared, placebo)
    return NeedSet(by_request, index, rates.pop("all", None), rates)


def output_texts(message: Message) -> list[str]:
    """Return where an assistant message uses references: text and arguments, not reasoning."""
    return [message.text, *(decoded(call.arguments) for call in message.tool_calls)]


def held_text(message: Message) -> str:
    """Return all text of a message in which a reference can stand, reasoning included."""
    texts = output_texts(message)
    return "\n".join((*texts, message.reasoning) if message.reasoning else texts)


@lru_cache(maxsize=4096)
def decoded(arguments: str) -> str:
    """Return the strings in JSON arguments without their escapes, else the text as it is."""
    if "\\" not in arguments:
        return arguments
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return "\n".join(_strings(value))


def holds_quote(quote: str, text: str) -> bool:
    """Whether quoted bytes stand in a text, as it is or behind the line numbers of a viewer."""
    return quote in text or quote in without_line_numbers(text)


def without_line_numbers(text: str) -> str:
    """Remove what file viewers put before each line, so that quoted bytes can be found."""
    return _LINE_NUMBER.sub("", text)


def _strings(value: object) -> Iterator[str]:
    """Yield `key: value` texts of nested JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                yield from _strings(item)
            else:
                yield f"{key}: {item}"
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    else:
        yield str(value)


def _used_references(segment: PreparedSegment) -> list[frozenset[Reference]]:
    return [
        frozenset().union(
            *map(extract_references, output_texts(segment.history[request.recorded.position]))
        )
        for request in segment.requests
    ]


def _pinned_text(prepared: Prepared) -> str:
    """Return the text that is always there: instructions, tool schemas, the first user message."""
    messages = prepared.transcript.messages
    texts = [message.text for message in messages if message.role in INSTRUCTION_ROLES]
    texts += [canonical_json(tool) for tool in prepared.transcript.tools]
    texts += [next((message.text for message in messages if message.role == "user"), "")]
    return "\n".join(texts)


class _SegmentNeeds:
    """Where each used reference stands in one segment, and what follows for a request."""

    def __init__(self, segment: PreparedSegment, index: ReferenceIndex, pinned: str) -> None:
        self._segment = segment
        self._pinned = frozenset(index.found_in(pinned))
        self._holders: defaultdict[Reference, list[int]] = defaultdict(list)
        self._positions = [request.recorded.position for request in segment.requests]
        for at, message in enumerate(segment.history.messages()):
            for reference in index.found_in(held_text(message)):
                self._holders[reference].append(at)
        self._calls_made: dict[tuple[str, str], int] = {}
        for at, message in enumerate(segment.history.messages()):
            for call in message.tool_calls:
                self._calls_made.setdefault((call.name, call.arguments), at)

    def references_at(
        self, request: int, position: int, wanted: frozenset[Reference]
    ) -> Iterator[Need]:
        message = self._segment.history[position]
        repeated = self._repeated_references(message, position)
        for reference in wanted:
            holders = self._holders[reference]
            earlier = holders[: bisect_left(holders, position)]
            if not earlier or len(earlier) > MAX_EARLIER_BLOCKS:
                continue
            sources = tuple(at for at in earlier if self._is_source(at))
            others = tuple(at for at in earlier if self._is_own(at))
            kind: NeedKind = "need"
            if reference in self._pinned:
                kind = "pinned"
            elif self._is_own(earlier[0]):
                kind = "derived"
            elif reference in repeated:
                kind = "reread"
            if kind == "pinned":
                sources = tuple(at for at in earlier if not self._is_own(at))
            if sources or kind != "need":
                gap = self._gap(earlier[-1], position)
                yield Need(kind, reference.value, reference, request, gap, sources, others)

    def quotes_at(self, request: int, position: int) -> Iterator[Need]:
        for quote in _quotes(self._segment.history[position]):
            earlier = [at for at in range(position) if self._holds_quote(at, quote)]
            if not earlier:
                continue
            sources = tuple(at for at in earlier if self._is_source(at))
            others = tuple(at for at in earlier if self._is_own(at))
            kind: NeedKind = "derived_quote" if others and earlier[0] == others[0] else "quote"
            if not sources:
                kind = "derived_quote"
            gap = self._gap(earlier[-1], position)
            yield Need(kind, quote, None, request, gap, sources, others)

    def _gap(self, last_holder: int, position: int) -> int:
        """Count the requests that saw the last holder before this one, this one included."""
        first_to_see = bisect_right(self._positions, last_holder)
        return bisect_left(self._positions, position) - first_to_see + 1

    def _holds_quote(self, at: int, quote: str) -> bool:
        message = self._segment.history[at]
        return quote in message.text or quote in _quotable(message)

    def _is_source(self, at: int) -> bool:
        message = self._segment.history[at]
        return message.is_result or message.role == "user"

    def _is_own(self, at: int) -> bool:
        return self._segment.history[at].role == "assistant"

    def _repeated_references(self, message: Message, position: int) -> frozenset[Reference]:
        """Return the references that only calls made before hold, word for word."""
        repeated = [
            call
            for call in message.tool_calls
            if self._calls_made.get((call.name, call.arguments), position) < position
        ]
        if not repeated:
            return frozenset()
        others = (call for call in message.tool_calls if call not in repeated)
        fresh = [message.text, *(decoded(call.arguments) for call in others)]
        inside = frozenset().union(*(extract_references(decoded(c.arguments)) for c in repeated))
        return inside - frozenset().union(*map(extract_references, fresh))


@lru_cache(maxsize=65_536)
def _quotable(message: Message) -> str:
    if message.role == "assistant":
        return "\n".join(decoded(call.arguments) for call in message.tool_calls) + message.text
    return without_line_numbers(message.text) if message.is_result else message.text


def _quotes(message: Message) -> Iterator[str]:
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


def _capped(found: Sequence[Need]) -> tuple[Need, ...]:
    ordered = sorted(found, key=lambda need: (need.digest, need.kind))
    counted = [need for need in ordered if need.kind == "need"][:MAX_NEEDS_PER_REQUEST]
    return (*counted, *(need for need in ordered if need.kind != "need"))


def _placebo(
    by_request: dict[int, tuple[Need, ...]], prepared: Prepared, placebo: str
) -> dict[str, float]:
    """Return class -> share of its distinct references found in the placebo, and "all"."""
    wanted = {
        need.reference
        for needs in by_request.values()
        for need in needs
        if need.kind == "need" and need.reference is not None
    }
    if not placebo or not wanted:
        return {}
    size = sum(len(held_text(message)) for message in prepared.transcript.messages)
    found = set(ReferenceIndex(wanted).found_in(placebo[:size]))
    rates = {"all": len(found) / len(wanted)}
    for name in sorted({reference.kind for reference in wanted}):
        of_class = {reference for reference in wanted if reference.kind == name}
        rates[name] = len(found & of_class) / len(of_class)
    return rates
