"""`audit`: what the compactions recorded in sessions lost, and what others would have kept."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compaction.errors import one_line
from evals.commands.completion import complete_strategy
from evals.commands.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED
from evals.commands.flags import (
    DEFAULT_JOBS,
    BaseUrl,
    Grids,
    Jobs,
    Model,
    Price,
    PriceFile,
    Sets,
    Timeout,
    check_model,
    grids_of,
    pairs_of,
)

if TYPE_CHECKING:
    from evals.audit.command import Audited, AuditRequest


def audit(
    paths: Annotated[list[Path], typer.Argument(help="Sessions: files or folders.")],
    *,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            autocompletion=complete_strategy,
            help="Who stands beside the recorded compaction: a name from `list strategies`, or "
            "your code. Repeatable. Without any: clear_tool_results and the reference systems.",
        ),
    ] = None,
    set_: Sets = None,
    grid: Grids = None,
    model: Model = None,
    base_url: BaseUrl = None,
    controls: Annotated[
        bool, typer.Option(help="Truncation, everything and nothing beside the strategies.")
    ] = True,
    jobs: Jobs = DEFAULT_JOBS,
    timeout: Timeout = 30.0,
    price: Price = None,
    price_file: PriceFile = None,
    show_text: Annotated[
        bool,
        typer.Option("--show-text", help="Name what was lost, read again and invented."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Everything as JSON on standard output.")
    ] = False,
    md: Annotated[
        Path | None, typer.Option("--md", metavar="FILE", help="Write it as Markdown too.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for audit.html, audit.md and audit.json."),
    ] = None,
) -> None:
    """Say what the compactions recorded in sessions lost, and what others would have kept.

    Exits with 1 if a file was not understood or something failed.

    Example: compaction-evals audit ~/.claude/projects --show-text --out audit
    """
    from evals.audit.command import AuditRequest, json_text, write_text
    from evals.audit.rendering import as_markdown, as_text
    from evals.audit.text import sections_of

    check_model(model, base_url)
    asked = AuditRequest(
        paths=tuple(paths),
        strategies=tuple(strategy or ()),
        fixed=pairs_of(set_ or [], "--set"),
        grid=grids_of(grid or [], "--grid"),
        with_controls=controls,
        model=model,
        base_url=base_url,
        timeout_seconds=timeout,
        price=price,
        price_file=price_file,
        show_text=show_text,
        jobs=jobs,
        command=" ".join(["compaction-evals", *sys.argv[1:]]),
    )
    audited = _with_bar(asked)
    found = audited.audit
    typer.echo(json_text(found) if as_json else as_text(sections_of(found), _width()), nl=False)
    if md is not None:
        write_text(md, as_markdown(sections_of(found)))
    if out is not None:
        _write(audited, out)
    if audited.is_stopped:
        n_done, n_all = len(found.sessions), len(audited.found.locations)
        typer.echo(f"stopped after {n_done:,} of {n_all:,} sessions", err=True)
        sys.exit(EXIT_INTERRUPTED)  # typer.Exit would say that the same command continues
    raise typer.Exit(EXIT_FAILED if audited.has_failed else 0)


def _width() -> int | None:
    """Return the columns of the terminal, or None for a pipe of which nobody says any."""
    is_told = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return shutil.get_terminal_size().columns if is_told else None


def _write(audited: "Audited", folder: Path) -> None:
    from evals.audit.command import to_json, write_files, write_text
    from reports.audit_page import PAGE_FILE, audit_html

    write_files(audited.audit, folder)
    write_text(folder / PAGE_FILE, audit_html(to_json(audited.audit)))
    typer.echo(one_line(f"wrote {folder / PAGE_FILE}"), err=True)


def _with_bar(asked: "AuditRequest") -> "Audited":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from evals.audit.command import run_audit
    from evals.run_verdict import say_refused

    console = Console(stderr=True)
    columns = (
        TextColumn("auditing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("reading files", total=None)

        def note(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=one_line(name[:40]))

        audited = run_audit(asked, note)
    say_refused(console, audited.found)
    return audited
