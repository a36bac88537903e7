"""`run`: replay transcripts under strategies; score, report."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evals.commands.flags import (
    Grids,
    Out,
    Paths,
    Sets,
    Strategies,
    check_model,
    pairs_of,
    values_of,
)
from evals.commands.report import write_reports
from evals.config import Config


def run(
    context: typer.Context,
    paths: Paths = None,
    *,
    strategy: Strategies = None,
    set_: Sets = None,
    grid: Grids = None,
    model: Annotated[
        str | None,
        typer.Option(help="Let this model write summaries. Without: an extractive summariser."),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint of the model.")
    ] = None,
    controls: Annotated[
        bool,
        typer.Option(help="Run the controls beside the strategies; truncation is one of them."),
    ] = True,
    show_text: Annotated[
        bool,
        typer.Option(
            "--show-text", help="Name the needed references in run folder and report, not digests."
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes; transcripts are shared out.")] = 1,
    seed: Annotated[int, typer.Option(help="For random controls.")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for one call of your own code.")
    ] = 30.0,
    cell_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for one transcript under one setting.")
    ] = 600.0,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Price every transcript as this model. Without: each as the model it was recorded "
            "with, if the price list has it.",
        ),
    ] = None,
    price_file: Annotated[
        Path | None,
        typer.Option(help="Prices of your own, TOML or JSON, as `prices` in a run.json."),
    ] = None,
    out: Out = None,
) -> None:
    """Replay transcripts under strategies; score, report.

    Example: compaction-evals run ~/.claude/projects --strategy xun --set token_threshold=50%
    --grid toolcall_keep_max=2,4,8,16
    """
    from rich.console import Console

    from evals.running import RunRequest, execute, verdict

    config: Config | None = context.obj
    check_model(model, base_url)
    asked = RunRequest(
        paths=tuple(paths or ()),
        strategies=tuple(strategy or ()),
        fixed=pairs_of(set_ or [], "--set"),
        grid={
            key: values_of(value, f"--grid {key}")
            for key, value in pairs_of(grid or [], "--grid").items()
        },
        show_text=show_text,
        model=model,
        base_url=base_url,
        with_controls=controls,
        jobs=jobs,
        seed=seed,
        timeout_seconds=timeout,
        cell_seconds=cell_timeout,
        out=out,
        command=" ".join(["compaction-evals", *sys.argv[1:]]),
        price=price,
        price_file=price_file,
        config=None if config is None else config.as_json("run"),
    )
    console = Console(stderr=True)
    finished = execute(asked, console)
    write_reports(finished.folder, show_faults=False)  # the verdict has a line for each
    raise typer.Exit(verdict(finished, console))
