"""The command line. What a command does is in the modules it calls; here are flags and messages.

Nothing heavy is imported before a command needs it, so that `--help` is quick.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from compaction.errors import CompactionError, StrategyError, one_line

EXIT_FAILED = 1
"""Something was found: a cell failed, or a strategy broke an invariant."""
EXIT_USAGE = 2
"""Nothing could be done: wrong flags, nothing to read."""
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="compaction-evals",
    help="Measure what compacting an LLM agent's context saves and loses, on your own transcripts.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

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


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from importlib.metadata import version

        typer.echo(version("compaction-evals"))
        raise typer.Exit


@app.callback()
def _global(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Read flags that stand before the command; `main` looks at --debug itself."""


@app.command()
def run(
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
    out: Out = None,
) -> None:
    """Replay transcripts under strategies; score, report.

    Example: compaction-evals run ~/.claude/projects --strategy xun --set token_threshold=50%
    --grid toolcall_keep_max=2,4,8,16
    """
    from rich.console import Console

    from evals.running import RunRequest, execute, verdict

    _check_model(model, base_url)
    asked = RunRequest(
        paths=tuple(paths or ()),
        strategies=tuple(strategy or ()),
        fixed=_pairs(set_ or [], "--set"),
        grid={
            key: _values(value, f"--grid {key}")
            for key, value in _pairs(grid or [], "--grid").items()
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
    )
    console = Console(stderr=True)
    finished = execute(asked, console)
    _write_reports(finished.folder, show_faults=False)  # the verdict has a line for each
    raise typer.Exit(verdict(finished, console))


@app.command()
def doctor(
    paths: Annotated[list[Path], typer.Argument(help="Transcripts: files or folders.")],
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything as JSON on standard output.")
    ] = False,
    calibration: Annotated[
        bool,
        typer.Option(
            help="Compare counted tokens with recorded usage; slower, keeps texts in memory."
        ),
    ] = True,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Name every structural fault: orphans, open calls, ids."),
    ] = False,
) -> None:
    """Say what was read from files, what was skipped, and why.

    Exits with 1 if anything was not understood, or with --strict if anything is not well formed.

    Example: compaction-evals doctor ~/.claude/projects
    """
    if strict:
        from evals.strict import examine_strictly

        raise typer.Exit(examine_strictly(paths, as_json=as_json))
    from evals.doctor import examine

    code = examine(paths, as_json=as_json, calibrate=calibration)
    if code == EXIT_INTERRUPTED:
        sys.exit(code)  # it has said so itself, and there is no run to go on with
    raise typer.Exit(code)


@app.command()
def check(
    strategy: Annotated[
        str,
        typer.Argument(
            metavar="STRATEGY",
            help="A name from `list strategies`, or your code: module:name or path.py:name.",
        ),
    ],
    *,
    set_: Sets = None,
    promise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=V]",
            help="Check this of your function as well: keeps_last_user, keep_last_results=3.",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Generated conversations.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the generator.")] = 0,
    time_budget: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Stop looking after this.")
    ] = 60.0,
    recorded: Annotated[bool, typer.Option(help="Check the bundled conversations too.")] = True,
    save: Annotated[
        Path | None, typer.Option(help="Write what was found as a test file of its own.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0.")] = None,
) -> None:
    """Check the invariants of a strategy; exit with 1 if one is broken.

    Your code runs in this process. A call that does not return is ended by --time-budget.

    Example: compaction-evals check mypkg/compact.py:compact --save tests/test_found.py
    """
    from rich.console import Console

    from evals.checking import CheckRequest, check_strategy

    asked = CheckRequest(
        strategy=strategy,
        parameters=_pairs(set_ or [], "--set"),
        promises=tuple(promise or ()),
        examples=examples,
        seed=seed,
        budget_seconds=time_budget,
        with_recorded=recorded,
        save=save,
        junit=junit,
        sarif=sarif,
    )
    raise typer.Exit(check_strategy(asked, Console()))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR")] = Path(),
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files.")] = False,
) -> None:
    """Write a test file and a CI job that check your compactor.

    Example: compaction-evals init .
    """
    from evals.starter import write_starter

    for path in write_starter(folder, overwrite=force):
        typer.echo(f"wrote {path}")


@app.command()
def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
) -> None:
    """Write report.html and report.md again and print the table.

    Example: compaction-evals report compaction-runs/bundled
    """
    _write_reports(run_folder)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="strategies, metrics or datasets")] = "strategies",
) -> None:
    """List strategies with their parameters, metrics, or datasets.

    Example: compaction-evals list metrics
    """
    from evals.listing import LISTINGS

    if what not in LISTINGS:
        raise StrategyError(f"cannot list {what!r}; known: {', '.join(LISTINGS)}")
    LISTINGS[what]()


def _write_reports(path: Path, *, show_faults: bool = True) -> None:
    """Write `report.html` and `report.md` into a run folder and print the table.

    Args:
        path: The run folder.
        show_faults: Print failed cells and broken rules below the table.
    """
    from rich.console import Console

    from reports import page, tables
    from reports.frames import load

    run_frames = load(path)
    (path / "report.md").write_text(tables.markdown(run_frames), encoding="utf-8")
    (path / "report.html").write_text(page.html(run_frames), encoding="utf-8")
    console = Console()
    console.print(tables.terminal(run_frames, width=console.width, show_faults=show_faults))
    console.print(f"report: {path / 'report.html'}", markup=False, highlight=False)


def _check_model(model: str | None, base_url: str | None) -> None:
    """Refuse a model that cannot answer before anything is replayed."""
    if base_url is not None and model is None:
        raise StrategyError("--base-url needs --model")
    settings = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    if model is not None and base_url is None and not any(map(os.environ.get, settings)):
        raise StrategyError(
            "--model needs a key in OPENAI_API_KEY, or --base-url of a server that wants none"
        )


def _pairs(given: list[str], flag: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key or not value:
            raise StrategyError(f"{flag} takes KEY=VALUE, got {item!r}")
        if key.strip() in pairs:
            raise StrategyError(f"{flag} has {key.strip()!r} twice")
        pairs[key.strip()] = value.strip()
    return pairs


def _values(text: str, flag: str) -> list[str]:
    values = [item.strip() for item in text.split(",")]
    if "" in values:
        raise StrategyError(f"{flag} has an empty value in {text!r}")
    return list(dict.fromkeys(values))


def main() -> None:
    """Run the command line; every error is one line, unless --debug is given."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    arguments = sys.argv[1:] or ["--help"]
    sys.exit(_guarded(lambda: app(arguments, standalone_mode=False), debug=debug))


def _guarded(command: Callable[[], Any], *, debug: bool) -> int:
    try:
        code = command()
    except typer.Exit as stop:
        code = stop.exit_code  # typer turns Ctrl-C into an exit with its code
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except CompactionError as error:
        if debug:
            raise
        _say(f"error: {error}")
        return EXIT_USAGE
    except TyperException as error:
        _say(f"error: {_usage_text(error)}")
        return EXIT_USAGE
    except BrokenPipeError:
        return EXIT_USAGE
    except Exception as error:
        if debug:
            raise
        _say(f"internal error: {type(error).__name__}: {error}; run again with --debug")
        return EXIT_USAGE
    if code == EXIT_INTERRUPTED:
        _say("stopped; what was scored is kept, the same command continues")
    return code if isinstance(code, int) else 0


def _usage_text(error: Exception) -> str:
    describe = getattr(error, "format_message", None)
    return str(describe()) if callable(describe) else str(error)


def _say(text: str) -> None:
    sys.stderr.write(f"{one_line(text)}\n")


if __name__ == "__main__":
    main()
