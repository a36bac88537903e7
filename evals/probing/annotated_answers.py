"""Accepted answers of a key fact, checked before anything is asked or graded.

Each alone has to be right, so two of them, or one and the value, must not exclude each other.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from evals.matcher.numerals import CLOSE, OPEN, canonical_text

_QUANTITY: Final = re.compile(f"{OPEN}([^{CLOSE}|]*)(?:\\|([^{CLOSE}]*))?{CLOSE}")
_YES: Final = re.compile(r"\W*(yes|ja|是)\b", re.IGNORECASE)
_NO: Final = re.compile(r"\W*(no|nein|不是|否)\b", re.IGNORECASE)


def problem_of_answers(
    answers: object, values: Sequence[Sequence[str]], evidence: str
) -> str | None:
    """Say what is wrong with the answers of a fact, or None; no answers at all is nothing wrong.

    Numbers that the evidence has beside each other are one in two units (150.00 and 15000 cents).
    """
    if answers is None:
        return None
    if not isinstance(answers, list) or not answers or not all(map(_is_text, answers)):
        return "answers must be a non-empty list of non-empty texts"
    yes, no = (next(filter(word.match, answers), None) for word in (_YES, _NO))
    if yes is not None and no is not None:
        return f"the answers contradict each other: {yes!r} and {no!r}"
    stated = {_amount(found[0]) for found in _QUANTITY.findall(canonical_text(evidence))}
    numbers = list(_bare_quantities(answers))
    for answer, amount, unit in numbers:
        if amount in stated:
            continue
        for other, known, same in numbers:
            if same == unit and known != amount:
                return f"the answers contradict each other: {other!r} and {answer!r}"
        of_value = [each for each in _bare_quantities(values[0]) if each[2] == unit]
        if len(values) == 1 and of_value and amount not in {each[1] for each in of_value}:
            return f"the answer {answer!r} contradicts the value {of_value[0][0]!r}"
    return None


def _is_text(answer: object) -> bool:
    return isinstance(answer, str) and bool(answer.strip())


def _bare_quantities(texts: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the texts that are one number, each with its amount and unit."""
    for text in texts:
        found = _QUANTITY.fullmatch(canonical_text(text).strip())
        if found is not None:
            yield text, _amount(found[1]), found[2] or ""


def _amount(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
