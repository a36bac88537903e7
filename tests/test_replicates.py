"""Variance components by the method of moments."""

import pytest

from evals.probing.replicates import components


def test_the_spread_is_split_between_questions_and_answers():
    # Means 0.5, 1, 0; grand 0.5. Within: (0.25 + 0.25) / (6 - 3) = 1/6.
    # Between means: 2 x (0 + 0.25 + 0.25) / 2 = 0.5; component (0.5 - 1/6) / 2 = 1/6.
    found = components([[0, 1], [1, 1], [0, 0]])

    assert found.within == pytest.approx(1 / 6)
    assert found.between == pytest.approx(1 / 6)


def test_groups_of_several_sizes_count_by_their_effective_size():
    # Groups (0, 0, 1) and (1): n = 4, means 1/3 and 1, grand 1/2. Within: (2/3) / 2 = 1/3.
    # Between: 3 x 1/36 + 1/4 = 1/3; size (4 - 10/4) / 1 = 1.5; component 0 / 1.5 = 0.
    found = components([[0, 0, 1], [1]])

    assert found.within == pytest.approx(1 / 3)
    assert found.between == pytest.approx(0.0)


def test_a_negative_estimate_is_zero():
    assert components([[0, 1], [1, 0]]).between == 0.0


@pytest.mark.parametrize("groups", [[], [[1, 0]], [[1], [0]], [[], [1]]])
def test_without_replicates_there_is_nothing_to_split(groups):
    assert components(groups) is None
