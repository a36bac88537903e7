"""`check`: the invariants of a strategy, on generated and recorded conversations."""

from pathlib import Path
from typing import Annotated

import typer

from evals.commands.completion import complete_strategy
from evals.commands.flags import Sets, pairs_of


def check(
    strategy: Annotated[
        str,
        typer.Argument(
            metavar="STRATEGY",
            autocompletion=complete_strategy,
            help="A name from `list strategies`, or your code: module:name or path.py:name.",
        ),
    ],
    *,
    set_: Sets = None,
    promise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=V]",
            help="Check this of your function as well: keeps_last_user, keep_last_results=3.",
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Generated conversations.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the generator.")] = 0,
    time_budget: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Stop looking after this.")
    ] = 60.0,
    recorded: Annotated[bool, typer.Option(help="Check the bundled conversations too.")] = True,
    save: Annotated[
        Path | None, typer.Option(help="Write what was found as a test file of its own.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0.")] = None,
) -> None:
    """Check the invariants of a strategy; exit with 1 if one is broken.

    Your code runs in this process. A call that does not return is ended by --time-budget.

    Example: compaction-evals check mypkg/compact.py:compact --save tests/test_found.py
    """
    from rich.console import Console

    from evals.checking import CheckRequest, check_strategy

    asked = CheckRequest(
        strategy=strategy,
        parameters=pairs_of(set_ or [], "--set"),
        promises=tuple(promise or ()),
        examples=examples,
        seed=seed,
        budget_seconds=time_budget,
        with_recorded=recorded,
        save=save,
        junit=junit,
        sarif=sarif,
    )
    raise typer.Exit(check_strategy(asked, Console(emoji=False)))
