"""Kappa and rank correlation against numbers worked out by hand and against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evals.probing.agreement import kappa, rank_correlation
from evals.stats import MIN_CLUSTERS, StatisticsError

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=40)


def test_kappa_is_agreement_beyond_chance():
    # 10 pairs: 4 both yes, 3 both no, 2 yes/no, 1 no/yes. Observed 0.7; by chance
    # 0.6 x 0.5 + 0.4 x 0.5 = 0.5; kappa (0.7 - 0.5) / 0.5 = 0.4.
    pairs = [(True, True)] * 4 + [(False, False)] * 3 + [(True, False)] * 2 + [(False, True)]

    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([(True, True)] * 5) is None
    assert kappa([]) is None


def test_two_yes_or_no_measurements_correlate_by_their_counts():
    # 4 both, 3 neither, 2 first only, 1 second only: phi = (4 x 3 - 2 x 1) / sqrt(6 x 4 x 5 x 5).
    first, second = [1] * 4 + [0] * 3 + [1] * 2 + [0], [1] * 4 + [0] * 3 + [0] * 2 + [1]

    assert rank_correlation(first, second, range(10)).rho == pytest.approx(10 / math.sqrt(600))


@settings(max_examples=50, deadline=None)
@given(pairs=PAIRS)
def test_rho_is_spearmans_with_mid_ranks(pairs):
    first, second = zip(*pairs, strict=True)
    found = rank_correlation(first, second, ["a"] * len(pairs)).rho

    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.spearmanr(first, second).statistic)


def test_few_clusters_give_students_interval_over_their_own_values():
    # Three clusters of four pairs with rho 1, 0 and 0.577: mean 0.526, deviation 0.502,
    # t(2) = 4.303: 0.526 -/+ 4.303 x 0.502 / sqrt(3), cut at 1.
    first = [0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]
    second = [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]
    found = rank_correlation(first, second, "aaaabbbbcccc")

    assert found.by_cluster == pytest.approx((1.0, 0.0, 1 / math.sqrt(3)))
    assert not found.allows_claims
    assert (found.interval.method, found.interval.high) == ("t", 1.0)
    assert found.interval.low == pytest.approx(0.5258 - 4.3027 * 0.5020 / math.sqrt(3), abs=1e-3)


def test_from_ten_clusters_on_whole_clusters_are_drawn():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(20), 10)
    # What differs between clusters only: 20 independent values, not 200.
    shared = rng.normal(size=20)[clusters].round(1)
    first = (shared > 0).astype(int)
    found = rank_correlation(first, (shared + rng.normal(size=20)[clusters] > 0), clusters)
    alone = rank_correlation(first, (shared + rng.normal(size=20)[clusters] > 0), range(200))

    assert found.n_clusters == 20 >= MIN_CLUSTERS
    assert found.allows_claims
    assert found.interval.method == "percentile bootstrap"
    assert found.interval.low < found.rho < found.interval.high
    width, naive = (each.interval.high - each.interval.low for each in (found, alone))
    assert width > 2 * naive


def test_the_bootstrap_is_that_of_drawing_clusters_and_ranking_anew():
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(12), 5)
    first = (rng.random(60) + rng.random(12)[clusters] > 1).astype(int)
    second = np.where(rng.random(60) < 0.7, first, 1 - first)

    drawn = []
    for _ in range(400):
        picked = np.concatenate(
            [np.flatnonzero(clusters == at) for at in rng.integers(12, size=12)]
        )
        drawn.append(stats.spearmanr(first[picked], second[picked]).statistic)
    found = rank_correlation(first, second, clusters).interval

    assert found[:2] == pytest.approx(np.quantile(drawn, (0.025, 0.975)), abs=0.06)


def test_without_variation_there_is_no_correlation_and_no_interval():
    found = rank_correlation([1, 1, 1], [0, 1, 0], ["a", "a", "b"])

    assert (found.rho, found.interval) == (None, None)
    assert rank_correlation([], [], []).rho is None


@pytest.mark.parametrize(
    ("first", "second", "clusters", "said"),
    [([1], [1, 2], ["a"], "one each"), ([1, math.nan], [1, 2], ["a", "b"], "finite")],
)
def test_what_is_no_measurement_is_refused(first, second, clusters, said):
    with pytest.raises(StatisticsError, match=said):
        rank_correlation(first, second, clusters)
