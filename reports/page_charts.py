"""Which charts a page shows of one kind of transcripts, where they stand, and what they say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import altair as alt

from reports.charts import (
    Layered,
    front,
    oracle_line,
    pareto,
    pareto_points,
    strategy_colours,
    truncation_line,
)
from reports.cost_breakdown import MAX_SETTINGS, breakdown, cost_breakdown
from reports.frames import Run
from reports.heat_map import MAX_MAPS, grids, heat_map
from reports.league import Block
from reports.lost import shown_label
from reports.small_multiples import MAX_TRANSCRIPTS, small_multiples, small_points
from reports.timeline import Timeline, draw, timeline_of
from reports.wording import clean, plural

PARETO_CAPTION: Final = (
    "Each point is a setting, with the saved and reach of the table; further right and higher up "
    "is better."
)
MATCHED_CAPTION: Final = (
    "Dash joined to a point: plain truncation at the same saving on the same transcripts; a point "
    "below its dash loses more than truncation."
)
ORACLE_CAPTION: Final = (
    "Green dash: the most that keeping whole messages could reach with the same tokens."
)
DOLLARS_CAPTION: Final = (
    "Dollars at the prices and caching rules named below, with the strategy's own calls, if "
    "nothing is fetched again. Left of zero a setting costs more than no compaction."
)
HOVER_CAPTION: Final = "Hover for numbers; click to follow one setting through the page."
HEAT_CAPTION: Final = "Colour: reach, % of needs. In each cell: reach | saved input, %."
COST_CAPTION: Final = (
    "USD over the transcripts that all of these were scored on. Grey: what it would cost to fetch "
    "again all that is needed and not shown; not part of the saving in the table."
)
SMALL_MULTIPLES_CAPTION: Final = (
    f"The transcripts with the most needs, at most {MAX_TRANSCRIPTS}. Dashed: truncation."
)
FRONT_CAPTION: Final = (
    "Broad line: through the filled points that no other filled one beats in both."
)
SMALL_CAPTION: Final = (
    "Small and hollow: measured on fewer than half of the transcripts with needs."
)
TRUNCATION_CAPTION: Final = "Dashed line: truncation at any saving."
CONTROLS_CAPTION: Final = "Grey: controls."
TIMELINE_CAPTION: Final = (
    "One transcript under one setting. Across: requests. Down: messages, oldest on top."
)
CROSS_CAPTION: Final = (
    "A cross: that request needed what that message had brought, and it was lost."
)

Place = Literal["top", "sweep", "each", "timeline", "cost"]
Drawn = Layered | alt.Chart | alt.FacetChart


@dataclass(frozen=True, slots=True)
class Chart:
    name: str
    """Identifier in the page."""
    title: str
    caption: str
    place: Place
    is_facet: bool = False
    """A chart of charts: it has a width of its own."""
    switch: str = ""
    """Charts of one place that have this are shown one at a time, under this name."""


def charts_of(run: Run, block: Block) -> Iterator[tuple[Chart, Drawn]]:
    """Yield the charts of one provenance with their pictures, in the order of the page."""
    number = run.provenances.index(block.provenance) + 1
    yield from _paretos(run, block, number)
    for at, grid in enumerate(grids(run, block.provenance)):
        if at < MAX_MAPS:
            title = f"Sweep of {grid.strategy}."
            yield Chart(f"sweep-{number}-{at + 1}", title, HEAT_CAPTION, "sweep"), heat_map(grid)
    colours = strategy_colours(run, block.provenance)
    each = small_multiples(small_points(run, block.provenance), colours)
    if each is not None:
        title, caption = "Saving against reach, each transcript.", SMALL_MULTIPLES_CAPTION
        yield Chart(f"each-{number}", title, caption, "each", is_facet=True), each
    yield from _timelines(run, block, number)
    strategies = [line.label for line in block.lines if not line.is_control][:MAX_SETTINGS]
    costs = cost_breakdown(breakdown(run, block.provenance, strategies))
    if costs is not None:
        yield Chart(f"cost-{number}", "Where the dollars go.", COST_CAPTION, "cost"), costs


def _paretos(run: Run, block: Block, number: int) -> Iterator[tuple[Chart, Drawn]]:
    n = plural(block.n_with_needs, "transcript")
    title = f"Saving against reach, n = {n} with needs over long gaps."
    tokens = pareto(run, block.provenance)
    if tokens is None:
        return
    dollars = pareto(run, block.provenance, unit="usd")
    caption = _pareto_caption(run, block.provenance)
    switch = "tokens" if dollars is not None else ""
    yield Chart(f"pareto-{number}", title, caption, "top", switch=switch), tokens
    if dollars is not None:
        chart = Chart(f"pareto-usd-{number}", title, DOLLARS_CAPTION, "top", switch="dollars")
        yield chart, dollars


def _timelines(run: Run, block: Block, number: int) -> Iterator[tuple[Chart, Drawn]]:
    row = _shown_cell(run, block.provenance)
    found = None if row is None else timeline_of(run.sidecar(str(row["cell_id"])))
    if row is not None and found is not None:
        title = f"Context of {clean(row['transcript'])} under {clean(row['label'])}."
        chart = Chart(f"timeline-{number}", title, _timeline_caption(found), "timeline")
        yield chart, draw(found)


def _timeline_caption(found: Timeline) -> str:
    parts = [TIMELINE_CAPTION]
    if found.band_messages > 1:
        parts.append(
            f"Each row stands for {found.band_messages} messages and has the fate of most of them."
        )
    return " ".join([*parts, *([CROSS_CAPTION] if found.crosses else [])])


def _pareto_caption(run: Run, provenance: str) -> str:
    """Say what is drawn, and nothing that is not."""
    marks = pareto_points(run, provenance)
    filled = marks[~marks["is_control"] & ~marks["is_small"]]
    parts = (
        (PARETO_CAPTION, True),
        (MATCHED_CAPTION, marks["matched"].notna().any()),
        (FRONT_CAPTION, len(front(filled)) > 1),
        (SMALL_CAPTION, marks["is_small"].any()),
        (TRUNCATION_CAPTION, len(truncation_line(run, provenance)) > 0),
        (ORACLE_CAPTION, marks["oracle"].notna().any() or len(oracle_line(run, provenance)) > 0),
        (CONTROLS_CAPTION, marks["is_control"].any()),
    )
    return " ".join(
        [
            *(text for text, is_drawn in parts if is_drawn),
            "Hover for numbers, click to follow one setting through the page.",
        ]
    )


def _shown_cell(run: Run, provenance: str) -> Mapping[str, Any] | None:
    """Return the longest engaged cell of the recommended setting, else of the first engaged one."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["engaged"]]
    rows = rows[rows["scored"] & (rows["label"] == shown_label(run, provenance))]
    if rows.empty:
        return None
    longest = rows.nlargest(1, "requests").to_dict("records")[0]
    return {str(name): value for name, value in longest.items()}
