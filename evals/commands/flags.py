"""Flags that several commands have, and how their values are read."""

import os
from pathlib import Path
from typing import Annotated

import typer

from compaction.errors import StrategyError

Paths = Annotated[
    list[Path] | None,
    typer.Argument(help="Transcripts: files or folders. Without any: the bundled datasets."),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        help="A name from `list strategies`, or your code: module:name or path.py:name. "
        "Repeatable. Without any: the reference systems at four thresholds.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="K=V",
        help="Fix a parameter, of all strategies or of one: STRATEGY.K=V. A size may be a share of "
        "the transcript's own peak: 50%.",
    ),
]
Grids = Annotated[
    list[str] | None,
    typer.Option("--grid", metavar="K=V1,V2", help="Try several values; repeat to combine."),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Run folder. Running the same command again continues in it."),
]


def check_model(model: str | None, base_url: str | None) -> None:
    """Refuse a model that cannot answer before anything is replayed."""
    if base_url is not None and model is None:
        raise StrategyError("--base-url needs --model")
    settings = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    if model is not None and base_url is None and not any(map(os.environ.get, settings)):
        raise StrategyError(
            "--model needs a key in OPENAI_API_KEY, or --base-url of a server that wants none"
        )


def pairs_of(given: list[str], flag: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key or not value:
            raise StrategyError(f"{flag} takes KEY=VALUE, got {item!r}")
        if key.strip() in pairs:
            raise StrategyError(f"{flag} has {key.strip()!r} twice")
        pairs[key.strip()] = value.strip()
    return pairs


def values_of(text: str, flag: str) -> list[str]:
    values = [item.strip() for item in text.split(",")]
    if "" in values:
        raise StrategyError(f"{flag} has an empty value in {text!r}")
    return list(dict.fromkeys(values))
