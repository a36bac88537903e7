import pytest

from compaction.errors import StrategyError
from compaction.registry import load_strategy_class, make_strategy, strategy_names
from compaction.strategy import parameters_of


def test_every_name_of_the_table_loads_a_class_of_that_name():
    loaded = {name: load_strategy_class(name) for name in strategy_names()}

    assert {name: strategy_class.name for name, strategy_class in loaded.items()} == {
        name: name for name in strategy_names()
    }


def test_every_strategy_is_made_with_its_defaults():
    made = [make_strategy(name) for name in strategy_names()]

    assert made == [load_strategy_class(name)() for name in strategy_names()]


def test_text_values_become_the_types_of_the_fields():
    strategy = make_strategy(
        "three_layer",
        {
            "keep_recent_tool_results": "3",
            "keep_system_prompt": "true",
            "read_tools": "Read, View",
            "context_limit_chars": 5_000,
        },
    )

    parameters = parameters_of(strategy)
    assert parameters["keep_recent_tool_results"] == 3
    assert parameters["keep_system_prompt"] is True
    assert parameters["read_tools"] == ("Read", "View")
    assert parameters["context_limit_chars"] == 5_000


def test_none_is_a_value_where_the_field_allows_it():
    strategy = make_strategy("three_layer", {"max_summary_tokens": "none"})

    assert parameters_of(strategy)["max_summary_tokens"] is None


def test_an_unknown_name_lists_the_known_ones_and_the_closest():
    with pytest.raises(
        StrategyError, match=r"'three_layr' \(did you mean 'three_layer'\?\); known:.*xun"
    ):
        make_strategy("three_layr")


def test_an_unknown_parameter_lists_the_strategys_parameters_and_the_closest():
    with pytest.raises(StrategyError) as caught:
        make_strategy("three_layer", {"preview_char": "3"})

    message = str(caught.value)
    assert "three_layer has no parameter 'preview_char'" in message
    assert "(did you mean 'preview_chars'?)" in message
    assert "persist_threshold_chars" in message


@pytest.mark.parametrize("value", ["many", "1.5", "", "[1]"])
def test_a_bad_value_names_parameter_type_and_value(value):
    with pytest.raises(StrategyError) as caught:
        make_strategy("three_layer", {"preview_chars": value})

    assert str(caught.value) == f"three_layer: preview_chars must be int, got {value!r}"


def test_a_value_out_of_range_says_what_is_allowed():
    with pytest.raises(StrategyError, match="three_layer: preview_chars must be >= 0, got -1"):
        make_strategy("three_layer", {"preview_chars": "-1"})
