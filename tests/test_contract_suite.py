"""`check_conversation`: who keeps what it promises, what is shown of a fault, and what it costs."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings

from compaction.contract.callables import as_strategy
from compaction.contract.generators import conversations, long_runs
from compaction.contract.invariants import INVARIANTS
from compaction.contract.providers import ANTHROPIC, GEMINI, PROFILES
from compaction.contract.suite import check_conversation
from compaction.contract.trial import MAX_REQUESTS, request_positions
from compaction.control import Pipeline
from compaction.messages import Message
from compaction.strategy import Promises
from compaction.systems.my_pi_agent import MyPiAgent
from compaction.systems.three_layer import ThreeLayer
from compaction.systems.xun import Xun
from compaction.tiers import ClearToolResults, OffloadLargeResults, SnipMiddle, Summarize
from compaction.triggers import Tokens
from evals.controls import DropAll, Identity, RandomDrop, Salad, Truncate
from evals.loading import load_bundled
from tests.broken_compactors import ask_for, result

FEW = settings(max_examples=max(5, settings.default.max_examples // 5))
SYSTEMS = [
    Xun(token_threshold=300, toolcall_keep_max=3, summary_keep_max=4),
    Xun(token_threshold=300, toolcall_keep_max=0, escalation_rounds=0, keep_system_prompt=True),
    MyPiAgent(context_budget=500),
    MyPiAgent(context_budget=500, keep_last_user=True, max_messages=8),
    ThreeLayer(context_limit_chars=2_000),
    ThreeLayer(context_limit_chars=2_000, keep_system_prompt=True, keep_last_user=True),
]
CONTROLS = [Identity(), DropAll(), RandomDrop(), Salad(), Truncate(keep_tokens=900)]
KEEPS = Promises(keeps_system=True, keeps_open_calls=True, recoverable=True)
CLEARS = replace(KEEPS, keeps_last_user=True)
TIERS = [
    (OffloadLargeResults(max_chars=300, preview_chars=100), CLEARS),
    (
        ClearToolResults(keep_last_results=3, min_chars=40, placeholder="[{handle}]"),
        replace(CLEARS, keep_last_results=3),
    ),
    (ClearToolResults(keep_last_results=0, clear_arguments=True), CLEARS),
    (ClearToolResults(protect_tokens=800, min_chars=100, keep_errors=True), CLEARS),
    (
        ClearToolResults(protect_last_turns=1, min_reclaim_tokens=300),
        replace(CLEARS, min_reclaim_tokens=300),
    ),
    (
        ClearToolResults(keep_last_results=1, stop_after_tokens=900),
        replace(CLEARS, idempotent=False),
    ),
    (SnipMiddle(max_messages=8, keep_head=3), replace(KEEPS, keeps_system=False)),
]
SUMMARIES = [
    (Summarize(keep_tail_messages=4, max_summary_tokens=20), KEEPS),
    (
        Summarize(keep_tail_tokens=500, cut="user", keep_head=2, max_summary_tokens=20),
        replace(KEEPS, accounts_for_all=True),
    ),
    (
        Summarize(keep_tail_chars=900, hoist_last_user=True, place="system", max_summary_tokens=20),
        Promises(keeps_last_user=True, keeps_open_calls=True, raises_roles=True),
    ),
    (Summarize(place="only", max_input_chars=9_000), Promises(max_model_input_chars=9_000)),
]


def pipelines():
    for tier, promises in TIERS:
        for mode in ("rewriting", "viewing"):
            declared = replace(promises, mode=mode)
            yield Pipeline(name=f"{tier.name}", tiers=(tier,), mode=mode, declared=declared)
    for tier, promises in SUMMARIES:
        yield Pipeline(name=tier.name, tiers=(tier,), trigger=Tokens(1_500), declared=promises)


IDLE = {6, 19, 20}
"""`Identity`, and clearing before the latest turn, of which a long run has one."""


@cache
def strategies():
    return [*SYSTEMS, *CONTROLS, *pipelines()]


@pytest.mark.parametrize("number", range(len(strategies())))
def test_every_tier_system_and_control_keeps_what_it_promises(number):
    @FEW
    @given(messages=conversations(max_rounds=6))
    def keeps(messages):
        findings = check_conversation(strategies()[number], messages)

        assert [(item.violation, item.excerpt) for item in findings.violations] == []

    keeps()


@pytest.mark.parametrize("number", range(len(strategies())))
def test_they_keep_it_in_one_long_run_and_act_there(number):
    @settings(FEW, max_examples=1)
    @given(messages=long_runs(min_rounds=40, max_rounds=40))
    def keeps(messages):
        strategy = strategies()[number]
        findings = check_conversation(strategy, messages)

        assert [(item.violation, item.excerpt) for item in findings.violations] == []
        assert findings.acted == (number not in IDLE)

    keeps()


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategy",
    [
        Xun(token_threshold=4_000),
        MyPiAgent(context_budget=6_000),
        ThreeLayer(context_limit_chars=20_000),
        Truncate(keep_tokens=20_000),
        Salad(),
    ],
    ids=lambda strategy: strategy.name,
)
def test_they_keep_it_on_the_bundled_conversation(strategy):
    (transcript,) = load_bundled("settlement-incident")

    findings = check_conversation(strategy, transcript.messages)

    assert [(item.violation, item.excerpt) for item in findings.violations] == []
    assert findings.acted


def test_nothing_is_decided_without_a_reason():
    findings = check_conversation(DropAll(), (Message("user", "go"),))

    assert findings.applicable | findings.not_applicable.keys() == INVARIANTS.keys()
    assert not findings.applicable & findings.not_applicable.keys()
    assert findings.not_applicable["undo_restores"] == "undoable is not promised"
    assert "asked no model" in findings.not_applicable["bad_summaries_are_refused"]


ROUNDS = (
    Message("system", "Be brief."),
    Message("user", "go"),
    ask_for(1),
    result(1, "first " * 30),
    ask_for(2),
    result(2, "second " * 30),
    Message("assistant", "Done."),
)


def test_a_finding_shows_the_message_between_its_neighbours():
    def without_calls(messages):
        return [message for message in messages if message["role"] != "assistant"]

    findings = check_conversation(as_strategy(without_calls), ROUNDS, needs=("replay",))
    first = findings.violations[0]

    assert (first.invariant, first.request) == ("calls_stay_paired", 1)
    assert first.violation.pointer == "/2/tool_call_id"
    assert first.excerpt.splitlines() == [
        "view 1 user 'go'",
        f"view 2 tool answers call_001 {('first ' * 10)!r} of 180 characters",
    ]


def test_what_is_missing_is_shown_from_the_history():
    def forget_the_user(messages):
        return [message for message in messages if message["role"] != "user"]

    strategy = as_strategy(forget_the_user, promises=Promises(keeps_last_user=True))
    first = check_conversation(strategy, ROUNDS).violations[0]

    assert (first.invariant, first.violation.position) == ("last_user_is_kept", -1)
    assert first.excerpt.splitlines()[1] == "history 1 user 'go'"


def test_a_strategy_that_raises_on_a_valid_conversation_has_no_answer():
    def refuse(messages):
        raise ValueError("too hard" if len(messages) > 3 else "no")

    findings = check_conversation(as_strategy(refuse, "refuse"), ROUNDS)

    (only,) = findings.violations
    assert (only.invariant, only.request) == ("every_input_is_answered", 0)
    assert "refuse raised ValueError: no" in only.violation.explanation
    assert findings.not_applicable["passes_come_to_rest"] == "the strategy raised an error"


def test_a_fault_of_the_conversation_itself_is_not_held_against_the_strategy():
    damaged = [
        (Message("user", "go"), result(1), Message("assistant", "")),
        (Message("assistant", None), Message("user", None), ask_for(1), Message("user", "?")),
        (ask_for(1), result(1), result(1), Message("system", "late")),
    ]

    for messages in damaged:
        for profile in PROFILES.values():
            findings = check_conversation(Identity(), messages, profile=profile)
            assert findings.violations == ()


def test_a_view_is_blamed_for_what_its_provider_refuses():
    def without_user(messages):
        return [m for m in messages if m["role"] != "user"]

    by_profile = {
        profile.name: check_conversation(as_strategy(without_user), ROUNDS, profile=profile).broken
        for profile in PROFILES.values()
    }

    assert by_profile.pop("openai_chat") == by_profile.pop("openai_responses") == frozenset()
    assert by_profile == {
        profile.name: frozenset({"roles_stay_legal"}) for profile in (ANTHROPIC, GEMINI)
    }


def test_requests_may_be_chosen():
    asked = []

    def remember(messages):
        asked.append(len(messages))
        return messages

    check_conversation(as_strategy(remember), ROUNDS, requests=(4, 7), needs=("replay",))

    assert asked == [4, 4, 7, 7]


def test_requests_are_before_each_answer_and_at_the_end_and_of_very_many_some():
    many = ROUNDS * 1_000

    assert request_positions(ROUNDS) == (2, 4, 6, 7)
    assert request_positions(()) == (0,)
    assert MAX_REQUESTS // 2 < len(request_positions(many)) <= MAX_REQUESTS + 1
    assert request_positions(many)[-1] == len(many)
