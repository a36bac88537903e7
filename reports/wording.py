"""Numbers and foreign names as short text, the same in every kind of report."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

MISSING: Final = "–"
MAX_NAME_CHARS: Final = 120
"""Names and errors come from files of others; a report shows this much of each."""
_BREAKS: Final = re.compile(r"(?<=[(_/,:])|(?==)")
"""Where a long name may go on in the next line."""
_DIGITS: Final = re.compile(r"([0-9]+)")
_UNSAFE: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories that steer a terminal or turn the direction of text."""


def clean(text: object, limit: int = MAX_NAME_CHARS) -> str:
    """Return one line without control characters and direction marks, cut to `limit`."""
    whole = str(text)
    shown = "".join(map(_visible, whole[:limit]))
    return shown if len(whole) <= limit and len(shown) <= limit else f"{shown[: limit - 1]}…"


def pieces(name: str) -> list[str]:
    """Cut a name where it may go on in the next line."""
    return _BREAKS.split(name)


def spans(text: str) -> list[tuple[str, bool]]:
    """Cut a text at its backticks; what stands between two of them is code.

    Returns:
        Parts that are not empty, each with whether it is code.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return [(text, False)]
    return [(part, at % 2 == 1) for at, part in enumerate(parts) if part]


def natural(text: str) -> tuple[tuple[str, float], ...]:
    """Return a sort key that puts 2 before 16 and 50% before 100%."""
    return tuple(
        ("", float(part)) if part.isdecimal() else (part, 0.0) for part in _DIGITS.split(text)
    )


def percent(value: float | None, digits: int = 1) -> str:
    """Write a fraction as a number of percent, without the sign."""
    return number(None if value is None else 100 * value, digits)


def points(value: float | None) -> str:
    """Write a difference of fractions in percentage points, with its sign."""
    text = percent(value)
    is_shown_positive = value is not None and value > 0 and text.strip("0.")
    return f"+{text}" if is_shown_positive else text


def amount(value: float) -> str:
    """Write what is counted or has no unit, with four digits where it is small."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.4g}"


def kilo(value: float | None) -> str:
    return number(None if value is None else value / 1000, 1)


def tokens(value: float) -> str:
    """Write a large number of tokens with its unit."""
    return f"{value / 1e6:,.1f} million" if value >= 1e6 else f"{kilo(value)} thousand"


def count(value: float | None) -> str:
    return number(value, 0)


def with_n(text: str, n: int) -> str:
    return f"{text} ({n})" if text != MISSING else text


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names: Sequence[str], limit: int = 12) -> str:
    """Join names as a sentence does; those beyond the limit are counted."""
    shown = list(names[:limit])
    if len(names) > limit:
        shown.append(f"{len(names) - limit:,} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def number(value: float | None, digits: int) -> str:
    """Write a number without the sign of a zero."""
    if value is None or value != value:
        return MISSING
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return " " if character in "\n\t" else f"\\u{ord(character):04x}"
