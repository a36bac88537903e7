"""A compactor that says how long it waits is not asked meanwhile: all comes out as if it had been.

Compared with the same compactor that does not say it and is asked before every request.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.contract.generators import conversations, long_runs
from compaction.extractive import ExtractiveModel
from compaction.messages import Message
from compaction.registry import STRATEGIES
from compaction.strategy import Patient
from evals.facts import find_facts
from evals.loading import bundled_files, load, survey
from evals.needs import find_needs
from evals.prepare import prepare
from evals.replay import replay
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind, control_settings, expand
from evals.synthetic import generate
from evals.transcripts import Transcript, single_segment
from tests.broken_compactors import ask_for, result

GENERATED = prepare(generate(303))
PATIENT = [
    *expand("xun", {"toolcall_keep_max": "2"}, {"token_threshold": ["20%", "40%", "60%"]}),
    Setting("xun", {"token_threshold": "30%", "reset_rounds_below_threshold": "false"}),
    Setting("xun", {"token_threshold": "40%", "literal_total_reset": "true"}),
    Setting("xun", {"enabled": "false"}),
    *expand("clear_tool_results", {"keep_last_results": "1"}, {"trigger_tokens": ["20%", "60%"]}),
    Setting("clear_tool_results", {"trigger_tokens": "30%", "min_reclaim_tokens": "3000"}),
    Setting("snip_middle", {"trigger_tokens": "40%"}),
    Setting("drop_oldest", {"trigger_tokens": "50%", "keep_tail_messages": "8"}),
    Setting("summarize", {"trigger_tokens": "40%"}),
    Setting("offload_large_results", {"max_chars": "500", "trigger_tokens": "30%"}),
    *control_settings()[:12],
]
ALL = [*map(Setting, STRATEGIES), *PATIENT]


class Asked:
    """A strategy whose compactors are asked before every request, or counts how often they are."""

    def __init__(self, strategy, *, is_patient):
        self.name, self.version, self.promises = strategy.name, strategy.version, strategy.promises
        self._strategy, self._is_patient = strategy, is_patient
        self.n_asked = 0

    def start(self, context):
        compactor = self._strategy.start(context)
        made = _Wrapped(self, compactor)
        if self._is_patient and isinstance(compactor, Patient):
            made.waiting = compactor.waiting
        return made


class _Wrapped:
    def __init__(self, strategy, compactor):
        self._strategy, self._compactor = strategy, compactor
        self.record_usage, self.recover = compactor.record_usage, compactor.recover

    def steps(self, history, request):
        self._strategy.n_asked += 1
        return self._compactor.steps(history, request)


def seen(prepared, strategy):
    """Return all that a scorer can see of each request, but for how long calls took."""
    return [
        (
            step.request,
            step.view,
            [
                replace(event, model_calls=tuple(replace(c, seconds=0) for c in event.model_calls))
                for event in step.view.events
            ],
            step.twin,
            step.unchanged,
            step.tokens,
            len(step.history),
            step.grew,
            [call for call, _ in step.model_calls],
        )
        for step in replay(prepared, strategy, ExtractiveModel())
    ]


def assert_nothing_differs(prepared, setting):
    strategy = bind(setting, prepared)

    waited = seen(prepared, strategy)

    assert waited == seen(prepared, Asked(strategy, is_patient=False))


@pytest.mark.parametrize("setting", ALL, ids=lambda setting: setting.label)
def test_a_strategy_that_waits_sends_what_it_would_have_sent(setting):
    assert_nothing_differs(GENERATED, setting)


@settings(max_examples=25)
@given(st.one_of(conversations(max_turns=4), long_runs(max_rounds=50)), st.sampled_from(PATIENT))
def test_a_strategy_that_waits_sends_what_it_would_have_sent_of_any_conversation(messages, setting):
    assert_nothing_differs(prepare(Transcript("any", single_segment(messages))), setting)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [*PATIENT[1::8], Setting("truncate", {"keep_tokens": "40%"})],
    ids=lambda setting: setting.label,
)
def test_rows_and_sidecars_of_the_bundled_corpus_do_not_tell_who_waited(setting):
    for location in survey(bundled_files()).locations:
        prepared = prepare(load(location))
        material = Material(prepared, find_needs(prepared), find_facts(prepared))
        strategy = bind(setting, prepared)

        waited, asked = (
            score(material, each, ExtractiveModel(), show_text=True)
            for each in (strategy, Asked(strategy, is_patient=False))
        )

        assert {**waited.columns, "own_seconds": None} == {**asked.columns, "own_seconds": None}
        assert _without_seconds(waited.sidecar) == _without_seconds(asked.sidecar)


def _without_seconds(sidecar):
    for event in sidecar["events"]:
        event["model_calls"] = [{**call, "seconds": 0} for call in event["model_calls"]]
    return sidecar


@pytest.mark.parametrize(
    "setting",
    [
        Setting("identity"),
        Setting("xun", {"token_threshold": "40%"}),
        Setting("clear_tool_results", {"trigger_tokens": "40%"}),
        Setting("truncate", {"keep_tokens": "50%"}),
    ],
    ids=lambda setting: setting.label,
)
def test_who_waits_is_seldom_asked(setting):
    strategy = Asked(bind(setting, GENERATED), is_patient=True)

    steps = seen(GENERATED, strategy)

    assert 2 <= strategy.n_asked < len(steps) / 3


def test_a_result_whose_call_was_condensed_ends_the_waiting():
    """It is left out of the view, so that this does not only grow by it."""
    rounds = [
        message
        for number in range(1, 8)
        for message in (ask_for(number), replace(result(number), content=f"{number} " * 400))
    ]
    open_call, late = ask_for(50), result(50)
    messages = (
        Message("system", "Help."),
        Message("user", "Go."),
        open_call,
        *rounds,
        *(Message(role, "And?") for _ in range(12) for role in ("user", "assistant")),
        late,
        Message("assistant", "Done."),
    )
    prepared = prepare(Transcript("late", single_segment(messages)))
    keep = {"keep_tail_messages": "4", "trigger_tokens": "60%"}

    assert_nothing_differs(prepared, Setting("summarize", keep))

    steps = list(replay(prepared, bind(Setting("summarize", keep), prepared), ExtractiveModel()))
    assert [event.tier for event in steps[-1].view.events] == ["LateResults"]
