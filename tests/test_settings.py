import json
from pathlib import Path

import pytest

from compaction.errors import StrategyError
from compaction.messages import Message
from compaction.registry import make_strategy
from compaction.strategy import parameters_of
from evals.controls import CONTROLS, RandomDrop, Truncate
from evals.fidelity.oracle_control import USES_THE_FUTURE
from evals.prepare import prepare
from evals.running import RunRequest, settings_of
from evals.settings import (
    KNOWN,
    SHARES,
    TRUNCATE_POINTS,
    Setting,
    bind,
    check,
    control_settings,
    default_settings,
    expand,
    resolved_parameters,
)
from evals.transcripts import Transcript, single_segment

FOREIGN = Path(__file__).with_name("fixtures") / "foreign" / "good.py"
PREPARED = prepare(
    Transcript(
        "t",
        single_segment(
            (
                Message("system", "Be brief."),
                Message("user", "Count the words of this sentence, please. " * 30),
                Message("assistant", "Eight."),
            )
        ),
    )
)


def said_by(run, *arguments):
    with pytest.raises(StrategyError) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_grid_is_every_combination_the_last_parameter_varying_fastest():
    settings = expand("x", {"f": "9"}, {"a": ["1", "2"], "b": ["3", "4", "5"]}, timeout_seconds=4)

    assert [dict(setting.parameters) for setting in settings] == [
        {"f": "9", "a": a, "b": b} for a in ("1", "2") for b in ("3", "4", "5")
    ]
    assert {(setting.strategy, setting.timeout_seconds) for setting in settings} == {("x", 4)}


def test_without_a_grid_there_is_one_setting_and_a_grid_wins_over_what_is_fixed():
    assert expand("x", {"a": "1"}, {}) == [Setting("x", {"a": "1"})]
    assert expand("x", {"a": "1"}, {"a": ["2"]}) == [Setting("x", {"a": "2"})]
    assert expand("x", {}, {"a": []}) == []


def test_a_label_is_the_strategy_and_what_was_set():
    assert Setting("xun").label == "xun"
    assert Setting("xun", {"a": "1", "b": "50%"}).label == "xun(a=1, b=50%)"


def test_controls_are_known_as_such():
    known = {name for name in KNOWN if Setting(name).is_control}
    assert known == CONTROLS.keys() | USES_THE_FUTURE.keys()
    assert {setting.strategy for setting in control_settings()} == CONTROLS.keys()


def test_recorded_summaries_by_each_prompt_stand_beside_the_extractive_one_in_a_default_run():
    with_recorded, without = default_settings(with_recorded=True), default_settings()

    added = [setting.label for setting in with_recorded if setting not in without]

    assert added == [
        "summary_once(prompt=headings, at_tokens=35%)",
        "summary_once(prompt=plain, at_tokens=35%)",
        "summary_once(prompt=xun, at_tokens=35%)",
        "summary_once(prompt=my_pi_agent, at_tokens=35%)",
        "summary_once(prompt=three_layer, at_tokens=35%)",
        "summary_once(by=extractive, at_tokens=35%)",
        "clear_once(at_tokens=35%)",
    ]
    check(with_recorded)
    assert settings_of(RunRequest()) == with_recorded


def test_the_default_contestants_differ_pass_the_check_and_bind():
    settings = default_settings()

    check(settings)
    bound = [bind(setting, PREPARED) for setting in settings]

    assert len({setting.label for setting in settings}) == len(settings)
    assert [strategy.name for strategy in bound] == [setting.strategy for setting in settings]
    truncated = [dict(s.parameters)["keep_tokens"] for s in settings if s.strategy == "truncate"]
    assert (len(truncated), truncated[0], truncated[-1]) == (TRUNCATE_POINTS, "6.25%", "100%")
    for name in ("xun", "my_pi_agent", "three_layer"):
        own = [setting for setting in settings if setting.strategy == name]
        assert [tuple(s.parameters.values()) for s in own] == [(), *[(share,) for share in SHARES]]


@pytest.mark.parametrize(
    ("strategy", "parameter", "peak"),
    [
        ("truncate", "keep_tokens", PREPARED.peak_counted_tokens),
        ("xun", "token_threshold", PREPARED.peak_tokens),
        ("my_pi_agent", "context_budget", PREPARED.peak_tokens),
        ("three_layer", "context_limit_chars", PREPARED.peak_chars),
    ],
)
def test_a_share_is_of_the_peak_in_the_unit_of_the_parameter(strategy, parameter, peak):
    assert PREPARED.peak_chars > 3 * PREPARED.peak_tokens > 600

    for share, factor in (("50%", 0.5), ("100%", 1.0), ("12.5%", 0.125), ("150%", 1.5)):
        bound = bind(Setting(strategy, {parameter: share}), PREPARED)

        assert parameters_of(bound)[parameter] == round(factor * peak)


def test_a_share_of_nearly_nothing_is_one_token():
    assert bind(Setting("truncate", {"keep_tokens": "0%"}), PREPARED) == Truncate(keep_tokens=1)


def test_a_number_is_taken_as_it_is():
    bound = bind(Setting("truncate", {"keep_tokens": "5000"}), PREPARED)

    assert bound == Truncate(keep_tokens=5_000)
    assert bind(Setting("random_drop", {"drop_fraction": "0.25"}), PREPARED) == RandomDrop(
        drop_fraction=0.25
    )


REFUSED = [
    (Setting("truncat"), "unknown strategy 'truncat' (did you mean 'truncate'?); known: "),
    (
        Setting("nothing like it"),
        "unknown strategy 'nothing like it'; known: anthropic_clear_tool_uses, ",
    ),
    (
        Setting("truncate", {"keep_token": "5"}),
        "truncate has no parameter 'keep_token' (did you mean 'keep_tokens'?); known: keep_tokens",
    ),
    (
        Setting("truncate", {"keep_token": "50%"}),
        "truncate has no parameter 'keep_token' (did you mean 'keep_tokens'?); known: keep_tokens",
    ),
    (Setting("truncate", {"keep_tokens": "many"}), "truncate: keep_tokens must be int, got 'many'"),
    (Setting("truncate", {"keep_tokens": "-1"}), "truncate: keep_tokens must be >= 0, got -1"),
    (Setting("truncate", {"keep_tokens": "-50%"}), "keep_tokens must be int, got '-50%'"),
    (
        Setting("random_drop", {"drop_fraction": "50%"}),
        "random_drop: drop_fraction is no size, so '50%' of the peak means nothing; "
        "sizes are: none",
    ),
    (
        Setting("three_layer", {"transcripts_dir": "50%"}),
        "three_layer: transcripts_dir is no size, so '50%' of the peak means nothing; "
        "sizes are: persist_threshold_chars, ",
    ),
    (Setting(f"{FOREIGN}:nothing"), "has no 'nothing'; it has: "),
    (Setting(f"{FOREIGN}:plain", {"keep": "2"}), "takes no such parameters"),
]


@pytest.mark.parametrize(
    ("setting", "said"), REFUSED, ids=[setting.label.rpartition("/")[2] for setting, _ in REFUSED]
)
def test_what_cannot_be_is_refused_before_anything_is_run_and_when_it_is_bound(setting, said):
    assert said in said_by(check, [Setting("identity"), setting])
    assert said in said_by(bind, setting, PREPARED)


def test_the_check_knows_no_transcript_and_takes_every_share():
    check([Setting(name, {key: "1%"}) for name, key in (("xun", "token_threshold"),)])
    check(expand("truncate", {}, {"keep_tokens": ["0.1%", "400%"]}))


def test_parameters_of_somebodys_code_are_json_or_text_and_bound_to_it():
    bound = bind(Setting(f"{FOREIGN}:factory_with_parameters", {"keep": "3"}), PREPARED)

    assert resolved_parameters(bound) == {"keep": 3}
    assert bound.name == f"{FOREIGN}:factory_with_parameters"


def test_the_time_limit_reaches_somebodys_code():
    assert bind(Setting(f"{FOREIGN}:plain", timeout_seconds=2.5), PREPARED).timeout_seconds == 2.5


def test_resolved_parameters_are_every_parameter_with_its_value():
    assert resolved_parameters(Truncate(keep_tokens=7)) == {"keep_tokens": 7}
    assert resolved_parameters(RandomDrop()) == {"drop_fraction": 0.5, "seed": 0}
    assert resolved_parameters(bind(Setting("identity"), PREPARED)) == {}


def test_resolved_parameters_that_are_values_themselves_are_json_that_makes_them_again():
    given = {"guard": '{"reject_grown": false}', "prompt": '{"sections": ["## All"]}'}
    strategy = bind(Setting("summarize", given), PREPARED)

    resolved = json.loads(json.dumps(resolved_parameters(strategy)))

    assert resolved["guard"]["reject_grown"] is False
    assert make_strategy("summarize", resolved) == strategy


def test_a_fraction_in_place_of_a_share_says_how_a_share_is_written():
    said = said_by(check, [Setting("xun", {"token_threshold": "0.5"})])

    assert said == (
        "xun: token_threshold is a size in tokens, not 0.5; a share of the peak is written 50%"
    )


def test_a_file_without_the_name_of_a_function_says_how_to_name_one():
    assert said_by(check, [Setting("keep_ten.py")]) == (
        "keep_ten.py is a file: write keep_ten.py:NAME"
    )
