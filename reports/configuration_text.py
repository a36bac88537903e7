"""What every form of configuration is made of: Python calls as text."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

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
    """Write an assignment, an argument a line."""
    lines = [*written, *(f"{key}={value_text(value)}" for key, value in arguments.items())]
    inside = "".join(f"    {line},\n" for line in lines)
    return f"{variable} = {name}(\n{inside})"


def value_text(value: Any) -> str:
    """Write a value that Python reads back; sets in a fixed order."""
    if isinstance(value, frozenset):
        return f"frozenset({sorted(value)!r})" if value else "frozenset()"
    return repr(value)
