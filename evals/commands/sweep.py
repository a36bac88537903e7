"""`sweep`: one strategy under every combination of values, and what to choose of them."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from compaction.errors import StrategyError, one_line
from evals.commands.completion import complete_strategy
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
    Price,
    PriceFile,
    Seed,
    Sets,
    Timeout,
    check_model,
    grids_of,
    pairs_of,
)
from evals.commands.recommend import (
    MEANINGS,
    AllForms,
    AsJson,
    Margin,
    MinReach,
    print_recommendations,
    wanted_reach,
)
from evals.config import Config
from evals.shell_words import PARAMETER, path_argument, shell_line


def sweep(
    context: typer.Context,
    strategy: Annotated[
        str,
        typer.Argument(
            metavar="STRATEGY",
            autocompletion=complete_strategy,
            help="A name from `list strategies`, or your code.",
        ),
    ],
    rest: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]... K=V1,V2...",
            help="Transcripts, and values of parameters: lists, or ranges with their ends (2:16:2, "
            "25%:75%:25%). A path with a = in it is written ./a=b.",
        ),
    ] = None,
    *,
    grid: Grids = None,
    set_: Sets = None,
    min_reach: MinReach = None,
    margin: Margin = None,
    all_forms: AllForms = False,
    as_json: AsJson = False,
    model: Model = None,
    base_url: BaseUrl = None,
    jobs: Jobs = DEFAULT_JOBS,
    dask: Dask = None,
    seed: Seed = 0,
    timeout: Timeout = 30.0,
    cell_timeout: CellTimeout = 600.0,
    price: Price = None,
    price_file: PriceFile = None,
    cluster: Cluster = "session",
    out: Out = None,
) -> None:
    """Replay transcripts under every combination of values, then recommend one.

    The same as `run` with --grid and the controls, then `recommend`. Running it again continues.
    The exit code is that of `run`: 0 if all went well, whatever is recommended. To gate on the
    recommendation, run `recommend` on the folder: 0 confirmed, 3 not confirmed, 1 none named.

    Example: compaction-evals sweep clear_tool_results logs/ keep_last_results=1:9:2
    trigger_tokens=25%:75%:25%
    """
    from rich.console import Console

    from evals.running import RunRequest, execute, verdict
    from evals.settings import Setting, check
    from reports.costs import price_file_lines
    from reports.frames import load

    config: Config | None = context.obj
    check_model(model, base_url)
    minimum = wanted_reach(min_reach)
    paths, given = _split(rest or [])
    values = _values(context, grid or [], given)
    if not values:
        check([Setting(strategy)])
        raise StrategyError(
            f"nothing to vary: name a parameter of {strategy} with its values, as "
            "keep_last_results=1,3,9; `list strategies` names them"
        )
    asked = RunRequest(
        paths=paths,
        strategies=(strategy,),
        fixed=pairs_of(set_ or [], "--set"),
        grid=values,
        model=model,
        base_url=base_url,
        jobs=jobs,
        dask=dask,
        seed=seed,
        timeout_seconds=timeout,
        cell_seconds=cell_timeout,
        out=out,
        command=shlex.join(["compaction-evals", *sys.argv[1:]]),
        price=price,
        price_file=price_file,
        config=None if config is None else config.as_json("sweep"),
    )
    console = Console(stderr=True)
    finished = execute(asked, console)
    code = print_recommendations(
        finished.folder,
        minimum,
        margin=margin,
        all_forms=all_forms,
        as_json=as_json,
        cluster=cluster,
    )
    gate = _gate(finished.folder, min_reach, margin, cluster)
    for line in (
        *price_file_lines(load(finished.folder)),
        one_line(f"wrote {finished.folder}"),
        f"its report: {shell_line(['compaction-evals', 'report', path_argument(finished.folder)])}",
        f"to gate on it (exit code {code} now, {MEANINGS[code]}): {gate}",
    ):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(verdict(finished, console))


def _values(context: typer.Context, grid: list[str], given: list[str]) -> dict[str, list[str]]:
    """Return the values of every parameter; those of a config file give way.

    Raises:
        StrategyError: no values, or a parameter is on the command line twice.
    """
    flagged, values = grids_of(grid, "--grid"), grids_of(given, "sweep")
    source = context.get_parameter_source("grid")
    is_typed = source is not None and source.name == "COMMANDLINE"
    if is_typed and (twice := next((name for name in flagged if name in values), None)):
        raise StrategyError(f"{twice} is in --grid and beside it; leave one out")
    return flagged | values


def _gate(folder: Path, min_reach: str | None, margin: float | None, cluster: str) -> str:
    """Return the command whose exit code is about the recommendation."""
    words = ["compaction-evals", "recommend", path_argument(folder)]
    words += [] if min_reach is None else ["--min-reach", min_reach]
    words += [] if margin is None else ["--margin", f"{margin:.12g}"]
    words += [] if cluster == "session" else ["--cluster", cluster]
    return shell_line(words)


def _split(rest: list[str]) -> tuple[tuple[Path, ...], list[str]]:
    """Tell paths from parameters."""
    given = [item for item in rest if PARAMETER.match(item)]
    return tuple(Path(item) for item in rest if not PARAMETER.match(item)), given
