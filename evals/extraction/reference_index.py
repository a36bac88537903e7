"""Finds which of many references stand in a text, fast enough for long conversations."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from evals.extraction.reference_tokens import ESCAPE
from evals.extraction.references import Reference, extract_references, matches, occurs_in

NORMALISED_CLASSES: Final = frozenset({"key_value", "error_line"})
"""Classes whose values do not stand in a text as they are written here."""

_NO_WORD_TO_SPACE: Final = bytes(
    byte if byte < 128 and (chr(byte).isalnum() or chr(byte) == "_") else 32 for byte in range(256)
)
"""Words are runs of ASCII letters, digits and underscores; two C-level passes find them all."""


class ReferenceIndex:
    """Finds which of a fixed set of references stand in a text, looking at its words first.

    A reference is looked for only where all its words are, and a text is searched only if it has
    the rarest of them, so that texts without any needed reference cost one pass over their words.
    """

    def __init__(self, wanted: Iterable[Reference]) -> None:
        known = frozenset(wanted)
        self._normalised = frozenset(item for item in known if item.kind in NORMALISED_CLASSES)
        self._keys = frozenset(_key_word(item) for item in self._normalised)
        words_of = {item: frozenset(_words(item.value)) for item in known - self._normalised}
        common = Counter(word for words in words_of.values() for word in words)
        self._by_word: defaultdict[bytes, list[tuple[Reference, frozenset[bytes]]]]
        self._by_word = defaultdict(list)
        self._wordless = [reference for reference, words in words_of.items() if not words]
        for reference, words in words_of.items():
            if words:
                rarest = min(words, key=lambda word: (common[word], -len(word), word))
                self._by_word[rarest].append((reference, words))
        self._gate = frozenset(self._by_word)

    def found_in(self, text: str) -> Iterator[Reference]:
        """Yield each needed reference of a text once."""
        words = _all_words(text)
        candidates = self._candidates(words)
        has_keys = b"" in self._keys or not self._keys.isdisjoint(words)
        if candidates or has_keys:
            references = extract_references(text)
            yield from (item for item in candidates if matches(item, text, references))
            if has_keys:
                yield from references & self._normalised

    def standing_in(self, text: str) -> Iterator[Reference]:
        """Yield each needed reference whose value stands in a text as it is written."""
        candidates = self._candidates(_all_words(text))
        yield from (item for item in candidates if occurs_in(item.value, text))

    def _candidates(self, words: frozenset[bytes]) -> list[Reference]:
        found = [
            reference
            for word in self._gate & words
            for reference, needed in self._by_word[word]
            if needed <= words
        ]
        return found + self._wordless


def _words(text: str) -> list[bytes]:
    return text.encode("utf-8", "surrogatepass").translate(_NO_WORD_TO_SPACE).split()


def _all_words(text: str) -> frozenset[bytes]:
    """Return the words of a text, as it stands and with escapes read as spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    words = frozenset(_words(text))
    return words.union(_words(ESCAPE.sub(" ", text))) if "\\" in text else words


def _key_word(reference: Reference) -> bytes:
    """Return a word that every text with a normalised reference has, or b"" if it has none."""
    head = reference.value.partition("=")[0] if reference.kind == "key_value" else reference.value
    return max(_words(head), key=lambda word: (word.isalpha(), len(word)), default=b"")
