import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.history import Entry, History, Origin, View, generated
from compaction.messages import Message
from evals.fidelity.fates import FATE_CODES, FateTracker

MESSAGES = tuple(Message("user", f"{n % 3}") for n in range(30))
"""Many equal ones, so that only origins tell them apart."""
TIERS = ("test", "ClearToolResults", "OffloadLargeResults", "SnipMiddle")
EDITS = dict(zip(TIERS, "econ", strict=True))
TEXTS = dict(zip(TIERS, "scon", strict=True))
SUMMARIES = ("summary", "another summary")


def naive_fates(entries, length):
    """Return the code of each message from the whole view; the last entry that shows it counts."""
    fates = ["-"] * length
    written = [entry.origin for entry in entries if entry.origin.kind == "generated"]
    for origin in sorted(written, key=lambda each: "eocsn".index(TEXTS[each.by]), reverse=True):
        for index in origin.indices:
            fates[index] = TEXTS[origin.by]
    for entry in entries:
        if entry.origin.kind != "generated" and entry.origin.spans:
            is_whole = entry.origin.kind == "whole"
            fates[entry.origin.first] = "w" if is_whole else EDITS[entry.origin.by]
    return fates


def fates_at(tracker, first_message, request, length):
    """Return the codes that the noted changes amount to at a request."""
    fates = ["w"] * length
    for index, at, code in tracker.changes:
        if at <= request and index - first_message < length:
            fates[index - first_message] = code
    return fates


def edit(entries, chance):
    entries = list(entries)
    if not entries:
        return entries
    first, last = sorted(chance.randrange(len(entries) + 1) for _ in range(2))
    at = chance.randrange(len(entries))
    tier = chance.choice(TIERS)
    match chance.randrange(6):
        case 0:
            del entries[first:last]
        case 1:
            text = chance.choice(SUMMARIES)
            entries[first:last] = [generated("user", text, entries[first:last], tier)]
        case 2:
            text = chance.choice(SUMMARIES)
            entries.insert(at, generated("user", text, entries[first:last], tier))
        case 3:
            entries[at] = entries[at].edited(Message("user", "[cleared]"), tier)
        case 4:
            entries.insert(0, entries.pop(at))
        case _:
            del entries[at]
    return entries


@given(st.integers(0, 2**32).map(random.Random), st.integers(0, 100))
def test_the_noted_changes_give_the_fate_of_every_message_at_every_request(chance, first_message):
    tracker, whole, entries, seen = FateTracker(first_message), History(MESSAGES), [], 0
    shown = []
    for request in range(8):
        end = chance.randint(seen, len(MESSAGES))
        fresh = chance.random() < 0.2
        entries = list(whole.entries()[:end] if fresh else (*entries, *whole.entries()[seen:end]))
        for _ in range(chance.randrange(3)):
            entries = edit(entries, chance)
        seen = end

        tracker.see(whole.prefix(end), tuple(entries), request)

        shown.append(naive_fates(entries, end))

    for request, expected in enumerate(shown):
        assert fates_at(tracker, first_message, request, len(expected)) == expected
    assert [FATE_CODES[tracker.fate_of(index)] for index in range(seen)] == shown[-1]
    assert len(tracker.changes) == sum(
        fate != (shown[at - 1][index] if at and index < len(shown[at - 1]) else "w")
        for at, fates in enumerate(shown)
        for index, fate in enumerate(fates)
    )


def test_what_stays_whole_has_no_change():
    tracker, whole = FateTracker(0), History(MESSAGES)

    for request, end in enumerate((3, 9, 30)):
        tracker.see(whole.prefix(end), View.of(whole.prefix(end)).entries, request)

    assert tracker.changes == []


def test_a_summary_of_many_messages_is_one_change_for_each_and_growing_adds_only_the_new_ones():
    tracker, whole = FateTracker(100), History(MESSAGES)
    entries = whole.entries()

    def summary(stop):
        return Entry(Message("user", "gone"), Origin("generated", ((1, stop),), "test"))

    tracker.see(whole.prefix(20), entries[:20], 0)
    tracker.see(whole.prefix(25), (entries[0], summary(10), *entries[10:25]), 1)
    tracker.see(whole.prefix(30), (entries[0], summary(12), *entries[12:30]), 2)

    assert tracker.changes == [
        *[(100 + index, 1, "s") for index in range(1, 10)],
        *[(100 + index, 2, "s") for index in (10, 11)],
    ]


@pytest.mark.parametrize(("in_summary", "code"), [(True, "s"), (False, "-")])
def test_a_message_that_leaves_the_tail_is_still_in_a_summary_before_it(in_summary, code):
    tracker, whole = FateTracker(0), History(MESSAGES[:4])
    entries = whole.entries()
    spans = ((0, 3),) if in_summary else ((0, 2),)
    summary = Entry(Message("user", "gone"), Origin("generated", spans, "test"))

    tracker.see(whole, (summary, entries[2], entries[3]), 0)
    tracker.see(whole, (summary, entries[3]), 1)

    assert tracker.changes == [(0, 0, "s"), (1, 0, "s"), (2, 1, code)]


def test_a_fate_can_change_again():
    tracker, whole = FateTracker(0), History(MESSAGES[:1])
    (entry,) = whole.entries()

    for request, view in enumerate(
        [(entry,), (entry.edited(Message("user", "[cleared]"), "x"),), (), (entry,)]
    ):
        tracker.see(whole, view, request)

    assert tracker.changes == [(0, 1, "e"), (0, 2, "-"), (0, 3, "w")]


def test_a_message_that_is_gone_when_it_arrives_is_noted_at_that_request():
    tracker = FateTracker(7)

    tracker.see(History(MESSAGES[:2]), (), 3)

    assert tracker.changes == [(7, 3, "-"), (8, 3, "-")]
