"""Charts as Altair objects: they display themselves in a notebook and become JSON in the page.

Names of views and parameters are fixed, so that the same run gives the same JSON. No colour for
text or grid is set here: the page and the notebook bring their own, for light and dark.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import pandas as pd

from reports.frames import Run, estimate_of
from reports.matched import TRUNCATE, curves
from reports.wording import clean, percent, points, with_n

OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
"""Told apart with every common colour blindness. Source: Okabe and Ito, Color Universal Design
(2008); black is left out, since pages are dark as well."""
GREY: Final = "#8A8A8A"
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
WIDTH_PIXELS: Final = 640
HEIGHT_PIXELS: Final = 380

Layered = alt.LayerChart | alt.FacetChart
"""What `alt.layer` is declared to return; here always a layer chart."""

_AXIS: Final = alt.Axis(tickCount=5, gridOpacity=0.25, domainOpacity=0.4, tickOpacity=0.4)
_SCALE: Final = alt.Scale(domain=[0, 100], nice=False)
_X: Final = alt.X("saved:Q", title="saved input, % of tokens", scale=_SCALE, axis=_AXIS)
_Y: Final = alt.Y("reach:Q", title="reach, % of needs", scale=_SCALE, axis=_AXIS)
_TOOLTIP: Final = [
    alt.Tooltip(f"{name}:N", title=title)
    for name, title in (
        ("setting", "setting"),
        ("saved_text", "saved input, %"),
        ("reach_text", "reach, % (n transcripts)"),
        ("difference_text", "against truncation, points (n)"),
        ("facts_text", "facts kept, % (n)"),
    )
]


def pareto(run: Run, provenance: str | None = None) -> Layered | None:
    """Draw saving against reach, a point per setting of one provenance (by default the first).

    Returns:
        The Pareto front as a line of steps, truncation at the same saving as a dash joined to each
        point, controls grey; None if no strategy has both numbers.
    """
    if provenance is None:
        provenance = next(iter(run.provenances), "")
    marks = pareto_points(run, provenance)
    strategies = marks[~marks["is_control"]]
    if strategies.empty:
        return None
    chart: Layered = alt.layer(
        _line(truncation_line(run, provenance), strokeDash=[5, 4], stroke=GREY),
        _matched(strategies.dropna(subset=["matched"])),
        _line(
            front(strategies), interpolate="step-before", stroke=GREY, strokeWidth=6, opacity=0.3
        ),
        _controls(marks[marks["is_control"]]),
        _strategies(strategies),
    )
    chart = chart.properties(width=WIDTH_PIXELS, height=HEIGHT_PIXELS, background="transparent")
    configured: Layered = chart.configure_view(stroke=None)
    return configured


def pareto_points(run: Run, provenance: str) -> pd.DataFrame:
    """Return the points of the chart: settings that engaged somewhere and have a reach."""
    settings = run.settings()
    columns = ["setting", "strategy", "is_control", "saved", "reach", "matched", *_TEXTS]
    if settings.empty:
        return pd.DataFrame(columns=columns)
    chosen = settings[(settings["provenance"] == provenance) & (settings["strategy"] != TRUNCATE)]
    lines = [
        _point({str(key): value for key, value in line.items()})
        for line in chosen.to_dict("records")
        if line["engaged"] and pd.notna(line["reach_mean"]) and pd.notna(line["saving_ratio"])
    ]
    return pd.DataFrame(lines, columns=columns).astype({"is_control": bool, "matched": float})


def front(points_of: pd.DataFrame) -> pd.DataFrame:
    """Return the points that no other one beats in both saving and reach, by rising saving."""
    best_first = points_of.sort_values(["saved", "reach"], ascending=False, kind="stable")
    kept, best = [], -1.0
    for line in best_first.to_dict("records"):
        if line["reach"] > best:
            best = line["reach"]
            kept.append(line)
    return pd.DataFrame(kept[::-1], columns=points_of.columns)


def truncation_line(run: Run, provenance: str) -> pd.DataFrame:
    """Return saving and reach of truncation at any saving, if there is a single transcript.

    Over several transcripts there is no such line: a setting saves different shares of each, so
    two settings with one saving are to be compared with different values. `matched` has those.
    """
    rows = run.rows[run.rows["provenance"] == provenance]
    found = list(curves(rows).values())
    line = found[0] if rows["key"].nunique() == 1 and found else ()
    return pd.DataFrame(
        [(100 * point.saving, 100 * point.reach) for point in line], columns=["saved", "reach"]
    ).round(2)


_TEXTS: Final = ("saved_text", "reach_text", "difference_text", "facts_text")


def _point(line: Mapping[str, Any]) -> dict[str, Any]:
    reach, facts = estimate_of(line, "reach"), estimate_of(line, "facts_kept_fraction")
    difference = estimate_of(line, "reach_difference")
    return {
        "setting": clean(line["label"]),
        "strategy": clean(line["strategy"], 40),
        "is_control": line["is_control"],
        "saved": round(100 * line["saving_ratio"], 2),
        "reach": round(100 * line["reach_mean"], 2),
        "matched": round(100 * line["matched_reach"], 2) if difference.n == reach.n else None,
        "saved_text": percent(line["saving_ratio"]),
        "reach_text": with_n(percent(reach.mean), reach.n),
        "difference_text": with_n(points(difference.mean), difference.n),
        "facts_text": with_n(percent(facts.mean), facts.n),
    }


def _line(data: pd.DataFrame, **look: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(_data(data[["saved", "reach"]])).mark_line(**look)
    return chart.encode(x=_X, y=_Y)


def _matched(data: pd.DataFrame) -> Layered:
    base = alt.Chart(_data(data[["saved", "reach", "matched"]])).encode(x=_X)
    joins = base.mark_rule(stroke=GREY, strokeWidth=1).encode(y=_Y, y2="matched:Q")
    height = alt.Y("matched:Q", scale=_SCALE)
    dashes = base.mark_point(shape="stroke", size=120, stroke=GREY, strokeWidth=2).encode(y=height)
    return alt.layer(joins, dashes)


def _controls(data: pd.DataFrame) -> Layered:
    base = alt.Chart(_data(data)).encode(x=_X, y=_Y, tooltip=_TOOLTIP)
    marks = base.mark_point(filled=True, size=60, fill=GREY, stroke=GREY)
    at_edge = alt.ExprRef("datum.saved > 80 ? 'right' : 'left'")
    names = base.mark_text(dy=-9, fontSize=10, fill=GREY, align=at_edge).encode(text="setting:N")
    return alt.layer(marks, names)


def _strategies(data: pd.DataFrame) -> alt.Chart:
    names = list(dict.fromkeys(data["strategy"]))
    legend = alt.Legend(orient="bottom", columns=2, title="strategy", labelLimit=280)
    chart: alt.Chart = alt.Chart(_data(data)).mark_point(filled=True, size=110, opacity=0.9)
    return chart.encode(
        x=_X,
        y=_Y,
        color=alt.Color("strategy:N", scale=_scale(names, OKABE_ITO), legend=legend),
        shape=alt.Shape("strategy:N", scale=_scale(names, SHAPES), legend=legend),
        tooltip=_TOOLTIP,
    )


def _scale(names: Sequence[str], values: Sequence[str]) -> alt.Scale:
    return alt.Scale(
        domain=list(names), range=[values[at % len(values)] for at in range(len(names))]
    )


def _data(frame: pd.DataFrame) -> alt.InlineData:
    values = [
        {str(key): None if pd.isna(value) else value for key, value in line.items()}
        for line in frame.to_dict("records")
    ]
    return alt.InlineData(values=values)
