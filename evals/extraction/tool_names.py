"""What a tool does, guessed from its name: most transcripts do not describe their tools."""

import re
from typing import Final

_NAME_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_READING: Final = "read view cat grep search find list ls glob get fetch show open head tail stat"
_WRITING: Final = "write edit create delete remove update send replace"
"""How a word of a tool's name begins."""
_WRITING_WORDS: Final = frozenset({"set", "post"})


def is_read_only(tool_name: str) -> bool:
    """Whether a tool only reads; one whose name says nothing does not."""
    words = _words(tool_name)
    return not _writes(words) and any(word.startswith(tuple(_READING.split())) for word in words)


def is_writing(tool_name: str) -> bool:
    """Whether a tool changes what it is pointed at; one whose name says nothing does not."""
    return _writes(_words(tool_name))


def _writes(words: list[str]) -> bool:
    return any(word in _WRITING_WORDS or word.startswith(tuple(_WRITING.split())) for word in words)


def _words(tool_name: str) -> list[str]:
    return [word.lower() for word in _NAME_WORD.findall(tool_name)]
