"""Pairing and cuts against an oracle that tries everything."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.messages import Message, ToolCall
from compaction.pairing import (
    called_names,
    groups,
    orphan_results,
    pair,
    safe_cut_after,
    safe_cut_before,
    safe_cuts,
)


def calling(*ids):
    return Message("assistant", None, tool_calls=tuple(ToolCall(i, f"t-{i}", "{}") for i in ids))


def answering(call_id):
    return Message("tool", "x", tool_call_id=call_id)


LEGACY_CALL = Message("assistant", None, tool_calls=(ToolCall("", "old", "{}", kind="legacy"),))
LEGACY_RESULT = Message("function", "x", name="old")

anything = st.lists(
    st.one_of(
        st.lists(st.sampled_from("ab"), max_size=3).map(lambda ids: calling(*ids)),
        st.sampled_from("abc").map(answering),
        st.sampled_from([Message("user", "hi"), LEGACY_CALL, LEGACY_RESULT]),
    ),
    max_size=14,
).map(tuple)


def oracle(messages):
    """Match results by trying every call before: newest message first, in it oldest call first."""
    free = {
        (at, n): (call.kind == "legacy", call.name if call.kind == "legacy" else call.call_id)
        for at, message in enumerate(messages)
        for n, call in enumerate(message.tool_calls)
    }
    matched, orphans = {}, []
    for at, message in enumerate(messages):
        if not message.is_result:
            continue
        legacy = message.role == "function"
        wanted = (legacy, message.name if legacy else message.tool_call_id)
        found = [place for place, key in free.items() if place[0] < at and key == wanted]
        if found:
            place = min(found, key=lambda item: (-item[0], item[1]))
            matched[at] = (place[0], messages[place[0]].tool_calls[place[1]])
            del free[place]
        else:
            orphans.append(at)
    return matched, orphans, sorted(at for at, _ in free)


def is_safe(messages, cut):
    matched, _, _ = oracle(messages)
    return all(not caller < cut <= result for result, (caller, _) in matched.items())


@given(messages=anything)
def test_results_are_matched_as_the_oracle_does(messages):
    pairing = pair(messages)
    matched, orphans, still_open = oracle(messages)

    assert pairing.call_of == matched
    assert list(pairing.orphans) == orphans == list(orphan_results(messages))
    assert [at for at, _ in pairing.open_calls] == still_open


@given(messages=anything)
def test_safe_cuts_are_all_the_cuts_that_separate_nothing(messages):
    expected = [cut for cut in range(len(messages) + 1) if is_safe(messages, cut)]

    assert safe_cuts(messages) == expected
    assert groups(messages) == list(pairwise(expected))


@given(messages=conversations(max_turns=2, max_rounds=4), data=st.data())
def test_the_nearest_safe_cut_is_found_on_either_side(messages, data):
    index = data.draw(st.integers(0, len(messages)))
    cuts = [cut for cut in range(len(messages) + 1) if is_safe(messages, cut)]

    assert safe_cut_before(messages, index) == max(cut for cut in cuts if cut <= index)
    assert safe_cut_after(messages, index) == min(cut for cut in cuts if cut >= index)


@given(messages=anything, data=st.data())
def test_cuts_are_safe_on_the_right_side_of_broken_conversations_too(messages, data):
    index = data.draw(st.integers(0, len(messages)))
    before, after = safe_cut_before(messages, index), safe_cut_after(messages, index)

    assert before <= index <= after
    assert is_safe(messages, before)
    assert is_safe(messages, after)


@pytest.mark.parametrize(
    ("messages", "cut", "before", "after"),
    [
        ([calling("a", "b"), answering("b"), answering("a")], 1, 0, 3),
        ([calling("a", "b"), answering("b"), answering("a")], 2, 0, 3),
        ([calling("a"), answering("a"), calling("a"), answering("a")], 3, 2, 4),
        ([calling("a"), calling("b"), answering("b"), answering("a")], 2, 0, 4),
        ([calling("a"), Message("user", "?"), Message("user", "!")], 1, 1, 1),
        ([LEGACY_CALL, LEGACY_RESULT, LEGACY_CALL, LEGACY_RESULT], 3, 2, 4),
        ([answering("a"), Message("user", "?")], 1, 1, 1),
        ([calling("never"), calling("b"), answering("b"), Message("user", "?")], 1, 1, 1),
    ],
)
def test_cuts_worked_out_by_hand(messages, cut, before, after):
    assert (safe_cut_before(messages, cut), safe_cut_after(messages, cut)) == (before, after)


def test_names_of_calls_are_those_of_the_latest_use_of_an_id():
    messages = [
        Message("assistant", None, tool_calls=(ToolCall("a", "read", ""),)),
        Message("assistant", None, tool_calls=(ToolCall("a", "write", ""),)),
    ]

    assert called_names(messages) == {"a": "write"}
