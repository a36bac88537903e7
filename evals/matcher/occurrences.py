"""A text prepared for many lookups, and where an accepted form of a value occurs in it.

Token boundaries are those of the form: a number never inside a longer one, a file name never before
another suffix, an identifier never inside a longer one; between Chinese characters none is needed.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evals.matcher.numerals import CJK, OPEN, WORD, canonical_text, unescape_json
from evals.matcher.stance import SEGMENT_CHARS, header_indices, segment_starts


@dataclass(frozen=True, slots=True)
class TextIndex:
    """One text prepared for any number of claims."""

    source: str
    is_unescaped: bool
    """Whether escapes of JSON strings were decoded."""
    canonical: str
    flat: str
    """Canonical, lower-case, on one line: same offsets as `canonical`."""
    starts: tuple[int, ...]
    headers: tuple[int, ...]

    def segment(self, index: int) -> tuple[int, int]:
        following = index + 1
        return self.starts[index], (
            self.starts[following] if following < len(self.starts) else len(self.flat)
        )

    def segment_text(self, index: int) -> str:
        """Return a segment; of one longer than a sentence can be, only the end."""
        start, end = self.segment(index)
        return self.canonical[max(start, end - SEGMENT_CHARS) : end]


def index_text(text: str, *, json_strings: bool = True) -> TextIndex:
    """Prepare a text; `json_strings` decodes the escapes of JSON in text that holds quotes."""
    canonical = canonical_text(unescape_json(text) if json_strings else text)
    starts = segment_starts(canonical)
    flat = canonical.replace("\n", " ").lower()
    headers = header_indices(canonical, starts)
    return TextIndex(text, json_strings, canonical, flat, tuple(starts), tuple(headers))


@dataclass(frozen=True, slots=True)
class Form:
    """One accepted spelling of a value."""

    needle: str
    exact: tuple[tuple[int, str], ...]
    """Offset and text of the paths and identifiers in it, whose case counts."""


class Span(NamedTuple):
    start: int
    end: int


_CASED = re.compile(r"[/\\_]|[a-z][A-Z]|\.[A-Za-z]")
_NAME = re.compile(r"[^.]*(?:_|[a-z][A-Z])[^.]*")


def compile_form(written: str) -> Form:
    canonical = canonical_text(written).replace("\n", " ").strip()
    canonical = canonical.rstrip("/") or canonical
    exact = (
        (match.start(), match[0])
        for match in re.finditer(r"\S+", canonical)
        if _CASED.search(match[0])
    )
    return Form(canonical.lower(), tuple(exact))


_WORD_BEFORE = re.compile(WORD)
_CJK_DIGITS = "〇零一二三四五六七八九十百千万两"
_CJK_MODIFIER = re.compile(rf"[{_CJK_DIGITS}](?=[{_CJK_DIGITS}])|[深浅淡副亚半非](?=[{CJK}])")
"""What before a value without spaces makes it another: thirteen is not three, navy not blue."""
_STICKS_AFTER = re.compile(rf"{WORD}|[.\-/\\]{WORD}|'(?!s\b){WORD}")


def _starts_token(flat: str, start: int, form: Form) -> bool:
    first, before = form.needle[0], flat[max(0, start - 2) : start]
    if before and re.match(_CJK_MODIFIER, before[-1] + first):
        return False
    if not before or first == OPEN or re.match(f"[{CJK}]", first):
        return True
    beside = _WORD_BEFORE.match(before[-1]) is not None
    if first in "/.-":
        return not beside and before[-1] != first and before[-1] != "."
    if not _WORD_BEFORE.match(first):
        return True
    if beside:
        return False
    further = len(before) == 2 and _WORD_BEFORE.match(before[0]) is not None
    if before[-1] == "." and form.exact and _NAME.fullmatch(form.exact[0][1]):
        return True
    return not (further and before[-1] in ".-'")


def _is_occurrence(form: Form, index: TextIndex, start: int) -> bool:
    end = start + len(form.needle)
    last = form.needle[-1]
    if _WORD_BEFORE.match(last) and _STICKS_AFTER.match(index.flat, end):
        return False
    cased = (index.canonical.startswith(text, start + at) for at, text in form.exact)
    return _starts_token(index.flat, start, form) and all(cased)


def occurrences(forms: Iterable[Form], index: TextIndex) -> list[Span]:
    found = set()
    for form in forms:
        start = index.flat.find(form.needle) if form.needle else -1
        while start >= 0:
            if _is_occurrence(form, index, start):
                found.add(Span(start, start + len(form.needle)))
            start = index.flat.find(form.needle, start + 1)
    return sorted(found)


def holds_value(forms: Sequence[str], text: str) -> bool:
    """Whether any accepted form occurs as a whole token, whatever the sentence says of it."""
    return bool(occurrences(map(compile_form, forms), index_text(text)))
