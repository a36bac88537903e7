"""Configurations against our own classes and the documented schema; the libraries: tests/peers."""

import json

import pytest

from compaction.registry import STRATEGIES, make_strategy
from compaction.strategy import parameters_of
from compaction.systems import three_layer_strategy
from evals.settings import resolved_parameters
from reports.configuration import configurations
from reports.configuration_systems import PI_PARAMETERS, THREE_LAYER_CONSTANTS


def forms(strategy, **given):
    resolved = resolved_parameters(make_strategy(strategy, given))
    values = {name: resolved[name] for name in given}
    return {form.framework: form for form in configurations(strategy, resolved, given=values)}


def ran(text, **names):
    exec(text, names)
    return names


def test_every_strategy_of_ours_has_a_form_of_its_own_and_one_of_this_library():
    for name in STRATEGIES:
        assert "compaction (this library)" in forms(name)
        assert len(forms(name)) > 1 or name in ("snip_middle", "offload_large_results")


def test_anthropic_json_has_every_key_of_the_documented_schema():
    # https://platform.claude.com/docs/en/build-with-claude/context-editing, "advanced usage".
    form = forms(
        "anthropic_clear_tool_uses",
        trigger_tokens="30000",
        keep_last_results="5",
        min_reclaim_tokens="5000",
        exempt_tools="web_search",
        clear_arguments="true",
    )["Anthropic Messages API"]

    assert (form.language, json.loads(form.text)) == (
        "json",
        {
            "context_management": {
                "edits": [
                    {
                        "type": "clear_tool_uses_20250919",
                        "trigger": {"type": "input_tokens", "value": 30_000},
                        "keep": {"type": "tool_uses", "value": 5},
                        "clear_at_least": {"type": "input_tokens", "value": 5_000},
                        "exclude_tools": ["web_search"],
                        "clear_tool_inputs": True,
                    }
                ]
            }
        },
    )


def test_what_is_not_set_is_left_to_anthropic():
    (edit,) = json.loads(forms("anthropic_clear_tool_uses")["Anthropic Messages API"].text)[
        "context_management"
    ]["edits"]

    assert set(edit) == {"type", "trigger", "keep", "clear_tool_inputs"}


def test_always_is_a_trigger_in_tool_uses():
    form = forms("clear_tool_results", keep_last_results="4")["Anthropic Messages API"]

    (edit,) = json.loads(form.text)["context_management"]["edits"]
    assert edit["trigger"] == {"type": "tool_uses", "value": 4}
    assert any("number of tool uses kept" in note for note in form.notes)


def test_what_has_no_equivalent_is_said_for_each_framework_that_lacks_it():
    found = forms(
        "clear_tool_results", min_chars="200", min_reclaim_tokens="900", stop_after_tokens="50"
    )

    def lacking(framework):
        return {note.split()[3] for note in found[framework].notes if note.startswith("No equi")}

    assert lacking("Anthropic Messages API") == {"min_chars=200", "stop_after_tokens=50"}
    assert lacking("LangChain") == {"min_chars=200", "min_reclaim_tokens=900"}
    assert lacking("pydantic-ai-harness") == {"min_chars=200", "stop_after_tokens=50"}
    assert lacking("Inspect") == {
        "min_chars=200",
        "min_reclaim_tokens=900",
        "stop_after_tokens=50",
    }
    assert lacking("compaction (this library)") == set()


def test_a_rule_that_a_framework_has_not_gives_no_form_of_it():
    assert set(forms("clear_tool_results", protect_tokens="500")) == {"compaction (this library)"}
    assert set(forms("drop_oldest", keep_tail_fraction="0.8")) == {
        "Inspect",
        "compaction (this library)",
    }


def test_a_tier_that_no_framework_has_says_so():
    (form,) = forms("snip_middle", max_messages="20").values()

    assert form.notes == ("No framework known here has it.",)


@pytest.mark.parametrize(
    ("strategy", "given"),
    [
        ("clear_tool_results", {"keep_last_results": "2", "exempt_tools": "a,b"}),
        ("summarize", {"keep_tail_tokens": "500", "guard": '{"reject_grown": false}'}),
        ("inspect_trim", {"keep_tail_fraction": "0.5"}),
        ("three_layer", {"context_limit_chars": "5000"}),
        ("xun", {}),
    ],
)
def test_the_form_of_this_library_makes_the_same_strategy(strategy, given):
    text = forms(strategy, **given)["compaction (this library)"].text

    assert ran(text)["strategy"] == make_strategy(strategy, given)


def test_xun_settings_make_its_classes():
    form = forms("xun", token_threshold="9000", toolcall_keep_max="4", literal_ids="true")["xun"]

    made = ran(form.text)
    assert (made["auto_compact"].token_threshold, made["auto_compact"].enabled) == (9_000, True)
    assert (made["compactor"].toolcall_keep_max, made["compactor"].summary_keep_max) == (4, 16)
    assert "No equivalent of literal_ids=True there." in form.notes
    switched_off = forms("xun", reset_rounds_below_threshold="false")["xun"]
    assert "No equivalent of reset_rounds_below_threshold=False there." in switched_off.notes


def test_my_pi_agent_constructor_makes_the_same_settings(tmp_path):
    given = {"context_budget": "50000", "micro_keep_recent": "2", "cut": "after_user"}
    form = forms("my_pi_agent", **given)["my_pi_agent"]

    made = ran(form.text, llm=None, results_dir=tmp_path)

    assert made["manager"]._settings == make_strategy("my_pi_agent", given)
    assert set(PI_PARAMETERS) == set(parameters_of(make_strategy("my_pi_agent")))


def test_my_pi_agent_without_a_budget_is_off():
    assert "nothing is compacted" in forms("my_pi_agent", context_budget="none")["my_pi_agent"].text


def test_three_layer_constants_are_those_of_the_system():
    form = forms("three_layer", keep_recent_tool_results="4")["three_layer"]

    found = ran(form.text)
    assert found["KEEP_RECENT_TOOL_RESULTS"] == 4
    for constant in ("PERSIST_THRESHOLD", "PREVIEW_CHARS", "MICRO_MIN_CHARS", "CONTEXT_LIMIT"):
        assert constant in THREE_LAYER_CONSTANTS.values()
        assert found[constant] == getattr(three_layer_strategy, constant)


def test_code_of_others_gets_the_flags_that_make_it_again_quoted():
    (form,) = configurations("my/pkg.py:it's", {"keep": 3, "text": "a b"}, given={"keep": 3})

    assert form.text == "compaction-evals run --strategy 'my/pkg.py:it'\"'\"'s' --set keep=3"


def test_a_share_of_the_peak_is_noted_everywhere():
    resolved = resolved_parameters(make_strategy("xun", {"token_threshold": "4000"}))

    for form in configurations("xun", resolved, given={}, varying={"token_threshold": (1e3, 9e3)}):
        assert (
            "token_threshold was a share of each transcript's peak, 1,000 to 9,000; 4,000 is the "
            "median."
        ) in form.notes


def test_a_border_that_moves_the_other_way_is_said():
    def notes(border):
        given = {"keep_tail_messages": "9", "border": border}
        return " ".join(forms("drop_oldest", **given)["pydantic-ai-harness"].notes)

    assert "moves before it there" in notes("later")
    assert "moves before it there" not in notes("earlier")
