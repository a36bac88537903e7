"""`recommend`: the cheapest setting of a run that reaches enough, as configuration to copy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from compaction.errors import StrategyError
from evals.commands.exit_codes import EXIT_FAILED, EXIT_UNCONFIRMED
from evals.commands.flags import Cluster
from evals.commands.notes import say_incomplete
from evals.printed_json import printed_json

MinReach = Annotated[
    str | None,
    typer.Option(
        metavar="X",
        help="Share of needs that must stay reachable, 0.9 or 90%. Without: 0.9.",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="How far below --min-reach the half that confirms may be. Without: 0.05.",
    ),
]
AllForms = Annotated[
    bool,
    typer.Option(
        "--all-forms",
        help="Print the setting for every framework that has it, and for this library.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, not text.")]
MEANINGS: Final[Mapping[int, str]] = {
    0: "confirmed",
    EXIT_FAILED: "no setting is named",
    EXIT_UNCONFIRMED: "not confirmed",
}
"""Exit code of this command -> what it says."""


def recommend(
    run_folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    *,
    min_reach: MinReach = None,
    margin: Margin = None,
    all_forms: AllForms = False,
    as_json: AsJson = False,
    cluster: Cluster = "session",
) -> None:
    """Recommend the cheapest setting whose lower bound of reach is enough, with its configuration.

    n sessions that lose nothing support a reach of at most 0.05 ** (1 / n): 74.1 % with 10, 90 %
    from 29 on. Fewer than 10 support no claim; there the worst transcript decides.

    Columns. Cost: of all transcripts, with the setting's own model calls. Dearer: transcripts on
    which that is more than without compaction, of all. Saved: input tokens, %.
    Reach: share of needs over long gaps, %, mean over the transcripts with any; one on which the
    setting did nothing counts. Bound: one-sided 95 % lower bound of reach over all sessions, not
    corrected for the choice among settings. Worst: least of any transcript. Truncation: reach of
    plain truncation at the same saving. Best: the most that a choice of whole messages could reach
    with the same tokens. Both where the setting did anything: its own reach there if that is on
    fewer transcripts, and their number. Eng/n: transcripts with needs on which it did anything
    (saved at least 1 %), of all with needs.

    Exits with 0 if held-out sessions confirm what is named, with 3 if they do not or are too few,
    with 1 if no setting is named. This is what a job gates on: the exit code of `sweep` says only
    whether it ran.

    Example: compaction-evals recommend compaction-runs/bundled --min-reach 0.7
    """
    reach = wanted_reach(min_reach)
    code = print_recommendations(
        run_folder, reach, margin=margin, all_forms=all_forms, as_json=as_json, cluster=cluster
    )
    raise typer.Exit(code)


def wanted_reach(text: str | None) -> float | None:
    """Read a share, as a fraction or in percent.

    Raises:
        StrategyError: no number, or not between 0 and 1.
    """
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise StrategyError(f"--min-reach {text!r} is no number; write 0.9 or 90%") from None
    if not 0 <= value <= 1:
        raise StrategyError(f"--min-reach must be between 0 and 1, got {text}; 90 % is 0.9 or 90%")
    return value


def print_recommendations(
    path: Path,
    min_reach: float | None,
    *,
    margin: float | None,
    all_forms: bool,
    as_json: bool,
    cluster: Literal["session", "project"] = "session",
) -> int:
    """Print what is recommended for each provenance of a run.

    Returns:
        The exit code: of no setting at all, of one that is not confirmed, or 0.
    """
    from rich.console import Console

    from reports import recommend_json, recommend_text
    from reports.frames import load
    from reports.recommend import DEFAULT_MARGIN, DEFAULT_MIN_REACH
    from reports.recommend import recommend as recommended
    from reports.self_checks import self_checks

    run = load(path, cluster=cluster)
    checks = self_checks(run)
    say_incomplete(path, run.incomplete)
    found = recommended(
        run,
        min_reach=DEFAULT_MIN_REACH if min_reach is None else min_reach,
        margin=DEFAULT_MARGIN if margin is None else margin,
    )
    if as_json:
        content = recommend_json.as_json(found, checks)
        typer.echo(printed_json(content))
    else:
        shown = recommend_text.terminal(found, checks, all_forms=all_forms)
        Console().print(shown, crop=False)
    named = [each for each in found if each.chosen is not None]
    if not named:
        return EXIT_FAILED
    return 0 if all(each.is_confirmed for each in named) else EXIT_UNCONFIRMED
