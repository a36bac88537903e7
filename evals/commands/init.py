"""`init`: a test file and a CI job for the user's own repository."""

from pathlib import Path
from typing import Annotated

import typer

from compaction.errors import one_line


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
        typer.echo(one_line(f"wrote {path}"))
