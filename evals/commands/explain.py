"""`explain`: what the model would have seen at one request, and what was missing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from compaction.errors import CompactionError
from evals.commands.notes import say_incomplete
from evals.commands.progress import steps

if TYPE_CHECKING:
    from evals.explain import Explanation
    from evals.results import Row
    from evals.transcripts import Transcript


class ExplainError(CompactionError):
    """What was asked for is not in the run, or cannot be replayed any more."""


def explain(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    transcript: Annotated[str, typer.Argument(help="Its name in the report, or a part of it.")],
    request: Annotated[
        int | None,
        typer.Argument(help="Counts from 0. Without: the first at which something was missing."),
    ] = None,
    *,
    setting: Annotated[
        str | None, typer.Option(help="As the table names it. Without: the one that lost most.")
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show messages that were sent whole one by one.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with both sides in full to this file.")
    ] = None,
) -> None:
    """Show history and view of a request side by side, each need, and what would have kept it.

    Shows text of the conversation, and so does the page that it writes.

    Example: compaction-evals explain compaction-runs/bundled settlement-incident
    """
    from rich.console import Console

    from evals.explain_text import terminal

    found = _explained(run_folder, transcript, request, setting)
    if html is not None:
        from evals.audit.command import write_text
        from reports.explain_page import page

        write_text(html, page(asdict(found)))
    Console().print(terminal(found, show_all=show_all))


def _explained(
    run_folder: Path, transcript: str, request: int | None, setting: str | None
) -> "Explanation":
    from evals.cells import ModelChoice
    from evals.explain import explain as explain_cell
    from evals.needs import find_needs
    from evals.prepare import prepare
    from evals.results import RunFolder, incomplete
    from evals.settings import Setting, bind

    folder = RunFolder(run_folder)
    manifest = folder.manifest()
    rows = list(folder.rows())
    say_incomplete(run_folder, incomplete(manifest, {row.cell_id for row in rows}))
    row = _chosen(rows, transcript, setting)
    prepared = prepare(_loaded(row))
    strategy = bind(Setting(row.strategy, dict(row.parameters)), prepared)
    needs = find_needs(prepared)
    with steps("replaying", (request or len(prepared.requests) - 1) + 1) as note:
        return explain_cell(
            prepared,
            needs,
            strategy,
            ModelChoice().make(),
            label=row.label,
            request=request,
            seed=int(manifest.get("seed", 0)),
            note=note,
        )


def _chosen(rows: "list[Row]", transcript: str, setting: str | None) -> "Row":
    named = [row for row in rows if transcript in (row.transcript, row.source)]
    if not named and transcript:
        named = [row for row in rows if transcript == Path(row.source).name]
    if not named and transcript:
        named = [row for row in rows if transcript in row.transcript]
    if not named and transcript:
        named = [row for row in rows if transcript in Path(row.source).name]
    if not named:
        known = _names(rows) or "none"
        raise ExplainError(f"no transcript {transcript!r} in the run; it has {known}")
    if len({row.transcript_digest for row in named}) > 1:
        raise ExplainError(f"{transcript!r} may be any of {_names(named)}; give the whole name")
    if setting is not None:
        labelled = [row for row in named if row.label == setting]
        if not labelled:
            known = ", ".join(row.label for row in named)
            raise ExplainError(
                f"no setting {setting!r} for {named[0].transcript}; there are {known}"
            )
        return labelled[-1]
    scored = [row for row in named if row.status == "ok" and not row.is_control]
    if not scored:
        raise ExplainError(
            f"no setting was scored on {named[0].transcript}; name one with --setting"
        )
    return max(scored, key=lambda row: (row.lost + row.undeclared, row.label))


def _names(rows: "Sequence[Row]") -> str:
    """List transcripts, by their files where one name is that of several."""
    found = {row.transcript_digest: row for row in rows}.values()
    times = Counter(row.transcript for row in found)
    return ", ".join(row.transcript if times[row.transcript] == 1 else row.source for row in found)


def _loaded(row: "Row") -> "Transcript":
    from evals.loading import bundled_files, load, survey

    path = Path(row.source)
    bundled = [each for each in bundled_files() if row.source == f"datasets/{each.parent.name}"]
    if not bundled and not path.exists():
        raise ExplainError(f"{path} is not here; run `explain` where the run was made")
    for location in survey(bundled or [path]).locations:
        found = load(location)
        if found.digest == row.transcript_digest:
            return found
    raise ExplainError(
        f"{row.source} has changed since the run, or is read in another way now; run it again"
    )
