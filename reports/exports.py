"""A run as files for other programs: tables as CSV and Parquet, every chart as SVG and PNG.

No browser is needed. Parquet needs the extra `parquet`.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

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


def n_files(run: Run) -> int:
    """Return how many files an export writes."""
    per_table = 2 if has_parquet() else 1
    return per_table * len(tables(run)) + 2 * sum(1 for _ in pictures(run))


def export(
    run: Run, folder: Path, note: Callable[[str], None] = lambda name: None
) -> tuple[Path, ...]:
    """Write everything into a folder; Parquet only if it can be written here.

    Args:
        run: What was run.
        folder: Made if it is not there.
        note: Called before each file with its name.

    Returns:
        The files, in the order of their writing.

    Raises:
        ResultsError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return tuple(_written(run, folder, note))
    except OSError as error:
        raise ResultsError(f"cannot write to {folder}: {error.strerror}") from error


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def _written(run: Run, folder: Path, note: Callable[[str], None]) -> Iterator[Path]:
    for name, write in _files(run):
        note(name)
        write(folder / name)
        yield folder / name


def _files(run: Run) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Yield the name of each file and what writes it."""
    for name, table in tables(run).items():
        yield f"{name}.csv", partial(table.to_csv, index=False)
        if has_parquet():
            yield f"{name}.parquet", partial(table.to_parquet, index=False)
    for name, drawn in pictures(run):
        spec = {**drawn.to_dict(), "background": "white"}
        yield f"{name}.svg", partial(_write_svg, spec)
        yield f"{name}.png", partial(_write_png, spec)


def _write_svg(spec: dict[str, Any], path: Path) -> None:
    path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


def _write_png(spec: dict[str, Any], path: Path) -> None:
    path.write_bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))
