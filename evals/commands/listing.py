"""`list`: strategies with their parameters, metrics, datasets."""

from typing import Annotated

import typer

from compaction.errors import StrategyError
from evals.commands.completion import complete_listing


def list_(
    what: Annotated[
        str,
        typer.Argument(help="strategies, metrics or datasets", autocompletion=complete_listing),
    ] = "strategies",
) -> None:
    """List strategies with their parameters, metrics, or datasets.

    Example: compaction-evals list metrics
    """
    from evals.listing import LISTINGS

    if what not in LISTINGS:
        raise StrategyError(f"cannot list {what!r}; known: {', '.join(LISTINGS)}")
    LISTINGS[what]()
