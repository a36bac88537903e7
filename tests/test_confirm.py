import pandas as pd
import pytest

from reports.confirm import confirm, halves, sessions_to_confirm


def reaches(values, *, n_engaged=None):
    clusters = [f"s{at}" for at in range(len(values))]
    engaged = [n_engaged is None or at < n_engaged for at in range(len(values))]
    return pd.DataFrame({"reach": values, "cluster": clusters, "engaged": engaged})


def test_a_setting_that_did_nothing_on_the_held_out_half_is_not_confirmed():
    found = outcomes({"a": reaches([1.0] * 40, n_engaged=0), "b": reaches([1.0] * 40, n_engaged=1)})

    assert [(each.n, each.n_engaged, each.is_confirmed) for each in found.values()] == [
        (40, 0, False),
        (40, 1, True),
    ]


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
    found = outcomes({"a": reaches([1.0] * 20)})["a"]

    assert (found.reach, found.n) == (1.0, 20)
    # The limit is 0.85: 0.85 ** 20 = 0.0388 is the chance of 20 such sessions of all or nothing.
    assert found.p_holm == pytest.approx(0.0388, abs=0.006)
    assert found.lower > 0.85
    assert found.is_confirmed


def test_too_few_sessions_confirm_nothing_however_good_they_are():
    found = outcomes({"a": reaches([1.0] * 15)})["a"]

    assert found.p_holm == pytest.approx(0.85**15, abs=0.01)
    assert not found.is_confirmed


def test_p_is_adjusted_for_the_settings_that_are_confirmed_together():
    alone = outcomes({"a": reaches([0.95, 1.0] * 15)})["a"]
    among_three = outcomes({name: reaches([0.95, 1.0] * 15) for name in "abc"})

    assert [among_three[name].p_holm for name in "abc"] == [pytest.approx(3 * alone.p_holm)] * 3
    assert [among_three[name].lower for name in "abc"] == [alone.lower] * 3


def test_what_falls_short_by_more_than_the_margin_is_not_confirmed():
    found = outcomes({"a": reaches([0.8, 0.82] * 20)})["a"]

    assert found.p_holm > 0.95
    assert not found.is_confirmed


def test_a_margin_forgives_a_small_shortfall_and_none_does_not():
    values = {"a": reaches([0.88, 0.9] * 50)}

    assert outcomes(values)["a"].is_confirmed
    assert not outcomes(values, margin=0.0)["a"].is_confirmed


def test_what_scatters_is_not_confirmed():
    assert not outcomes({"a": reaches([1.0, 0.75] * 20)})["a"].is_confirmed


@pytest.mark.parametrize(
    ("min_reach", "margin", "n"),
    [(0.9, 0.05, 19), (0.9, 0.0, 29), (0.5, 0.05, 10), (0.02, 0.05, 10), (1.0, 0.0, None)],
)
def test_a_half_is_as_large_as_perfect_sessions_must_be_to_confirm(min_reach, margin, n):
    assert sessions_to_confirm(min_reach, margin) == n
    if n is not None:
        found = confirm(
            {"a": reaches([1.0] * n)}, min_reach, margin, n_discovery=n, n_held_out=n
        ).tests[0]
        assert found.p_holm <= 0.055
