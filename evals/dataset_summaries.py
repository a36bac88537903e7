"""What a bundled dataset is, read from its own files: cassette, facts and data card."""

import json
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

from evals.cassettes import load_cassette
from evals.datasets_folder import FACTS_NAME, cassette_of

CARD_NAME: Final = "README.md"
LONG_REQUESTS: Final = 60
"""A conversation of at least so many requests counts as long."""
UNKNOWN: Final = "not stated"
_LICENCE = re.compile(r"^\| licence \| (.+?) \|$", re.MULTILINE)
_AUTHORED = re.compile(r"\bturns are authored\b")


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """One dataset in figures; all of them are counted, only licence and author are quoted."""

    name: str
    about: str
    """The first paragraph of the card."""
    requests: int
    """Model calls in the cassette."""
    peak_tokens: int
    """Input of the largest request, by the usage in the cassette."""
    facts: int
    licence: str
    turns: str
    """Who wrote the agent's turns: `authored`, or unknown if the card does not say so."""

    @property
    def is_long(self) -> bool:
        return self.requests >= LONG_REQUESTS


def summarise(dataset: Path) -> DatasetSummary:
    """Read a dataset folder.

    Raises:
        TranscriptError: no usable cassette.
    """
    interactions = load_cassette(cassette_of(dataset))
    usages = [(answer.response_json() or {}).get("usage") or {} for answer in interactions]
    card = _card(dataset)
    licence = _LICENCE.search(card)
    return DatasetSummary(
        name=dataset.name,
        about=_first_paragraph(card),
        requests=len(interactions),
        peak_tokens=max(usage.get("prompt_tokens", 0) for usage in usages),
        facts=len(json.loads((dataset / FACTS_NAME).read_text("utf-8"))),
        licence=licence[1] if licence else UNKNOWN,
        turns="authored" if _AUTHORED.search(card) else UNKNOWN,
    )


def _card(dataset: Path) -> str:
    file = dataset / CARD_NAME
    return file.read_text("utf-8") if file.is_file() else ""


def _first_paragraph(card: str) -> str:
    lines = card.split("\n")
    start = next((at for at, line in enumerate(lines) if line and line[0] != "#"), len(lines))
    return " ".join(takewhile(bool, lines[start:]))
