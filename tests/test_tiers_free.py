"""The promise of each free tier, beside the contract that all keep."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.clipping import clip_head, clip_tail
from compaction.contract.generators import conversations
from compaction.errors import StoreError
from compaction.history import History, View
from compaction.messages import Message, Part, ToolCall
from compaction.store import MemoryStore
from compaction.strategy import Context
from compaction.tiers import ClearToolResults, OffloadLargeResults, SnipMiddle
from compaction.tiers.results import is_error, original_text
from compaction.tokens import CharCounter, TiktokenCounter

PLACEHOLDER = "[cleared]"


class FullDisk:
    """A store that keeps nothing."""

    def put(self, handle, text):
        raise StoreError(f"cannot keep {handle!r}: no space left")

    def get(self, handle):
        return None


def context(store=None):
    return Context(counter=CharCounter(), store=store or MemoryStore())


def view_of(*messages):
    return View.of(History(messages))


def rounds(*results, tool="read"):
    """Return one user message and a round per result text."""
    messages = [Message("user", "go")]
    for index, text in enumerate(results):
        call = ToolCall(f"c{index}", tool, '{"path":"some/file.py"}')
        messages.append(Message("assistant", None, tool_calls=(call,)))
        messages.append(Message("tool", text, tool_call_id=call.call_id))
    return view_of(*messages)


def texts(view):
    return [message.text for message in view.messages if message.is_result]


# ClearToolResults


@pytest.mark.parametrize("extra", [-1, 0, 1])
@given(before=conversations())
def test_exactly_the_last_results_are_kept_at_and_around_their_number(before, extra):
    results = [message for message in before if message.is_result]
    keep = max(0, len(results) + extra)
    after = ClearToolResults(keep_last_results=keep).apply(view_of(*before), context())

    kept = [message for message in after.messages if message.is_result]
    assert kept[len(kept) - keep :] == results[len(results) - keep :]
    assert len(kept) == len(results)


@given(before=conversations(), keep=st.integers(0, 4))
def test_every_older_result_larger_than_the_placeholder_is_cleared(before, keep):
    tier = ClearToolResults(keep_last_results=keep, placeholder=PLACEHOLDER)
    after = tier.apply(view_of(*before), context())
    results = [at for at, message in enumerate(before) if message.is_result]

    for at in results[: max(0, len(results) - keep)]:
        longer = len(original_text(before[at])) > len(PLACEHOLDER)
        count = context().counter.count
        larger = longer and count(before[at]) > count(before[at].with_text(PLACEHOLDER))
        assert after.messages[at].text == (PLACEHOLDER if larger else before[at].text)
    assert after.messages[len(before) :] == ()


def test_keeping_no_result_clears_all():
    tier = ClearToolResults(keep_last_results=0, placeholder=PLACEHOLDER)

    assert texts(tier.apply(rounds("a" * 20, "b" * 20), context())) == [PLACEHOLDER] * 2


def test_only_results_with_more_characters_than_the_minimum_are_cleared():
    tier = ClearToolResults(keep_last_results=0, min_chars=120, placeholder=PLACEHOLDER)

    after = texts(tier.apply(rounds("a" * 120, "b" * 121), context()))

    assert after == ["a" * 120, PLACEHOLDER]


def test_a_result_of_more_characters_and_no_more_tokens_stays():
    placeholder, result = "x9 q7 z3", "everything everywhere"
    counter = TiktokenCounter()
    sizes = [counter.count(Message("tool", text)) for text in (placeholder, result)]
    assert len(result) > len(placeholder)
    assert sizes[1] <= sizes[0]
    tier = ClearToolResults(keep_last_results=0, placeholder=placeholder)

    assert texts(tier.apply(rounds(result), Context(counter))) == [result]


def test_a_result_as_long_as_the_placeholder_stays():
    tier = ClearToolResults(keep_last_results=0, placeholder=PLACEHOLDER)

    assert texts(tier.apply(rounds("a" * 9, "b" * 10), context())) == ["a" * 9, PLACEHOLDER]


@given(before=conversations())
def test_every_handle_gives_back_the_exact_original(before):
    used = context()
    tier = ClearToolResults(keep_last_results=1, placeholder="[{handle}]")
    after = tier.apply(view_of(*before), used)

    for entry in after.entries:
        if entry.origin.kind == "edited":
            original = before[entry.origin.first]
            assert entry.origin.handle in entry.message.text
            assert used.store.get(entry.origin.handle) == original_text(original)
    assert len(used.store) == sum(len(event.handles) for event in after.events)


def test_a_reused_call_id_with_other_content_has_a_handle_of_its_own():
    call = ToolCall("same", "read", "{}")
    before = view_of(
        *(
            message
            for text in ("first" * 20, "second" * 20)
            for message in (
                Message("assistant", None, tool_calls=(call,)),
                Message("tool", text, tool_call_id="same"),
            )
        )
    )
    sound, literal = context(), context()
    tier = ClearToolResults(keep_last_results=0, placeholder="[{handle}]")
    after = tier.apply(before, sound)
    replace(tier, literal_handles=True).apply(before, literal)

    recovered = [sound.store.get(entry.origin.handle) for entry in after.entries[1::2]]
    assert recovered == ["first" * 20, "second" * 20]
    assert literal.store.get("same") == "first" * 20


def test_a_result_stays_if_the_store_fails_and_the_event_says_so():
    before = rounds("a" * 100)
    tier = ClearToolResults(keep_last_results=0, placeholder="[{handle}]")

    after = tier.apply(before, context(FullDisk()))

    assert after.entries == before.entries
    assert [event.outcome for event in after.events] == ["failed"]
    assert "no space left" in after.events[0].reason


def test_nothing_is_cleared_below_the_minimal_gain_and_everything_at_it():
    before = rounds("a" * 50, "b" * 50)
    gain = 2 * (50 - len(PLACEHOLDER))
    tier = ClearToolResults(
        keep_last_results=0, placeholder=PLACEHOLDER, min_reclaim_tokens=gain + 1
    )
    too_little = tier.apply(before, context())
    enough = replace(tier, min_reclaim_tokens=gain).apply(before, context())

    assert too_little.entries == before.entries
    assert [event.reason for event in too_little.events] == ["would gain 82 tokens, needs 83"]
    assert texts(enough) == [PLACEHOLDER] * 2


def test_clearing_stops_with_the_result_that_reaches_the_limit():
    before = rounds("a" * 50, "b" * 50, "c" * 50)
    tier = ClearToolResults(keep_last_results=0, placeholder=PLACEHOLDER, stop_after_tokens=42)

    assert texts(tier.apply(before, context())) == [PLACEHOLDER, PLACEHOLDER, "c" * 50]
    first_only = replace(tier, stop_after_tokens=41)
    assert texts(first_only.apply(before, context())) == [PLACEHOLDER, "b" * 50, "c" * 50]


@pytest.mark.parametrize(("protect_tokens", "kept"), [(0, 0), (29, 0), (30, 1), (69, 1), (70, 2)])
def test_the_newest_results_within_the_protected_tokens_stay(protect_tokens, kept):
    before = rounds("a" * 50, "b" * 40, "c" * 30)
    tier = ClearToolResults(protect_tokens=protect_tokens, placeholder=PLACEHOLDER)

    after = texts(tier.apply(before, context()))

    assert after[3 - kept :] == texts(before)[3 - kept :]
    assert after[: 3 - kept] == [PLACEHOLDER] * (3 - kept)


@pytest.mark.parametrize(("turns", "cleared"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_results_of_the_last_turns_stay(turns, cleared):
    before = view_of(*rounds("a" * 50).messages, *rounds("b" * 50).messages)
    tier = ClearToolResults(protect_last_turns=turns, placeholder=PLACEHOLDER)

    assert texts(tier.apply(before, context())).count(PLACEHOLDER) == cleared


def test_exempt_tools_and_errors_stay():
    before = view_of(
        *rounds("a" * 50, tool="skill").messages,
        *rounds("Error: " + "b" * 50, "c" * 50).messages,
    )
    tier = ClearToolResults(
        keep_last_results=0,
        placeholder=PLACEHOLDER,
        exempt_tools=frozenset({"skill"}),
        keep_errors=True,
    )

    assert texts(tier.apply(before, context())) == ["a" * 50, "Error: " + "b" * 50, PLACEHOLDER]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"content": "Traceback (most recent call last):"}, True),
        ({"content": "[Error] no such file"}, True),
        ({"content": "fine", "is_error": True}, True),
        ({"content": "fine", "status": "error"}, True),
        ({"content": "0 errors"}, False),
        ({"content": "def error(): ..."}, False),
        ({"content": "errors.py"}, False),
    ],
)
def test_errors_are_told_by_flags_or_the_first_word(raw, expected):
    message = Message.from_openai({"role": "tool", "tool_call_id": "c", **raw})

    assert is_error(message) is expected


def test_arguments_are_cleared_only_for_calls_whose_result_is():
    calls = (ToolCall("c0", "read", '{"path":"a.py"}'), ToolCall("c1", "read", '{"path":"b.py"}'))
    before = view_of(
        Message("assistant", None, tool_calls=calls),
        Message("tool", "b" * 50, tool_call_id="c1"),
        Message("tool", "a" * 50, tool_call_id="c0"),
    )
    tier = ClearToolResults(keep_last_results=1, clear_arguments=True, placeholder=PLACEHOLDER)

    after = tier.apply(before, context())

    assert [c.arguments for c in after.messages[0].tool_calls] == ['{"path":"a.py"}', "{}"]
    assert after.entries[0].origin.kind == "edited"


def test_a_result_that_was_offloaded_keeps_its_handle_when_cleared():
    used = context()
    offloaded = OffloadLargeResults(max_chars=500, preview_chars=100).apply(
        rounds("a" * 2_000), used
    )
    sound = ClearToolResults(keep_last_results=0, placeholder=PLACEHOLDER)
    kept = sound.apply(View(offloaded.entries), used).entries[-1]
    literal = replace(sound, keep_handle=False).apply(View(offloaded.entries), used).entries[-1]

    assert kept.message.text == f"[cleared] [Full text: {kept.origin.handle}]"
    assert used.store.get(kept.origin.handle) == "a" * 2_000
    assert (literal.message.text, literal.origin.handle) == (PLACEHOLDER, None)


def test_the_original_and_not_the_preview_is_behind_the_handle_of_a_cleared_preview():
    used = context()
    offloaded = OffloadLargeResults(max_chars=500).apply(rounds("a" * 3_000), used)
    tier = ClearToolResults(keep_last_results=0, placeholder="[{handle}]")

    entry = tier.apply(View(offloaded.entries), used).entries[-1]

    assert used.store.get(entry.origin.handle) == "a" * 3_000


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "one of keep_last_results, protect_tokens, protect_last_turns must be set"),
        ({"keep_last_results": -1}, "keep_last_results must be >= 0, got -1"),
        ({"keep_last_results": 1, "min_chars": -2}, "min_chars must be >= 0, got -2"),
        ({"keep_last_results": 1, "stop_after_tokens": 0}, "stop_after_tokens must be >= 1, got 0"),
    ],
)
def test_clearing_refuses_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        ClearToolResults(**parameters)


# OffloadLargeResults


@given(before=conversations())
def test_the_store_has_every_offloaded_text_and_only_long_ones_go(before):
    used = context()
    tier = OffloadLargeResults(max_chars=400, preview_chars=60, tail_chars=30)
    after = tier.apply(view_of(*before), used)

    for entry, original in zip(after.entries, before, strict=True):
        if entry.origin.kind == "edited":
            assert used.store.get(entry.origin.handle) == original_text(original)
            assert f'handle="{entry.origin.handle}"' in entry.message.text
            assert len(original.text) > 400
        else:
            assert not original.is_result or len(original.text) <= 400


def test_the_border_of_what_is_large_is_inclusive():
    before = rounds("a" * 3_000, "b" * 3_001)
    after = OffloadLargeResults(max_chars=3_000).apply(before, context())

    assert texts(after)[0] == "a" * 3_000
    assert texts(after)[1].startswith("<persisted-output")


def test_the_preview_shows_both_ends_and_counts_what_is_between():
    text = "".join(f"{n:04}" for n in range(1_000))
    tier = OffloadLargeResults(
        max_chars=100, preview_chars=8, tail_chars=8, template="{handle}|{chars}|{preview}{tail}"
    )

    after = texts(tier.apply(rounds(text), context()))[0]

    assert after.split("|", 1)[1] == "4000|00000001\n[3984 characters omitted]\n09980999"


def test_braces_in_a_result_are_not_taken_for_fields():
    after = OffloadLargeResults(max_chars=10, preview_chars=8).apply(
        rounds("{handle}" + "x" * 900), context()
    )

    assert "\n{handle}\n" in texts(after)[0]


def test_a_large_result_stays_if_the_store_fails():
    before = rounds("a" * 500)
    after = OffloadLargeResults(max_chars=10, preview_chars=5).apply(before, context(FullDisk()))

    assert after.entries == before.entries
    assert [event.outcome for event in after.events] == ["failed"]


def test_an_image_stays_where_the_text_beside_it_is_offloaded():
    image = Part.from_openai({"type": "image_url", "image_url": {"url": "https://x/y.png"}})
    parts = (Part.of_text("a" * 300), image, Part.of_text("b" * 300))
    call = Message("assistant", None, tool_calls=(ToolCall("c", "shot", "{}"),))
    before = view_of(call, Message("tool", parts, tool_call_id="c"))
    used = context()

    entry = OffloadLargeResults(max_chars=100, preview_chars=5).apply(before, used).entries[1]

    assert [part.kind for part in entry.message.parts] == ["text", "image"]
    assert used.store.get(entry.origin.handle) == original_text(before.messages[1])


def test_offloading_refuses_a_template_without_the_handle():
    with pytest.raises(ValueError, match=r"template must name the \{handle\}"):
        OffloadLargeResults(template="{preview}")


# clipping


@given(st.text(st.sampled_from("ab\u0301\u200d👩👧🏽\ufe0f结\ud83d\ude00")), st.integers(0, 12))
def test_a_clipped_text_is_an_end_of_the_text_and_no_longer_than_asked(text, max_chars):
    head, tail = clip_head(text, max_chars), clip_tail(text, max_chars)

    assert len(head) <= max_chars
    assert text.startswith(head)
    assert len(tail) <= max_chars
    assert text.endswith(tail)


@pytest.mark.parametrize(
    ("text", "max_chars", "head"),
    [
        ("abe\u0301", 3, "ab"),
        ("ab👩\u200d👧", 4, "ab"),
        ("ab👩\u200d👧", 3, "ab"),
        ("ab👍🏽", 3, "ab"),
        ("ab\ud83d\ude00", 3, "ab"),
        ("结果", 1, "结"),
    ],
)
def test_nothing_that_reads_as_one_character_is_split(text, max_chars, head):
    assert clip_head(text, max_chars) == head


def test_a_tail_does_not_begin_with_a_mark():
    assert clip_tail("ae\u0301bc", 3) == "bc"


# SnipMiddle


def plain(count):
    return view_of(*(Message("user" if n % 2 == 0 else "assistant", f"m{n}") for n in range(count)))


def test_fifty_messages_stay_and_fifty_one_become_head_marker_and_tail():
    tier = SnipMiddle()

    assert tier.apply(plain(50), context()).entries == plain(50).entries
    after = tier.apply(plain(60), context()).messages
    assert len(after) == 50
    assert [message.text for message in after[:4]] == ["m0", "m1", "m2", "[snipped 11 messages]"]
    assert after[3].role == "user"
    assert [message.text for message in after[4:]] == [f"m{n}" for n in range(14, 60)]


@given(before=conversations(max_turns=6), max_messages=st.integers(4, 20))
def test_a_snip_exceeds_its_budget_only_by_groups_at_its_borders(before, max_messages):
    after = SnipMiddle(max_messages=max_messages, keep_head=2).apply(view_of(*before), context())
    markers = [at for at, entry in enumerate(after.entries) if entry.origin.kind == "generated"]

    if markers:
        (at,) = markers
        assert at >= 2
        assert len(after) - at - 1 >= max_messages - 3
        if not any(message.tool_calls or message.is_result for message in before):
            assert len(after) == max_messages
        removed = len(before) - len(after) + 1
        assert after.messages[at].text == f"[snipped {removed} messages]"
        assert removed >= 2


def test_borders_that_grow_into_each_other_snip_nothing():
    calls = tuple(ToolCall(f"c{n}", "read", "{}") for n in range(30))
    results = (Message("tool", "x", tool_call_id=call.call_id) for call in calls)
    before = view_of(Message("user", "go"), Message("assistant", None, tool_calls=calls), *results)

    after = SnipMiddle(max_messages=10, keep_head=2).apply(before, context())

    assert after.entries == before.entries
    assert after.events == ()


def test_a_later_marker_counts_what_an_earlier_one_stands_for():
    tier, history = SnipMiddle(max_messages=10), plain(30)
    once = tier.apply(history, context())
    grown = View(once.entries + plain(40).entries[30:])

    twice = tier.apply(grown, context())

    assert twice.messages[3].text == "[snipped 31 messages]"
    assert len(twice) == 10


def test_snipping_refuses_a_budget_without_room_for_a_tail():
    with pytest.raises(ValueError, match=r"max_messages must be >= keep_head \+ 2 = 5"):
        SnipMiddle(max_messages=4, keep_head=3)
