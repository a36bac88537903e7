"""Which facts a text could speak of at all, found from its words, so that few are matched in full.

A superset by construction: whatever `judge_message` would answer other than "lost" is among the
candidates. Preparing a text for matching is slow; this is not.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from evals.matcher.matching import Claim, Sighting, index_text, judge_message
from evals.matcher.numerals import fold_digits

_TOKEN: Final = re.compile(r"\d+|[^\W\d_]+")
_ESCAPE: Final = re.compile(r"\\[nrtbf\"/]")
_SEPARATOR: Final = re.compile(r"[,_ \u00a0\u202f'.]")
_GROUPED: Final = re.compile(r"(?<!\d)\d{1,3}(?:[,_ \u00a0\u202f'.]\d{3})+(?!\d)")
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PRIVATE: Final = re.compile(r"[\ue000-\uf8ff|]")


@dataclass(frozen=True, slots=True)
class _Clue:
    """What a text must hold to be a candidate for a claim."""

    fact_id: str
    values: tuple[tuple[frozenset[str], ...], ...]
    """For each required value the token sets of its forms; one set of each must be complete."""

    def may_fit(self, plain: str) -> bool:
        """Look for the first value in the text itself, which is cheaper than cutting it up."""
        return any(all(_stands_in(token, plain) for token in form) for form in self.values[0])

    def fits(self, tokens: frozenset[str]) -> bool:
        return all(any(form <= tokens for form in forms) for forms in self.values)


class FactIndex:
    """Says what a text states of each fact; "lost" is left out."""

    def __init__(self, claims: Iterable[tuple[str, Claim]]) -> None:
        self._claims = dict(claims)
        self._by_sign: defaultdict[str, list[_Clue]] = defaultdict(list)
        self._by_key: defaultdict[str, set[str]] = defaultdict(set)
        self._always: set[str] = set()
        for fact_id, claim in self._claims.items():
            self._add(fact_id, claim)

    def sightings(self, text: str) -> dict[str, Sighting]:
        """Return fact id -> what the text says of it."""
        candidates = self._candidates(text)
        if not candidates:
            return {}
        index = index_text(text)
        judged = {item: judge_message(self._claims[item], index) for item in sorted(candidates)}
        return {item: sighting for item, sighting in judged.items() if sighting != "lost"}

    def _add(self, fact_id: str, claim: Claim) -> None:
        for keys in claim.keys:
            for key in keys:
                self._by_key[key].add(fact_id)
        if claim.codes:
            # Another code of the fact's subject contradicts: the subject's name must stand there.
            for name in claim.subjects.names:
                self._by_key[name].add(fact_id)
        for values in (claim.values, *claim.superseding):
            forms = [[form.needle for form in forms] for forms in values]
            clue = _Clue(fact_id, tuple(tuple(map(_form_tokens, needles)) for needles in forms))
            if not all(clue.values[0]):
                self._always.add(fact_id)
            for sign in {_sign(max(form, key=len)) for form in clue.values[0] if form}:
                self._by_sign[sign].append(clue)

    def _candidates(self, text: str) -> set[str]:
        if "\\u" in text or "\\x" in text:
            return set(self._claims)
        plain = _plain(text)
        found = set(self._always)
        hits = [sign for sign in self._by_sign if sign in plain]
        clues = [clue for sign in hits for clue in self._by_sign[sign] if clue.may_fit(plain)]
        if clues:
            tokens = _tokens_of(plain)
            found.update(clue.fact_id for clue in clues if clue.fits(tokens))
        for key, fact_ids in self._by_key.items():
            if not key.isascii() or (key in plain and _begins_word(key).search(plain)):
                found |= fact_ids
        return found


def _form_tokens(needle: str) -> frozenset[str]:
    """Return what every spelling of a form has in common: its words, or only its numbers.

    A quantity or date in canonical form stands between private-use characters; its unit and month
    may be written in many ways, its digits in one. Chinese has no word borders, so it gives none.
    """
    if _CJK.search(needle):
        return frozenset()
    if _PRIVATE.search(needle):
        return frozenset(re.findall(r"\d{2,}", needle)[:1])
    return frozenset(_TOKEN.findall(needle.lower()))


@lru_cache(maxsize=4096)
def _begins_word(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z]){re.escape(key)}")


@lru_cache(maxsize=4096)
def _grouped(number: str) -> re.Pattern[str]:
    return re.compile(r"[,_ \u00a0\u202f'.]?".join(number))


def _stands_in(token: str, plain: str) -> bool:
    if token in plain:
        return True
    return token.isdecimal() and len(token) > 3 and bool(_grouped(token).search(plain))


def _sign(token: str) -> str:
    """Return a part of a token that stands in every spelling: 12345 may be written 12,345."""
    return token[-3:] if token.isdecimal() else token


def _tokens_of(plain: str) -> frozenset[str]:
    grouped = (_SEPARATOR.sub("", number) for number in _GROUPED.findall(plain))
    return frozenset(_TOKEN.findall(plain)).union(grouped)


def _plain(text: str) -> str:
    text = _ESCAPE.sub(" ", text)
    if not text.isascii():
        text = _CJK.sub(" ", fold_digits(unicodedata.normalize("NFKC", text)))
    return text.lower()
