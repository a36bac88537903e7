"""Histories share storage without seeing each other; views carry where each entry came from."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.history import (
    Entry,
    History,
    Origin,
    View,
    common_prefix,
    equal_prefix,
    generated,
    is_sorted_by_origin,
    merge_spans,
    whole,
)
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.tokens import CharCounter, RunningTotal, total_of


def numbered(count, start=0):
    return tuple(Message("user", f"m{n}") for n in range(start, start + count))


class CountingMeasure:
    """Measures characters and remembers how often it was asked."""

    name = "counting"

    def __init__(self):
        self.asked = 0

    def count(self, message):
        self.asked += 1
        return len(message.text)


def test_a_longer_history_leaves_the_shorter_one_as_it_is():
    short = History(numbered(2))
    longer = short.extended(numbered(2, start=2))

    assert short.messages() == numbered(2)
    assert longer.messages() == numbered(4)
    assert short.entries() == longer.entries()[:2]
    assert all(a is b for a, b in zip(short.entries(), longer.entries(), strict=False))


def test_two_continuations_of_one_history_do_not_mix():
    start = History(numbered(2))
    first = start.extended([Message("user", "first")])
    second = start.extended([Message("user", "second")])
    third = first.prefix(1).extended([Message("user", "third")])

    assert first[2].text == "first"
    assert second[2].text == "second"
    assert third.messages() == (*numbered(1), Message("user", "third"))
    assert start.messages() == numbered(2)


def test_a_prefix_of_everything_or_nothing_is_a_history():
    history = History(numbered(3))

    assert len(history.prefix(0)) == 0
    assert history.prefix(0).last_user_position() is None
    assert history.prefix(3).messages() == history.messages()
    with pytest.raises(IndexError, match="has 3 messages, asked for the first 4"):
        history.prefix(4)


def test_indices_count_from_both_ends_and_stop_at_the_length():
    history = History(numbered(5)).prefix(3)

    assert (history[0].text, history[-1].text) == ("m0", "m2")
    for outside in (3, -4):
        with pytest.raises(IndexError):
            history[outside]


@given(messages=conversations(max_turns=2), data=st.data())
def test_sums_and_positions_of_a_prefix_equal_a_recount(messages, data):
    history = History(messages)
    for _ in range(3):
        length = data.draw(st.integers(0, len(messages)))
        prefix, cut = history.prefix(length), messages[:length]

        assert prefix.total(CharCounter()) == sum(map(CharCounter().count, cut))
        assert list(prefix.result_positions()) == [n for n, m in enumerate(cut) if m.is_result]
        users = [n for n, m in enumerate(cut) if m.role == "user"]
        assert prefix.last_user_position() == (users[-1] if users else None)


def test_each_message_is_measured_once_for_all_prefixes():
    measure, history = CountingMeasure(), History(numbered(10))
    totals = [history.prefix(length).total(measure) for length in (3, 10, 5, 10)]

    assert totals == [6, 20, 10, 20]
    assert measure.asked == 10


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5)), max_size=8))
def test_merged_spans_are_sorted_disjoint_and_cover_the_same(drawn):
    spans = [(start, start + length) for start, length in drawn if length]
    merged = merge_spans(spans)

    assert {n for a, b in merged for n in range(a, b)} == {n for a, b in spans for n in range(a, b)}
    assert all(before[1] < after[0] for before, after in pairwise(merged))


def test_an_edited_entry_keeps_its_place_and_its_handle():
    entry = whole(Message("tool", "long", tool_call_id="c"), 7)
    offloaded = entry.edited(entry.message.with_text("short"), "Offload", handle="h")
    again = offloaded.edited(entry.message.with_text("x"), "Clamp")

    assert offloaded.origin == Origin("edited", ((7, 8),), "Offload", "h")
    assert again.origin == Origin("edited", ((7, 8),), "Clamp", "h")


def test_a_shortened_summary_stays_generated():
    summary = generated("user", "summary", [whole(m, n) for n, m in enumerate(numbered(3))], "S")

    assert summary.origin == Origin("generated", ((0, 3),), "S")
    assert summary.edited(Message("user", "s"), "Clamp").origin.kind == "generated"


def test_a_view_with_replaced_entries_shares_the_others():
    view = View.of(History(numbered(3)))
    changed = view.replaced({1: Entry(Message("user", "new"), view.entries[1].origin)})

    assert [message.text for message in changed.messages] == ["m0", "new", "m2"]
    assert changed.entries[0] is view.entries[0]
    assert [message.text for message in view.messages] == ["m0", "m1", "m2"]
    assert changed.unchanged_since(view) == 1


@given(
    before=st.lists(st.sampled_from("abc"), max_size=12),
    after=st.lists(st.sampled_from("abc"), max_size=12),
    shared=st.lists(st.sampled_from("abc"), max_size=40),
)
def test_the_common_prefix_is_that_of_the_messages(before, after, shared):
    def view(texts):
        return tuple(whole(Message("user", item), 99) for item in texts)

    first, second = view(shared) + view(before), view(shared) + view(after)
    expected = next(
        (
            n
            for n, (a, b) in enumerate(zip(shared + before, shared + after, strict=False))
            if a != b
        ),
        min(len(first), len(second)),
    )

    assert common_prefix(first, second) == expected


def test_the_common_prefix_ignores_origins():
    message = Message("user", "same")

    assert common_prefix((whole(message, 0),), (whole(message, 5),)) == 1


def test_order_by_origin_ignores_entries_that_stand_for_nothing():
    entries = [whole(Message("user", "a"), n) for n in (0, 4)]
    note = Entry(Message("user", "note"), Origin("generated", (), "Note"))

    assert is_sorted_by_origin([entries[0], note, entries[1]])
    assert not is_sorted_by_origin([entries[1], note, entries[0]])


@st.composite
def chains_of_views(draw):
    """Views that are each made of the one before, in all the ways there are, or of nothing."""
    entries = History(numbered(12)).entries()
    views = [View(entries[:3])]
    for _ in range(draw(st.integers(1, 8))):
        before = views[-1]
        added = tuple(draw(st.lists(st.sampled_from(entries), max_size=3)))
        same = draw(st.integers(0, len(before)))
        made = before.entries[:same] + added
        views.append(
            draw(
                st.sampled_from(
                    [
                        before.appended(added),
                        View.made_of(before.entries, same, made),
                        View.made_of(before.entries, same, made).telling(()),
                        View(before.entries).appended(added),
                        View(made),
                    ]
                )
            )
        )
    return views


@given(chains_of_views())
def test_what_a_view_remembers_changes_nothing_but_the_time(views):
    running = RunningTotal(CharCounter())
    for before in views:
        for after in views:
            assert after.same_as(before) == equal_prefix(before.entries, after.entries)
        assert running.of(before) == total_of(CharCounter(), before.messages)


@given(conversations(), st.data())
def test_what_answers_only_calls_of_its_own_is_told_by_the_whole_history(messages, data):
    history = History(messages)
    stop = data.draw(st.integers(0, len(messages)))
    start = data.draw(st.integers(0, stop))

    found = history.prefix(stop).is_self_contained(start)

    assert found == (not orphan_results(messages[start:stop]))
