"""`run`: replay transcripts under strategies; score, report."""

import shlex
import sys
from typing import Annotated

import typer

from evals.commands.flags import (
    DEFAULT_JOBS,
    BaseUrl,
    CellTimeout,
    Cluster,
    Dask,
    Grids,
    Jobs,
    Model,
    Out,
    Paths,
    Price,
    PriceFile,
    Seed,
    Sets,
    Strategies,
    Timeout,
    check_model,
    grids_of,
    pairs_of,
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
    model: Model = None,
    base_url: BaseUrl = None,
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
    jobs: Jobs = DEFAULT_JOBS,
    dask: Dask = None,
    seed: Seed = 0,
    timeout: Timeout = 30.0,
    cell_timeout: CellTimeout = 600.0,
    price: Price = None,
    price_file: PriceFile = None,
    probes: Annotated[
        bool,
        typer.Option(
            "--probes",
            help="Grade what a model was recorded to answer over the views; nothing is asked. "
            "`probe` records.",
        ),
    ] = False,
    reader: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Whose recorded answers, where several were asked."),
    ] = None,
    cluster: Cluster = "session",
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
        grid=grids_of(grid or [], "--grid"),
        show_text=show_text,
        model=model,
        base_url=base_url,
        with_controls=controls,
        jobs=jobs,
        dask=dask,
        seed=seed,
        timeout_seconds=timeout,
        cell_seconds=cell_timeout,
        out=out,
        command=shlex.join(["compaction-evals", *sys.argv[1:]]),
        price=price,
        price_file=price_file,
        with_probes=probes,
        reader=reader,
        config=None if config is None else config.as_json("run"),
    )
    console = Console(stderr=True)
    finished = execute(asked, console)
    write_reports(
        finished.folder, show_faults=False, cluster=cluster
    )  # the verdict has a line for each
    raise typer.Exit(verdict(finished, console))
