"""Words for the numbers of an audit."""

from collections.abc import Sequence
from typing import Final

CLASS_WORDS: Final = {
    "path": "file path",
    "url": "URL",
    "uuid": "UUID",
    "hash": "hash",
    "identifier": "identifier",
    "key_value": "key=value pair",
    "error_line": "error line",
    "quote": "quoted text",
}
KIND_WORDS: Final = {
    "file": ("file read", "file reads"),
    "search": ("search", "searches"),
    "url": ("address", "addresses"),
    "command": ("command", "commands"),
    "call": ("other call", "other calls"),
}
NEED_KIND_WORDS: Final = {
    "pinned": ("reference of the first messages", "references of the first messages"),
    "derived": (
        "reference that the assistant had been first to use",
        "references that the assistant had been first to use",
    ),
    "quote": ("text that an edit had to quote", "texts that edits had to quote"),
    "derived_quote": (
        "text of the assistant's own that an edit had to quote",
        "texts of the assistant's own that edits had to quote",
    ),
}
TIER_WORDS: Final = {
    "ClearToolResults": "clears",
    "DropOldest": "drops",
    "OffloadLargeResults": "offloads",
    "SnipMiddle": "snips",
    "Summarize": "summarizes",
}
"""What a strategy does first, in a table."""
MAX_NAMES: Final = 20
"""Of one list."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def dollars(value: float) -> str:
    return f"${value:,.2f}" if value >= 0.01 or not value else f"${value:.4f}"


def listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def cut(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMES
    return ", ".join([*names[:MAX_NAMES], *([f"{more:,} more"] if more > 0 else [])])
