"""`list`: strategies with their parameters, metrics, datasets."""

from typing import Annotated

import typer

from compaction.errors import StrategyError


def list_(
    what: Annotated[str, typer.Argument(help="strategies, metrics or datasets")] = "strategies",
) -> None:
    """List strategies with their parameters, metrics, or datasets.

    Example: compaction-evals list metrics
    """
    from evals.listing import LISTINGS

    if what not in LISTINGS:
        raise StrategyError(f"cannot list {what!r}; known: {', '.join(LISTINGS)}")
    LISTINGS[what]()
