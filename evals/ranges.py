"""The values of a swept parameter, as somebody writes them: `2,4,8`, `2:16:2`, `25%:75%:25%`."""

import re
from decimal import Decimal
from typing import Final

from compaction.errors import StrategyError

MAX_VALUES: Final = 1_000
"""Of one range; more is a slip of the pen."""

_RANGE: Final = re.compile(
    r"(?P<low>-?\d+(?:\.\d+)?)(?P<u1>%?):(?P<high>-?\d+(?:\.\d+)?)(?P<u2>%?)"
    r":(?P<step>-?\d+(?:\.\d+)?)(?P<u3>%?)"
)


def values_of(text: str, flag: str) -> list[str]:
    """Return the values in the order written, each once; a range `low:high:step` includes its ends.

    `flag` names the place for the message.

    Raises:
        StrategyError: an empty value, or a range that goes nowhere or too far.
    """
    values: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        if not item:
            raise StrategyError(f"{flag} has an empty value in {text!r}")
        found = _RANGE.fullmatch(item)
        values += [item] if found is None else _expanded(found, flag)
    return list(dict.fromkeys(values))


def _expanded(found: "re.Match[str]", flag: str) -> list[str]:
    low, high, step = (Decimal(found[name]) for name in ("low", "high", "step"))
    units = {found[name] for name in ("u1", "u2", "u3")}
    if len(units) > 1:
        raise StrategyError(f"{flag}: all or none of {found[0]!r} must be percent")
    if step <= 0:
        raise StrategyError(f"{flag}: the step of {found[0]!r} must be above 0")
    if high < low:
        raise StrategyError(f"{flag}: {found[0]!r} goes down; write it as low:high:step")
    count = int((high - low) / step) + 1
    if count > MAX_VALUES:
        raise StrategyError(f"{flag}: {found[0]!r} has {count} values, more than {MAX_VALUES}")
    unit = units.pop()
    return [f"{_plain(low + at * step)}{unit}" for at in range(count)]


def _plain(value: Decimal) -> str:
    """Write 1E+2 and 2.50 as 100 and 2.5."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
