"""What there is to choose from: strategies with their parameters, metrics, bundled datasets."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, Final

from compaction.registry import load_strategy_class
from evals.controls import CONTROLS
from evals.dataset_summaries import summarise
from evals.datasets_folder import bundled_datasets
from evals.metrics import METRICS
from evals.settings import KNOWN

if TYPE_CHECKING:
    from rich.table import Table


def list_strategies() -> None:
    """Print each strategy with its parameters and their defaults."""
    table = _table("strategy", "what it does", "parameters (defaults)")
    for name in KNOWN:
        strategy_class = load_strategy_class(name, table=KNOWN)
        summary = (strategy_class.__doc__ or "").strip().split("\n")[0]
        kind = " (control)" if name in CONTROLS else ""
        table.add_row(f"{name}{kind}", summary, "\n".join(_parameters(strategy_class)))
    _print(table)


def list_metrics() -> None:
    """Print each metric with its unit, direction and definition."""
    table = _table("column", "unit", "better", "definition")
    for metric in METRICS:
        table.add_row(metric.name, metric.unit, metric.better, metric.definition)
    _print(table)


def list_datasets() -> None:
    """Print each bundled dataset with its size, as its files have it."""
    table = _table("dataset", "size", "about")
    for summary in map(summarise, bundled_datasets()):
        size = [
            f"{'long' if summary.is_long else 'short'}, {summary.requests} requests",
            f"{summary.peak_tokens:,} peak tokens",
            f"{summary.facts} key facts",
        ]
        origin = f"(turns: {summary.turns}; licence: {summary.licence})"
        table.add_row(summary.name, "\n".join(size), f"{summary.about}\n{origin}")
    _print(table)


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


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_lines=False, padding=(0, 2, 1, 0))
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    return table


def _print(table: "Table") -> None:
    from rich.console import Console

    Console().print(table, markup=False)
