"""Heat maps of sweeps and bars of dollars, from rows and sidecars worked out by hand."""

import pytest

from evals.results import RunFolder
from reports.cost_breakdown import UNCOMPACTED, breakdown, cost_breakdown
from reports.frames import load
from reports.heat_map import grids, heat_map
from reports.page import html
from tests.reports_cases import row, write_run


def swept(keep, threshold, **columns):
    return row(
        "a",
        f"xun(keep={keep}, threshold={threshold})",
        strategy="xun",
        parameters={"keep": keep, "threshold": threshold},
        **columns,
    )


ROWS = [
    swept("2", "25%", saving=0.6, reach=0.5, needs=10),
    swept("2", "50%", saving=0.3, reach=0.8, needs=10),
    swept("8", "25%", saving=0.4, reach=0.7, needs=10),
    swept("8", "50%", saving=0.0, reach=1.0, needs=10),
    row("a", "identity", saving=0.0, reach=1.0, is_control=True),
]


def test_a_grid_of_two_parameters_is_a_heat_map(tmp_path):
    (grid,) = grids(load(write_run(tmp_path / "run", ROWS)), "recorded")

    assert (grid.strategy, grid.down, grid.across) == ("xun", "keep", "threshold")
    assert grid.cells[["down", "across", "cell_text"]].to_numpy().tolist() == [
        ["2", "25%", "50 | 60"],
        ["2", "50%", "80 | 30"],
        ["8", "25%", "70 | 40"],
        ["8", "50%", "not engaged"],
    ]
    spec = heat_map(grid).to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect", "text"]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:2],  # one parameter varies
        [row("a", "xun", saving=0.2), *ROWS[:4]],  # a setting without them
        ROWS[4:],  # controls only
        [],
    ],
)
def test_other_runs_have_no_heat_map(tmp_path, rows):
    assert list(grids(load(write_run(tmp_path / "run", rows)), "recorded")) == []


def priced(path, rows):
    folder = write_run(path, rows)
    for item in rows:
        if item.cost_after_usd is not None:
            RunFolder(folder).write_sidecar(
                item.cell_id,
                {
                    "cost": {
                        "before_usd": {"read": 1.0, "written": 2.0, "output": 0.5},
                        "after_usd": {
                            "read": 0.25,
                            "written": item.cost_after_usd - 0.75,
                            "output": 0.5,
                            "own_calls": 0.125,
                        },
                    }
                },
            )
    return load(folder)


def test_dollars_are_summed_over_the_transcripts_of_all_settings(tmp_path):
    cost = {"saving": 0.5, "cost_before_usd": 3.5}
    rows = [
        row("a", "x", cost_after_usd=1.75, **cost),
        row("b", "x", cost_after_usd=1.75, **cost),
        row("a", "y", cost_after_usd=2.75, **cost),
        row("b", "y", saving=0.5),  # not priced: b is left out
    ]

    run = priced(tmp_path / "run", rows)
    found = breakdown(run, "recorded", ["x", "y", "z"])

    assert found[["setting", "kind", "usd"]].to_numpy().tolist() == [
        [UNCOMPACTED, "read from the cache", 1.0],
        [UNCOMPACTED, "written to the cache", 2.0],
        [UNCOMPACTED, "output", 0.5],
        ["x", "read from the cache", 0.25],
        ["x", "written to the cache", 1.0],
        ["x", "output", 0.5],
        ["x", "own model calls", 0.125],
        ["y", "read from the cache", 0.25],
        ["y", "written to the cache", 2.0],
        ["y", "output", 0.5],
        ["y", "own model calls", 0.125],
    ]
    spec = cost_breakdown(found).to_dict()
    assert spec["encoding"]["y"]["sort"] == [UNCOMPACTED, "x", "y"]
    assert "USD over the 1 transcript that all of these were scored on." in html(run)


def test_a_run_without_prices_has_no_bars(tmp_path):
    found = breakdown(load(write_run(tmp_path / "run", ROWS)), "recorded", ["xun"])

    assert found.empty
    assert cost_breakdown(found) is None
