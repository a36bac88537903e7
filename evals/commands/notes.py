"""What a command that reads a run says beside its result."""

from pathlib import Path

import typer

from compaction.errors import one_line


def say_incomplete(path: Path, lacks: str | None) -> None:
    """Say on standard error that rows of a run are missing, where some are."""
    if lacks is not None:
        typer.echo(one_line(f"{path}: {lacks}"), err=True)
