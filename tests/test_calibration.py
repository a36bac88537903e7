import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.calibration import MIN_FIT_POINTS, SLOPE_RANGE, Calibration, Point, calibrate


def line(slope, offset_tokens, counted):
    return [Point(size, round(slope * size + offset_tokens)) for size in counted]


@given(
    st.integers(50, 250),
    st.integers(0, 20_000),
    st.lists(st.integers(1, 2_000).map((100).__mul__), min_size=6, max_size=60, unique=True),
)
def test_points_on_a_line_give_its_slope_and_offset_back_without_error(percent, offset, counted):
    points = [Point(size, percent * size // 100 + offset) for size in counted]

    found = calibrate(points)

    assert found.slope == pytest.approx(percent / 100, rel=1e-9)
    assert found.offset_tokens == pytest.approx(offset, abs=1e-3)
    assert found.error_fraction == pytest.approx(0, abs=1e-6)
    assert found.n_requests == len(points)


def test_without_usage_counted_tokens_are_taken_as_they_are():
    found = calibrate([])

    assert found == Calibration(slope=1.0, offset_tokens=0.0, error_fraction=None, n_requests=0)
    assert found.size(1_234) == 1_234


def test_one_request_gives_a_prefix_and_no_error_since_none_was_held_out():
    assert calibrate([Point(1_000, 4_000)]) == Calibration(1.0, 3_000.0, None, 1)


def test_below_six_requests_only_the_prefix_is_estimated():
    points = line(2.0, 500, [1_000, 2_000, 3_000, 4_000, 5_000])

    found = calibrate(points)

    # Differences 1500, 2500, 3500, 4500, 5500: the median is 3500.
    assert len(points) == MIN_FIT_POINTS - 1
    assert (found.slope, found.offset_tokens) == (1.0, 3_500.0)


def test_the_error_is_the_median_of_held_out_requests_by_a_fit_that_did_not_see_them():
    points = [Point(100, 1_100), Point(200, 1_000), Point(300, 1_300), Point(400, 2_000)]

    found = calibrate(points)

    # Fitted on the first and third: both differ by 1000. Held out: 1200 for 1000, 1400 for 2000.
    assert found.error_fraction == pytest.approx((0.2 + 0.3) / 2)
    # All four differ by 1000, 800, 1000, 1600.
    assert found.offset_tokens == 1_000.0


def test_the_error_of_few_requests_with_a_slope_is_that_of_a_fit_with_a_slope():
    found = calibrate(line(1.5, 700, [100, 200, 300, 400, 500, 600, 700]))

    assert found.slope == pytest.approx(1.5)
    assert found.error_fraction == pytest.approx(0, abs=1e-9)


def test_a_prefix_is_never_negative_the_tokenizer_takes_the_difference():
    found = calibrate([Point(1_000, 800), Point(2_000, 1_600), Point(3_000, 2_400)])

    assert found.offset_tokens == 0.0
    assert found.slope == pytest.approx(0.8)


def test_requests_of_one_size_give_a_prefix_and_no_slope():
    found = calibrate([Point(1_000, 1_500)] * 8)

    assert (found.slope, found.offset_tokens, found.error_fraction) == (1.0, 500.0, 0.0)


@pytest.mark.parametrize(("slope", "limit"), [(7.0, SLOPE_RANGE[1]), (0.01, SLOPE_RANGE[0])])
def test_a_slope_that_no_tokenizer_has_is_held_at_the_limit(slope, limit):
    counted = [1_000 * n for n in range(1, 9)]

    found = calibrate(line(slope, 50_000, counted))

    # The prefix is the median of what the limited slope leaves over: between n = 4 and n = 5.
    assert found.slope == limit
    assert found.offset_tokens == pytest.approx(50_000 + (slope - limit) * 4_500)


def test_a_ratio_far_below_every_tokenizer_is_held_at_the_limit_too():
    assert calibrate([Point(1_000, 10), Point(3_000, 30)]).slope == SLOPE_RANGE[0]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), max_size=30))
def test_whatever_was_reported_the_fit_is_a_plausible_one(pairs):
    found = calibrate([Point(*pair) for pair in pairs])

    assert SLOPE_RANGE[0] <= found.slope <= SLOPE_RANGE[1]
    assert found.offset_tokens >= 0
    assert (found.error_fraction is None) == (len(pairs) < 2)
