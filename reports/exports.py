"""A run as files for other programs: tables as CSV and Parquet, every chart as SVG and PNG.

No browser is needed. Parquet needs the extra `parquet`.
"""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pandas as pd
import vl_convert

from evals.results import ResultsError
from reports.frames import Run
from reports.league import blocks
from reports.page_charts import Drawn, charts_of

PNG_SCALE: Final = 2.0
NESTED: Final = ("parameters", "resolved", "violated", "not_declared")
"""Columns that hold more than a number or a text: written as JSON."""


def tables(run: Run) -> dict[str, pd.DataFrame]:
    """Return the tidy tables of a run by name: `rows` (a cell each) and `settings`."""
    rows = run.rows.copy()
    for name in NESTED:
        rows[name] = [json.dumps(value, ensure_ascii=False, default=list) for value in rows[name]]
    return {"rows": rows, "settings": run.settings()}


def pictures(run: Run) -> Iterator[tuple[str, Drawn]]:
    """Yield every chart of the page with its name, such as `pareto-1`."""
    for block in blocks(run):
        for chart, drawn in charts_of(run, block):
            yield chart.name, drawn


def export(run: Run, folder: Path) -> tuple[Path, ...]:
    """Write everything into a folder; Parquet only if it can be written here.

    Returns:
        The files, in the order of their writing.

    Raises:
        ResultsError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(_written(run, folder))
    except OSError as error:
        raise ResultsError(f"cannot write to {folder}: {error.strerror}") from error


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def _written(run: Run, folder: Path) -> Iterator[Path]:
    for name, table in tables(run).items():
        path = folder / f"{name}.csv"
        table.to_csv(path, index=False)
        yield path
        if has_parquet():
            path = folder / f"{name}.parquet"
            table.to_parquet(path, index=False)
            yield path
    for name, drawn in pictures(run):
        spec = {**drawn.to_dict(), "background": "white"}
        path = folder / f"{name}.svg"
        path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
        yield path
        path = folder / f"{name}.png"
        path.write_bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))
        yield path
