"""What there is to choose from: strategies with their parameters, metrics, bundled datasets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final

from compaction.registry import load_strategy_class
from evals.controls import CONTROLS
from evals.dataset_summaries import summarise
from evals.datasets_folder import bundled_datasets
from evals.metrics import METRICS
from evals.settings import KNOWN

TABLE_CHARS: Final = 110
"""Below it a column would be a few letters wide."""


def list_strategies() -> None:
    """Print each strategy with its parameters and their defaults."""
    rows = []
    for name in KNOWN:
        strategy_class = load_strategy_class(name, table=KNOWN)
        summary = (strategy_class.__doc__ or "").strip().split("\n")[0]
        kind = " (control)" if name in CONTROLS else ""
        rows.append((f"{name}{kind}", summary, "\n".join(_parameters(strategy_class))))
    _print(("strategy", "what it does", "parameters (defaults)"), rows)


def list_metrics() -> None:
    """Print each metric with its unit, direction and definition."""
    rows = [(metric.name, metric.unit, metric.better, metric.definition) for metric in METRICS]
    _print(("column", "unit", "better", "definition"), rows)


def list_datasets() -> None:
    """Print each bundled dataset with its size, as its files have it."""
    rows = []
    for summary in map(summarise, bundled_datasets()):
        size = [
            f"{'long' if summary.is_long else 'short'}, {summary.requests} requests",
            f"{summary.peak_tokens:,} peak tokens",
            f"{summary.facts} key facts",
        ]
        origin = f"(turns: {summary.turns}; licence: {summary.licence})"
        rows.append((summary.name, "\n".join(size), f"{summary.about}\n{origin}"))
    _print(("dataset", "size", "about"), rows)


LISTINGS: Final[Mapping[str, Callable[[], None]]] = {
    "strategies": list_strategies,
    "metrics": list_metrics,
    "datasets": list_datasets,
}


def _parameters(strategy_class: Any) -> list[str]:
    lines = []
    for item in fields(strategy_class):
        if item.init:
            unit = f" {item.metadata['unit']}" if "unit" in item.metadata else ""
            default = item.default
            if default is MISSING and item.default_factory is not MISSING:
                default = item.default_factory()
            lines.append(f"{item.name}={default}{unit}")
    return lines


def _print(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, or where it has no room each row as a paragraph."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if console.width < TABLE_CHARS:
        for name, *others in rows:
            console.print(Text(name, style="bold"))
            console.print(Padding(Text("\n".join(filter(None, others))), (0, 0, 1, 2)))
        return
    table = Table(box=None, pad_edge=False, show_lines=False, padding=(0, 2, 1, 0))
    for number, head in enumerate(heads):
        table.add_column(head, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
