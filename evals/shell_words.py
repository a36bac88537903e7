"""Commands to copy from the terminal: a shell takes them as meant, and nothing steers the terminal.

Paths and names come from the user and from files of others.
"""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PARAMETER: Final = re.compile(r"[A-Za-z_]\w*=")
"""How an argument starts that is a parameter with its values and no path."""


def shell_line(words: Iterable[str]) -> str:
    """Return a command; the words may hold whatever a file name may."""
    return " ".join(map(shell_word, words))


def shell_word(word: str) -> str:
    r"""Return a word as a shell reads it; what cannot be printed stands as $'\x1b'.

    Bash, zsh and ksh know that form. Bytes, because those need no particular locale.
    """
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def path_argument(path: str | Path) -> str:
    """Return a path so that the command line does not take it for a flag or a parameter."""
    text = str(path)
    return f"./{text}" if text.startswith("-") or PARAMETER.match(text) else text


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
