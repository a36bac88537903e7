"""What every tier keeps on every generated conversation; the tiers' own promises are elsewhere."""

from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations, histories, long_runs
from compaction.control import Stage
from compaction.extractive import ExtractiveModel
from compaction.history import History, View, is_sorted_by_origin
from compaction.llm import drive
from compaction.messages import messages_to_openai
from compaction.pairing import pair
from compaction.strategy import Context
from compaction.tiers import ClearToolResults, OffloadLargeResults, SnipMiddle, Summarize
from compaction.tokens import CharCounter, JsonCharCounter

FREE_TIERS = [
    OffloadLargeResults(max_chars=300, preview_chars=100),
    OffloadLargeResults(max_chars=300, preview_chars=50, tail_chars=50, exempt_tools={"skill"}),
    ClearToolResults(keep_last_results=3),
    ClearToolResults(keep_last_results=0, placeholder="[Compacted, ID: {handle}]"),
    ClearToolResults(keep_last_results=1, clear_arguments=True, exempt_tools={"bash"}),
    ClearToolResults(protect_tokens=800, min_chars=100, keep_errors=True),
    ClearToolResults(protect_last_turns=1),
    ClearToolResults(protect_last_turns=1, min_reclaim_tokens=300, clear_arguments=True),
    ClearToolResults(keep_last_results=1, stop_after_tokens=900),
    SnipMiddle(max_messages=8, keep_head=3),
    SnipMiddle(max_messages=2, keep_head=0),
]
SUMMARIZERS = [
    Summarize(keep_tail_messages=4, max_summary_tokens=20),
    Summarize(keep_tail_tokens=500, cut="user", keep_head=2, max_summary_tokens=20),
    Summarize(keep_tail_chars=900, hoist_last_user=True, place="system", max_summary_tokens=20),
    Summarize(place="only", max_summary_tokens=20),
]
ALL_TIERS = FREE_TIERS + SUMMARIZERS


def context() -> Context:
    return Context(counter=CharCounter())


def apply(tier, view, given_context=None):
    used = given_context or context()
    if isinstance(tier, Summarize):
        return drive(tier.steps(view, used), ExtractiveModel())
    return tier.apply(view, used)


@given(before=conversations())
def test_every_result_still_follows_its_call(before):
    for tier in ALL_TIERS:
        after = apply(tier, View.of(History(before))).messages

        assert not pair(after).orphans


@given(before=conversations())
def test_calls_of_one_message_are_kept_or_replaced_with_all_their_results(before):
    for tier in ALL_TIERS:
        after = apply(tier, View.of(History(before)))
        kept = {
            at for e in after.entries if e.origin.kind != "generated" for at in e.origin.indices
        }
        groups = {}
        for result, (caller, _) in pair(before).call_of.items():
            groups.setdefault(caller, {caller}).add(result)

        assert all(group <= kept or not group & kept for group in groups.values())


@given(before=conversations())
def test_calls_that_are_still_open_at_the_end_stay(before):
    for tier in ALL_TIERS:
        opened = [at for at, _ in pair(before).open_calls]
        after = apply(tier, View.of(History(before)))
        kept = {
            at for e in after.entries if e.origin.kind != "generated" for at in e.origin.indices
        }

        assert set(opened) <= kept


@given(before=conversations())
def test_origins_cover_the_history_in_its_order_and_say_what_happened(before):
    for tier in ALL_TIERS:
        view = View.of(History(before))
        after = apply(tier, view)
        indices = [at for entry in after.entries for at in entry.origin.indices]

        assert sorted(indices) == list(range(len(before)))
        if not (isinstance(tier, Summarize) and tier.hoist_last_user):
            assert is_sorted_by_origin(after.entries)
        for entry in after.entries:
            if entry.origin.kind == "whole":
                assert entry is view.entries[entry.origin.first]
            else:
                assert entry.origin.by == tier.name
            if entry.origin.kind == "edited":
                assert entry.message != before[entry.origin.first]
                assert entry.message.role == before[entry.origin.first].role
                assert entry.message.tool_call_id == before[entry.origin.first].tool_call_id


@given(before=conversations())
def test_nothing_that_was_given_is_changed(before):
    for tier in ALL_TIERS:
        raw = messages_to_openai(before)
        view = View.of(History(before))
        entries = view.entries
        apply(tier, view)

        assert view.entries is entries
        assert messages_to_openai(view.messages) == raw


@given(before=conversations())
def test_no_message_and_no_view_grows(before):
    for tier in ALL_TIERS:
        counter, media_counter = CharCounter(), JsonCharCounter()
        after = apply(tier, View.of(History(before)))

        for entry in after.entries:
            if entry.origin.kind == "edited":
                original = before[entry.origin.first]
                assert media_counter.count(entry.message) < media_counter.count(original)
        if isinstance(tier, Summarize):
            assert sum(map(counter.count, after.messages)) <= sum(map(counter.count, before))
        assert len(after) <= len(before)


@given(before=conversations())
def test_a_second_pass_changes_nothing_more(before):
    for tier in FREE_TIERS:
        if getattr(tier, "stop_after_tokens", None):
            continue  # asks for so much in each pass
        used = context()
        once = apply(tier, View.of(History(before)), used)
        twice = apply(tier, View(once.entries), used)

        assert twice.entries == once.entries
        assert [event for event in twice.events if event.outcome == "applied"] == []


@given(before=conversations(max_turns=2, max_rounds=3), data=st.data())
def test_a_stage_equals_the_tier_on_every_prefix(before, data):
    for tier in FREE_TIERS:
        history, stage, used = History(before), Stage(tier), context()
        lengths = [*data.draw(st.lists(st.integers(0, len(before)), max_size=4)), len(before)]

        for length in sorted(lengths):
            view = View.of(history.prefix(length))
            assert stage.run(view, used).entries == tier.apply(view, context()).entries


@given(before=conversations(max_turns=2, max_rounds=3), data=st.data())
def test_a_stage_equals_the_tier_when_the_view_shrinks_or_is_another(before, data):
    for tier in FREE_TIERS:
        first, second = (
            History(before),
            History(data.draw(conversations(max_turns=2, max_rounds=3))),
        )
        stage, used = Stage(tier), context()
        for _ in range(6):
            history = data.draw(st.sampled_from([first, second]))
            view = View.of(history.prefix(data.draw(st.integers(0, len(history)))))

            assert stage.run(view, used).entries == tier.apply(view, context()).entries


@given(before=conversations(max_turns=2, max_rounds=3))
def test_a_stage_behind_another_equals_both_tiers(before):
    for tier in FREE_TIERS:
        history, used = History(before), context()
        front = ClearToolResults(keep_last_results=2, min_chars=20, placeholder="[gone]")
        stages = Stage(front), Stage(tier)
        for length in range(len(before) + 1):
            view = View.of(history.prefix(length))
            staged = stages[1].run(View(stages[0].run(view, used).entries), used)
            whole = context()

            applied = tier.apply(View(front.apply(view, whole).entries), whole)
            assert staged.entries == applied.entries


@given(before=conversations(max_turns=2, max_rounds=3))
def test_events_of_a_stage_add_up_to_those_of_one_pass(before):
    for tier in FREE_TIERS:
        if getattr(tier, "stop_after_tokens", None) or tier.name == "SnipMiddle":
            continue
        history, stage, used = History(before), Stage(tier), context()
        edited, handles = 0, []
        for length in range(len(before) + 1):
            for event in stage.run(View.of(history.prefix(length)), used).events:
                edited += event.messages_edited
                handles += event.handles
        last = tier.apply(View.of(history), context()).events

        assert edited == sum(event.messages_edited for event in last)
        assert sorted(handles) == sorted(handle for event in last for handle in event.handles)


@given(before=conversations(), data=st.data())
def test_what_is_settled_stays_however_many_entries_follow(before, data):
    for tier in FREE_TIERS:
        history = History(before)
        prefix = View.of(history.prefix(data.draw(st.integers(0, len(before)))))
        settled = tier.settled(prefix)
        now = tier.apply(prefix, context()).entries[:settled]
        later = tier.apply(View.of(history), context()).entries[:settled]

        assert 0 <= settled <= len(prefix)
        assert now == later


@given(run=long_runs())
def test_a_run_with_one_user_message_is_shortened(run):
    for tier in ALL_TIERS:
        counter = CharCounter()
        before = sum(map(counter.count, run))
        after = apply(tier, View.of(History(run)))

        if isinstance(tier, SnipMiddle | Summarize):
            assert len(after) < len(run)
            assert sum(map(counter.count, after.messages)) < before


@given(history=histories())
def test_the_generator_keeps_every_result_after_its_call(history):
    assert not pair(history.messages()).orphans
