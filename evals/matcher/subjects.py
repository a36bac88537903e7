"""Whom or what a statement is about: people, firms and places by name, orders and machines by code.

Two statements alike in all but this ("order 5521", "order 6010") say nothing of each other.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from evals.matcher.numerals import CLOSE, OPEN
from evals.matcher.wording import is_stopword, language_of

_CODE = re.compile(
    rf"(?<![\w.:/\\{OPEN}-])(?=[\w-]*[0-9])(?=[0-9]*[A-Za-z_-])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
    r"(?![\w/\\]|[.:-]\w)"
)
_NUMBERED_NOUNS = """
    account attempt batch block build bus bug case chapter circuit customer flight floor gate hall
    host invoice issue item job line lot machine node order page patient phase pump ramp request
    room round route row sample section sensor server sprint stage station step store table task
    team tenant ticket train unit user vehicle worker
    auftrag bestellung filiale halle kunde lager maschine raum rechnung schritt seite station zeile
"""
_NUMBERED = re.compile(
    rf"\b({'|'.join(_NUMBERED_NOUNS.split())})[ =#:]{{1,2}}{OPEN}([0-9]+){CLOSE}", re.IGNORECASE
)
_CALLED = re.compile(rf"([^\W\d_]{{3,}}) ({_CODE.pattern})")
"""A code and what it is the code of: "pod cart-7" is not "pod mail-2"."""
_LETTERED = re.compile(r"([^\W\d_]{3,}) ([A-HJ-Z])(?![\w'])")
_CAPITALISED = re.compile(r"(?<![\w.])[A-Z][a-z\u00df-\u00ff]+(?![\w(])")
_FULL_NAME = re.compile(rf"{_CAPITALISED.pattern}(?: {_CAPITALISED.pattern})+")
_CLAUSE_END = re.compile("[,;]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:|]|\n)\W*$")


@dataclass(frozen=True, slots=True)
class Subjects:
    """What a piece of text names."""

    numbered: frozenset[tuple[str, str]]
    """(kind, which one): of `worker-3` and `order 5521` the letters and the digits."""
    names: frozenset[str]
    """Capitalised words inside sentences; none in German, where every noun is one."""
    full_names: frozenset[frozenset[str]]
    """Capitalised words in a row, at least two each."""


def code_kind(token: str) -> str:
    """Reduce a code to its pattern (`C-10993`: `c-#`); empty if the token is no code."""
    return re.sub("[0-9]+", "#", token.lower()) if _CODE.fullmatch(token) else ""


def pattern_of(token: str) -> str:
    """Reduce a code further: codes of one series may differ in a letter (`14C`, `14D`: `#a`)."""
    return re.sub("(?<![a-z])[a-z](?![a-z])", "a", code_kind(token))


@lru_cache(maxsize=64)
def without_numbered(text: str) -> str:
    """Blank the numbers that name something ("order 5521"), at equal length."""
    return _NUMBERED.sub(lambda found: " " * len(found[0]), text)


def codes_in(text: str) -> Iterable[re.Match[str]]:
    return _CODE.finditer(text)


@lru_cache(maxsize=4096)
def subjects_of(text: str) -> Subjects:
    """Find the subjects in canonical text."""
    codes = (code[0] for code in _CODE.finditer(text) if re.search("[A-Za-z]", code[0]))
    numbered = {(code_kind(code), code.lower()) for code in codes}
    numbered.update((found[1].lower(), found[2].lower()) for found in _CALLED.finditer(text))
    named = (*_NUMBERED.finditer(text), *_LETTERED.finditer(text))
    numbered.update((f[1].lower(), f[2].lower()) for f in named if not is_stopword(f[1]))
    if language_of(text) == "de":
        return Subjects(frozenset(numbered), frozenset(), frozenset())
    inside = [
        word[0].lower()
        for word in _CAPITALISED.finditer(text)
        if not is_stopword(word[0]) and not _SENTENCE_START.search(text[: word.start()])
    ]
    full = frozenset(filter(None, map(_full_name, _FULL_NAME.finditer(text))))
    return Subjects(frozenset(numbered), frozenset(inside).union(*full), full)


def _full_name(found: re.Match[str]) -> frozenset[str]:
    words = found[0].lower().split()
    if any(map(is_stopword, words)):
        return frozenset()
    starts = _SENTENCE_START.search(found.string[: found.start()])
    # "Customer Ida Holm": what begins a sentence is written so in any case.
    return frozenset(words[1:] if starts and len(words) > 2 else words)


def clause_at(segment: str, offset: int) -> str:
    """Cut a segment at the commas and semicolons around an offset."""
    cuts = [cut.end() for cut in _CLAUSE_END.finditer(segment)]
    start = max((cut for cut in cuts if cut <= offset), default=0)
    return segment[start : min((cut for cut in cuts if cut > offset), default=len(segment))]


def speaks_of_other(
    own: Subjects, words: frozenset[str], segment: str, offset: int, length: int
) -> bool:
    """Whether what stands at an offset is said of something other than `own`.

    Args:
        own: What the fact is about.
        words: All words of the fact's evidence, lower-case: none of them names another subject.
        segment: Canonical text around the offset.
        offset: Where the value begins.
        length: Of the value, which is no subject itself.
    """
    if not own.numbered and not own.names:
        return False
    segment = segment[:offset] + "-" * length + segment[offset + length :]
    clause, whole = subjects_of(clause_at(segment, offset)), subjects_of(segment)
    for kind in {kind for kind, _ in own.numbered}:
        mine = {which for each, which in own.numbered if each == kind}
        for found in (clause, whole):
            named = {which for each, which in found.numbered if each == kind}
            if named:
                if not named & mine:
                    return True
                break
    if not own.names:
        return False
    if own.names & clause.names:
        # "Passenger Lund" is not "Passenger Olsen", though half of it is the same.
        rest = own.names - clause.names
        return bool(rest) and any(name & own.names and name - words for name in clause.full_names)
    if own.names & whole.names:
        return bool(clause.names - words)
    return any(not name & words for name in clause.full_names)


def names_own(own: Subjects, segment: str) -> bool:
    """Whether a segment calls the fact's subject by name."""
    return bool(own.names & subjects_of(segment).names)
