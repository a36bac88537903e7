"""JSON as commands print it."""

import json
from typing import Any


def printed_json(value: Any, indent: int = 1) -> str:
    """Return JSON that a terminal can show: what it could take for a command is an escape.

    Names come from files of others. Reading it back gives the same value.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    return "\n".join(line if line.isprintable() else _escaped(line) for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)
