import pytest

from compaction.errors import StrategyError
from evals.ranges import values_of


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2,4, 8", ["2", "4", "8"]),
        ("2:8:2", ["2", "4", "6", "8"]),
        ("2:9:2", ["2", "4", "6", "8"]),
        ("5:5:1", ["5"]),
        ("-2:2:2", ["-2", "0", "2"]),
        # Ten steps of a tenth are one, as floats they are not.
        ("0.7:1:0.1", ["0.7", "0.8", "0.9", "1"]),
        ("100:300:100", ["100", "200", "300"]),
        ("25%:75%:25%", ["25%", "50%", "75%"]),
        ("none,1:3:1,2,75%", ["none", "1", "2", "3", "75%"]),
        ("group,user", ["group", "user"]),
        ("a:b:c", ["a:b:c"]),
        ("1:2", ["1:2"]),
    ],
)
def test_lists_and_ranges_with_their_ends_in_the_order_written_each_once(text, values):
    assert values_of(text, "--grid k") == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,,2", "has an empty value in '1,,2'"),
        ("25%:75%:25", "all or none of '25%:75%:25' must be percent"),
        ("1:9:0", "the step of '1:9:0' must be above 0"),
        ("9:1:-2", "the step of '9:1:-2' must be above 0"),
        ("9:1:2", "'9:1:2' goes down; write it as low:high:step"),
        ("0:1000:1", "'0:1000:1' has 1001 values, more than 1000"),
    ],
)
def test_a_range_that_goes_nowhere_or_too_far_is_refused(text, said):
    with pytest.raises(StrategyError, match="--grid k") as caught:
        values_of(text, "--grid k")

    assert said in str(caught.value)
