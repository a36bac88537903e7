"""Unrelated text, to see how often a reference would be found by chance.

The sources of Python's own library: text of the same kind as what agents read, of any size, on
every machine, and no conversation. Another transcript would do too, but few runs have one as long.
"""

import platform
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Final

PLACEBO_CHARS: Final = 2_000_000
"""As much as the longest usual transcript; of a longer one only so much is compared."""


def placebo_name() -> str:
    """Return what `placebo_text` is made of, for the record."""
    return f"sources of the standard library of Python {platform.python_version()}"


@lru_cache(maxsize=1)
def placebo_text(chars: int) -> str:
    """Return so many characters, or all there are; the same on every call with one Python."""
    texts: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        if chars <= 0:
            break
        try:
            text = path.read_text("utf-8")
        except (OSError, ValueError):
            continue
        texts.append(text[:chars])
        chars -= len(texts[-1])
    return "\n".join(texts)
