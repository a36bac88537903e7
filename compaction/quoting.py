r"""Text of others inside our tags: it cannot close them.

A backslash goes behind the `<` of each closing tag that the frame around the text has too, as in
`<\/summary>`; one that has a backslash there already gets another, so that all can be taken back.
"""

import re
from functools import lru_cache
from typing import Final

_CLOSING: Final = re.compile(r"</([A-Za-z][\w.-]*)>")


def quote(text: str, frame: str) -> str:
    """Return `text` as it may stand in `frame`, which is a template or the finished text."""
    pattern = _closing_tags(frame) if "<" in text else None
    return text if pattern is None else pattern.sub(r"<\\\1\2", text)


def unquote(text: str, frame: str) -> str:
    """Return what `quote` was given."""
    pattern = _closing_tags(frame) if "<\\" in text else None
    if pattern is None:
        return text
    return pattern.sub(lambda found: f"<{found[1][1:]}{found[2]}", text)


@lru_cache(maxsize=64)
def _closing_tags(frame: str) -> re.Pattern[str] | None:
    """Return what finds the closing tags of a frame, backslashes and spaces in them included."""
    names = sorted(set(_CLOSING.findall(frame)))
    if not names:
        return None
    return re.compile(rf"<(\\*)(\s*/\s*(?:{'|'.join(map(re.escape, names))})\b)", re.IGNORECASE)
