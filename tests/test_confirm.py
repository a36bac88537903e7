import pandas as pd
import pytest

from reports.confirm import confirm, halves


def reaches(values):
    clusters = [f"s{at}" for at in range(len(values))]
    return pd.DataFrame({"reach": values, "cluster": clusters})


def outcomes(family, *, min_reach=0.9, margin=0.05):
    found = confirm(family, min_reach, margin, n_discovery=10, n_held_out=10)
    return {each.label: each for each in found.tests}


def test_halves_are_a_partition_that_neither_order_nor_size_decides():
    names = [f"session {at}" for at in range(21)]

    first, second = halves(names)

    assert (len(first), len(second)) == (11, 10)
    assert sorted(first + second) == sorted(names)
    assert halves(reversed(names)) == (first, second)
    assert first != names[::2]


def test_what_reaches_enough_everywhere_is_confirmed():
    found = outcomes({"a": reaches([0.95, 1.0] * 5)})["a"]

    assert (found.verdict, found.reach, found.n) == ("non-inferior", pytest.approx(0.975), 10)
    # All ten are above 0.85: of 2 ** 10 sign patterns one is as high.
    assert found.p_holm == pytest.approx(1 / 2**10)
    assert found.is_confirmed


def test_p_is_adjusted_for_the_settings_that_are_confirmed_together():
    alone = outcomes({"a": reaches([0.95, 1.0] * 5)})["a"].p_holm
    among_three = outcomes({name: reaches([0.95, 1.0] * 5) for name in "abc"})

    assert [among_three[name].p_holm for name in "abc"] == [pytest.approx(3 * alone)] * 3


def test_what_falls_short_by_more_than_the_margin_is_not_confirmed():
    found = outcomes({"a": reaches([0.8, 0.82] * 5)})["a"]

    assert (found.verdict, found.is_confirmed) == ("inferior", False)
    # All ten are below 0.85: all sign patterns but one are as high or higher.
    assert found.p_holm == pytest.approx(1 - 1 / 2**10)


def test_a_margin_forgives_a_small_shortfall_and_none_does_not():
    values = {"a": reaches([0.88, 0.89] * 5)}

    assert outcomes(values)["a"].is_confirmed
    assert not outcomes(values, margin=0.0)["a"].is_confirmed


def test_what_scatters_is_inconclusive():
    found = outcomes({"a": reaches([1.0, 0.7] * 5)})["a"]

    assert (found.verdict, found.is_confirmed) == ("inconclusive", False)
