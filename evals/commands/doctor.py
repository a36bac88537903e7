"""`doctor`: say what was read, what was skipped, and why."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evals.commands.exit_codes import EXIT_INTERRUPTED


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
