"""The context timeline: what became of each message of a transcript, request by request.

Made from the sidecar of one cell alone: run-length fates, needs and the position of each request.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import altair as alt

from reports.charts import OKABE_ITO, WIDTH_PIXELS, Layered
from reports.notes import LONG_GAP_REQUESTS

COLOURS: Final = {
    "whole": OKABE_ITO[0],
    "edited": OKABE_ITO[5],
    "offloaded": OKABE_ITO[6],
    "cleared": OKABE_ITO[1],
    "summarised": OKABE_ITO[2],
    "snipped": OKABE_ITO[3],
    "gone": "#B4B9BE",
}
"""By fate, from all of a message to nothing of it."""
NAMES: Final = {"whole": "sent whole", "edited": "shortened"}
"""Of fates whose own name says too little."""
LOST: Final = "#8B0000"
CROSS: Final = "M-1,-1L1,1M1,-1L-1,1"
"""SVG path within the unit square; the cross of Vega is a plus."""
MAX_BANDS: Final = 360
"""Rows of a picture: more would be thinner than a pixel."""
MAX_AREAS: Final = 1_500
"""A page has to stay small: above this, bands and crosses stand for more."""
MAX_AREAS_BESIDE: Final = 600
"""Of each setting that is drawn only when it is chosen; fewer where there are many transcripts."""
AREAS_OF_A_CROSS: Final = 5
"""A picture has at most one cross for so many areas that it may have."""
CROSS_PIXELS: Final = 12
"""Room of a cross, both ways."""
HEIGHT_PIXELS: Final = 360


Run = tuple[int, int, str]
"""First request, end request, fate."""


class Area(NamedTuple):
    """Neighbouring messages with one fate over the same requests; ends are exclusive."""

    first_message: int
    end_message: int
    first_request: int
    end_request: int
    fate: str


class Cross(NamedTuple):
    """A lost message that was needed; of several that stand close together, the first."""

    request: int
    message: int
    lost: int
    """Needs."""


@dataclass(frozen=True, slots=True)
class Timeline:
    areas: tuple[Area, ...]
    crosses: tuple[Cross, ...]
    band_messages: int
    """Neighbours that share a row, which has the fate of most of them."""


def timeline_of(sidecar: Mapping[str, Any], max_areas: int = MAX_AREAS) -> Timeline | None:
    """Return what to draw of a cell, coarser where it must be; None if it has no requests."""
    band = max(1, -(-_n_messages(sidecar) // MAX_BANDS))
    while len(found := tuple(_areas(sidecar, band))) > max_areas:
        band *= 2
    if not found:
        return None
    return Timeline(
        found,
        _apart(lost_needs(sidecar), _n_messages(sidecar), max_areas // AREAS_OF_A_CROSS),
        band,
    )


def draw(found: Timeline) -> Layered:
    """Draw requests across and messages down, coloured by fate, with a cross where one was missed.

    The crosses have a light rim: no single colour stands out from all fates.
    """
    values = [
        # Short names: there are thousands of these in a page.
        {"m": area.first_message, "n": area.end_message, "r": area.first_request}
        | {"s": area.end_request, "fate": NAMES.get(area.fate, area.fate)}
        for area in found.areas
    ]
    names = [NAMES.get(fate, fate) for fate in COLOURS]
    present = [name for name in names if any(value["fate"] == name for value in values)]
    scale = alt.Scale(domain=names, range=list(COLOURS.values()))
    legend = alt.Legend(orient="bottom", title=None, values=present, columns=4)
    areas = (
        alt.Chart(alt.InlineData(values=values))
        .mark_rect(strokeWidth=0.5, opacity=1)
        .encode(
            x=alt.X("r:Q", title="request", scale=alt.Scale(nice=False, zero=False)),
            x2="s:Q",
            y=alt.Y("m:Q", title="message", scale=alt.Scale(reverse=True, nice=False)),
            y2="n:Q",
            color=alt.Color("fate:N", scale=scale, legend=legend),
            stroke=alt.Stroke("fate:N", scale=scale, legend=legend),
        )
    )
    layers = [_crosses(found.crosses, "#FFFFFF", 4.5), _crosses(found.crosses, LOST, 2)]
    chart: Layered = alt.layer(areas, *(layers if found.crosses else []))
    chart = chart.properties(width=WIDTH_PIXELS, height=HEIGHT_PIXELS, background="transparent")
    configured: Layered = chart.configure_view(stroke=None).configure_axis(grid=False)
    return configured


def lost_needs(sidecar: Mapping[str, Any]) -> list[Cross]:
    """Return needs over long gaps that were lost, each at the message that brought it last.

    An older sidecar does not name it: there it is the newest message at that request.
    """
    needs, positions = sidecar.get("needs", {}), sidecar.get("requests", {}).get("position", [])
    rows = [dict(zip(needs["columns"], row, strict=False)) for row in needs.get("rows", ())]
    lost = Counter(
        (row["request"], row.get("source", positions[row["request"]]))
        for row in rows
        if row["status"] == "lost" and row["kind"] == "need" and row["gap"] > LONG_GAP_REQUESTS
    )
    return [Cross(request, message, lost[request, message]) for request, message in sorted(lost)]


def _apart(crosses: Sequence[Cross], n_messages: int, most: int) -> tuple[Cross, ...]:
    """Join crosses that would lie on each other."""
    n_requests = max((cross.request for cross in crosses), default=0) + 1
    room = CROSS_PIXELS
    while True:
        wide, high = room * n_requests / WIDTH_PIXELS, room * n_messages / HEIGHT_PIXELS
        joined: dict[tuple[float, float], Cross] = {}
        for cross in crosses:
            place = (cross.request // max(1, wide), cross.message // max(1, high))
            first = joined.get(place, cross._replace(lost=0))
            joined[place] = first._replace(lost=first.lost + cross.lost)
        if len(joined) <= most:
            return tuple(joined.values())
        room *= 2


def _n_messages(sidecar: Mapping[str, Any]) -> int:
    return max(sidecar.get("requests", {}).get("position", ()), default=0)


def _areas(sidecar: Mapping[str, Any], band: int) -> Iterator[Area]:
    open_areas: dict[Run, Area] = {}
    for message, end, runs in _bands(sidecar, band):
        current = {}
        for run in runs:
            before = open_areas.pop(run, None)
            first = message if before is None else before.first_message
            current[run] = Area(first, end, *run)
        yield from open_areas.values()
        open_areas = current
    yield from open_areas.values()


def _bands(sidecar: Mapping[str, Any], band: int) -> Iterator[tuple[int, int, list[Run]]]:
    """Yield the first message, the end and the runs of each band; none spans two segments."""
    requests = sidecar.get("requests", {})
    positions, segments = requests.get("position", []), requests.get("segment", [])
    fate_of = {code: fate for fate, code in sidecar.get("fate_codes", {}).items()}
    changes: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for message, request, code in sidecar.get("fates", []):
        changes[message].append((request, fate_of.get(code, "gone")))
    for segment, first in enumerate(requests.get("first_message", [])):
        own = [at for at, number in enumerate(segments) if number == segment]
        if not own:
            continue
        ends, last = [positions[at] for at in own], own[-1] + 1
        for message in range(first, ends[-1], band):
            end = min(message + band, ends[-1])
            runs = [
                list(_runs(changes[at], own[bisect_right(ends, at)], last))
                for at in range(message, end)
            ]
            yield message, end, runs[0] if len(runs) == 1 else list(_of_most(runs))


def _runs(changes: Sequence[tuple[int, str]], arrival: int, end: int) -> Iterator[Run]:
    start, fate = arrival, "whole"
    for request, changed in (item for item in sorted(changes) if arrival <= item[0] < end):
        if request > start:
            yield start, request, fate
        start, fate = request, changed
    yield start, end, fate


def _of_most(messages: Sequence[Sequence[Run]]) -> Iterator[Run]:
    """Yield the runs of a band: the fate of most of those that have arrived.

    In a tie it is the one that keeps less: a band of calls with their results would else hide
    that all results were cleared.
    """
    order = list(COLOURS)
    edges = sorted({edge for runs in messages for start, end, _ in runs for edge in (start, end)})
    first, shown = edges[0], ""
    for start in edges[:-1]:
        count = Counter(fate for runs in messages for a, b, fate in runs if a <= start < b)
        fate = max(count, key=lambda name: (count[name], order.index(name)))
        if shown and fate != shown:
            yield first, start, shown
            first = start
        shown = fate
    yield first, edges[-1], shown


def _crosses(crosses: Sequence[Cross], stroke: str, width: float) -> alt.Chart:
    values = [
        {**cross._asdict(), "x": cross.request + 0.5, "y": cross.message + 0.5} for cross in crosses
    ]
    chart: alt.Chart = alt.Chart(alt.InlineData(values=values)).mark_point(
        shape=CROSS, size=50, filled=False, strokeWidth=width, stroke=stroke, opacity=1
    )
    return chart.encode(
        x=alt.X("x:Q", title="request"),
        y=alt.Y("y:Q", title="message"),
        tooltip=[
            alt.Tooltip("request:Q", title="request"),
            alt.Tooltip("message:Q", title="lost message"),
            alt.Tooltip("lost:Q", title="needs lost here"),
        ],
    )
