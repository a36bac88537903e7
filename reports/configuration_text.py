"""What every form of configuration is made of: Python calls as text."""

from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import Any, Literal, NamedTuple

from reports.shares import MedianSize, WindowShare
from reports.units import ConvertedSize

Language = Literal["json", "python", "shell"]
Resolved = Mapping[str, Any]
"""Parameter -> value, as a row has them."""


class Form(NamedTuple):
    framework: str
    language: Language
    text: str
    notes: tuple[str, ...] = ()


def python(imports: str, last: str, *, before: str) -> str:
    return "\n".join(part for part in (f"{imports}\n", before, last) if part)


def call(variable: str, name: str, arguments: Resolved, *written: str) -> str:
    """Write an assignment, an argument a line, above it what has to be said of its value."""
    lines = [f"{each}," for each in written]
    for key, value in arguments.items():
        lines += [*comments(value), f"{key}={value_text(value)},"]
    return f"{variable} = {name}(\n{indented(lines)}\n)"


def comments(value: Any) -> list[str]:
    """Return what has to stand beside a value, a line each."""
    items = value if isinstance(value, tuple) else (value,)
    return [
        f"# {line}"
        for item in items
        if isinstance(item, MedianSize | WindowShare | ConvertedSize)
        for line in item.comment()
    ]


def indented(lines: Iterable[str], levels: int = 1) -> str:
    return indent("\n".join(lines), "    " * levels)


def value_text(value: Any) -> str:
    """Write a value that Python reads back; sets in a fixed order."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(value)!r})" if value else "frozenset()"
    return repr(value)
