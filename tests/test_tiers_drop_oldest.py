import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.history import History, View
from compaction.messages import INSTRUCTION_ROLES, Message, ToolCall
from compaction.pairing import pair
from compaction.strategy import Context
from compaction.tiers import DropOldest
from compaction.tokens import CharCounter


def kept(tier, messages):
    view = tier.apply(View.of(History(messages)), Context(CharCounter()))
    return [entry.origin.first for entry in view.entries]


def said(*roles):
    return tuple(Message(role, f"{role} {at}") for at, role in enumerate(roles))


CHAT = said("system", "user", *("assistant", "user") * 4)
"""One instruction, one order, eight messages behind them."""


def test_instructions_first_user_message_and_the_newest_stay():
    assert kept(DropOldest(keep_tail_messages=3), CHAT) == [0, 1, 7, 8, 9]


def test_without_the_first_user_message_only_instructions_stay_in_front():
    assert kept(DropOldest(keep_tail_messages=3, keep_first_user=False), CHAT) == [0, 7, 8, 9]


@pytest.mark.parametrize(("fraction", "first"), [(0.75, 4), (0.8, 3), (0.5, 6), (0, 9)])
def test_a_fraction_is_of_the_messages_behind_the_head_rounded_up(fraction, first):
    # Of eight messages: 6, 6.4 -> 7, 4, and one at least.
    assert kept(DropOldest(keep_tail_fraction=fraction), CHAT) == [0, 1, *range(first, 10)]


def test_tokens_are_a_limit_of_the_tail():
    size = sum(map(CharCounter().count, CHAT[-2:]))

    assert kept(DropOldest(keep_tail_tokens=size), CHAT) == [0, 1, 8, 9]
    assert kept(DropOldest(keep_tail_tokens=size - 1), CHAT) == [0, 1, 9]


def test_nothing_goes_if_all_fits():
    assert kept(DropOldest(keep_tail_messages=8), CHAT) == list(range(10))


def test_a_border_in_a_batch_moves_behind_it_or_before_it_if_asked_to():
    calls = tuple(ToolCall(f"c{at}", "read", "{}") for at in range(2))
    batch = (
        Message("assistant", None, tool_calls=calls),
        *(Message("tool", "x", tool_call_id=call.call_id) for call in calls),
    )
    messages = (*said("user"), *batch, *said("assistant", "user"))

    assert kept(DropOldest(keep_tail_messages=3), messages) == [0, 4, 5]
    longer = (*messages[:1], *said("assistant", "user"), *messages[1:])
    assert kept(DropOldest(keep_tail_messages=3, border="earlier"), longer) == [0, *range(3, 8)]


def test_a_last_batch_stays_whole_even_if_it_is_larger_than_the_tail():
    calls = tuple(ToolCall(f"c{at}", "read", "{}") for at in range(2))
    batch = (
        Message("assistant", None, tool_calls=calls),
        *(Message("tool", "x", tool_call_id=call.call_id) for call in calls),
    )

    assert kept(DropOldest(keep_tail_messages=1), (*said("user", "assistant"), *batch)) == [
        0,
        2,
        3,
        4,
    ]


@given(
    before=conversations(max_turns=2, max_rounds=4),
    keep=st.integers(0, 12),
    border=st.sampled_from(["later", "earlier"]),
)
def test_no_group_is_split_and_instructions_and_open_calls_stay(before, keep, border):
    left = kept(DropOldest(keep_tail_messages=keep, border=border), before)

    groups = {}
    for result, (caller, _) in pair(before).call_of.items():
        groups.setdefault(caller, {caller}).add(result)
    assert all(group <= set(left) or not group & set(left) for group in groups.values())
    leading = next((i for i, m in enumerate(before) if m.role not in INSTRUCTION_ROLES), 0)
    assert left[:leading] == list(range(leading))
    assert {at for at, _ in pair(before).open_calls} <= set(left)
    assert not before or len(before) - 1 in left
