"""Each transcript by itself: saving against reach in one small chart per transcript."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from reports.charts import (
    ALL_SYMBOLS,
    CHOSEN,
    GREY,
    Layered,
    if_chosen,
    shapes_of,
    short_strategy,
)
from reports.frames import Run
from reports.matched import TRUNCATE
from reports.wording import clean

MAX_TRANSCRIPTS: Final = 12
"""Those with the most needs; the table of transcripts has all."""
COLUMNS: Final = 4
PIXELS: Final = 170
MAX_NAME_CHARS: Final = 32


def small_points(run: Run, provenance: str) -> pd.DataFrame:
    """Return a row per transcript and setting that engaged there and has a reach."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
    needs = rows.groupby("key", sort=False)["needs"].max()
    chosen = needs[needs > 0].nlargest(MAX_TRANSCRIPTS, keep="first").index
    rows = rows[rows["key"].isin(chosen) & rows["engaged"] & rows["reach"].notna()]
    rows = rows[~rows["is_control"] | (rows["strategy"] == TRUNCATE)]
    found = pd.DataFrame(
        {
            "transcript": [clean(name, MAX_NAME_CHARS) for name in rows["transcript"]],
            "setting": [clean(label) for label in rows["label"]],
            "strategy": [short_strategy(name) for name in rows["strategy"]],
            "is_truncation": rows["strategy"].eq(TRUNCATE).to_numpy(),
            "saved": (100 * rows["saving_fraction"]).round(1).to_numpy(),
            "reach": (100 * rows["reach"]).round(1).to_numpy(),
        }
    )
    return found.reset_index(drop=True)


def small_multiples(points: pd.DataFrame, colours: Mapping[str, str]) -> alt.FacetChart | None:
    """Draw a panel per transcript, settings as points and truncation as a line.

    Args:
        points: Of `small_points`.
        colours: Strategy -> its colour.

    Returns:
        None for fewer than two transcripts: the large chart says it all.
    """
    shown = set(points.loc[~points["is_truncation"], "strategy"])
    strategies = [name for name in colours if name in shown]
    if points["transcript"].nunique() < 2 or not strategies:
        return None
    values: list[dict[str, Any]] = [
        {str(key): value for key, value in line.items()} for line in points.to_dict("records")
    ]
    axis = alt.Axis(tickCount=3, gridOpacity=0.25)
    scale = alt.Scale(domain=[0, 100], nice=False)
    base = alt.Chart().encode(
        x=alt.X("saved:Q", title="saved, %", scale=scale, axis=axis),
        y=alt.Y("reach:Q", title="reach, %", scale=scale, axis=axis),
    )
    legend = alt.Legend(
        orient="bottom", title=None, labelLimit=240, columns=4, symbolLimit=ALL_SYMBOLS
    )
    line = base.transform_filter("datum.is_truncation").mark_line(
        aria=False, strokeDash=[4, 3], stroke=GREY
    )
    dots = base.transform_filter("!datum.is_truncation").mark_point(filled=True, size=45)
    dots = dots.encode(
        color=alt.Color("strategy:N", scale=_scale(strategies, colours), legend=legend),
        shape=alt.Shape("strategy:N", scale=_scale(strategies, shapes_of(colours)), legend=legend),
        opacity=if_chosen(),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("transcript", "setting", "saved", "reach")],
    )
    layered: Layered = alt.layer(line, dots, data=alt.InlineData(values=values)).properties(
        width=PIXELS, height=PIXELS
    )
    facets: alt.FacetChart = (
        layered.facet(facet=alt.Facet("transcript:N", title=None, sort=None), columns=COLUMNS)
        .properties(background="transparent")
        .add_params(alt.param(name=CHOSEN, value=""))
        .configure_view(stroke=None)
    )
    return facets


def _scale(strategies: Sequence[str], look: Mapping[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(strategies), range=[look[name] for name in strategies])
