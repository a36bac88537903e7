"""The context timeline: what became of each message of a transcript, request by request.

Made from the sidecar of one cell alone: run-length fates, needs and the position of each request.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt

from reports.charts import OKABE_ITO, WIDTH_PIXELS, Layered
from reports.notes import LONG_GAP_REQUESTS

COLOURS: Final = {
    "whole": OKABE_ITO[0],
    "edited": OKABE_ITO[1],
    "summarised": OKABE_ITO[2],
    "gone": "rgba(138, 138, 138, 0.25)",
}
LOST: Final = OKABE_ITO[4]
CROSS: Final = "M-1,-1L1,1M1,-1L-1,1"
"""SVG path within the unit square; the cross of Vega is a plus."""
MAX_AREAS: Final = 2_500
"""Above this, only every second (fourth, ...) message is looked at: a page has to stay small."""
HEIGHT_PIXELS: Final = 320


class Area(NamedTuple):
    """Neighbouring messages with one fate over the same requests; ends are exclusive."""

    first_message: int
    end_message: int
    first_request: int
    end_request: int
    fate: str


def timeline(sidecar: Mapping[str, Any]) -> Layered | None:
    """Draw requests across and messages down, coloured by fate, with a cross where needs are lost.

    Returns:
        None if the sidecar holds no requests.
    """
    found = areas(sidecar)
    if not found:
        return None
    values = [area._asdict() for area in found]
    marks = (
        alt.Chart(alt.InlineData(values=values))
        .mark_rect()
        .encode(
            x=alt.X("first_request:Q", title="request", scale=alt.Scale(nice=False, zero=False)),
            x2="end_request:Q",
            y=alt.Y("first_message:Q", title="message", scale=alt.Scale(reverse=True, nice=False)),
            y2="end_message:Q",
            color=alt.Color(
                "fate:N",
                scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
                legend=alt.Legend(orient="bottom", title=None),
            ),
        )
    )
    lost = lost_needs(sidecar)
    chart: Layered = alt.layer(marks, *([_crosses(lost)] if lost else []))
    chart = chart.properties(width=WIDTH_PIXELS, height=HEIGHT_PIXELS, background="transparent")
    configured: Layered = chart.configure_view(stroke=None).configure_axis(grid=False)
    return configured


def areas(sidecar: Mapping[str, Any]) -> list[Area]:
    """Return what to colour; at most `MAX_AREAS`, coarser where it must be."""
    step = 1
    while len(found := list(_areas(sidecar, step))) > MAX_AREAS:
        step *= 2
    return found


def lost_needs(sidecar: Mapping[str, Any]) -> list[dict[str, int]]:
    """Return {request, message, lost}: needs over long gaps, at the newest message then."""
    needs, positions = sidecar.get("needs", {}), sidecar.get("requests", {}).get("position", [])
    columns = needs.get("columns", [])
    names = ("request", "status", "kind", "gap")
    if not set(names) <= set(columns):
        return []
    at, status, kind, gap = map(columns.index, names)
    lost = Counter(
        row[at]
        for row in needs.get("rows", [])
        if row[status] == "lost" and row[kind] == "need" and row[gap] > LONG_GAP_REQUESTS
    )
    return [
        {"request": request, "message": positions[request], "lost": lost[request]}
        for request in sorted(lost)
        if request < len(positions)
    ]


def _areas(sidecar: Mapping[str, Any], step: int) -> Iterator[Area]:
    open_areas: dict[tuple[int, int, str], Area] = {}
    for message, runs in _runs_of_messages(sidecar, step):
        current = {}
        for run in runs:
            before = open_areas.pop(run, None)
            first = message if before is None else before.first_message
            current[run] = Area(first, message + step, *run)
        yield from open_areas.values()
        open_areas = current
    yield from open_areas.values()


def _runs_of_messages(
    sidecar: Mapping[str, Any], step: int
) -> Iterator[tuple[int, list[tuple[int, int, str]]]]:
    """Yield each message with its runs of (first request, end request, fate)."""
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
        ends = [positions[at] for at in own]
        for message in range(first, ends[-1], step):
            arrival, end = own[bisect_right(ends, message)], own[-1] + 1
            yield message, list(_runs(changes[message], arrival, end))


def _runs(
    changes: Sequence[tuple[int, str]], arrival: int, end: int
) -> Iterator[tuple[int, int, str]]:
    start, fate = arrival, "whole"
    for request, changed in (item for item in sorted(changes) if arrival <= item[0] < end):
        if request > start:
            yield start, request, fate
        start, fate = request, changed
    yield start, end, fate


def _crosses(lost: list[dict[str, int]]) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=lost)).mark_point(
        shape=CROSS, size=60, filled=False, strokeWidth=2.5, stroke=LOST, opacity=1
    )
    return chart.encode(
        x="request:Q",
        y="message:Q",
        tooltip=[
            alt.Tooltip("request:Q", title="request"),
            alt.Tooltip("lost:Q", title="needs lost here"),
        ],
    )
