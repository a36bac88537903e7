"""The heat map of a sweep: two parameters of one strategy against each other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import pandas as pd

from reports.charts import CHOSEN, WIDTH_PIXELS, Layered, if_chosen
from reports.columns import NOT_ENGAGED
from reports.frames import Run
from reports.wording import clean, natural, percent

MAX_MAPS: Final = 4
"""Of one provenance; more grids than that are in the table."""
CELL_PIXELS: Final = 44


@dataclass(frozen=True, slots=True)
class Grid:
    """A strategy that was run with several values of two parameters, all else being equal."""

    strategy: str
    across: str
    down: str
    cells: pd.DataFrame
    """Columns `across`, `down` (text), `reach`, `saved` (percent), `setting`."""


def grids(run: Run, provenance: str) -> Iterator[Grid]:
    """Yield the grids of a run, in the order of its rows; settings that never engaged are blank."""
    settings = run.settings()
    if settings.empty:
        return
    known = settings[settings["provenance"] == provenance].set_index("label")
    rows = run.rows[(run.rows["provenance"] == provenance) & ~run.rows["is_control"]]
    for strategy, group in rows.groupby("strategy", sort=False):
        parameters = {
            str(label): dict(values)
            for label, values in zip(group["label"], group["parameters"], strict=True)
        }
        varied = _varied(parameters)
        if len(varied) != 2:
            continue
        down, across = varied
        lines = [
            {
                "across": clean(values[across], 40),
                "down": clean(values[down], 40),
                "setting": clean(label),
                **_numbers(known.loc[label]),
            }
            for label, values in parameters.items()
        ]
        yield Grid(clean(strategy, 60), clean(across, 40), clean(down, 40), pd.DataFrame(lines))


def heat_map(grid: Grid) -> Layered:
    """Draw reach as colour, with reach and saving written into each cell."""
    values = [
        {str(key): None if pd.isna(value) else value for key, value in line.items()}
        for line in grid.cells.to_dict("records")
    ]
    order = {name: sorted(set(grid.cells[name]), key=natural) for name in ("across", "down")}
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("across:N", title=grid.across, sort=order["across"], axis=alt.Axis(labelAngle=0)),
        y=alt.Y("down:N", title=grid.down, sort=order["down"]),
        tooltip=[
            alt.Tooltip("setting:N", title="setting"),
            alt.Tooltip("reach_text:N", title="reach, %"),
            alt.Tooltip("saved_text:N", title="saved input, %"),
        ],
    )
    colour = alt.Color(
        "reach:Q",
        title="reach, %",
        scale=alt.Scale(scheme="viridis", domain=[0, 100]),
        legend=alt.Legend(orient="bottom"),
    )
    cells = base.mark_rect().encode(color=colour, opacity=if_chosen())
    # Viridis is dark at its low end: the text is light there, in either theme.
    ink = alt.condition("datum.reach > 60", alt.value("#111111"), alt.value("#ffffff"))
    texts = base.mark_text(fontSize=11).encode(text="cell_text:N", color=ink)
    height = CELL_PIXELS * max(2, len(order["down"]))
    chart: Layered = alt.layer(cells, texts).properties(
        width=WIDTH_PIXELS, height=height, background="transparent"
    )
    chosen = chart.add_params(alt.param(name=CHOSEN, value=""))
    configured: Layered = chosen.configure_view(stroke=None).configure_axis(grid=False)
    return configured


def _varied(parameters: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the parameters that every setting sets and that have more than one value."""
    settings = list(parameters.values())
    names = [name for name in settings[0] if all(name in values for values in settings)]
    return [name for name in names if len({str(values[name]) for values in settings}) > 1]


def _numbers(line: Any) -> dict[str, Any]:
    saved = line["saving_ratio"]
    if not line["engaged"] or pd.isna(line["reach_mean"]):
        text = NOT_ENGAGED if not line["engaged"] else "no needs"
        return {"reach": None, "reach_text": text, "saved_text": percent(saved), "cell_text": text}
    reach = float(line["reach_mean"])
    return {
        "reach": round(100 * reach, 2),
        "reach_text": percent(reach),
        "saved_text": percent(saved),
        "cell_text": f"{percent(reach, 0)} | {percent(saved, 0)}",
    }
