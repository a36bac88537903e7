import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.align import align
from compaction.contract.generators import conversations
from compaction.history import History, Origin
from compaction.messages import Message, Part, ToolCall


def call(name, arguments="{}"):
    return ToolCall(name, "read", arguments)


CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", "Look."),
    Message("assistant", None, tool_calls=(call("a"), call("b"))),
    Message("tool", "first", tool_call_id="a"),
    Message("tool", "second", tool_call_id="b"),
    Message("assistant", "Done."),
    Message("user", "Thanks."),
)


def origins(given_messages, returned):
    entries = align(History(given_messages).entries(), returned, "code")
    assert tuple(entry.message for entry in entries) == tuple(returned)
    return [(entry.origin.kind, entry.origin.spans) for entry in entries]


def whole(*indices):
    return [("whole", ((index, index + 1),)) for index in indices]


def test_what_came_back_as_it_was_is_the_same_entry():
    entries = History(CONVERSATION).entries()

    aligned = align(entries, CONVERSATION, "code")

    assert all(mine is theirs for mine, theirs in zip(entries, aligned, strict=True))


def test_what_was_dropped_leaves_the_rest_whole():
    assert origins(CONVERSATION, CONVERSATION[:2] + CONVERSATION[5:]) == whole(0, 1, 5, 6)


def test_nothing_came_back():
    assert origins(CONVERSATION, []) == []


def test_a_result_with_other_text_is_the_edited_one():
    returned = [*CONVERSATION[:3], CONVERSATION[3].with_text("[cleared]"), *CONVERSATION[4:]]

    assert origins(CONVERSATION, returned) == [
        *whole(0, 1, 2),
        ("edited", ((3, 4),)),
        *whole(4, 5, 6),
    ]


def test_an_edit_names_the_code_that_made_it():
    entries = History(CONVERSATION).entries()

    aligned = align(entries, [CONVERSATION[3].with_text("[cleared]")], "mine.py:f")

    assert aligned[0].origin == Origin("edited", ((3, 4),), "mine.py:f")


def test_a_call_with_other_arguments_is_the_edited_one():
    edited = replace(CONVERSATION[2], tool_calls=(call("a", '{"cut": 1}'), call("b")))

    assert origins(CONVERSATION, [edited]) == [("edited", ((2, 3),))]


def test_a_legacy_function_result_and_call_with_other_text_are_the_edited_ones():
    legacy = ToolCall("", "grep", "{}", kind="legacy")
    other = ToolCall("", "read", "{}", kind="legacy")
    messages = [
        Message("assistant", None, tool_calls=(legacy,)),
        Message("function", "found", name="grep"),
        Message("assistant", None, tool_calls=(other,)),
        Message("function", "text", name="read"),
    ]
    returned = [
        replace(messages[0], content="shortened"),
        messages[1].with_text("[cleared]"),
        *messages[2:],
    ]

    assert origins(messages, returned) == [
        ("edited", ((0, 1),)),
        ("edited", ((1, 2),)),
        *whole(2, 3),
    ]


def test_a_result_whose_text_became_parts_is_the_edited_one():
    listed = replace(CONVERSATION[3], content=(Part.of_text("first"),))

    assert origins(CONVERSATION, [listed]) == [("edited", ((3, 4),))]


def test_messages_that_changed_places_keep_their_origins():
    returned = [CONVERSATION[at] for at in (0, 6, 1, 5)]

    assert origins(CONVERSATION, returned) == whole(0, 6, 1, 5)


def test_of_a_message_given_once_and_returned_twice_one_was_written():
    returned = [*CONVERSATION[:2], CONVERSATION[1], *CONVERSATION[2:]]

    found = origins(CONVERSATION, returned)

    assert sorted(found) == sorted([("generated", ()), *whole(0, 1, 2, 3, 4, 5, 6)])


GO = Message("user", "Go on.")
EQUAL = (GO, Message("assistant", "1"), GO, Message("assistant", "2"), GO)


@pytest.mark.parametrize(
    "kept", [(0, 1, 4), (0, 1, 2), (2, 3, 4), (0, 1, 2, 3), (0, 1, 3, 4), (4,), (1, 2, 3)]
)
def test_equal_messages_are_told_apart_by_their_neighbours(kept):
    found = origins(EQUAL, [EQUAL[at] for at in kept])

    starts = [spans[0][0] for _, spans in found]
    assert starts == sorted(starts)
    assert {at for at in kept if EQUAL[at] != GO} <= set(starts)


def test_of_equal_messages_without_neighbours_the_newest_were_kept():
    assert origins(EQUAL, [GO, GO]) == whole(2, 4)


def test_results_of_one_id_are_told_apart_by_their_order():
    messages = [
        message
        for number in range(3)
        for message in (
            Message("assistant", f"{number}", tool_calls=(call("again"),)),
            Message("tool", f"text {number}", tool_call_id="again"),
        )
    ]
    blank = Message("tool", "[cleared]", tool_call_id="again")
    returned = [messages[0], blank, messages[2], blank, messages[4], messages[5]]

    assert origins(messages, returned) == [
        *whole(0),
        ("edited", ((1, 2),)),
        *whole(2),
        ("edited", ((3, 4),)),
        *whole(4, 5),
    ]


def test_a_summary_stands_for_what_is_missing_at_its_place():
    summary = Message("user", "Summary.")

    found = origins(CONVERSATION, [CONVERSATION[0], summary, *CONVERSATION[5:]])

    assert found == [*whole(0), ("generated", ((1, 5),)), *whole(5, 6)]


def test_a_run_of_written_messages_stands_together_for_what_is_missing():
    notes = [Message("user", "One."), Message("assistant", "Two.")]

    found = origins(CONVERSATION, [CONVERSATION[0], *notes, CONVERSATION[6]])

    assert found == [*whole(0), ("generated", ((1, 6),)), ("generated", ((1, 6),)), *whole(6)]


def test_each_of_two_summaries_stands_for_its_own_gap():
    first, last = Message("user", "Early."), Message("user", "Late.")

    found = origins(CONVERSATION, [first, CONVERSATION[1], last])

    assert found == [("generated", ((0, 1),)), *whole(1), ("generated", ((2, 7),))]


def test_a_note_that_replaces_nothing_stands_for_nothing():
    note = Message("user", "By the way.")

    found = origins(CONVERSATION, [note, *CONVERSATION[:3], note, *CONVERSATION[3:], note])

    assert [spans for kind, spans in found if kind == "generated"] == [(), (), ()]


def test_what_was_moved_elsewhere_is_not_what_a_summary_stands_for():
    summary = Message("user", "Summary.")

    found = origins(CONVERSATION, [CONVERSATION[0], CONVERSATION[3], summary, CONVERSATION[6]])

    assert found[2] == ("generated", ((4, 6),))


def test_rewriting_over_several_requests_keeps_the_origins():
    """Each time the summary grows by a message and the oldest result is cleared."""
    history, entries, seen = History(CONVERSATION), (), 0
    for end, code in (
        (3, lambda m: m),
        (5, lambda m: [m[0], Message("user", "S1"), *m[2:]]),
        (6, lambda m: [*m[:3], m[3].with_text("[cleared]"), *m[4:]]),
        (7, lambda m: [m[0], Message("user", "S2"), *m[5:]]),
    ):
        offered = entries + history.entries(seen)[: end - seen]
        entries, seen = align(offered, code([e.message for e in offered]), "code"), end
        if end == 6:
            assert [e.origin.kind for e in entries] == ["whole", "generated", "whole", "edited"] + [
                "whole"
            ] * 2

    assert [(e.origin.kind, e.origin.spans) for e in entries] == [
        *whole(0),
        ("generated", ((1, 5),)),
        *whole(5, 6),
    ]


def test_a_summary_that_is_shortened_stays_a_summary():
    entries = align(History(CONVERSATION).entries(), [Message("user", "S"), GO], "code")

    again = align(entries, [Message("user", "T"), GO], "code")

    assert [(e.origin.kind, e.origin.spans) for e in again] == [("generated", ((0, 7),))] * 2


@given(conversations(max_turns=3, max_rounds=4), st.data())
def test_spans_stay_within_what_was_given_and_each_entry_is_used_at_most_once(messages, data):
    entries = History(messages).entries()
    written = st.integers(0, 3).map(lambda n: Message("user", f"note {n}"))
    blank = (
        st.sampled_from(messages).map(lambda m: m.with_text("[cleared]")) if messages else written
    )
    kept = st.sampled_from(messages) if messages else written
    returned = data.draw(st.lists(st.one_of(kept, kept, blank, written), max_size=25))

    aligned = align(entries, returned, "code")

    assert [entry.message for entry in aligned] == returned
    used = [e.origin.spans for e in aligned if e.origin.kind != "generated"]
    assert len(used) == len(set(used))
    for entry in aligned:
        assert set(entry.origin.indices) <= set(range(len(messages)))
        if entry.origin.kind == "whole":
            assert entry.message == messages[entry.origin.first]
    taken = {index for spans in used for index in range(*spans[0])}
    covered = {i for e in aligned if e.origin.kind == "generated" for i in e.origin.indices}
    assert not taken & covered


@given(conversations(max_turns=3, max_rounds=4), st.data())
def test_messages_kept_in_order_have_origins_in_order(messages, data):
    keep = data.draw(st.lists(st.booleans(), min_size=len(messages), max_size=len(messages)))
    returned = [message for message, kept in zip(messages, keep, strict=True) if kept]

    aligned = align(History(messages).entries(), returned, "code")

    firsts = [entry.origin.first for entry in aligned]
    assert firsts == sorted(firsts)
    assert all(entry.origin.kind == "whole" for entry in aligned)


def steps_of(run):
    """Return how many Python lines `run` executes."""
    made = 0

    def trace(frame, event, argument):
        nonlocal made
        made += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return made


@pytest.mark.parametrize("every", [1, 2])
def test_the_work_is_proportional_to_the_messages_however_many_were_written(every):
    def work(n):
        entries = History([Message("user", f"{at}") for at in range(n)]).entries()
        returned = [
            Message("user", f"new {at}") if at % every == 0 else entry.message
            for at, entry in enumerate(entries)
        ]
        return steps_of(lambda: align(entries, returned, "code"))

    assert work(1_600) < 4.5 * work(400)


def test_results_of_a_reused_id_that_were_cleared_to_one_text_keep_their_order():
    cleared = "[cleared]"
    given_messages = (
        Message("assistant", None, tool_calls=(call("a"),)),
        Message("tool", cleared, tool_call_id="a"),
        Message("assistant", None, tool_calls=(call("a"),)),
        Message("tool", "a long text", tool_call_id="a"),
    )

    returned = [*given_messages[:3], given_messages[3].with_text(cleared)]

    assert origins(given_messages, returned) == [*whole(0, 1, 2), ("edited", ((3, 4),))]


def test_an_assistant_message_that_lost_a_call_is_the_edited_one():
    left = replace(CONVERSATION[2], content="[a call was removed]", tool_calls=(call("b"),))
    returned = [*CONVERSATION[:2], left, *CONVERSATION[4:]]

    assert origins(CONVERSATION, returned) == [
        *whole(0, 1),
        ("edited", ((2, 3),)),
        *whole(4, 5, 6),
    ]


def test_equal_texts_that_were_written_later_do_not_turn_the_order_round():
    cleared = Message("assistant", "(cleared)")
    given_messages = (Message("user", ""), cleared, Message("user", ""), CONVERSATION[2])

    aligned = origins(given_messages, [*given_messages[:3], cleared])

    assert aligned == [*whole(0, 1, 2), ("generated", ((3, 4),))]


def test_a_message_that_lost_a_call_is_not_taken_for_an_earlier_one_with_the_same_id():
    earlier = Message("assistant", None, tool_calls=(call("a"),))
    later = Message("assistant", None, tool_calls=(call("b"), call("a")))
    given_messages = (earlier, Message("user", "Go on."), later)
    returned = [Message("assistant", "[gone]"), given_messages[1], replace(earlier, content="[b]")]

    assert origins(given_messages, returned) == [
        ("generated", ((0, 1),)),
        *whole(1),
        ("edited", ((2, 3),)),
    ]
