"""References in a text: the things it names exactly enough to be found again.

Pure text in, a set of `Reference` out. Which of them are needs is decided in `evals.needs`; what a
single token refers to is in `evals.extraction.reference_tokens`. Never references: bare numbers,
dates, times, versions, common names, encoded data.

Speed comes from order: the text is cut into tokens by two C-level passes (`bytes.translate` and
`split`), made a set, and each distinct token is classified once per process. Only assignments,
URLs and error lines are searched for in the text itself, from a rare character on.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from evals.extraction.common_names import COMMON_NAMES_VERSION
from evals.extraction.reference_codes import continues_code, is_code
from evals.extraction.reference_spans import ERROR_WORD, add_pairs, cut_urls, error_lines
from evals.extraction.reference_tokens import (
    CJK,
    ESCAPE,
    Reference,
    ReferenceClass,
    references_of_token,
)

__all__ = [
    "EXTRACTOR_VERSION",
    "Reference",
    "ReferenceClass",
    "extract_references",
    "lines_with",
    "matches",
    "occurs_in",
]

EXTRACTOR_VERSION: Final = f"3, names {COMMON_NAMES_VERSION}"
"""Part of every stored need: raise it when the same text would give other references."""

MAX_CACHED_TOKENS: Final = 200_000
"""Of each kind, some 20 MB; a full memory empties all."""

MAX_REMEMBERED_BYTES: Final = 200

SLASH: Final = 47

PIECE_BYTES: Final = 16_384


_TOKEN_CHARS: Final = frozenset(b"_./\\~@+$-") | {*range(128, 256)}
_DELIMITERS_TO_SPACE: Final = bytes(
    byte if byte in _TOKEN_CHARS or chr(byte).isalnum() else 32 for byte in range(256)
)
_NOT_BEFORE_ROOT: Final = frozenset((b"}", b")", b"]", b"*", b"<"))
"""After a template's end, a glob or `<` a slash begins no absolute path."""

_CALLABLE_EXTENSIONS: Final = (b".json", b".log", b".map")
"""`response.json()` is a call, not a file."""

_DRIVE: Final = re.compile(r":(?<=\b[A-Za-z]:)((?:\\{1,2}[\w.@+-]+)+)")
"""A drive letter is not part of the canonical path: `C:/a.py` gives `/a.py` too."""

_DATA_URL: Final = re.compile(r"data:[\w.+-]{1,40}/[\w.+-]{1,80}[;,][^\s\"'`<>)\\]*")

_SEPARATORS: Final = re.compile(r"[\\/]+")

_nothing: set[bytes] = set()
_error_words: set[bytes] = set()
_something: dict[bytes, tuple[Reference, ...]] = {}


def extract_references(text: str) -> frozenset[Reference]:
    """Return every reference of a text; equal texts joined by a line break give the union."""
    found: set[Reference] = set()
    if "data:" in text:
        text = _DATA_URL.sub(" ", text)
    if "://" in text:
        text = cut_urls(text, found)
    if ":\\" in text:
        text = _DRIVE.sub(lambda match: ": " + re.sub(r"\\+", "/", match[1]), text)
    if "：" in text:
        text = text.replace("：", ": ")
    data = text.encode("utf-8", "surrogatepass")
    add_pairs(data, found)
    error_words = _add_tokens(data, found)
    for message in error_lines(text, error_words):
        found.add(Reference("error_line", message))
    return frozenset(found)


def _add_tokens(data: bytes, found: set[Reference]) -> set[bytes]:
    """Add the references of single tokens; return the tokens that speak of an error.

    A long text is taken in pieces that end at a delimiter: small sets stay in the processor's
    cache, and a look at the context of a token stays short.
    """
    spaced = data.translate(_DELIMITERS_TO_SPACE)
    error_words: set[bytes] = set()
    start = 0
    while start < len(spaced):
        end = spaced.find(b" ", start + PIECE_BYTES)
        end = len(spaced) if end < 0 else end
        tokens = set(spaced[start:end].split())
        piece = data[max(0, start - 1) : end + 1]
        for token in tokens - _nothing:
            references = _something.get(token)
            if references is None:
                references = _remembered(token)
            if references and (token[0] == SLASH or token.endswith(_CALLABLE_EXTENSIONS)):
                references = _in_context(piece, token, references)
            found.update(references)
        if not tokens.isdisjoint(_error_words):
            error_words |= tokens & _error_words
        start = end
    return error_words


def _remembered(token: bytes) -> tuple[Reference, ...]:
    """Classify a token that this process has not met, and remember the answer."""
    references = references_of_token(token.decode("utf-8", "surrogatepass"))
    if len(_nothing) >= MAX_CACHED_TOKENS or len(_something) >= MAX_CACHED_TOKENS:
        for memory in (_nothing, _something, _error_words):
            memory.clear()
    if len(token) > MAX_REMEMBERED_BYTES:
        return references
    if ERROR_WORD.search(token):
        _error_words.add(token)
    if references:
        _something[token] = references
    else:
        _nothing.add(token)
    return references


def _in_context(
    piece: bytes, token: bytes, references: tuple[Reference, ...]
) -> tuple[Reference, ...]:
    """Correct the two cases in which the delimiter beside a token decides what it is."""
    if token[0] != SLASH:
        called = _delimiters_beside(piece, token, after=True) == {b"("}
        return () if called else references
    before = _delimiters_beside(piece, token, after=False)
    if before.isdisjoint(_NOT_BEFORE_ROOT):
        return references
    relative = references_of_token(token.lstrip(b"/").decode("utf-8", "surrogatepass"))
    return relative if before <= _NOT_BEFORE_ROOT else references + relative


def _delimiters_beside(piece: bytes, token: bytes, *, after: bool) -> set[bytes]:
    """Return the delimiters before or after a token; an end of the piece is an empty one."""
    found = set()
    position = piece.find(token)
    while position >= 0:
        end = position + len(token)
        beside = piece[end : end + 1] if after else piece[max(0, position - 1) : position]
        if not beside or _DELIMITERS_TO_SPACE[beside[0]] == 32:
            found.add(beside)
        position = piece.find(token, end)
    return found


def occurs_in(reference_value: str, text: str) -> bool:
    """Tell whether a value stands in a text with no letter, digit or underscore beside it.

    A relative path so occurs in an absolute one, but a code not in a longer one. Between Chinese,
    Japanese or Korean and Latin characters there is a border. Backslashes count as separators,
    escapes as spaces, and the text is brought to NFC.
    """
    if _stands_in(reference_value, text):
        return True
    if not reference_value.isascii() and not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
        if _stands_in(reference_value, text):
            return True
    if "\\" in text and _stands_in(reference_value, ESCAPE.sub(" ", text)):
        return True
    if "/" not in reference_value or ("\\" not in text and "//" not in text):
        return False
    return _stands_in(reference_value, _SEPARATORS.sub("/", text))


_IS_CJK: Final = re.compile(f"[{CJK}]")


def _stands_in(value: str, text: str) -> bool:
    if not value:
        return False
    in_code = "-" in value and is_code(value)
    position = text.find(value)
    while position >= 0:
        end = position + len(value)
        if not (
            _adjoins(value[0], text[position - 1 : position] if position else "")
            or _adjoins(value[-1], text[end : end + 1])
            or (in_code and continues_code(text, position, end))
        ):
            return True
        position = text.find(value, position + 1)
    return False


def _adjoins(edge: str, neighbour: str) -> bool:
    """Tell whether a neighbour continues the word that the edge of a value belongs to."""
    if not neighbour or not (neighbour.isalnum() or neighbour == "_"):
        return False
    if not (edge.isalnum() or edge == "_"):
        return edge not in "/~.@$" or neighbour.isascii()
    return bool(_IS_CJK.match(neighbour)) == bool(_IS_CJK.match(edge))


def matches(reference: Reference, text: str, references: frozenset[Reference]) -> bool:
    """Tell whether a text, whose references are given, holds a reference.

    It does if it was extracted from it, or if its value stands in it as a whole token. Assignments
    and error lines are normalised, so only the first counts for them.
    """
    if reference in references:
        return True
    if reference.kind in {"key_value", "error_line"}:
        return False
    return occurs_in(reference.value, text)


def lines_with(value: str, text: str) -> list[str]:
    """Return the lines in which a value stands, or from which it was extracted, in order."""
    literal = value.split("=")[0].split("#")[0].split(" ")[0].split("/")[-1]
    found = []
    for line in text.split("\n"):
        if literal.isascii() and literal not in line:
            continue
        if occurs_in(value, line) or any(
            reference.value == value for reference in extract_references(line)
        ):
            found.append(line)
    return found
