"""Numbers worked out by hand, the binomial bound as a special case, and simulated error rates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evals.bounded import MIN_P, bounded_interval, lower_bound, mean_above_p, sessions_to_exceed
from evals.stats import DRAWS, StatisticsError, clustered, sign_flip_p, verdict_of

shares = st.lists(st.floats(0, 1).map(lambda value: round(value, 6)), min_size=1, max_size=15)


def each_alone(values):
    return clustered(list(values), range(len(values)))


@pytest.mark.parametrize(("n", "kept"), [(20, 20), (20, 18), (40, 37), (12, 0)])
def test_of_sessions_that_keep_all_or_nothing_it_is_the_binomial_bound(n, kept):
    data = each_alone([1.0] * kept + [0.0] * (n - kept))

    exact = stats.beta(max(kept, 1e-9), n - kept + 1)
    bound = exact.ppf(0.05)
    error = math.sqrt(0.05 * 0.95 / DRAWS) / exact.pdf(bound) if kept else 0.0
    assert lower_bound(data, floor=0.0) == pytest.approx(bound, abs=3 * error + 1e-9)
    p = stats.binom.sf(kept - 1, n, 0.8)
    assert mean_above_p(data, 0.8, floor=0.0) == pytest.approx(
        p, abs=3 * math.sqrt(p * (1 - p) / DRAWS) + MIN_P
    )


def test_twenty_perfect_sessions_by_hand():
    # A reach of 0.85 shows 20 of 20 perfect sessions with a chance of 0.85 ** 20 = 0.0388.
    data = each_alone([1.0] * 20)

    assert mean_above_p(data, 0.85, floor=0.0) == pytest.approx(0.0388, abs=0.006)
    assert lower_bound(data, floor=0.0) == pytest.approx(0.05 ** (1 / 20), abs=0.003)


def test_a_floor_that_is_nearer_costs_less():
    data = each_alone([0.1] * 20)

    # One more session at -b pulls the mean to 0 if its weight is 0.1 / (0.1 + b): (1 - w) ** 20.
    for floor in (-0.1, -0.5, -1.0):
        share = 0.1 / (0.1 - floor)
        assert mean_above_p(data, 0.0, floor=floor) == pytest.approx((1 - share) ** 20, abs=0.015)


def test_transcripts_of_one_session_add_no_certainty():
    values = [0.9, 1.0, 0.8, 1.0, 0.95]
    copied = clustered(values * 4, list(range(5)) * 4)

    assert lower_bound(copied, floor=0.0) == pytest.approx(
        lower_bound(each_alone(values), floor=0.0)
    )


def test_a_session_below_the_floor_is_refused():
    with pytest.raises(StatisticsError, match="below the floor of 0"):
        lower_bound(each_alone([0.5, -0.1]), floor=0.0)


def test_p_is_never_0():
    assert mean_above_p(each_alone([1.0] * 400), 0.1, floor=0.0) == MIN_P


@pytest.mark.parametrize("n", [10, 24, 59, 200])
def test_sessions_that_are_all_alike_have_exact_numbers(n):
    # One more session at -1 pulls a mean of 0 to -w where its weight is w: (1 - w) ** n.
    data = each_alone([0.0] * n)

    low, high, level, method = bounded_interval(data, floor=-1.0, ceiling=0.25)

    assert low == pytest.approx(0.05 ** (1 / n) - 1, abs=1e-6)
    assert high == pytest.approx(0.25 * (1 - 0.05 ** (1 / n)), abs=1e-6)
    assert (level, method) == (0.9, "bounded")
    assert mean_above_p(data, -0.05, floor=-1.0) == pytest.approx(max(0.95**n, MIN_P), rel=1e-6)


def test_few_sessions_have_no_interval():
    assert bounded_interval(each_alone([0.0] * 9), floor=-1.0, ceiling=1.0) is None


def test_a_session_above_the_ceiling_is_refused():
    with pytest.raises(StatisticsError, match=r"below the floor of -0\.2"):
        bounded_interval(each_alone([0.3] * 12), floor=-1.0, ceiling=0.2)


@given(shares.filter(lambda values: len(values) >= 10))
def test_the_mean_is_in_the_interval(values):
    data = each_alone(values)

    low, high = bounded_interval(data, floor=-1.0, ceiling=1.0)[:2]

    assert low - 1e-6 <= data.mean <= high + 1e-6


@given(
    st.lists(st.floats(-0.3, 0.2).map(lambda x: round(x, 2)), min_size=10, max_size=30),
    st.floats(0.01, 0.3),
)
def test_a_verdict_is_a_test_at_5_percent_each_way(values, margin):
    data, negated = each_alone(values), each_alone([-value for value in values])
    p_worse = mean_above_p(data, -margin, floor=-1.0)
    p_better = mean_above_p(negated, margin, floor=-0.5)

    verdict = verdict_of(bounded_interval(data, floor=-1.0, ceiling=0.5), margin=margin)

    if min(abs(p_worse - 0.05), abs(p_better - 0.05)) > 0.001:
        assert (verdict == "non-inferior") == (p_worse <= 0.05)
        assert (verdict == "inferior") == (p_better <= 0.05)


@given(shares)
def test_the_bound_is_between_the_floor_and_the_mean_and_falls_with_the_floor(values):
    data = each_alone(values)

    bounds = [lower_bound(data, floor=floor) for floor in (-1.0, 0.0)]

    assert bounds[0] <= bounds[1] + 1e-9
    assert -1e-9 <= bounds[1] <= data.mean + 1e-9


@given(shares, st.floats(0.05, 0.95))
def test_p_and_bound_say_the_same(values, limit):
    data = each_alone(values)
    bound = lower_bound(data, floor=0.0)

    p = mean_above_p(data, limit, floor=0.0)

    if abs(bound - limit) > 0.01:
        assert (p <= 0.05) == (bound > limit)


@pytest.mark.parametrize(
    ("limit", "n"), [(0.85, 19), (0.9, 29), (0.95, 59), (0.5, 5), (0.0, 1), (-0.1, 1), (1.0, None)]
)
def test_how_few_sessions_can_exceed_a_limit(limit, n):
    assert sessions_to_exceed(limit) == n
    if n is not None and n > 1:
        assert limit**n <= 0.05 < limit ** (n - 1)


def samples(kind, mean, n, draws):
    generator = np.random.default_rng([n, len(kind), round(100 * mean)])
    if kind == "all or nothing":
        return (generator.random((draws, n)) < mean).astype(float)
    if kind == "most in full":
        in_full = generator.random((draws, n)) < 1 - 2 * (1 - mean)
        return np.where(in_full, 1.0, generator.random((draws, n)))
    if kind == "seldom nothing":  # 2 points above the mean, but for the sessions that lose all
        usual = mean + 0.02
        return np.where(generator.random((draws, n)) < mean / usual, usual, 0.0)
    return generator.beta(6 * mean, 6 * (1 - mean), (draws, n))


KINDS = ("all or nothing", "most in full", "seldom nothing", "skewed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", [0.85, 0.95])
@pytest.mark.parametrize("n", [20, 40])
def test_a_mean_at_the_limit_is_found_above_it_in_at_most_6_percent(kind, mean, n):
    drawn = samples(kind, mean, n, 1_000)

    wrong = sum(mean_above_p(each_alone(each), mean, floor=0.0) <= 0.05 for each in drawn)

    assert wrong / len(drawn) <= 0.06, wrong


@pytest.mark.slow
def test_the_simulation_can_fail_sign_flips_do():
    drawn = samples("all or nothing", 0.95, 20, 200)

    wrong = sum(
        sign_flip_p(each_alone(each - 0.95)) / 2 <= 0.05 and each.mean() > 0.95 for each in drawn
    )

    assert wrong / len(drawn) > 0.25, wrong


def losses(kind, n, margin, generator):
    """Draw differences of two reaches whose mean is exactly minus the margin."""
    if kind == "one in ten loses half":  # more of them for a larger margin
        return -0.5 * (generator.random(n) < 2 * margin)
    if kind == "all or nothing":
        return -1.0 * (generator.random(n) < margin)
    if kind == "the best lose all":  # what one of ten keeps in full, against 0.5
        return -1.0 * (generator.random(n) < 0.1) * (generator.random(n) < 10 * margin)
    if kind == "small gains and rare losses":
        gain = 0.02
        return np.where(generator.random(n) < (margin + gain) / (0.6 + gain), -0.6, gain)
    return np.clip(generator.normal(-margin, 0.1, n), -1, 1)


LOSSES = (
    "one in ten loses half",
    "all or nothing",
    "the best lose all",
    "small gains and rare losses",
    "normal",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize(("n", "margin"), [(10, 0.05), (20, 0.05), (50, 0.05), (80, 0.05)])
def test_a_loss_as_large_as_the_margin_is_called_non_inferior_in_at_most_6_percent(kind, n, margin):
    assert wrong_verdicts(kind, n, margin) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind != "the best lose all"])
@pytest.mark.parametrize(("n", "margin"), [(10, 0.3), (20, 0.15), (50, 0.07)])
def test_so_with_margins_that_so_few_sessions_can_show(kind, n, margin):
    """Here a sample without losses decides, so the share of errors is not 0 for want of power."""
    assert wrong_verdicts(kind, n, margin) <= 0.06


def wrong_verdicts(kind, n, margin):
    """Return the share of wrong ones; p decides as the interval does, and is quicker."""
    generator = np.random.default_rng([n, len(kind)])
    drawn = (each_alone(losses(kind, n, margin, generator)) for _ in range(300))
    return sum(mean_above_p(each, -margin, floor=-1.0) <= 0.05 for each in drawn) / 300


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 50])
def test_rare_gains_that_no_session_shows_are_called_inferior_in_at_most_6_percent(n):
    generator = np.random.default_rng(n)
    usual = -0.1
    share = (-0.05 - usual) / (0.4 - usual)  # of sessions gain 40 points: -5 in the mean
    wrong = 0
    for _ in range(300):
        drawn = each_alone(np.where(generator.random(n) < share, 0.4, usual))
        loss = each_alone(-drawn.sums)
        wrong += mean_above_p(loss, 0.05, floor=-0.4) <= 0.05

    assert wrong / 300 <= 0.06, wrong


@pytest.mark.slow
@pytest.mark.parametrize(("n", "mean"), [(40, 0.98), (60, 0.95)])
def test_what_is_well_above_the_limit_is_found_four_times_of_five(n, mean):
    drawn = samples("most in full", mean, n, 300)

    found = sum(mean_above_p(each_alone(each), 0.85, floor=0.0) <= 0.05 for each in drawn)

    assert found / len(drawn) >= 0.8, found
    assert math.isclose(drawn.mean(), mean, abs_tol=0.01)
