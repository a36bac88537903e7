"""Numbers worked out by hand, promises on drawn data, and simulations of error rates."""

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.bounded import exceeded_by, mean_above_p, sessions_to_exceed
from evals.power import (
    bounded_detectable_gain,
    bounded_detectable_mean,
    bounded_margin,
    bounded_sessions_needed,
    minimum_detectable_effect,
    sessions_needed,
)
from evals.stats import (
    DRAWS,
    MIN_CLUSTERS,
    MIN_CLUSTERS_BCA,
    VERDICT_LEVEL,
    Interval,
    StatisticsError,
    bootstrap_interval,
    clustered,
    holm,
    mcnemar_p,
    sign_flip_p,
    t_interval,
    verdict_of,
)

SIMULATIONS = int(os.environ.get("STATS_SIMULATIONS", "300"))
"""More on demand; CI takes the default."""
shares = st.floats(0, 1).map(lambda value: round(value, 6))


def each_alone(values):
    return clustered(values, range(len(values)))


def test_transcripts_of_a_session_are_one_cluster():
    data = clustered([1.0, 0.0, 0.5, 0.5], ["a", "b", "a", "c"])

    assert data.n_clusters == 3
    assert data.sums.tolist() == [1.5, 0.0, 0.5]
    assert data.weights.tolist() == [2, 1, 1]
    assert data.mean == 0.5


def test_a_ratio_is_of_the_sums_and_not_the_mean_of_ratios():
    # 10 of 100 and 1 of 1: 11 / 101, where the mean of ratios would be 0.55.
    data = clustered([10.0, 1.0], ["a", "b"], [100.0, 1.0])

    assert data.mean == pytest.approx(11 / 101)


@pytest.mark.parametrize(
    ("values", "clusters", "weights", "said"),
    [
        ([], [], None, "no values"),
        ([1.0], ["a", "b"], None, "1 values, 2 clusters"),
        ([math.nan], ["a"], None, "finite"),
        ([1.0], ["a"], [0.0], "weigh more than 0"),
    ],
)
def test_numbers_that_cannot_give_a_statistic_are_refused(values, clusters, weights, said):
    with pytest.raises(StatisticsError, match=said):
        clustered(values, clusters, weights)


@given(st.lists(shares, min_size=1, max_size=MIN_CLUSTERS - 1))
def test_few_sessions_have_no_interval_and_no_verdict(values):
    assert bootstrap_interval(each_alone(values)) is None
    assert verdict_of(None, margin=0.05) == "not supported"


def test_many_transcripts_of_few_sessions_have_no_interval():
    data = clustered([0.1 * n for n in range(40)], [n % 5 for n in range(40)])

    assert bootstrap_interval(data) is None


def test_an_interval_is_within_the_values_and_the_same_every_time():
    data = each_alone([0.1, 0.9, 0.4, 0.6, 0.5, 0.2, 0.8, 0.3, 0.7, 0.5])

    interval = bootstrap_interval(data)

    assert interval is not None
    assert 0.1 < interval.low < data.mean < interval.high < 0.9
    assert interval == bootstrap_interval(data)
    assert interval.method == "BCa bootstrap or t"


def test_twenty_sessions_get_bca_and_fewer_the_wider_of_bca_and_t():
    values = [(n * 7 % 20) / 20 for n in range(MIN_CLUSTERS_BCA)]

    assert bootstrap_interval(each_alone(values)).method == "BCa bootstrap"
    assert bootstrap_interval(each_alone(values[1:])).method == "BCa bootstrap or t"


def test_equal_values_have_an_interval_without_width():
    assert bootstrap_interval(each_alone([0.25] * 30))[:2] == (0.25, 0.25)
    assert t_interval(each_alone([0.25] * 3))[:2] == (0.25, 0.25)


def test_an_interval_of_few_sessions_is_never_narrower_than_students():
    # mean 0.5, ten values of 0 and 1: 0.5 +- 2.262157 * 0.527046 / sqrt(10).
    low, high = bootstrap_interval(each_alone([0.0, 1.0] * 5))[:2]

    assert (low, high) == pytest.approx((0.5 - 0.377034, 0.5 + 0.377034), abs=1e-4)


def test_the_wider_of_both_is_cut_to_what_was_seen():
    low, high = bootstrap_interval(each_alone([0.8, *[1.0] * 9]))[:2]

    assert 0.8 <= low < 0.98 < high <= 1.0


def test_students_interval_of_a_ratio_is_that_of_a_mean_if_all_weigh_the_same():
    values = [0.1, 0.9, 0.4, 0.6, 0.5, 0.2, 0.8, 0.3, 0.7, 0.5]
    ratio = clustered([4 * value for value in values], range(10), [4.0] * 10)

    assert bootstrap_interval(ratio)[:2] == pytest.approx(
        bootstrap_interval(each_alone(values))[:2]
    )


def test_a_bootstrap_of_normal_values_is_near_the_normal_interval():
    values = np.random.default_rng(1).normal(0.5, 0.1, 100)

    low, high = bootstrap_interval(each_alone(values))[:2]

    half = 1.96 * values.std() / 10
    assert low == pytest.approx(values.mean() - half, abs=0.003)
    assert high == pytest.approx(values.mean() + half, abs=0.003)


def test_copies_of_a_transcript_in_one_session_add_no_certainty():
    values = [0.1, 0.9, 0.4, 0.6, 0.5, 0.2, 0.8, 0.3, 0.7, 0.5]
    copied = clustered(values * 4, list(range(10)) * 4)

    assert bootstrap_interval(copied)[:2] == pytest.approx(
        bootstrap_interval(each_alone(values))[:2]
    )


def test_students_interval_by_hand():
    # mean 2, standard deviation 1, n = 3: 2 +- 4.302653 / sqrt(3).
    interval = t_interval(each_alone([1.0, 2.0, 3.0]))

    assert interval.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-5)
    assert interval.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-5)
    assert t_interval(each_alone([1.0])) is None


def test_sign_flips_by_hand():
    # |mean| of +-1 +-2 +-3 is at least 2 for +++ and --- only: 2 of 8.
    assert sign_flip_p(each_alone([1.0, 2.0, 3.0])) == 0.25
    # 1 - 2 + 3 = 2; sums of absolute value >= 2: all but +1+2-3 = 0 and -1-2+3 = 0: 6 of 8.
    assert sign_flip_p(each_alone([1.0, -2.0, 3.0])) == 0.75


def test_flips_take_a_session_as_a_whole():
    alone = each_alone([0.1, 0.2, 0.3, 0.4])
    together = clustered([0.1, 0.2, 0.3, 0.4], ["a", "a", "b", "b"])

    assert sign_flip_p(alone) == 2 / 16
    assert sign_flip_p(together) == 2 / 4


def test_no_difference_and_one_session_have_a_p_of_one():
    assert sign_flip_p(each_alone([0.0] * 20)) == 1.0
    assert sign_flip_p(each_alone([0.4])) == 1.0


def test_random_flips_never_give_a_p_of_zero():
    assert sign_flip_p(each_alone([1.0] * 40)) >= 1 / (DRAWS + 1)


@given(st.lists(shares, min_size=2, max_size=8))
def test_the_order_of_two_settings_does_not_change_the_p(values):
    assert sign_flip_p(each_alone(values)) == pytest.approx(
        sign_flip_p(each_alone([-v for v in values]))
    )


def test_mcnemar_by_hand():
    # 1 of 6 discordant pairs: 2 * (1 + 6) / 64.
    assert mcnemar_p(1, 5) == pytest.approx(14 / 64)
    assert mcnemar_p(5, 1) == pytest.approx(14 / 64)
    assert mcnemar_p(0, 0) == 1.0


def test_holm_by_hand():
    # 0.01 * 4, 0.02 * 3, then 0.03 * 2 = 0.06 (as high as before), 0.9.
    found = holm({"d": 0.9, "b": 0.02, "a": 0.01, "c": 0.03})

    assert found == {
        "d": pytest.approx(0.9),
        "b": pytest.approx(0.06),
        "a": pytest.approx(0.04),
        "c": pytest.approx(0.06),
    }
    assert list(found) == ["d", "b", "a", "c"]


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_and_keeps_their_order(p_values):
    adjusted = holm(p_values)

    assert all(p <= adjusted[name] <= 1 for name, p in p_values.items())
    ordered = sorted(p_values, key=p_values.__getitem__)
    assert [adjusted[name] for name in ordered] == sorted(adjusted.values())


@pytest.mark.parametrize(
    ("low", "high", "margin", "verdict"),
    [
        (-0.04, 0.1, 0.05, "non-inferior"),
        (-0.05, 0.1, 0.05, "inconclusive"),
        (0.1 - 0.15, -0.05, 0.05, "inconclusive"),  # -0.04999999999999999
        (-0.2, -0.05, 0.05, "inconclusive"),
        (-0.2, -0.06, 0.05, "inferior"),
        (0.0, 0.0, 0.0, "non-inferior"),
        (-0.01, 0.0, 0.0, "inconclusive"),
    ],
)
def test_verdicts(low, high, margin, verdict):
    assert verdict_of(Interval(low, high, 0.9, "bounded"), margin=margin) == verdict


def test_the_spread_of_a_ratio_is_that_of_its_linear_part():
    # Ratio 4 / 8; left over 1 - 0.5 * 2 = 0, 3 - 0.5 * 6 = 0 and then 2 - 1 = 1, 2 - 3 = -1.
    assert clustered([1.0, 3.0], "ab", [2.0, 6.0]).spread == 0.0
    assert clustered([2.0, 2.0], "ab", [2.0, 6.0]).spread == pytest.approx(2 / 8 * math.sqrt(2))


@given(st.lists(shares, min_size=2, max_size=8))
def test_the_spread_of_a_mean_is_the_standard_deviation(values):
    assert each_alone(values).spread == pytest.approx(np.std(values, ddof=1), abs=1e-12)


def test_sessions_needed_against_a_published_example():
    # (1.6449 + 0.8416) ** 2 * 0.15 ** 2 / 0.05 ** 2 = 55.6, and for 0.30: 222.6.
    assert sessions_needed(0.15, 0.05) == 56
    assert sessions_needed(0.30, 0.05) == 223
    with pytest.raises(StatisticsError, match="margin must be > 0"):
        sessions_needed(0.15, 0.0)


def test_the_minimum_detectable_effect_is_the_margin_that_needs_this_many_sessions():
    # Differences +-d have a standard deviation of d * sqrt(n / (n - 1)).
    differences = each_alone([0.1, -0.1] * 32)

    spread = 0.1 * math.sqrt(64 / 63)
    effect = minimum_detectable_effect(differences)

    assert effect == pytest.approx((1.644854 + 0.841621) * spread / 8, abs=1e-6)
    assert sessions_needed(spread, effect * 1.0001) == 64
    assert minimum_detectable_effect(each_alone([0.1])) is None


@pytest.mark.parametrize(("margin", "n"), [(0.05, 59), (0.02, 149), (0.15, 19), (0.5, 5)])
def test_sessions_that_lose_nothing_need_what_their_test_needs(margin, n):
    def p(of):
        return mean_above_p(each_alone([0.0] * of), -margin, floor=-1.0)

    assert bounded_sessions_needed(0.0, margin, floor=-1.0) == n
    assert sessions_to_exceed(1 - margin) == n
    assert p(n) <= 0.05 < p(n - 1)
    assert exceeded_by(n) >= 1 - margin > exceeded_by(n - 1)


def test_a_spread_takes_more_sessions_and_a_near_floor_fewer():
    spreads = (0.0, 0.05, 0.1, 0.3)
    needed = [bounded_sessions_needed(spread, 0.05, floor=-1.0) for spread in spreads]

    assert needed == sorted(needed)
    normal = [sessions_needed(spread, 0.05) for spread in spreads]
    assert all(n > n_normal for n, n_normal in zip(needed, normal, strict=True))
    assert bounded_sessions_needed(0.1, 0.05, floor=-0.5) < needed[2]
    assert bounded_sessions_needed(0.1, 0.05, floor=-0.05) == 1
    assert bounded_sessions_needed(0.5, 0.0005, floor=-1.0) is None
    with pytest.raises(StatisticsError, match="margin must be > 0"):
        bounded_sessions_needed(0.1, 0.0, floor=-1.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 14, 20, 50])
@pytest.mark.parametrize("shape", ["beta", "clustered", "ratio", "full or not", "difference"])
def test_coverage_of_the_bootstrap_interval_is_90_to_97_percent(n, shape):
    generator = np.random.default_rng([n, len(shape)])
    covered = 0
    for _ in range(SIMULATIONS):
        data, truth = _sample(generator, n, shape)
        low, high = bootstrap_interval(data)[:2]
        covered += low <= truth <= high

    assert 0.90 <= covered / SIMULATIONS <= 0.97, covered


def _sample(generator, n, shape):
    if shape == "beta":  # like reach: many near 1, few low
        return each_alone(generator.beta(4, 1.5, n)), 4 / 5.5
    if shape == "clustered":  # one to three transcripts a session, alike within it
        sizes = generator.integers(1, 4, n)
        of_session = generator.beta(4, 1.5, n)
        noise = generator.normal(0, 0.02, sizes.sum())
        return clustered(np.repeat(of_session, sizes) + noise, np.repeat(range(n), sizes)), 4 / 5.5
    if shape == "full or not":  # two in five keep all, the others any share
        return each_alone(np.where(generator.random(n) < 0.4, 1.0, generator.random(n))), 0.7
    if shape == "difference":
        return each_alone(generator.beta(4, 1.5, n) - generator.beta(4, 1.5, n)), 0.0
    # tokens after over tokens before: sizes spread over orders of magnitude, savings with them
    before = generator.lognormal(10, 0.6, n)
    return clustered(before * generator.beta(3, 3, n), range(n), before), 0.5


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 40])
def test_the_paired_test_finds_a_difference_that_is_not_there_in_at_most_6_percent(n):
    generator = np.random.default_rng(n)
    draws = max(SIMULATIONS, 1_000)  # of 300 the standard error alone is 1.3 points
    false_alarms = sum(
        sign_flip_p(each_alone(generator.beta(4, 1.5, n) - generator.beta(4, 1.5, n))) <= 0.05
        for _ in range(draws)
    )

    assert false_alarms / draws <= 0.06, false_alarms


@pytest.mark.slow
def test_a_bootstrap_claims_non_inferiority_in_at_most_8_percent_of_normal_samples():
    generator = np.random.default_rng(3)
    claims = sum(
        claimed(each_alone(generator.normal(-0.05, 0.1, 30))) == "non-inferior"
        for _ in range(SIMULATIONS)
    )

    assert claims / SIMULATIONS <= 0.08, claims


def claimed(data):
    return verdict_of(bootstrap_interval(data, level=VERDICT_LEVEL), margin=0.05)


@pytest.mark.slow
def test_a_bootstrap_does_not_know_rare_losses_so_it_decides_no_share():
    generator = np.random.default_rng(5)
    claims = sum(
        claimed(each_alone(-0.5 * (generator.random(12) < 0.1))) == "non-inferior"
        for _ in range(100)
    )

    assert claims / 100 >= 0.2, claims


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.02, 0.1, 0.2])
def test_the_sessions_needed_decide_four_times_of_five(spread):
    generator = np.random.default_rng(6)
    n = bounded_sessions_needed(spread, 0.05, floor=-1.0)

    shown = sum(
        mean_above_p(each_alone(generator.normal(0.0, spread, n)), -0.05, floor=-1.0) <= 0.05
        for _ in range(SIMULATIONS)
    )

    assert 0.73 <= shown / SIMULATIONS <= 0.9, (n, shown)


@pytest.mark.slow
def test_a_difference_of_the_minimum_detectable_effect_is_found_four_times_of_five():
    generator = np.random.default_rng(4)
    found = 0
    for _ in range(SIMULATIONS):
        differences = each_alone(generator.normal(0.0, 0.1, 40))
        effect = minimum_detectable_effect(each_alone(generator.normal(0.0, 0.1, 40)))
        shifted = each_alone(differences.sums - effect)
        found += sign_flip_p(shifted) / 2 <= 0.05 and shifted.mean < 0

    assert 0.7 <= found / SIMULATIONS <= 0.9, found


@pytest.mark.parametrize(
    ("n", "spread", "limit"), [(20, 0.05, 0.7), (40, 0.1, 0.8), (100, 0.2, 0.8), (12, 0.0, 0.7)]
)
def test_the_detectable_mean_is_the_one_for_which_so_many_sessions_are_needed(n, spread, limit):
    mean = bounded_detectable_mean(n, spread, limit)

    assert limit < mean <= 1
    at_it, below = (
        bounded_sessions_needed(spread, each - limit, floor=-each) for each in (mean, mean - 0.01)
    )
    assert at_it <= n < below


@pytest.mark.parametrize(("n", "spread"), [(12, 0.0), (12, 0.2), (58, 0.05), (159, 0.2), (40, 0.4)])
def test_the_least_margin_is_the_one_for_which_so_many_sessions_are_needed(n, spread):
    margin = bounded_margin(n, spread, floor=-1.0)

    assert 1 - 0.05 ** (1 / n) - 1e-9 <= margin < 1
    at_it, below = (
        bounded_sessions_needed(spread, each, floor=-1.0) for each in (margin, margin - 0.005)
    )
    assert at_it <= n < below
    # In another unit it is the same.
    assert bounded_margin(n, 3 * spread, floor=-3.0) == pytest.approx(3 * margin, abs=1e-5)


def test_what_so_few_sessions_cannot_show_has_no_margin():
    assert bounded_margin(2, 2.0, floor=-1.0) is None


def test_what_so_few_sessions_cannot_show_has_no_detectable_mean():
    # 0.9 ** 28 is above 0.05; and half-and-half sessions have no bound of 0.7 at a mean of 1.
    assert bounded_detectable_mean(28, 0.0, 0.9) is None
    assert bounded_detectable_mean(12, 0.5, 0.7) is None
    assert bounded_detectable_mean(29, 0.0, 0.9) == pytest.approx(1.0, abs=0.005)
    assert bounded_detectable_mean(1_000, 0.0, 1.0) is None


def test_sessions_that_are_alike_show_a_gain_of_exactly_that_p():
    def detectable(n, floor, ceiling):
        # What they gain does not count, only that all gain the same.
        data = each_alone([0.07] * n)
        return bounded_detectable_gain(data, floor=floor, ceiling=ceiling)

    # (0.6 / (0.6 + d)) ** 10 = 0.05, so d = 0.6 * (20 ** 0.1 - 1) = 0.20957.
    assert detectable(10, -0.6, 0.4) == pytest.approx(0.20957, abs=1e-4)
    assert mean_above_p(each_alone([0.2096] * 10), 0.0, floor=-0.6) == pytest.approx(0.05, abs=1e-4)
    # Eleven that lose nothing where 0.9 is kept: 0.9 ** 11 = 0.31.
    assert detectable(11, -0.9, 0.1) is None
    assert detectable(1_000, -1.0, 0.0) is None
    # Where nothing can be lost any gain shows.
    assert detectable(10, 0.0, 1.0) == pytest.approx(0.0, abs=1e-4)


def test_sessions_that_scatter_show_less_than_those_that_are_alike():
    found = [
        bounded_detectable_gain(each_alone([-apart, apart] * 6), floor=-0.5, ceiling=0.5)
        for apart in (0.0, 0.1, 0.2, 0.9)
    ]

    assert found[0] < found[1] < found[2]
    assert found[3] is None


@pytest.mark.slow
@pytest.mark.parametrize(("n", "spread"), [(12, 0.1), (20, 0.15), (40, 0.3)])
def test_a_detectable_gain_is_found_four_times_of_five(n, spread):
    generator = np.random.default_rng(8)
    shown = 0
    for _ in range(SIMULATIONS):
        seen = each_alone(generator.normal(0.0, spread, n))
        gain = bounded_detectable_gain(seen, floor=-0.5, ceiling=0.5)
        new = each_alone(np.clip(generator.normal(gain, spread, n), -0.5, None))
        shown += mean_above_p(new, 0.0, floor=-0.5) <= 0.05

    assert 0.7 <= shown / SIMULATIONS <= 0.9, (n, gain, shown)
