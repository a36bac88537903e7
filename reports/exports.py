"""A run as files for other programs: tables as CSV and Parquet, every chart as SVG and PNG.

No browser is needed. Parquet needs the extra `parquet`.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
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
from reports.wording import clean

PNG_SCALE: Final = 2.0
NESTED: Final = ("parameters", "resolved", "violated", "not_declared")
"""Columns that hold more than a number or a text: written as JSON."""


File = tuple[str, Callable[[Path], object]]
"""A name, and what writes it to a path."""


def tables(run: Run) -> dict[str, pd.DataFrame]:
    """Return the tidy tables of a run by name: `rows` (a cell each) and `settings`."""
    rows = run.rows.drop(columns="key")
    for name in NESTED:
        rows[name] = [json.dumps(value, ensure_ascii=False, default=list) for value in rows[name]]
    return {"rows": rows, "settings": run.settings()}


def pictures(run: Run) -> Iterator[tuple[str, Drawn]]:
    """Yield every chart of the page with its name, such as `pareto-1`."""
    for block in blocks(run):
        for chart, drawn in charts_of(run, block):
            yield chart.name, drawn


def files_of(run: Run) -> tuple[File, ...]:
    """Return what an export writes; Parquet only if it can be written here."""
    return tuple(_files(run))


def export(
    files: Sequence[File], folder: Path, note: Callable[[str], None] = lambda name: None
) -> tuple[Path, ...]:
    """Write files into a folder, which is made if it is not there.

    Args:
        files: Of `files_of`.
        folder: Where to.
        note: Called before each file with its name.

    Returns:
        The files, in the order of their writing.

    Raises:
        ResultsError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in files:
            note(name)
            write(folder / name)
    except OSError as error:
        raise ResultsError(
            f"cannot write to {folder}: {error.strerror}; choose another folder"
        ) from error
    return tuple(folder / name for name, _ in files)


def has_parquet() -> bool:
    return find_spec("pyarrow") is not None


def _files(run: Run) -> Iterator[File]:
    for name, table in tables(run).items():
        yield f"{name}.csv", partial(table.map(_in_csv).to_csv, index=False)
        if has_parquet():
            yield f"{name}.parquet", partial(table.to_parquet, index=False)
    for name, drawn in pictures(run):
        spec = {**drawn.to_dict(), "background": "white"}
        yield f"{name}.svg", partial(_write_svg, spec)
        yield f"{name}.png", partial(_write_png, spec)


def _in_csv(value: object) -> object:
    """Return a text so that it steers no terminal and is no formula of a spreadsheet.

    Names and folders come from files of others. Parquet has them as they are.
    """
    if not isinstance(value, str):
        return value
    line = clean(value, sys.maxsize)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def _write_svg(spec: dict[str, Any], path: Path) -> None:
    path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


def _write_png(spec: dict[str, Any], path: Path) -> None:
    path.write_bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE))
