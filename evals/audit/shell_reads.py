"""The one file that a shell command shows: agents without a tool for it read with `cat` and `sed`.

Known are pipelines of `cat`, `nl`, `head`, `tail` and `sed -n RANGEp` whose first part names one
file, after an optional `cd DIR &&`. Of any other command nobody can say so cheaply what it reads.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Final

from evals.extraction.file_calls import canonical_file

_SHELLS: Final = frozenset({"bash", "sh", "zsh"})
_PLAIN: Final = frozenset({"cat", "nl"})
_ENDS: Final = frozenset({"head", "tail"})
_RANGE: Final = re.compile(r"[0-9]+(,([0-9]+|\$))?p")
"""The script of a `sed` that prints lines and does nothing else."""
_COUNT: Final = re.compile(r"\+?[0-9]+")
_EXPANDED: Final = re.compile(r"[$`*?~\[\]{}\n\\]")
"""What a shell may turn into something else."""
_CONTROL: Final = re.compile(r"[|&;<>()]+")
MAX_COMMAND_CHARS: Final = 2_000
"""Longer ones write files or are programs."""


def file_shown_by(command: Any, folder: str | None) -> str | None:
    """Return the file that a command shows, in canonical form, or None.

    Args:
        command: A line, or the program with its arguments.
        folder: Where it runs; the file of a relative path is in it.
    """
    words = _words(_line(command))
    if words[:1] == ["cd"] and words[2:3] == ["&&"]:
        folder, words = posixpath.join(folder or "", words[1]), words[3:]
    first, *others = _stages(words)
    operands = _operands(first)
    if operands is None or len(operands) != 1 or any(_operands(each) != [] for each in others):
        return None
    return canonical_file(posixpath.join(folder or "", operands[0]))


def _line(command: Any) -> str:
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        is_shell = len(command) == 3 and posixpath.basename(command[0]) in _SHELLS
        return command[2] if is_shell and command[1] in ("-c", "-lc") else shlex.join(command)
    return command if isinstance(command, str) else ""


def _words(line: str) -> list[str]:
    """Return the words of a line; none if it is no line that can be understood."""
    if len(line) > MAX_COMMAND_CHARS or "\n" in line.strip():
        return []
    reader = shlex.shlex(line.strip(), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:
        return []


def _stages(words: Sequence[str]) -> list[list[str]]:
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages


def _operands(stage: Sequence[str]) -> list[str] | None:
    """Return the files of one part of a pipeline, or None if it does not only show them."""
    if not stage:
        return None
    program, *arguments = stage
    if any(_CONTROL.fullmatch(word) for word in arguments):
        return None
    if program == "sed":
        quiet, *rest = arguments or [""]
        if quiet != "-n" or not rest or not _RANGE.fullmatch(rest[0]):
            return None
        found = rest[1:]
    elif program in _ENDS:
        found = list(_without_counts(arguments))
    elif program in _PLAIN:
        found = [word for word in arguments if not word.startswith("-")]
    else:
        return None
    is_plain = not any(word.startswith("-") or _EXPANDED.search(word) for word in found)
    return found if is_plain else None


def _without_counts(arguments: Sequence[str]) -> Iterator[str]:
    before = ""
    for word in arguments:
        is_count = before in ("-n", "-c") and _COUNT.fullmatch(word)
        if not is_count and not word.startswith("-"):
            yield word
        before = word
