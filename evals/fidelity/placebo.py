"""Unrelated text of equal size, to see how often a reference would be found by chance.

Another conversation of the run where there is one, since agents' texts are most like each other;
what is missing is made up by the sources of Python's own library: text of the kind that agents
read, of any size, on every machine. Which it was is named in each row.
"""

import platform
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from compaction.errors import TranscriptError
from evals.extraction.message_text import held_text
from evals.loading import load_file
from evals.projects import are_of_one_project
from evals.transcripts import Transcript

PLACEBO_CHARS: Final = 2_000_000
"""As much as the longest usual transcript; of a longer one only so much is compared."""
MAX_CHANCE_FRACTION: Final = 0.02
"""Of different references found in unrelated text. More make reach too high. reference/methods.md
4.3."""
FEW_BY_CHANCE: Final = 2
"""Of a class with few references a single one is more than its percentage."""
MAX_FILES_READ: Final = 3
"""Of other conversations, for one transcript: reading must not take longer than scoring."""


@dataclass(frozen=True, slots=True)
class Placebo:
    """A text and where it is from."""

    name: str = ""
    text: str = ""


@dataclass(frozen=True)
class PlaceboChoice:
    """Chooses the unrelated text for each transcript of a run, the same one each time."""

    files: tuple[Path, ...] = ()
    """Of the run."""

    @property
    def identity(self) -> str:
        """Names the rule; it does not change when a file is added to the run."""
        return f"transcripts of other projects of the run, else {library_name()}"

    def of(self, transcript: Transcript, file: Path) -> Placebo:
        """Return text as long as a transcript's, from files of nearly the size of its own."""
        missing = min(_size(transcript), PLACEBO_CHARS)
        names, texts = [], []
        for other in self._unrelated(transcript, file):
            if missing <= 0:
                break
            texts.append(other.text[:missing])
            names.append(other.name)
            missing -= len(texts[-1])
        if missing > 0:
            texts.append(library_text(PLACEBO_CHARS)[:missing])
            names.append(library_name())
        return Placebo(" + ".join(names), "\n".join(texts))

    def _unrelated(self, transcript: Transcript, file: Path) -> Iterator[Placebo]:
        nearest = sorted(
            (path for path in self.files if path != file),
            key=lambda path: (abs(_bytes_of(path) - _bytes_of(file)), str(path)),
        )
        for path in nearest[:MAX_FILES_READ]:
            for other in _conversations(path):
                if other.is_unrelated_to(transcript):
                    yield other.placebo


@dataclass(frozen=True, slots=True)
class _Conversation:
    """What has to be known of another transcript; the transcript itself is not kept."""

    placebo: Placebo
    digest: str
    cluster: str
    project: str | None

    def is_unrelated_to(self, transcript: Transcript) -> bool:
        """Whether it is no copy, no other part of the session, and not of the same project."""
        return (
            self.digest != transcript.digest
            and self.cluster != transcript.cluster
            and not are_of_one_project(self.project, transcript.project)
        )


@lru_cache(maxsize=4)
def _conversations(file: Path) -> tuple[_Conversation, ...]:
    try:
        transcripts = load_file(file)
    except TranscriptError:
        return ()
    return tuple(
        _Conversation(
            Placebo(f"{item.source} ({item.name})", _text_of(item)),
            item.digest,
            item.cluster,
            item.project,
        )
        for item in transcripts
    )


def _text_of(transcript: Transcript) -> str:
    pieces: list[str] = []
    missing = PLACEBO_CHARS
    for message in transcript.messages:
        pieces.append(held_text(message)[:missing])
        missing -= len(pieces[-1]) + 1
        if missing <= 0:
            break
    return "\n".join(pieces)


def _size(transcript: Transcript) -> int:
    return sum(len(held_text(message)) for message in transcript.messages)


def _bytes_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def library_name() -> str:
    """Return what `library_text` is made of, for the record."""
    return f"sources of the standard library of Python {platform.python_version()}"


@lru_cache(maxsize=1)
def library_text(chars: int) -> str:
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
