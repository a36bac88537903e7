"""`compare`: two settings, or two runs, on the same transcripts; a gate for CI."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from compaction.errors import StrategyError
from evals.commands.exit_codes import EXIT_FAILED
from evals.commands.flags import Cluster, pairs_of
from evals.commands.notes import say_incomplete
from evals.commands.progress import steps
from evals.printed_json import printed_json

if TYPE_CHECKING:
    from reports.compare import Comparison


def compare(
    baseline: Annotated[
        str, typer.Argument(metavar="A", help="Run folder, or RUN::SETTING as the table names it.")
    ],
    candidate: Annotated[str, typer.Argument(metavar="B", help="The same, to be judged.")],
    *,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 1 if it holds for B minus A: reach<-0.02, saving_fraction.low<-5%, "
            "reach=inferior. Repeatable.",
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=NUMBER",
            help="How much worse still counts as not inferior, e.g. reach=0.03. Repeatable.",
        ),
    ] = None,
    md: Annotated[
        Path | None,
        typer.Option("--md", metavar="FILE", help="Write Markdown for a pull request to FILE."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON in place of the table; it takes no FILE."),
    ] = False,
    cluster: Cluster = "session",
) -> None:
    """Compare two settings or two runs, transcript by transcript.

    Exits with 1 if a --fail-on holds or cannot be judged on these transcripts, if B failed or broke
    a rule where A did not or was not run on all that A was, or if a run lacks rows of A or B.

    Difference: B minus A, a mean over the transcripts that both scored; of saved input and dollars
    what all of these save together, of what they take together. A side that saved less than 1 % on
    a transcript, or removed none of its facts, counts with what it kept there: all, if it did
    nothing.

    95 % bootstrap: over sessions; below 20 of them each end is the farther one of it and of
    Student's t. p: sign flips, two-sided; where there is a verdict it is adjusted (Holm) for all of
    those here, else it stands as it is.

    Verdict: non-inferior if the whole 90 % interval, which stands beside it, is better than minus
    the margin, inferior if the whole of it is worse; each by itself, not adjusted. Of shares that
    is no bootstrap but a bound (Gaffke) that holds for few sessions and rare losses: as if one more
    session had lost all, or gained all (nothing, if A is identity). It takes 59 sessions to show a
    margin of 5 points and 149 to show one of 2, even if nothing is lost, and the 90 % interval may
    be wider than the 95 % bootstrap. Savings have no limit below, so there it is the bootstrap,
    which knows no losses but those it saw. The margin of quotes is less, because an edit fails if
    a byte of what it quotes is missing. Violations have no verdict: any new one fails.

    Example: compaction-evals compare base-run new-run --fail-on 'reach<-0.02'
    """
    from rich.console import Console

    from evals.audit.command import write_text
    from reports import compare_text
    from reports.gate import conditions, judge

    wanted = conditions(fail_on or ())
    found, left_out, gaps = _compared(baseline, candidate, _margins(margin or []), cluster)
    gate = judge(wanted, found, gaps)
    if md is not None:
        write_text(md, compare_text.markdown(found, gate, left_out))
    if as_json:
        typer.echo(printed_json(compare_text.as_json(found, gate, left_out)))
    else:
        console = Console()
        console.print(compare_text.terminal(found, left_out, width=console.width))
    errors = Console(stderr=True)
    for text in gate.failed:
        errors.print(f"failed: {text}", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(EXIT_FAILED if gate.failed else 0)


def _margins(given: list[str]) -> dict[str, float]:
    margins: dict[str, float] = {}
    for name, text in pairs_of(given, "--margin").items():
        try:
            margins[name] = float(text)
        except ValueError:
            raise StrategyError(f"--margin {name}: {text!r} is no number") from None
    return margins


def _compared(
    baseline: str,
    candidate: str,
    margins: Mapping[str, float],
    cluster: Literal["session", "project"],
) -> "tuple[tuple[Comparison, ...], tuple[str, ...], tuple[str, ...]]":
    """Return the comparisons, what is in one of the runs only, and what was not run."""
    from reports.compare import compare_pairs, kinds_left_out, left_out, pairs_of
    from reports.frames import load
    from reports.measures import with_margins
    from reports.sides import Side
    from reports.unmatched import gaps

    (path_a, label_a), (path_b, label_b) = map(_side, (baseline, candidate))
    measures = with_margins(margins)
    with steps("comparing", 3) as note:
        note(f"reading {path_a}")
        run_a = load(path_a, cluster=cluster)
        note(f"reading {path_b}")
        run_b = run_a if path_b == path_a else load(path_b, cluster=cluster)
        for path, run in {path_a: run_a, path_b: run_b}.items():
            say_incomplete(path, run.incomplete)
        note("statistics")
        if label_a is None and label_b is None:
            pairs, only = pairs_of(run_a, run_b), left_out(run_a, run_b)
        else:
            sides = (Side(run_a, label_a or str(label_b)), Side(run_b, label_b or str(label_a)))
            pairs, only = (sides,), kinds_left_out(run_a, run_b)
        return compare_pairs(pairs, measures), tuple(only), tuple(gaps(pairs))


def _side(text: str) -> tuple[Path, str | None]:
    """Return run folder and setting; a folder of that very name comes first."""
    if Path(text).is_dir():
        return Path(text), None
    path, separator, label = text.partition("::")
    return Path(path), label if separator else None
