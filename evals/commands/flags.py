"""Flags that several commands have, and how their values are read."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from compaction.errors import StrategyError
from evals.commands.completion import complete_strategy
from evals.ranges import values_of

Paths = Annotated[
    list[Path] | None,
    typer.Argument(help="Transcripts: files or folders. Without any: the bundled datasets."),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option(
        "--strategy",
        autocompletion=complete_strategy,
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
    typer.Option(
        "--grid",
        metavar="K=V1,V2",
        help="Try several values, or a range with its ends: 2:16:2, 25%:75%:25%. Repeat to "
        "combine.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Run folder. Running the same command again continues in it."),
]
Model = Annotated[
    str | None,
    typer.Option(help="Let this model write summaries. Without: an extractive summariser."),
]
BaseUrl = Annotated[str | None, typer.Option(help="OpenAI-compatible endpoint of the model.")]
DEFAULT_JOBS = min(4, os.cpu_count() or 1)
"""A process for each core; each holds one transcript, so more than four are asked for."""
Jobs = Annotated[int, typer.Option(min=1, help="Processes; transcripts are shared out.")]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Let the workers of this Dask scheduler do it instead; they read the same paths.",
    ),
]
Seed = Annotated[int, typer.Option(help="For random controls.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds for one call of your own code.")]
CellTimeout = Annotated[
    float, typer.Option(min=0.1, help="Seconds for one transcript under one setting.")
]
Price = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Price every transcript as this model. Without: each as the model it was recorded "
        "with, if the price list has it.",
    ),
]
PriceFile = Annotated[
    Path | None,
    typer.Option(help="Prices of your own, TOML or JSON, as `prices` in a run.json."),
]

Cluster = Annotated[
    Literal["session", "project"],
    typer.Option(
        help="What intervals and tests draw as a whole: with `project` they are about further "
        "projects, not about further sessions of the same ones."
    ),
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
        key, equals, value = map(str.strip, item.partition("="))
        if not equals or not key or not value:
            lacks = "no name before the =" if equals and not key else "no value"
            raise StrategyError(f"{flag} takes KEY=VALUE, got {item!r}, which has {lacks}")
        if key in pairs:
            raise StrategyError(f"{flag} has {key!r} twice")
        pairs[key] = value
    return pairs


def grids_of(given: list[str], flag: str) -> dict[str, list[str]]:
    """Return parameter -> its values."""
    pairs = pairs_of(given, flag).items()
    return {key: values_of(value, f"{flag} {key}".strip()) for key, value in pairs}
