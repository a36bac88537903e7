"""Readers of recorded conversations, one module a format, chosen by content.

A module offers `FORMAT`, `matches(head)` and `read(path, source)`; adding a format is that file and
one line in `IMPORTERS`. Other formats are converted to OpenAI chat dicts here and nowhere else.
Not here: which files to read (`evals.loading`).
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol

from evals.importers.files import Head, UnknownFormatError
from evals.transcripts import Transcript

IMPORTERS: Final[tuple[str, ...]] = (
    "native",
    "vcr_cassette",
    "inspect_ai",
    "swe_agent",
    "mini_swe_agent",
    "openhands",
    "openhands_sdk",
    "claude_code",
    "codex",
    "pi",
    "gemini_cli",
    "copilot_cli",
    "opencode",
    "cline",
    "tau_bench",
    "atif",
    "langfuse_otel",
    "google_adk",
    "bfcl_memory",
    "locomo",
    "longmemeval",
    "sharegpt",
    "langchain",
    "openai_responses",
    "anthropic_messages",
    "openai_chat",
)
"""Module names below this package, tried in order: the strict ones first."""


class Importer(Protocol):
    """What a module of `IMPORTERS` offers."""

    @property
    def FORMAT(self) -> str:
        """Name the format as reports show it."""

    def matches(self, head: Head) -> bool:
        """Tell by content whether the file is in this format. Cheap; never raises."""

    def read(self, path: Path, source: str) -> Iterator[Transcript]:
        """Yield the conversations of a file.

        Raises:
            TranscriptError: with `source`, the line or message index, and what to do.
        """


def importers() -> list[Importer]:
    """Import every format, in the order in which they are tried."""
    return [_loaded(name) for name in IMPORTERS]


def importer_for(head: Head) -> Importer:
    """Return the first importer that takes the file.

    Raises:
        UnknownFormatError: none does; the formats that were tried are named.
    """
    known = importers()
    for importer in known:
        if importer.matches(head):
            return importer
    formats = ", ".join(importer.FORMAT for importer in known)
    raise UnknownFormatError(
        f"{head.source}: not a conversation in a known format (tried {formats}); convert it to "
        "OpenAI chat messages, or name another file"
    )


def _loaded(name: str) -> Importer:
    importer: Importer = import_module(f"{__name__}.{name}")
    return importer
