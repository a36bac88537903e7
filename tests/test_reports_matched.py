"""Reading the reach of truncation at any saving."""

import pytest
from hypothesis import given
from hypothesis import strategies as generators

from reports.frames import load
from reports.matched import Point, curves, reach_at
from tests.reports_cases import failed, row, small_rows, write_run

CURVE = (Point(0.0, 1.0), Point(0.4, 0.8), Point(0.6, 0.6), Point(0.8, 0.4))


@pytest.mark.parametrize(
    ("saving", "reach"),
    [(0.0, 1.0), (0.1, 0.95), (0.4, 0.8), (0.45, 0.75), (0.8, 0.4), (-0.2, 1.0)],
)
def test_between_two_sizes_the_line_is_read(saving, reach):
    assert reach_at(CURVE, saving) == pytest.approx(reach)


def test_beyond_the_largest_saving_there_is_no_value():
    assert reach_at(CURVE, 0.81) is None


@given(generators.floats(0, 0.8))
def test_a_reading_lies_between_its_neighbours(saving):
    left = max(point for point in CURVE if point.saving <= saving)
    right = min(point for point in CURVE if point.saving >= saving)

    assert right.reach <= reach_at(CURVE, saving) <= left.reach


def test_each_transcript_has_its_own_curve_from_everything_reached_on(tmp_path):
    run = load(write_run(tmp_path / "run", small_rows()))

    of_transcript = curves(run.rows)

    assert len(of_transcript) == 2
    on_a, on_b = of_transcript.values()
    assert on_a == CURVE
    assert on_b == (Point(0.0, 1.0), Point(0.1, 0.8), Point(0.2, 0.6))


def test_failed_and_unmeasured_sizes_are_no_points(tmp_path):
    rows = [
        failed("a", "truncate(keep_tokens=1)", "no"),
        row("a", "truncate(keep_tokens=2)", saving=0.3, reach=None),
        row("a", "truncate(keep_tokens=3)", saving=0.5, reach=0.6),
        row("a", "truncate(keep_tokens=4)", saving=0.5, reach=0.4),
    ]

    run = load(write_run(tmp_path / "run", rows))

    assert list(curves(run.rows).values()) == [(Point(0.0, 1.0), Point(0.5, 0.5))]
