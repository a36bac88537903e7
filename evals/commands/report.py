"""`report`: the page, the Markdown and the table again, from a run folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from compaction.errors import one_line
from evals.commands.flags import Cluster
from evals.commands.progress import steps

if TYPE_CHECKING:
    from reports.frames import Run


def report(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    *,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write tables as CSV (and Parquet) and charts as SVG and PNG too."
        ),
    ] = None,
    costs: Annotated[
        bool, typer.Option("--costs", help="Print the table of costs instead.")
    ] = False,
    cluster: Cluster = "session",
) -> None:
    """Write report.html and report.md again and print the table.

    Example: compaction-evals report compaction-runs/bundled --costs
    """
    run = write_reports(run_folder, only_costs=costs, cluster=cluster)
    if export is not None:
        _export(run, export)


def write_reports(
    path: Path,
    *,
    show_faults: bool = True,
    only_costs: bool = False,
    cluster: Literal["session", "project"] = "session",
) -> "Run":
    """Write `report.html` and `report.md` into a run folder and print the table.

    Args:
        path: The run folder.
        show_faults: Print failed cells and broken rules below the table.
        only_costs: Print the table of costs instead.
        cluster: What statistics draw as a whole.

    Returns:
        What was read of the folder.
    """
    from rich.console import Console

    from evals.audit.command import write_text
    from reports import page, tables
    from reports.frames import load

    console = Console()
    with steps("reporting", 4) as note:
        note("reading the run")
        run_frames = load(path, cluster=cluster)
        note("report.md")
        write_text(path / "report.md", tables.markdown(run_frames))
        note("report.html")
        write_text(path / "report.html", page.html(run_frames))
        note("table")
        table = tables.terminal(
            run_frames, width=console.width, show_faults=show_faults, only_costs=only_costs
        )
    console.print(table)
    place = one_line(f"report: {path / 'report.html'}")
    console.print(place, markup=False, highlight=False, soft_wrap=True)
    return run_frames


def _export(run: "Run", target: Path) -> None:
    from reports.exports import export, files_of, has_parquet

    files = files_of(run)
    with steps("exporting", len(files)) as note:
        written = export(files, target, note)
    for path in written:
        typer.echo(one_line(f"wrote {path}"))
    if not has_parquet():
        typer.echo("no Parquet: pip install 'compaction-evals[parquet]'", err=True)
