"""Configurations against our own classes and the documented schema; the libraries: tests/peers."""

import json
from dataclasses import fields

import pytest

from compaction.registry import STRATEGIES, load_strategy_class, make_strategy
from compaction.strategy import parameters_of
from compaction.systems import three_layer_strategy
from evals.settings import resolved_parameters
from reports.configuration import PROVIDER_SIZES, configurations
from reports.configuration_systems import PI_PARAMETERS, THREE_LAYER_CONSTANTS
from reports.shares import Share
from reports.units import Scale

SAME = (Scale(1.0, 0.0, 0.0, 1.0),)
"""Everybody counts as we do."""
CODING = Scale(1.42, 31_910.0, 3.0, 0.9), Scale(1.18, 41_473.0, 3.0, 1.1)
"""Two transcripts of a coding agent: the log lacks a system prompt and tool schemas."""


def forms(strategy, **given):
    resolved = resolved_parameters(make_strategy(strategy, given))
    values = {name: resolved[name] for name in given}
    found = configurations(strategy, resolved, given=values, scales=SAME)
    return {form.framework: form for form in found}


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
    assert any("unlogged_tokens" in note for note in form.notes)
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


HALF = Share("50%", (1_000, 9_000, 4_000, 4_500))
MEASURED = "Measured: 50% of each transcript's own peak, 1,000 to 9,000 on 4 transcripts."
COUNTED = MEASURED.replace(" on 4", " counted tokens of messages on 4")
MEDIAN = "4,250 is the median of these; as a fixed size it was not measured."


def of_shares(strategy, *names, **given):
    resolved = resolved_parameters(make_strategy(strategy, {**given, **dict.fromkeys(names, "7")}))
    shares = dict.fromkeys(names, HALF)
    found = configurations(
        strategy, resolved, given={**given, **shares}, shares=shares, scales=4 * SAME
    )
    return {form.framework: form for form in found}


def lines_before(text, start):
    """Return the lines above the one that starts so, without their indent."""
    lines = [line.strip() for line in text.splitlines()]
    at = next(at for at, line in enumerate(lines) if line.startswith(start))
    return [line.removeprefix("# ") for line in lines[max(0, at - 3) : at]]


@pytest.mark.parametrize(
    ("strategy", "parameter", "framework", "line"),
    [
        ("xun", "token_threshold", "xun", "token_threshold=4250,"),
        ("my_pi_agent", "context_budget", "my_pi_agent", "budget=4250,"),
        ("three_layer", "context_limit_chars", "three_layer", "CONTEXT_LIMIT = 4250"),
        ("xun", "token_threshold", "compaction (this library)", "'token_threshold': 4250,"),
    ],
)
def test_a_size_that_was_a_share_is_the_median_and_says_so_beside_itself(
    strategy, parameter, framework, line
):
    text = of_shares(strategy, parameter)[framework].text

    assert lines_before(text, line)[-2:] == [MEASURED, MEDIAN]
    compile(text, framework, "exec")


@pytest.mark.parametrize(
    ("strategy", "framework", "line", "instead"),
    [
        ("inspect_edit", "Inspect", "threshold=0.5,", "threshold=4250"),
        ("inspect_trim", "Inspect", "threshold=0.5,", "threshold=4250"),
        ("inspect_summary", "Inspect", "threshold=0.5,", "threshold=4250"),
        (
            "pydantic_ai_summarization",
            "pydantic-ai-harness",
            "max_fraction=0.5,",
            "max_tokens=4250",
        ),
    ],
)
def test_where_a_framework_takes_a_share_it_is_one_and_says_of_what(
    strategy, framework, line, instead
):
    text = of_shares(strategy, "trigger_tokens")[framework].text

    assert lines_before(text, line) == [
        MEASURED,
        "Here it is of the model's window: as measured only where a conversation fills it.",
        f"In tokens: {instead}, the median of these; as a fixed size not measured.",
    ]
    compile(text, framework, "exec")


def test_json_has_no_comments_so_what_was_measured_is_said_above_it():
    form = of_shares("anthropic_clear_tool_uses", "trigger_tokens", "min_reclaim_tokens")[
        "Anthropic Messages API"
    ]

    (edit,) = json.loads(form.text)["context_management"]["edits"]
    assert (edit["trigger"]["value"], edit["clear_at_least"]["value"]) == (4_250, 4_250)
    prompt = "In the provider's input tokens, system prompt and tool schemas included"
    assert form.unmeasured == (
        f"trigger_tokens. {COUNTED} {prompt}, that is 1,000 to 9,000. {MEDIAN}",
        f"min_reclaim_tokens. {COUNTED} In the provider's tokens, that is 1,000 to 9,000. {MEDIAN}",
    )
    (said,) = forms("anthropic_clear_tool_uses")["Anthropic Messages API"].unmeasured
    assert said == (
        f"trigger_tokens. Measured: 100,000 counted tokens of messages. {prompt}, that is 100,000."
    )


def test_a_share_above_the_window_is_no_share_of_it():
    resolved = resolved_parameters(make_strategy("inspect_trim", {"trigger_tokens": "9"}))
    large = {"trigger_tokens": Share("150%", (10, 20, 40))}

    text = configurations("inspect_trim", resolved, shares=large)[0].text

    assert "threshold=20," in text


def test_a_share_that_a_framework_lacks_is_named_as_it_was_given():
    found = of_shares("clear_tool_results", "stop_after_tokens")

    assert "No equivalent of stop_after_tokens=50% there." in found["Inspect"].notes


def test_flags_of_somebodys_code_keep_the_share():
    (form,) = configurations("a.py:b", {"k": "50%"}, given={"k": "50%"}, shares={"k": HALF})

    assert form.text == "compaction-evals run --strategy a.py:b --set k=50%"


def test_a_border_that_moves_the_other_way_is_said():
    def notes(border):
        given = {"keep_tail_messages": "9", "border": border}
        return " ".join(forms("drop_oldest", **given)["pydantic-ai-harness"].notes)

    assert "moves before it there" in notes("later")
    assert "moves before it there" not in notes("earlier")


def of_coding(strategy, shares=None, scales=CODING, **given):
    resolved = resolved_parameters(make_strategy(strategy, given))
    shares = {name: Share("50%", each) for name, each in (shares or {}).items()}
    found = configurations(strategy, resolved, given=given, shares=shares, scales=scales)
    return {form.framework: form for form in found}


def test_a_trigger_is_printed_in_the_input_tokens_that_the_provider_counts():
    form = of_coding(
        "anthropic_clear_tool_uses",
        {"trigger_tokens": (5_352, 20_962)},
        trigger_tokens="7",
        min_reclaim_tokens="1000",
    )["Anthropic Messages API"]

    (edit,) = json.loads(form.text)["context_management"]["edits"]
    # 31,910 + 1.42 * 5,355 = 39,514.1 and 41,473 + 1.18 * 20,965 = 66,211.7; half-way 52,862.9.
    assert edit["trigger"] == {"type": "input_tokens", "value": 52_863}
    # A part of the prompt has no share of what the log lacks: 1,420 and 1,180.
    assert edit["clear_at_least"] == {"type": "input_tokens", "value": 1_300}
    assert "5,352 to 20,962 counted tokens of messages on 2 transcripts." in form.unmeasured[0]
    assert "that is 39,514 to 66,212. 52,863 is the median of these" in form.unmeasured[0]
    # (52,863 - 31,910) / 1.42 - 3 = 14,752.6 and (52,863 - 41,473) / 1.18 - 3 = 9,649.5.
    assert "from 9,650 to 14,753 tokens as counted here" in form.unmeasured[0]
    assert form.sizes == {"trigger_tokens": (9_650, 14_753)}


def test_where_no_message_fits_below_a_size_it_is_none_at_all():
    """10,000 and 90,000 are sent beside the messages: half-way stands below one of them."""
    form = of_coding(
        "anthropic_clear_tool_uses",
        {"trigger_tokens": (1_000, 2_000)},
        scales=(Scale(1.0, 10_000.0, 0.0, 1.0), Scale(1.0, 90_000.0, 0.0, 1.0)),
        trigger_tokens="7",
    )["Anthropic Messages API"]

    # (11,000 + 92,000) / 2 = 51,500.
    assert form.sizes == {"trigger_tokens": (0, 41_500)}


def test_a_size_in_quarters_of_characters_comes_back_by_them():
    scales = Scale(1.0, 0.0, 0.0, 0.5), Scale(1.0, 0.0, 0.0, 2.0)
    form = of_coding(
        "langchain_clear_tool_uses",
        {"trigger_tokens": (1_000, 2_000)},
        scales=scales,
        trigger_tokens="7",
    )["LangChain"]

    # 500 and 4,000, half-way 2,250; 2,250 / 0.5 and 2,250 / 2.
    assert "trigger=2250," in form.text
    assert form.sizes == {"trigger_tokens": (1_125, 4_500)}


@pytest.mark.parametrize(
    ("strategy", "framework", "given", "line"),
    [
        # 31,910 + 1.42 * 10,003 = 46,114.26; 41,473 + 1.18 * 10,003 = 53,276.54.
        ("clear_tool_results", "Inspect", {"trigger_tokens": 10_000}, "threshold=49695,"),
        ("drop_oldest", "Inspect", {"keep_tail_fraction": 0.5}, "threshold=49695,"),
        ("clear_tool_results", "pydantic-ai-harness", {}, "max_tokens=49695,"),
        ("summarize", "pydantic-ai-harness", {}, "max_tokens=49695,"),
        ("summarize", "LangChain", {}, "trigger=('tokens', 49695),"),
        # 10,000 * 0.9 and * 1.1; 1,000 * 1.42 and * 1.18.
        ("clear_tool_results", "LangChain", {}, "trigger=10000,"),
        ("drop_oldest", "pydantic-ai-harness", {"keep_tail_tokens": 1_000}, "keep_tokens=1300,"),
        # 900 and 1,100.
        ("summarize", "LangChain", {"keep_tail_tokens": 1_000}, "keep=('tokens', 1000),"),
        (
            "pydantic_ai_clear_tool_results",
            "pydantic-ai-harness",
            {"min_reclaim_tokens": 1_000},
            "min_clear_tokens=1000,",
        ),
        # These are the provider's tokens here too.
        ("inspect_edit", "Inspect", {}, "threshold=10000,"),
        ("pydantic_ai_summarization", "pydantic-ai-harness", {}, "max_tokens=10000,"),
    ],
)
def test_every_framework_has_sizes_as_it_counts_them(strategy, framework, given, line):
    text = of_coding(strategy, **{"trigger_tokens": 10_000, **given})[framework].text

    assert line in [each.strip() for each in text.splitlines()]
    compile(text, framework, "exec")


def units_of(strategy):
    return {
        item.name: item.metadata["unit"]
        for item in fields(load_strategy_class(strategy))
        if "unit" in item.metadata
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_which_sizes_are_as_a_provider_counts_is_what_the_strategies_say(strategy):
    found = {name for name, unit in units_of(strategy).items() if unit == "tokens"}

    assert found == PROVIDER_SIZES.get(strategy, set())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_framework_is_told_a_size_in_counted_tokens(strategy):
    # What LangChain reads of the summariser's input is characters / 4 in the preset too.
    counted = [
        name
        for name, unit in units_of(strategy).items()
        if unit == "counted_tokens" and name != "max_input_tokens"
    ]
    for name in counted:
        found = of_coding(strategy, scales=(Scale(3.0, 1_000.0, 3.0, 2.0),), **{name: 7_777})
        for framework, form in found.items():
            is_ours = framework == "compaction (this library)"
            assert ("7777" in form.text) == is_ours, (name, framework)


def test_without_recorded_usage_a_size_in_tokens_of_the_provider_is_refused_in_one_sentence():
    unknown = (Scale(None, None, 3.0, 0.9),) * 2
    found = of_coding("clear_tool_results", scales=unknown, trigger_tokens=10_000)

    for framework in ("Anthropic Messages API", "Inspect", "pydantic-ai-harness"):
        assert (found[framework].text, found[framework].notes) == (
            "",
            (
                "It counts the provider's input tokens, system prompt and tool schemas included; "
                "trigger_tokens was measured in counted tokens of messages (10,000), and no "
                "transcript here records token usage to convert them by.",
            ),
        )
    assert "trigger=9000," in found["LangChain"].text
    # Without a size nothing has to be converted.
    assert of_coding("clear_tool_results", scales=unknown)["Anthropic Messages API"].text


def test_only_transcripts_with_usage_convert_and_how_many_is_said():
    form = of_coding(
        "anthropic_clear_tool_uses",
        scales=(*CODING, Scale(None, None, 3.0, 1.0)),
        trigger_tokens="10000",
    )["Anthropic Messages API"]

    assert "that is 46,114 to 53,277 on 2 of 3 transcripts. 49,695 is" in form.unmeasured[0]


def test_a_size_of_the_provider_says_where_no_usage_tells_what_it_is():
    lacking = (*CODING, Scale(None, None, 3.0, 1.0))
    note = "1 of 3 transcripts without recorded usage: sizes are there of what the log holds"

    assert any(each.startswith(note) for each in of_coding("xun", scales=lacking)["xun"].notes)
    assert not any("without recorded" in each for each in of_coding("xun")["xun"].notes)
