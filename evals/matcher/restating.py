"""Whether a text that holds a reference also says what its source said of it.

A bare list of references must not pass for their source, so lines are compared: the line of the
source itself, or one that shares informative words with it.
"""

from functools import lru_cache
from typing import Final

from evals.extraction.references import Reference, extract_references, lines_with
from evals.matcher.wording import informative

MIN_SHARED_WORDS: Final = 3
"""Informative words that a line must share with a line of a source to restate it."""


@lru_cache(maxsize=16_384)
def shares_line(reference: Reference, text: str, source: str) -> bool:
    """Whether a line of the source that holds the reference is still there, as far as it goes."""
    lines = {line.strip() for line in _lines(reference, source)}
    return any(line.strip() in lines for line in _lines(reference, text))


@lru_cache(maxsize=16_384)
def restates(reference: Reference, text: str, sources: tuple[str, ...]) -> bool:
    own = frozenset(informative(reference.value))
    known = [told_by(line) - own for source in sources for line in _lines(reference, source)]
    for line in _lines(reference, text):
        words = told_by(line) - own
        if any(len(words & others) >= MIN_SHARED_WORDS for others in known):
            return True
    return False


def _lines(reference: Reference, text: str) -> list[str]:
    """Return the lines that hold a reference; for a normalised one, those that yield it."""
    lines = lines_with(reference.value, text)
    if lines or reference.kind not in ("key_value", "error_line"):
        return lines
    return [line for line in text.split("\n") if reference in extract_references(line)]


@lru_cache(maxsize=16_384)
def told_by(line: str) -> frozenset[str]:
    """Return the words of a line that say something about its references, not the names in them.

    Otherwise a bare list of references would restate each by the names of its neighbours.
    """
    names = "\n".join(reference.value for reference in extract_references(line))
    return frozenset(informative(line)).difference(informative(names))
