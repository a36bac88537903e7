"""From needs to a choice: what satisfies a need, what it weighs, and what a group costs."""

import pytest

from compaction.messages import Message
from evals.fidelity.oracle_problem import instruction_indices, selection_of
from evals.needs import find_needs
from tests.needs_cases import in_segments, prepared, result, says, steps, user

LOG = "/srv/billing/ledger_export.log"
LINE = f"the nightly export writes every booking into {LOG} before midnight"
KEY = "ledger_export_key"
TALK = (
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"first line\n{LINE}\nlast line"),
    *steps(4),
    says(f"I open {LOG}."),
)
"""The log is used at request 5, over a gap of 5; request 1 was the first to see it."""


def choice(*messages, atomic=False):
    conversation = prepared(*messages)
    return selection_of(conversation, find_needs(conversation), atomic=atomic)


def held(selection):
    """Return request -> the messages of which one is enough, of single messages."""
    return {
        demand.request: {selection.items[item].messages[0] for item in demand.items}
        for demand in selection.demands
    }


def test_the_source_of_a_need_is_an_item_that_arrives_with_the_request_that_sees_it():
    conversation = prepared(*TALK)

    found = selection_of(conversation, find_needs(conversation))

    (item,), (demand,) = found.items, found.demands
    assert (item.messages, item.arrives) == ((2,), 1)
    assert item.tokens == conversation.counter.count(TALK[2])
    assert (demand.request, demand.weight, demand.items) == (5, 1.0, (0,))
    assert found.n_requests == 6


def test_what_is_needed_over_a_short_gap_is_no_demand():
    assert choice(*TALK[:3], says(f"I open {LOG}.")).demands == ()


def test_the_assistants_words_are_enough_only_if_they_restate_the_source():
    retold = says(f"Every booking is written into {LOG} by the nightly export before midnight.")
    named = says(f"I keep {LOG} in mind.")

    assert held(choice(*TALK[:3], retold, *TALK[3:]))[6] == {2, 3}
    assert held(choice(*TALK[:3], named, *TALK[3:]))[6] == {2}


def test_each_request_weighs_the_same_however_many_needs_it_has():
    """Two needs at one request and one at another: a quarter each, and a half."""
    brings = result("c1", f"{LINE}\nkeep {KEY} and other_export_key")
    found = choice(
        *TALK[:2],
        brings,
        *steps(4),
        says(f"Use {KEY} and {LOG}."),
        *steps(4, start=9),
        says("Now other_export_key."),
    )

    weights = {demand.request: demand.weight for demand in found.demands}
    assert weights == {5: pytest.approx(0.5), 10: pytest.approx(0.5)}
    assert len(found.demands) == 2, "needs that the same message meets are one demand"
    assert found.uses == ((5, 10),)


def test_needs_with_other_sources_are_demands_of_their_own():
    found = choice(
        *TALK[:3],
        says("", ("c2", "read_notes", {"n": 2})),
        result("c2", f"keep {KEY}"),
        *steps(4),
        says(f"Use {KEY} and {LOG}."),
    )

    assert sorted((demand.request, demand.weight) for demand in found.demands) == [
        (6, 0.5),
        (6, 0.5),
    ]


def test_a_group_is_a_call_with_all_its_results():
    calls = says("", ("c1", "read_notes", {"n": 1}), ("c2", "read_notes", {"n": 2}))
    talk = (user("Go."), calls, result("c1", "nothing"), result("c2", LINE), *TALK[3:])
    conversation = prepared(*talk)

    single, group = (
        selection_of(conversation, find_needs(conversation), atomic=atomic)
        for atomic in (False, True)
    )

    assert [item.messages for item in single.items] == [(3,)]
    assert [item.messages for item in group.items] == [(1, 2, 3)]
    count = conversation.counter.count
    assert group.items[0].tokens == sum(count(message) for message in talk[1:4])


def test_a_need_counts_its_source_and_the_call_that_restates_it_as_one_group():
    """The call restates what a user message said, and its result holds it again: one group."""
    said = user(LINE)
    retells = says(f"The nightly export writes every booking into {LOG}.", ("c1", "check", {}))
    talk = (user("Go."), says("Yes?"), said, retells, result("c1", LINE), *steps(4), says(LOG))

    assert {item.messages for item in choice(*talk).items} == {(2,), (3,), (4,)}
    assert {item.messages for item in choice(*talk, atomic=True).items} == {(2,), (3, 4)}


def test_messages_and_requests_are_counted_over_all_segments():
    found_in = in_segments(TALK, TALK)

    found = selection_of(found_in, find_needs(found_in))

    n = len(TALK)
    assert [item.messages for item in found.items] == [(2,), (n + 2,)]
    assert [(demand.request, demand.weight) for demand in found.demands] == [(5, 0.5), (11, 0.5)]
    assert [item.arrives for item in found.items] == [1, 7]
    assert found.n_requests == 12


def test_reach_is_the_weight_of_the_demands_that_what_is_kept_meets():
    found = choice(*TALK)

    assert found.reach({0: 5}) == 1.0
    assert found.reach({0: 7}) == 1.0
    assert found.reach({0: 4}) == 0.0
    assert found.reach({}) == 0.0


def test_instructions_are_the_messages_of_their_roles():
    conversation = prepared(Message("system", "Be brief."), *TALK[:2], Message("developer", "x"))

    assert instruction_indices(conversation.segments[0].history) == (0, 3)
