"""Shortening text without splitting what a reader sees as one character."""

import unicodedata
from typing import Final

_JOINER: Final = "\u200d"
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_LOW_SURROGATES: Final = range(0xDC00, 0xE000)
_MAX_SHIFT_CHARS: Final = 64
"""Text stacked higher than this is no writing system; it is cut where it was asked to be."""


def clip_head(text: str, max_chars: int) -> str:
    """Return at most the first `max_chars` characters, marks and joined emoji kept whole."""
    if len(text) <= max_chars:
        return text
    lowest = max(0, max_chars - _MAX_SHIFT_CHARS)
    cut = next((at for at in range(max_chars, lowest, -1) if is_boundary(text, at)), max_chars)
    return text[:cut]


def clip_tail(text: str, max_chars: int) -> str:
    """Return at most the last `max_chars` characters, marks and joined emoji kept whole."""
    if len(text) <= max_chars:
        return text
    start = len(text) - max_chars
    highest = min(len(text), start + _MAX_SHIFT_CHARS)
    return text[next((at for at in range(start, highest) if is_boundary(text, at)), start) :]


def is_boundary(text: str, index: int) -> bool:
    """Whether `text` may be cut before the character at `index`."""
    if not 0 < index < len(text):
        return True
    after = text[index]
    glued = (
        after == _JOINER
        or text[index - 1] == _JOINER
        or ord(after) in _SKIN_TONES
        or ord(after) in _LOW_SURROGATES
    )
    return not glued and not unicodedata.category(after).startswith("M")
