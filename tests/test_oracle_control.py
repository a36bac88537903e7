"""The control that knows the future: what it sends, and that it cannot run without being told."""

import pytest

from compaction.errors import StrategyError
from compaction.extractive import ExtractiveModel
from compaction.messages import Message
from compaction.strategy import Context
from compaction.tokens import TiktokenCounter
from evals.facts import find_facts
from evals.fidelity.oracle_control import OracleSelect, told
from evals.needs import find_needs
from evals.prepare import prepare
from evals.replay import replay
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind
from evals.synthetic import generate
from tests.needs_cases import in_segments, prepared, result, says, steps, user

KEY = "ledger_export_key"
TALK = (
    Message("system", "Be brief."),
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"keep {KEY} for the export"),
    *steps(5),
    says(f"Use {KEY}."),
    *steps(2, start=9),
)
"""The key is needed at request 6; the group that brings it is at 2 and 3."""


def material_of(conversation):
    return Material(conversation, find_needs(conversation), find_facts(conversation))


def views(conversation, keep_tokens):
    material = material_of(conversation)
    strategy = told(OracleSelect(keep_tokens=keep_tokens), conversation, material.oracle)
    return [
        [entry.origin.first for entry in step.view.entries]
        for step in replay(conversation, strategy, ExtractiveModel())
    ]


def test_it_keeps_what_a_later_request_needs_until_then_and_what_has_just_arrived():
    found = views(prepared(*TALK), 1_000)

    assert found[1] == [0, 1, 2, 3]
    assert found[4] == [0, 1, 2, 3, 8, 9], "system, user, the needed group, what has arrived"
    assert found[6] == [0, 1, 2, 3, 12, 13]
    assert found[8] == [0, 1, 15, 16], "nobody needs the key any more"


def test_without_room_it_sends_what_it_always_does():
    found = views(prepared(*TALK), 0)

    assert found[4] == [0, 1, 8, 9]


def test_it_splits_no_group_and_keeps_its_promises():
    conversation = prepare(generate(203, plant_every=1, gaps=(4, 9, 15, 40)))
    setting = Setting("oracle_select", {"keep_tokens": "8%"})

    found = score(material_of(conversation), bind(setting, conversation), ExtractiveModel())

    assert found.columns["violated"] == {}
    assert 0 < found.columns["reach"] < 1


@pytest.mark.slow
def test_its_views_hold_no_more_than_was_allowed():
    conversation = prepare(generate(203, plant_every=1, gaps=(4, 9, 15, 40)))
    material = material_of(conversation)
    limit = 4_000
    strategy = told(OracleSelect(keep_tokens=limit), conversation, material.oracle)

    for step in replay(conversation, strategy, ExtractiveModel()):
        size = sum(conversation.counter.count(message) for message in step.view.messages)
        assert size <= limit


def test_a_result_that_comes_late_is_sent_only_with_its_call():
    late = (
        says("", ("c1", "start", {}), ("c2", "start", {"n": 2})),
        result("c1", "started"),
        says("", ("c3", "other", {})),
        result("c3", "ok"),
        result("c2", "late"),
        says("Done."),
    )

    found = views(prepared(user("Go."), *late), 0)

    assert found[1] == [0, 1, 2]
    assert found[2] == [0, 3, 4], "the call of the late result is gone"


def test_each_segment_has_its_own_choice():
    brings_nothing = (user("Go."), *steps(6), says("On."))

    found = views(in_segments(brings_nothing, TALK), 1_000)

    assert found[6] == [0, 11, 12]
    assert found[7 + 6] == [0, 1, 2, 3, 12, 13]


def test_it_starts_only_where_it_was_told_the_future():
    with pytest.raises(StrategyError, match="knows the recorded future"):
        OracleSelect().start(Context(TiktokenCounter()))


def test_it_refuses_another_conversation_than_that_it_was_told():
    material = material_of(prepared(*TALK))
    strategy = told(OracleSelect(), material.prepared, material.oracle)

    with pytest.raises(StrategyError, match="another transcript"):
        list(replay(prepared(user("Else."), says("Yes.")), strategy, ExtractiveModel()))


def test_other_strategies_are_told_nothing():
    material = material_of(prepared(*TALK))
    truncate = bind(Setting("truncate"), material.prepared)

    assert told(truncate, material.prepared, material.oracle) is truncate


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="keep_tokens must be >= 0, got -1"):
        OracleSelect(keep_tokens=-1)
