"""Accepted answers of a key fact, checked before anything is asked or graded.

Each alone has to be right, so two of them, or one and the value, must not exclude each other.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from evals.numerals import CLOSE, OPEN, canonical_text

_QUANTITY: Final = re.compile(f"{OPEN}([^{CLOSE}|]*)(?:\\|([^{CLOSE}]*))?{CLOSE}")
_YES: Final = re.compile(r"\W*(yes|ja|是)\b", re.IGNORECASE)
_NO: Final = re.compile(r"\W*(no|nein|不是|否)\b", re.IGNORECASE)


def problem_of_answers(answers: object, values: Sequence[Sequence[str]]) -> str | None:
    """Say what is wrong with the answers of a fact, or None; no answers at all is nothing wrong."""
    if answers is None:
        return None
    if not isinstance(answers, list) or not answers or not all(map(_is_text, answers)):
        return "answers must be a non-empty list of non-empty texts"
    yes, no = (next(filter(word.match, answers), None) for word in (_YES, _NO))
    if yes is not None and no is not None:
        return f"the answers contradict each other: {yes!r} and {no!r}"
    quantities = dict(_bare_quantities(answers))
    first: dict[str, tuple[str, str]] = {}
    for answer, (amount, unit) in quantities.items():
        other, known = first.setdefault(unit, (answer, amount))
        if known != amount:
            return f"the answers contradict each other: {other!r} and {answer!r}"
    stated = dict(_bare_quantities(values[0])) if len(values) == 1 else {}
    for form, (_, unit) in stated.items():
        if unit in first and first[unit][1] not in {a for a, u in stated.values() if u == unit}:
            return f"the answer {first[unit][0]!r} contradicts the value {form!r}"
    return None


def _is_text(answer: object) -> bool:
    return isinstance(answer, str) and bool(answer.strip())


def _bare_quantities(texts: Iterable[str]) -> Iterable[tuple[str, tuple[str, str]]]:
    """Yield the texts that are one number, with its amount and unit."""
    for text in texts:
        found = _QUANTITY.fullmatch(canonical_text(text).strip())
        if found is not None:
            yield text, (found[1], found[2] or "")
