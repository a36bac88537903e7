"""Points, front and context timeline, before anything draws them."""

import json
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.charts import (
    GREY,
    MAX_STRATEGY_CHARS,
    front,
    pareto,
    pareto_points,
    short_strategy,
    strategy_colours,
    truncation_line,
)
from reports.frames import Run, load
from reports.small_multiples import small_multiples, small_points
from reports.timeline import AREAS_OF_A_CROSS, MAX_AREAS, Area, Cross, draw, lost_needs, timeline_of
from tests.reports_cases import (
    long_sidecar,
    row,
    small_rows,
    small_sidecar,
    wide_rows,
    write_run,
)


@pytest.fixture
def small(tmp_path) -> Run:
    return load(write_run(tmp_path / "run", small_rows()))


def values_of(chart: dict, layer: dict) -> list[dict]:
    """Return the points of a layer; Altair moves some to the top of the chart."""
    data = layer["data"]
    return data["values"] if "values" in data else chart["datasets"][data["name"]]


def test_every_engaged_setting_is_a_point_with_its_numbers(small):
    points = pareto_points(small, "recorded").set_index("setting")

    assert set(points.index) == {"xun(k=2)", "mine.py:shrink", "idle", "drop_all"}
    xun = points.loc["xun(k=2)"]
    assert (xun["saved"], xun["reach"]) == (20.0, 80.0)
    assert (xun["reach_text"], xun["difference_text"]) == ("80.0", "+5.0 (2)")
    assert xun["n_text"] == "2 of 2 with needs"


def test_the_front_holds_what_nothing_beats_in_both():
    points = pd.DataFrame(
        [(10, 90), (20, 90), (30, 50), (40, 60), (40, 55), (90, 10)], columns=["saved", "reach"]
    )

    kept = front(points)

    assert list(kept.itertuples(index=False, name=None)) == [(20, 90), (40, 60), (90, 10)]


def test_truncation_is_a_line_for_one_transcript_only(tmp_path, small):
    rows = [item for item in small_rows() if item.transcript == "a"]

    line = truncation_line(load(write_run(tmp_path / "one", rows)), "recorded")

    assert line.to_numpy().tolist() == [[0, 100], [40, 80], [60, 60], [80, 40]]
    assert truncation_line(small, "recorded").empty


def test_a_point_and_its_dash_are_over_the_same_transcripts(tmp_path):
    rows = [item for item in small_rows() if item.label != "xun(k=2)"]
    rows += [
        row("a", "xun(k=2)", saving=0.6, reach=0.9, needs=20),
        row("b", "xun(k=2)", saving=0.3, reach=0.7, needs=10, input_tokens_before=3_000.0),
    ]

    points = pareto_points(load(write_run(tmp_path / "run", rows)), "recorded")

    # On b, truncation was measured up to a saving of 20 %: the point is over both, so no dash.
    xun = points.set_index("setting").loc["xun(k=2)"]
    assert (xun["saved"], xun["reach"]) == (37.5, 80.0)
    assert pd.isna(xun["matched"])
    assert xun["n_text"] == "2 of 2 with needs"
    assert xun["difference_text"] == "+30.0 (1)"
    whole = pareto_points(load(write_run(tmp_path / "whole", small_rows())), "recorded")
    assert whole.set_index("setting").loc["xun(k=2)", "matched"] == 75.0


def test_points_of_few_transcripts_are_hollow_and_not_part_of_the_front(tmp_path):
    rows = [
        row(name, label, saving=saving * is_engaged, reach=reach, needs=4)
        for label, saving, reach, engaged in (("most", 0.5, 0.5, "abc"), ("few", 0.9, 0.9, "a"))
        for name in "abc"
        for is_engaged in (name in engaged,)
    ]

    run = load(write_run(tmp_path / "run", rows))

    points = pareto_points(run, "recorded").set_index("setting")
    assert (points.loc["most", "is_small"], points.loc["few", "is_small"]) == (False, True)
    chart = pareto(run).to_dict()
    layers = [layer for layer in chart["layer"] if "mark" in layer]
    hollow = [layer for layer in layers if layer["mark"].get("filled") is False]
    assert [point["setting"] for point in values_of(chart, hollow[0])] == ["few"]
    broad = next(layer for layer in layers if layer["mark"].get("strokeWidth") == 6)
    assert values_of(chart, broad) == [{"saved": 50.0, "reach": 50.0}]


def test_controls_are_grey_and_have_no_text_that_could_overlap(small):
    chart = pareto(small).to_dict()

    marks = [layer["mark"]["type"] for layer in chart["layer"] if "mark" in layer]
    assert "text" not in marks
    scale = chart["layer"][-1]["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["drop_all"] == GREY
    assert colours["xun"] != GREY


def test_code_in_a_deep_folder_has_a_colour_for_each_function(tmp_path):
    names = [f"/home/someone/projects/agent/compactors/mine.py:{name}" for name in ("a", "b")]
    rows = [row("t", name, strategy=name, saving=0.5, reach=0.5, needs=2) for name in names]
    colours = strategy_colours(load(write_run(tmp_path / "run", rows)), "recorded")

    assert sorted(name[-9:] for name in colours) == ["mine.py:a", "mine.py:b"]
    assert len(set(colours.values())) == 2
    assert all(len(name) == MAX_STRATEGY_CHARS for name in colours)
    assert short_strategy("xun") == "xun"


def test_forty_strategies_differ_in_colour_or_shape_and_look_alike_in_both_charts(tmp_path):
    run = load(write_run(tmp_path / "run", wide_rows(40, 40)))
    colours = strategy_colours(run, "recorded")
    points = pareto(run).to_dict()["layer"][-1]
    panel = small_multiples(small_points(run, "recorded"), colours).to_dict()["spec"]["layer"][1]

    looks = [look_of(layer["encoding"]) for layer in (points, panel)]

    assert looks[0] == looks[1]
    assert len(looks[0]) == len(set(looks[0].values())) == 40
    for layer in (points, panel):
        assert layer["encoding"]["color"]["legend"]["symbolLimit"] == 0
        assert layer["encoding"]["color"]["legend"] == layer["encoding"]["shape"]["legend"]


def look_of(encoding: dict) -> dict:
    scales = [encoding[name]["scale"] for name in ("color", "shape")]
    ways = [dict(zip(scale["domain"], scale["range"], strict=True)) for scale in scales]
    return {name: (ways[0][name], ways[1][name]) for name in ways[0]}


def test_without_a_strategy_that_engaged_there_is_no_chart(tmp_path):
    rows = [row("a", "x", saving=0.0, reach=1.0), row("a", "y", saving=0.5)]

    assert pareto(load(write_run(tmp_path / "run", rows))) is None
    assert pareto(load(write_run(tmp_path / "empty", []))) is None


def test_a_chart_is_the_same_json_twice(small):
    first, second = pareto(small).to_dict(), pareto(small).to_dict()

    assert json.dumps(first) == json.dumps(second)


def areas(sidecar):
    return timeline_of(sidecar).areas


def test_a_message_is_whole_from_its_arrival_until_its_first_change():
    found = areas(small_sidecar())

    assert sorted(found) == [
        Area(0, 1, 0, 4, "whole"),
        Area(1, 2, 0, 2, "whole"),
        Area(1, 2, 2, 3, "edited"),
        Area(1, 2, 3, 4, "gone"),
        Area(2, 4, 1, 3, "whole"),
        Area(2, 4, 3, 4, "summarised"),
        Area(4, 5, 2, 4, "whole"),
        Area(5, 7, 3, 4, "whole"),
    ]


def test_the_messages_of_a_later_segment_begin_there():
    sidecar = {
        "requests": {"first_message": [0, 5], "segment": [0, 1], "position": [2, 7]},
        "fate_codes": {},
        "fates": [],
    }

    assert areas(sidecar) == (Area(0, 2, 0, 1, "whole"), Area(5, 7, 1, 2, "whole"))


def test_a_cross_stands_at_the_lost_message_and_the_request_that_needed_it():
    sidecar = small_sidecar()
    assert lost_needs(sidecar) == [Cross(3, 7, 2)]

    sidecar["needs"]["columns"].append("source")
    for source, values in enumerate(sidecar["needs"]["rows"]):
        values.append(source)

    assert lost_needs(sidecar) == [Cross(3, 0, 1), Cross(3, 1, 1)]


def test_a_thousand_requests_are_drawn_in_bands_that_show_what_was_cleared():
    found = timeline_of(long_sidecar(1_000, lost_from=100))

    assert len(found.areas) <= MAX_AREAS
    assert len(found.crosses) <= MAX_AREAS // AREAS_OF_A_CROSS
    assert sum(cross.lost for cross in found.crosses) == 900
    assert found.band_messages > 1
    assert {area.fate for area in found.areas} == {"whole", "cleared"}
    first, last = found.areas[0], max(found.areas, key=lambda area: area.end_message)
    assert (first.first_message, last.end_message) == (0, 1_999)
    # Half of the messages of a band are cleared, and in a tie the band shows it.
    cleared = [area for area in found.areas if area.fate == "cleared"]
    assert max(area.end_request for area in cleared) == 1_000
    assert sum(area.end_message - area.first_message for area in cleared) > 1_800


@given(
    st.integers(2, 4),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 5), st.sampled_from("cs-"))),
)
def test_a_band_has_the_fate_of_most_of_its_messages_at_every_request(band, changes):
    sidecar = {
        "requests": {"first_message": [0], "segment": [0] * 6, "position": [2, 4, 6, 8, 10, 12]},
        "fate_codes": {"cleared": "c", "summarised": "s", "gone": "-"},
        "fates": [list(item) for item in {item[:2]: item for item in changes}.values()],
    }
    with pytest.MonkeyPatch.context() as patch:
        exact = timeline_of(sidecar)
        patch.setattr("reports.timeline.MAX_BANDS", -(-12 // band))
        coarse = timeline_of(sidecar)

    assert (exact.band_messages, coarse.band_messages) == (1, band)
    order = ["whole", "cleared", "summarised", "gone"]
    for first in range(0, 12, band):
        for request in range(6):
            fates = Counter(
                fate
                for message in range(first, min(first + band, 12))
                for fate in fates_at(exact, message, request)
            )
            most = max(fates, key=lambda fate: (fates[fate], order.index(fate)), default=None)
            assert fates_at(coarse, first, request) == ([most] if most else [])


def fates_at(found, message, request):
    return [
        area.fate
        for area in found.areas
        if area.first_message <= message < area.end_message
        and area.first_request <= request < area.end_request
    ]


def test_the_legend_names_the_fates_that_are_there():
    spec = draw(timeline_of(long_sidecar(50))).to_dict()

    legend = spec["layer"][0]["encoding"]["color"]["legend"]
    assert legend["values"] == ["sent whole", "cleared"]


def test_a_cell_without_sidecar_has_no_timeline():
    assert timeline_of({}) is None
