"""The command line: which commands there are, and what an error looks like.

The flags of a command are in `evals.commands`, what it does is in the modules that it calls.

Nothing heavy is imported before a command needs it, so that `--help` is quick.
"""

import os
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from compaction.errors import CompactionError, one_line
from evals.commands import (
    audit,
    check,
    compare,
    doctor,
    explain,
    init,
    listing,
    probe,
    recommend,
    record,
    report,
    run,
    start,
    sweep,
)
from evals.commands.exit_codes import EXIT_INTERRUPTED, EXIT_USAGE
from evals.config import CONFIG_FILE, Config, Flag, read_config

PROGRAM: Final = "compaction-evals"
COMPLETION_VARIABLE: Final = "_COMPACTION_EVALS_COMPLETE"
"""Set by a shell that asks for completions; it gives no arguments then."""
_config: ContextVar[Config | None] = ContextVar("config", default=None)
"""What `_global` has read, for errors of the command."""
_GLOBAL_FLAGS: Final = ("--config", "--version")
_IS_EMPTY_FLAG: Final = re.compile(r"--[\w-]+=\s*")
app = typer.Typer(
    name=PROGRAM,
    help="Measure what compacting an LLM agent's context saves and loses, on your own transcripts.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class EmptyArgumentError(CompactionError):
    """Nothing stands where a path, a name or a value should."""


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    if wanted:
        from importlib.metadata import version

        typer.echo(version("compaction-evals"))
        raise typer.Exit


@app.callback()
def _global(
    context: typer.Context,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help=f"A TOML file with flags of the commands. Without: {CONFIG_FILE}, if there is one."
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Read flags that stand before the command; `main` looks at --debug itself."""
    _config.set(None)
    found = config or (Path(CONFIG_FILE) if Path(CONFIG_FILE).is_file() else None)
    if found is None:
        return
    context.obj = read_config(found, known_flags())
    _config.set(context.obj)
    context.default_map = {name: dict(table) for name, table in context.obj.defaults.items()}
    if config is None:
        _say(f"flags from {CONFIG_FILE}")


COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit.audit,
    "run": run.run,
    "sweep": sweep.sweep,
    "recommend": recommend.recommend,
    "report": report.report,
    "compare": compare.compare,
    "explain": explain.explain,
    "check": check.check,
    "record": record.record,
    "probe": probe.probe,
    "doctor": doctor.doctor,
    "list": listing.list_,
    "init": init.init,
}
"""In the order of `--help`."""


def _naming_file(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """Add to an error of a command which flags of it stand in a config file."""

    @wraps(command)
    def run_it(*arguments: Any, **flags: Any) -> None:
        try:
            command(*arguments, **flags)
        except CompactionError as error:
            config = _config.get()
            if config is not None and (table := config.defaults.get(name)):
                keys = ", ".join(key.strip("_").replace("_", "-") for key in table)
                error.add_note(f"flags from {config.path}: [{name}] {keys}")
            raise

    return run_it


for _name, _command in COMMANDS.items():
    app.command(_name)(_naming_file(_name, _command))


def known_flags() -> dict[str, dict[str, Flag]]:
    """Return command -> flag without dashes -> what a config file may say about it."""
    group = get_command(app)
    return {
        name: {
            _flag_name(parameter): Flag(
                str(parameter.name),
                takes_many=getattr(parameter, "multiple", False) or parameter.nargs == -1,
                is_switch=bool(getattr(parameter, "is_flag", False)),
            )
            for parameter in command.params
            if parameter.name != "help"
        }
        for name, command in getattr(group, "commands", {}).items()
    }


def _flag_name(parameter: Any) -> str:
    """Return a flag as it is typed, without dashes; an argument by its name."""
    return str(parameter.opts[0]).removeprefix("--").replace("_", "-")


def main() -> None:
    """Run the command line; every error is one line, unless --debug is given."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    arguments = sys.argv[1:]

    def run_command(given: list[str]) -> int:
        return _guarded(lambda: _run(given), debug=debug)

    if arguments or COMPLETION_VARIABLE in os.environ:
        sys.exit(run_command(arguments))
    sys.exit(_guarded(lambda: start.start(run_command), debug=debug))


def _run(arguments: list[str]) -> Any:
    """Run a command; an empty argument would be taken for the current folder.

    Raises:
        EmptyArgumentError: one is empty, as that of a variable that is not set.
    """
    for number, argument in enumerate(arguments):
        if not argument.strip() or _IS_EMPTY_FLAG.fullmatch(argument):
            before = arguments[number - 1] if number and not argument.strip() else ""
            place = argument if argument.strip() else f"argument {number + 1}"
            after = f", after {before}," if before else ""
            raise EmptyArgumentError(f"{place}{after} is empty; give a value or leave it out")
    return app(arguments, standalone_mode=False, prog_name=PROGRAM)


def _guarded(command: Callable[[], Any], *, debug: bool) -> int:
    try:
        code = command()
    except typer.Exit as stop:
        code = stop.exit_code  # typer turns Ctrl-C into an exit with its code
    except (KeyboardInterrupt, typer.Abort):
        code = EXIT_INTERRUPTED
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of native code is no Exception
        return _failed(error, debug=debug)
    if code == EXIT_INTERRUPTED:
        _say("stopped; what was done is kept, the same command continues")
    return code if isinstance(code, int) else 0


def _failed(error: BaseException, *, debug: bool) -> int:
    if isinstance(error, TyperException):
        _say(f"error: {_usage_text(error)}")
    elif debug and not isinstance(error, BrokenPipeError):
        raise error
    elif isinstance(error, CompactionError):
        from_file = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        _say(f"error: {error}{from_file}")
    elif not isinstance(error, BrokenPipeError):
        _say(f"internal error: {type(error).__name__}: {error}; run again with --debug")
    return EXIT_USAGE


def _usage_text(error: Exception) -> str:
    describe = getattr(error, "format_message", None)
    text = str(describe()) if callable(describe) else str(error)
    if any(text.startswith(f"No such option: {flag}") for flag in _GLOBAL_FLAGS):
        text += " here; it stands before the command"
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    place = _place_in_file(context, getattr(error, "param", None))
    return f"{place}{text.rstrip('.')}; see {context.command_path} --help"


def _place_in_file(context: Any, parameter: Any) -> str:
    """Name file and key of a value that nobody typed."""
    if parameter is None or not _is_from_file(context, parameter):
        return ""
    return f"{context.obj.path}: [{context.command.name}] {_flag_name(parameter)}: "


def _is_from_file(context: Any, parameter: Any) -> bool:
    source = context.get_parameter_source(parameter.name)
    return source is not None and source.name == "DEFAULT_MAP"


def _say(text: str) -> None:
    typer.echo(one_line(text), err=True)  # which stays silent where standard error is closed


if __name__ == "__main__":
    main()
