"""Put the picture and the table of the bundled run into the README.

    compaction-evals run && python .ci/readme_figures.py compaction-runs/bundled

A test fails when they are stale: both are made from the rows alone, so the same rows give the same
bytes.
"""

import hashlib
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import vl_convert

from evals.results import ResultsError
from reports.answer import answers
from reports.charts import pareto, pareto_points
from reports.frames import Run, load
from reports.league import blocks
from reports.tables import escaped, markdown_table

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / ".github" / "bundled-pareto.svg"
WIDTH = 100
BEGIN, END = "<!-- bundled run: begin -->", "<!-- bundled run: end -->"
SHOWN = (
    "saving_fraction",
    "saved_usd_fraction",
    "dearer",
    "reach",
    "reach_difference",
    "compared_reach",
    "facts_kept_fraction",
    "lost",
    "compactions_failed",
    "violations",
    "engaged",
)
"""Metrics whose columns are shown; the report has all."""


def spec_of(run: Run) -> dict[str, Any]:
    """Return the first chart of the report, on white."""
    chart = pareto(run)
    if chart is None:
        raise ResultsError(f"{run.path} has no setting with both a saving and a reach")
    return {**chart.to_dict(), "background": "white"}


def mark_of(run: Run) -> str:
    """Return the line by which a test tells that a picture is stale, whoever drew it."""
    points = pareto_points(run, run.provenances[0])
    shown = points[["setting", "saved", "reach"]].round(1).to_numpy().tolist()
    return f"<!-- points {hashlib.sha256(json.dumps(shown).encode()).hexdigest()} -->"


def picture_of(run: Run) -> str:
    return f"{vl_convert.vegalite_to_svg(spec_of(run))}\n{mark_of(run)}\n"


def table_of(run: Run) -> str:
    """Return the table of the first block with the columns that matter most, and the answer."""
    block = blocks(run)[0]
    answer = f"What the report says of it: {escaped(answers(run)[0].text)}"
    folded = textwrap.fill(answer, WIDTH, break_on_hyphens=False)
    return f"{markdown_table(block, metrics=SHOWN)}\n\n{folded}"


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
