"""Which charts a page shows of one kind of transcripts, where they stand, and what they say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
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
from reports.cost_breakdown import MAX_SETTINGS, breakdown, cost_breakdown, transcripts_of
from reports.frames import Run
from reports.heat_map import MAX_MAPS, grids, heat_map
from reports.league import Block
from reports.lost import shown_label
from reports.small_multiples import MAX_TRANSCRIPTS, small_multiples, small_points
from reports.timeline import MAX_AREAS, MAX_AREAS_BESIDE, Timeline, draw, timeline_of
from reports.wording import clean, plural

PARETO_CAPTION: Final = (
    "Each point is a setting, with the saved and reach of the table; further right and higher up "
    "is better."
)
MATCHED_CAPTION: Final = (
    "Grey dash joined to a point: plain truncation at the same saving, on the transcripts of the "
    "point's reach (none where it was not measured on all of them); a point below its grey dash "
    "loses more than truncation."
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
    "that all of these were scored on. Grey: what it would cost to fetch again all that is needed "
    "and not shown; not part of the saving in the table."
)
SMALL_MULTIPLES_CAPTION: Final = (
    f"The transcripts with the most needs, at most {MAX_TRANSCRIPTS}. Dashed: truncation."
)
FRONT_CAPTION: Final = (
    "Broad line: through the filled points that no other filled one beats in both saving and reach."
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

BESIDE: Final = 4
"""Settings whose timeline can be chosen instead of the one that is shown."""
AREAS_OF_ALL: Final = 30_000
"""By the number of transcripts: how fine those timelines are."""

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
    setting: str = ""
    """Shown when this setting is chosen anywhere."""


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
        n = plural(len(transcripts_of(run, block.provenance, strategies)), "transcript")
        caption = f"USD over the {n} {COST_CAPTION}"
        yield Chart(f"cost-{number}", "Where the dollars go.", caption, "cost"), costs


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
    """Yield one transcript under the shown setting, and under those that can be chosen instead."""
    shown = _shown_cell(run, block.provenance)
    if shown is None:
        return
    beside = _cells_beside(run, block, shown)
    few = min(MAX_AREAS_BESIDE, AREAS_OF_ALL // block.n_transcripts)
    drawn = [
        (row, found)
        for at, row in enumerate((shown, *beside))
        if (found := timeline_of(_sidecar(run, row), few if at else MAX_AREAS))
    ]
    for at, (row, found) in enumerate(drawn):
        label = clean(row["label"])
        name = f"timeline-{number}" + (f"-{at + 1}" if at else "")
        title = f"Context of {clean(row['transcript'])} under {label}."
        switch = label if len(drawn) > 1 else ""
        caption = _timeline_caption(found, len(drawn))
        yield Chart(name, title, caption, "timeline", switch=switch, setting=label), draw(found)


def _cells_beside(run: Run, block: Block, shown: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the cells of other settings on the same transcript, best settings first."""
    rows = run.rows[(run.rows["provenance"] == block.provenance) & run.rows["engaged"]]
    rows = rows[rows["scored"] & (rows["key"] == shown["key"])].drop_duplicates("label")
    cells = {clean(row["label"]): row for row in rows.to_dict("records")}
    labels = [line.label for line in block.lines if line.label != clean(shown["label"])]
    found = (cells[label] for label in labels if label in cells)
    yield from ({str(name): value for name, value in row.items()} for row in islice(found, BESIDE))


def _sidecar(run: Run, row: Mapping[str, Any]) -> Mapping[str, Any]:
    return run.sidecar(str(row["cell_id"]))


def _timeline_caption(found: Timeline, n_drawn: int) -> str:
    parts = [TIMELINE_CAPTION]
    if n_drawn > 1:
        parts.append(f"The best {n_drawn} settings that engaged on it can be chosen.")
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
