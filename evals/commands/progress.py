"""A bar on a terminal's standard error for what may take longer than two seconds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from compaction.errors import one_line

Note = Callable[[str], None]
"""Called when a step begins, with what is done in it."""
MAX_NAME_CHARS = 40


@contextmanager
def steps(verb: str, total: int) -> Iterator[Note]:
    """Show how many of so many steps are done and the time left; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    columns = (
        TextColumn(verb),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, completed=-1)

        def note(name: str) -> None:
            bar.update(task, advance=1, description=one_line(name[:MAX_NAME_CHARS]))

        yield note
