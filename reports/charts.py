"""Charts as Altair objects: they display themselves in a notebook and become JSON in the page.

Names of views and parameters are fixed, so that the same run gives the same JSON. No colour for
text or grid is set here: the page and the notebook bring their own, for light and dark.
"""

from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, Final, Literal

import altair as alt
import pandas as pd

from reports.frames import Run, estimate_of
from reports.league import ranked
from reports.matched import TRUNCATE, curves
from reports.wording import clean, percent, points, with_n

OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
"""Told apart with every common colour blindness. Source: Okabe and Ito, Color Universal Design
(2008); black is left out, since pages are dark as well."""
GREY: Final = "#8A8A8A"
ALL_SYMBOLS: Final = 0
"""Of a legend: no limit. Vega's own is 30, and then the rest is an ellipsis."""
SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
WIDTH_PIXELS: Final = 640
HEIGHT_PIXELS: Final = 380

ORACLE: Final = OKABE_ITO[2]
_SAVING_OF: Final[Mapping[str, str]] = {"tokens": "saving_ratio", "usd": "usd_saving"}

Layered = alt.LayerChart | alt.FacetChart
"""What `alt.layer` is declared to return; here always a layer chart."""

_AXIS: Final = alt.Axis(tickCount=5, gridOpacity=0.25, domainOpacity=0.4, tickOpacity=0.4)
_SCALE: Final = alt.Scale(domain=[0, 100], nice=False)
Unit = Literal["tokens", "usd"]
SAVED_TITLES: Final[Mapping[Unit, str]] = {
    "tokens": "saved input, % of tokens",
    "usd": "saved, % of dollars",
}
MAX_STRATEGY_CHARS: Final = 40
MAX_PATH_CHARS: Final = 5_000
"""More than a path may have."""
CHOSEN: Final = "chosen"
"""Parameter that a page sets to the name of the setting that was clicked."""
_Y: Final = alt.Y("reach:Q", title="reach, % of needs", scale=_SCALE, axis=_AXIS)
_TEXTS: Final = (
    ("n_text", "transcripts"),
    ("saved_text", "saved input, %"),
    ("usd_text", "saved dollars, %"),
    ("reach_text", "reach, %"),
    ("difference_text", "against truncation, points (n)"),
    ("oracle_text", "best choice at its tokens, %"),
    ("facts_text", "facts kept, % (n)"),
)
_TOOLTIP: Final = [
    alt.Tooltip(f"{name}:N", title=title) for name, title in (("setting", "setting"), *_TEXTS)
]


def pareto(
    run: Run | pd.DataFrame, provenance: str | None = None, *, unit: Unit = "tokens"
) -> Layered | None:
    """Draw saving against reach, a point per setting of one provenance (by default the first).

    Args:
        run: What was run, or some rows of it.
        provenance: Of which transcripts.
        unit: What is saved. In dollars there is no truncation: its reach is at equal tokens.

    Returns:
        The Pareto front as a line of steps, truncation at the same saving as a dash joined to each
        point, controls grey, points of few transcripts small and hollow and not part of the front;
        None if no strategy has both numbers.
    """
    if isinstance(run, pd.DataFrame):
        run = Run(Path(), {}, run, 0)
    if provenance is None:
        provenance = next(iter(run.provenances), "")
    marks = pareto_points(run, provenance, unit)
    strategies = marks[~marks["is_control"]]
    if strategies.empty:
        return None
    look = _look(marks, strategy_colours(run, provenance))
    x = _saved_axis(marks, unit)
    lines: list[alt.Chart | Layered] = [
        _line(
            front(strategies[~strategies["is_small"]]),
            x,
            interpolate="step-before",
            stroke=GREY,
            strokeWidth=6,
            opacity=0.3,
        )
    ]
    if unit == "tokens":
        lines += [
            _line(truncation_line(run, provenance), x, strokeDash=[5, 4], stroke=GREY),
            _line(oracle_line(run, provenance), x, strokeDash=[1, 3], stroke=ORACLE),
            _marked(strategies.dropna(subset=["matched"]), "matched", GREY, x),
        ]
    chart: Layered = alt.layer(
        *lines,
        _marked(strategies.dropna(subset=["oracle"]), "oracle", ORACLE, x),
        *(
            _points(some, look, x, filled=is_filled, size=size)
            for some, is_filled, size in (
                (marks[~marks["is_small"]], True, 110),
                (marks[marks["is_small"]], False, 45),
            )
            if len(some)
        ),
    )
    chart = chart.properties(width=WIDTH_PIXELS, height=HEIGHT_PIXELS, background="transparent")
    chosen = chart.add_params(alt.param(name=CHOSEN, value=""))
    configured: Layered = chosen.configure_view(stroke=None)
    return configured


def pareto_points(run: Run, provenance: str, unit: Unit = "tokens") -> pd.DataFrame:
    """Return the points of the chart: settings that engaged somewhere and have a reach.

    `saved` (of tokens or dollars) and `reach` are those of the table. `matched` and `oracle` are
    set only where they are over the same transcripts as the reach; `is_small` marks a point that
    rests on fewer than half of the transcripts with needs. Without prices there are no points in
    dollars.
    """
    settings = run.settings()
    columns = [
        *("setting", "strategy", "is_control", "is_small", "saved", "reach", "matched", "oracle"),
        *(name for name, _ in _TEXTS),
    ]
    if settings.empty:
        return pd.DataFrame(columns=columns)
    rows = run.rows[run.rows["provenance"] == provenance]
    with_needs = rows.loc[rows["needs"] > 0, "key"].nunique()
    chosen = settings[(settings["provenance"] == provenance) & (settings["strategy"] != TRUNCATE)]
    lines = [
        _point({str(key): value for key, value in line.items()}, with_needs, unit)
        for line in ranked(chosen).to_dict("records")
        if line["engaged"] and line["reach_n"] and pd.notna(line[_SAVING_OF[unit]])
    ]
    flags = {"is_control": bool, "is_small": bool, "matched": float, "oracle": float}
    return pd.DataFrame(lines, columns=columns).astype(flags)


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


def oracle_line(run: Run, provenance: str) -> pd.DataFrame:
    """Return saving and the bound of reach at it, if there is a single transcript."""
    rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
    curve: Mapping[str, Any] = {}
    if rows["key"].nunique() == 1:
        curve = run.sidecar(str(rows.iloc[0]["cell_id"])).get("oracle_curve", {})
    pairs = zip(curve.get("saving_fraction", ()), curve.get("reach", ()), strict=True)
    line = sorted((round(100 * saved, 2), round(100 * reach, 2)) for saved, reach in pairs)
    return pd.DataFrame(line, columns=["saved", "reach"])


def _saved_axis(marks: pd.DataFrame, unit: Unit) -> alt.X:
    """Return the axis of what is saved; dollars can be lost, and then it begins below zero."""
    least = min(0.0, float(marks["saved"].min()))
    scale = alt.Scale(domain=[10 * (least // 10), 100], nice=False)
    return alt.X("saved:Q", title=SAVED_TITLES[unit], scale=scale, axis=_AXIS)


def _point(line: Mapping[str, Any], with_needs: int, unit: Unit) -> dict[str, Any]:
    facts, difference = (
        estimate_of(line, "facts_kept_fraction"),
        estimate_of(line, "reach_difference"),
    )
    return {
        "setting": clean(line["label"]),
        "strategy": short_strategy(line["strategy"]),
        "is_control": line["is_control"],
        "is_small": 2 * line["reach_n"] < with_needs,
        "saved": round(100 * line[_SAVING_OF[unit]], 2),
        "reach": round(100 * line["reach_mean"], 2),
        "matched": (
            _hundredfold(line["matched_reach"]) if difference.n == line["reach_n"] else None
        ),
        "oracle": _hundredfold(line["judged_oracle"]),
        "n_text": f"{line['reach_n']} of {with_needs} with needs",
        "saved_text": percent(line["saving_ratio"]),
        "usd_text": percent(_known(line["usd_saving"])),
        "oracle_text": percent(_known(line["judged_oracle"])),
        "reach_text": percent(line["reach_mean"]),
        "difference_text": with_n(points(difference.mean), difference.n),
        "facts_text": with_n(percent(facts.mean), facts.n),
    }


def _hundredfold(value: float | None) -> float | None:
    return None if (known := _known(value)) is None else round(100 * known, 2)


def _known(value: float | None) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def _line(data: pd.DataFrame, x: alt.X, **look: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(_data(data[["saved", "reach"]])).mark_line(aria=False, **look)
    return chart.encode(x=x, y=_Y)


def _marked(data: pd.DataFrame, column: str, stroke: str, x: alt.X) -> Layered:
    """Draw a dash at another reach of each setting, joined to its point."""
    base = alt.Chart(_data(data[["saved", "reach", column]])).encode(x=x)
    joins = base.mark_rule(aria=False, stroke=stroke, strokeWidth=1, opacity=0.6).encode(
        y=_Y, y2=f"{column}:Q"
    )
    height = alt.Y(f"{column}:Q", scale=_SCALE)
    dashes = base.mark_point(aria=False, shape="stroke", size=120, stroke=stroke, strokeWidth=2)
    return alt.layer(joins, dashes.encode(y=height))


def short_strategy(name: object) -> str:
    """Cut a name at its front: code of a user differs in its file and function, not its folder."""
    whole = clean(name, MAX_PATH_CHARS)
    return whole if len(whole) <= MAX_STRATEGY_CHARS else f"…{whole[1 - MAX_STRATEGY_CHARS :]}"


def strategy_colours(run: Run, provenance: str) -> dict[str, str]:
    """Return the colour of each strategy, the same in every chart of one provenance."""
    settings = run.settings()
    chosen = settings[(settings["provenance"] == provenance) & ~settings["is_control"]]
    names = dict.fromkeys(short_strategy(name) for name in ranked(chosen)["strategy"])
    return dict(zip(names, cycle(OKABE_ITO), strict=False))


def shapes_of(strategies: Iterable[str]) -> dict[str, str]:
    """Return the shape of each strategy: with the colours of `strategy_colours`, 42 differ."""
    return dict(zip(dict.fromkeys(strategies), cycle(SHAPES), strict=False))


def _look(marks: pd.DataFrame, colours: Mapping[str, str]) -> dict[str, Any]:
    """Return colour and shape by strategy, one legend for all layers; controls are grey."""
    names = list(dict.fromkeys(marks["strategy"]))
    legend = alt.Legend(
        orient="bottom",
        columns=3,
        title=None,
        labelLimit=240,
        symbolLimit=ALL_SYMBOLS,
        symbolOpacity=1,
    )
    colour = alt.Scale(domain=names, range=[colours.get(name, GREY) for name in names])
    shapes = shapes_of((*colours, *names))
    shape = alt.Scale(domain=names, range=[shapes[name] for name in names])
    return {
        "color": alt.Color("strategy:N", scale=colour, legend=legend),
        "shape": alt.Shape("strategy:N", scale=shape, legend=legend),
    }


def _points(data: pd.DataFrame, look: Mapping[str, Any], x: alt.X, **mark: Any) -> alt.Chart:
    chart: alt.Chart = alt.Chart(_data(data)).mark_point(strokeWidth=1.5, **mark)
    return chart.encode(x=x, y=_Y, opacity=if_chosen(), tooltip=_TOOLTIP, **look)


def if_chosen() -> Any:
    """Return an encoding that steps back all settings but the chosen one, if one is."""
    test = f"{CHOSEN} === '' || datum.setting === {CHOSEN}"
    return alt.condition(test, alt.value(0.9), alt.value(0.15))


def _data(frame: pd.DataFrame) -> alt.InlineData:
    values = [
        {str(key): None if pd.isna(value) else value for key, value in line.items()}
        for line in frame.to_dict("records")
    ]
    return alt.InlineData(values=values)
