"""Put the picture and the table of the bundled run into the README.

    compaction-evals run && python .ci/readme_figures.py compaction-runs/bundled

A test fails when they are stale: both are made from the rows alone, so the same rows give the same
bytes.
"""

import sys
from pathlib import Path

import vl_convert

from evals.results import ResultsError
from reports.charts import pareto
from reports.frames import Run, load
from reports.league import blocks
from reports.tables import markdown_table

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / ".github" / "bundled-pareto.svg"
BEGIN, END = "<!-- bundled run: begin -->", "<!-- bundled run: end -->"
SHOWN = (
    "saving_fraction",
    "saved_usd_fraction",
    "reach",
    "reach_difference",
    "facts_kept_fraction",
    "lost",
    "violations",
)
"""Metrics whose columns are shown; the report has all."""


def picture_of(run: Run) -> str:
    """Return the first chart of the report as SVG, on white."""
    chart = pareto(run)
    if chart is None:
        raise ResultsError(f"{run.path} has no setting with both a saving and a reach")
    spec = {**chart.to_dict(), "background": "white"}
    return vl_convert.vegalite_to_svg(spec)


def table_of(run: Run) -> str:
    """Return the league table of the first block with the columns that matter most."""
    block = blocks(run)[0]
    return markdown_table(block, metrics=SHOWN)


def with_table(readme: str, table: str) -> str:
    """Return the README with another table between the marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ResultsError(f"README.md needs the marks {BEGIN} and {END}, in this order")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def main(folder: Path) -> None:
    run = load(folder)
    PICTURE.write_text(picture_of(run), encoding="utf-8")
    readme = with_table(README.read_text(encoding="utf-8"), table_of(run))
    README.write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
