"""Stages that resume, triggers, and the pipeline that puts tiers together."""

import time
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given

from compaction.contract.generators import conversations
from compaction.control import Pipeline, Stage, When
from compaction.errors import ModelError, StrategyError
from compaction.extractive import ExtractiveModel
from compaction.history import History, View
from compaction.llm import ModelReply, NoModel, ScriptedChat, Usage, drive
from compaction.messages import Message, ToolCall
from compaction.strategy import Context, Promises, Request
from compaction.tiers import ClearToolResults, OffloadLargeResults, SnipMiddle, Summarize
from compaction.tokens import CharCounter, JsonCharCounter
from compaction.triggers import (
    Always,
    AnyOf,
    Chars,
    Count,
    Idle,
    Manual,
    Reserve,
    Share,
    Situation,
    Tokens,
)

PADDING = "x" * 100


def context():
    return Context(counter=CharCounter())


def run_of(rounds, size=100):
    messages = [Message("user", "go")]
    for index in range(rounds):
        call = ToolCall(f"c{index}", "", "")
        messages.append(Message("assistant", None, tool_calls=(call,)))
        messages.append(Message("tool", "x" * size, tool_call_id=call.call_id))
    return messages


def situation(messages=(), *, tokens=0, window=None, idle=None, forced=False):
    view = View.of(History(messages))
    return Situation(
        view=view,
        request=Request(0, window_tokens=window),
        tokens=tokens,
        total=lambda measure: sum(map(measure.count, view.messages)),
        idle_seconds=idle,
        forced=forced,
    )


def replay(pipeline, messages, model=None):
    """Ask for a view after each message but assistants', and return the views."""
    compactor = pipeline.start(context())
    history, views = History(), []
    for index, message in enumerate(messages):
        history = history.extended([message])
        steps = compactor.steps(history, Request(index))
        views.append(drive(steps, model or NoModel()))
    return views, compactor


# triggers


@pytest.mark.parametrize(
    ("trigger", "given_situation", "reason"),
    [
        (Always(), situation(), "always"),
        (Manual(), situation(), None),
        (Manual(), situation(forced=True), "manual"),
        (Tokens(1_000), situation(tokens=1_000), None),
        (Tokens(1_000), situation(tokens=1_001), "tokens 1001 > 1000"),
        (Share(0.5), situation(tokens=50, window=100), None),
        (Share(0.5), situation(tokens=51, window=100), "tokens 51 > 50"),
        (Reserve(30), situation(tokens=70, window=100), None),
        (Reserve(30), situation(tokens=71, window=100), "tokens 71 > 70"),
        (Reserve(300), situation(tokens=1, window=100), "tokens 1 > 0"),
        (Count(5), situation(run_of(2)), None),
        (Count(4), situation(run_of(2)), "messages 5 > 4"),
        (Count(2, "results"), situation(run_of(2)), None),
        (Count(1, "results"), situation(run_of(2)), "results 2 > 1"),
        (Count(0, "turns"), situation(run_of(2)), "turns 1 > 0"),
        (Chars(202), situation(run_of(2)), None),
        (Chars(201), situation(run_of(2)), "chars 202 > 201"),
        (Idle(60), situation(idle=59.5), None),
        (Idle(60), situation(idle=60), "idle 60 s >= 60 s"),
        (Idle(60), situation(), None),
        (AnyOf((Manual(), Tokens(1))), situation(tokens=2), "tokens 2 > 1"),
        (AnyOf((Manual(), Tokens(1))), situation(tokens=1), None),
    ],
)
def test_a_trigger_fires_above_its_limit_and_says_why(trigger, given_situation, reason):
    assert trigger.fires(given_situation) == reason


@pytest.mark.parametrize("trigger", [Share(0.9), Reserve(10)])
def test_a_trigger_that_needs_the_window_says_so_if_it_is_unknown(trigger):
    with pytest.raises(StrategyError, match="set window_tokens"):
        trigger.fires(situation(tokens=5))


# stages


@dataclass(frozen=True)
class Shout:
    """A tier of somebody else, without `resume`: upper-cases all but the last entry."""

    name: ClassVar[str] = "Shout"

    def apply(self, view, given_context):
        changed = {
            at: entry.edited(entry.message.with_text(entry.message.text.upper()), self.name)
            for at, entry in enumerate(view.entries[:-1])
            if entry.message.text != entry.message.text.upper()
        }
        return view.replaced(changed)

    def settled(self, view):
        return max(0, len(view) - 1)


@given(before=conversations(max_turns=2, max_rounds=3), after=conversations(max_turns=1))
def test_a_stage_equals_a_tier_that_only_says_what_is_settled(before, after):
    stage, tier = Stage(Shout()), Shout()
    for messages in (before, after):
        history = History(messages)
        for length in range(len(history) + 1):
            view = View.of(history.prefix(length))

            assert stage.run(view, context()).entries == tier.apply(view, context()).entries


@pytest.mark.parametrize(
    "tier",
    [
        OffloadLargeResults(max_chars=400, preview_chars=50),
        ClearToolResults(keep_last_results=10, placeholder="[{handle}]"),
        ClearToolResults(protect_tokens=5_000, min_reclaim_tokens=2_000, clear_arguments=True),
        SnipMiddle(),
    ],
    ids=lambda tier: tier.name,
)
@pytest.mark.timing
def test_a_long_conversation_costs_a_stage_little_per_request(tier):
    history, stage, used = History(run_of(3_000, size=500)), Stage(tier), context()
    started = time.process_time()
    for length in range(1, len(history), 2):
        stage.run(View.of(history.prefix(length)), used)
    seconds = time.process_time() - started

    assert seconds < 6, f"{seconds:.1f} s for 3,000 requests; applying anew takes minutes"


def test_a_stage_reports_each_edit_once():
    stage, history, used = (
        Stage(ClearToolResults(keep_last_results=1)),
        History(run_of(5)),
        context(),
    )
    edited = []
    for length in range(1, len(history) + 1):
        events = stage.run(View.of(history.prefix(length)), used).events
        edited.append(sum(event.messages_edited for event in events))

    assert edited == [0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1]


def test_a_stage_behind_another_reports_each_edit_once():
    front, behind = (
        Stage(SnipMiddle(max_messages=7, keep_head=1)),
        Stage(ClearToolResults(keep_last_results=1, placeholder="[{handle}]")),
    )
    history, used, handles = History(run_of(8, size=150)), context(), []
    for length in range(1, len(history) + 1):
        view = View(front.run(View.of(history.prefix(length)), used).entries)
        for event in behind.run(view, used).events:
            assert event.messages_edited == len(event.handles)
            handles += event.handles

    assert handles == list(used.store)
    assert len(handles) == 7


# pipelines


def test_tiers_run_in_order_and_stop_at_the_target():
    pipeline = Pipeline(
        name="p",
        tiers=(
            ClearToolResults(keep_last_results=1, placeholder="[c]"),
            SnipMiddle(max_messages=4, keep_head=1),
        ),
        trigger=Tokens(350),
        target_tokens=150,
    )
    views, _ = replay(pipeline, run_of(5))

    events = [(len(view), [event.tier for event in view.events]) for view in views]
    assert [item for item in events if item[1]] == [(9, ["ClearToolResults"])]
    assert sum(map(CharCounter().count, views[8].messages)) == 2 + 3 * 3 + 100
    (event,) = views[8].events
    assert (event.trigger, event.tokens_before, event.tokens_after) == (
        "tokens 402 > 350",
        402,
        111,
    )


def test_the_next_tier_runs_if_the_first_did_not_reach_the_target():
    pipeline = Pipeline(
        name="p",
        tiers=(
            ClearToolResults(keep_last_results=3, placeholder="[c]"),
            SnipMiddle(max_messages=4, keep_head=1),
        ),
        trigger=Tokens(350),
        target_tokens=150,
    )
    views, _ = replay(pipeline, run_of(4))

    assert [event.tier for event in views[8].events] == ["ClearToolResults", "SnipMiddle"]
    assert [event.tokens_after for event in views[8].events] == [305, 122]


def test_rewriting_keeps_what_it_made_and_viewing_starts_from_the_history():
    tiers = (ClearToolResults(keep_last_results=0, placeholder="[c]"),)
    rewriting = Pipeline(name="r", tiers=tiers, trigger=Count(4))
    viewing = Pipeline(name="v", tiers=tiers, trigger=AnyOf((Tokens(350),)), mode="viewing")
    kept, _ = replay(rewriting, run_of(3))
    viewed, _ = replay(viewing, run_of(4))

    assert [m.text for m in kept[4].messages if m.is_result] == ["[c]"] * 2
    assert [m.text for m in kept[6].messages if m.is_result] == ["[c]"] * 3
    assert [m.text for m in viewed[6].messages if m.is_result] == [PADDING] * 3
    assert [m.text for m in viewed[8].messages if m.is_result] == ["[c]"] * 4


def test_a_tier_with_a_trigger_of_its_own_waits_for_it():
    pipeline = Pipeline(
        name="p",
        tiers=(
            ClearToolResults(keep_last_results=2, placeholder="[c]"),
            When(trigger=Tokens(220), tier=Summarize(keep_tail_messages=2, template="{summary}")),
        ),
    )
    views, _ = replay(pipeline, run_of(20), ScriptedChat(["s"] * 20))
    summaries = [
        (at, event)
        for at, view in enumerate(views)
        for event in view.events
        if event.tier == "Summarize"
    ]

    assert summaries[0][1].trigger == "tokens 223 > 220"
    assert summaries[0][1].outcome == "applied"
    assert all(event.tokens_before > 220 for _, event in summaries)


def test_a_failed_summary_leaves_what_the_free_tiers_made():
    pipeline = Pipeline(
        name="p",
        tiers=(ClearToolResults(keep_last_results=1, placeholder="[c]"), Summarize()),
        trigger=Tokens(350),
    )
    views, _ = replay(pipeline, run_of(4), ScriptedChat([ModelError("down")]))

    assert [m.text for m in views[8].messages if m.is_result] == ["[c]"] * 3 + [PADDING]
    assert [(e.tier, e.outcome) for e in views[8].events] == [
        ("ClearToolResults", "applied"),
        ("Summarize", "failed"),
    ]


def test_a_forced_compaction_runs_once_without_its_trigger():
    pipeline = Pipeline(
        name="p",
        tiers=(ClearToolResults(keep_last_results=0, placeholder="[c]"),),
        trigger=Manual(),
    )
    compactor = pipeline.start(context())
    history = History(run_of(2))
    before = drive(compactor.steps(history, Request(0)), NoModel())
    compactor.force()
    forced = drive(compactor.steps(history, Request(1)), NoModel())
    later = drive(compactor.steps(history.extended(run_of(1)), Request(2)), NoModel())

    assert before.entries == View.of(history).entries
    assert [event.trigger for event in forced.events] == ["manual"]
    assert later.messages[-1].text == PADDING


def test_the_focus_of_a_requested_compaction_reaches_the_next_summary_and_no_later_one():
    summarize = Summarize(keep_tail_messages=0)
    compactor = Pipeline(name="p", tiers=(summarize,), trigger=Count(9)).start(context())
    history = History(run_of(4))
    model = ScriptedChat([ModelReply("first summary"), ModelReply("second summary")])
    compactor.request_compaction("the ports")
    compactor.request_compaction(None)
    requested = drive(compactor.steps(history.prefix(5), Request(0)), model)
    later = drive(compactor.steps(history.extended(run_of(4)), Request(1)), model)

    assert [event.trigger for event in requested.events] == ["manual"]
    assert [event.trigger for event in later.events] == ["messages 14 > 9"]
    assert [call.focus for call in model.calls] == ["the ports", None]


def test_counts_are_scaled_by_reported_usage_only_if_asked():
    tiers = (ClearToolResults(keep_last_results=0, placeholder="[c]"),)
    history = History(run_of(2))
    fired = []
    for anchored in (False, True):
        pipeline = Pipeline(name="p", tiers=tiers, trigger=Tokens(250), anchored_on_usage=anchored)
        compactor = pipeline.start(context())
        drive(compactor.steps(history, Request(0)), NoModel())
        compactor.record_usage(Usage(input_tokens=404, output_tokens=1))
        fired.append(drive(compactor.steps(history, Request(1)), NoModel()).events)

    assert fired[0] == ()
    assert fired[1][0].trigger == "tokens 404 > 250"
    assert fired[1][0].tokens_after == 16


def test_a_pipeline_recovers_what_its_handles_name():
    pipeline = Pipeline(
        name="p", tiers=(ClearToolResults(keep_last_results=0, placeholder="[{handle}]"),)
    )
    views, compactor = replay(pipeline, run_of(1))

    assert compactor.recover(views[2].entries[2].origin.handle) == PADDING
    assert compactor.recover("another") is None


def test_idle_time_is_measured_between_requests():
    pipeline = Pipeline(
        name="p",
        tiers=(ClearToolResults(keep_last_results=0, placeholder="[c]"),),
        trigger=Idle(60),
    )
    compactor, history = pipeline.start(context()), History(run_of(1))
    events = [
        drive(compactor.steps(history, Request(index, time=at)), NoModel()).events
        for index, at in enumerate([0.0, 59.0, 119.0])
    ]

    assert [len(item) for item in events] == [0, 0, 1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tiers": ()}, "tiers must name at least one tier"),
        ({"tiers": (SnipMiddle(),), "target_tokens": -1}, "target_tokens must be >= 0, got -1"),
        ({"tiers": (Summarize(),), "mode": "viewing"}, "needs mode='rewriting'"),
        (
            {"tiers": (SnipMiddle(),), "declared": Promises(mode="viewing")},
            "declared.mode must be 'rewriting'",
        ),
    ],
)
def test_a_pipeline_refuses_what_cannot_work(parameters, message):
    with pytest.raises(ValueError, match=message):
        Pipeline(name="p", **parameters)


@given(before=conversations(max_turns=3, max_rounds=4))
def test_a_pipeline_with_the_extractive_model_never_grows_a_view(before):
    pipeline = Pipeline(
        name="p",
        tiers=(
            OffloadLargeResults(max_chars=500, preview_chars=100),
            ClearToolResults(keep_last_results=2),
            Summarize(keep_tail_messages=3, max_summary_tokens=60),
        ),
        trigger=Tokens(600),
        target_tokens=400,
        counter=JsonCharCounter(),
    )
    views, _ = replay(pipeline, before, ExtractiveModel())
    counter = JsonCharCounter()

    for length, view in enumerate(views, start=1):
        size = sum(map(counter.count, view.messages))
        assert size <= sum(map(counter.count, before[:length]))
        assert sorted(at for e in view.entries for at in e.origin.indices) == list(range(length))


def test_the_same_replies_give_the_same_views():
    pipeline = Pipeline(name="p", tiers=(Summarize(keep_tail_messages=3),), trigger=Tokens(500))
    replies = [ModelReply("one"), ModelReply("two"), ModelReply("three"), ModelReply("four")]
    first, _ = replay(pipeline, run_of(12), ScriptedChat(replies))
    second, _ = replay(pipeline, run_of(12), ScriptedChat(replies))

    assert [view.entries for view in first] == [view.entries for view in second]


@pytest.mark.parametrize(
    "tier",
    [
        ClearToolResults(keep_last_results=1, placeholder="[{handle}]"),
        ClearToolResults(keep_last_results=2, clear_arguments=True, min_reclaim_tokens=50),
        SnipMiddle(max_messages=7, keep_head=1),
        OffloadLargeResults(max_chars=20, preview_chars=5),
    ],
    ids=repr,
)
@given(messages=conversations())
def test_a_stage_does_the_same_whether_or_not_views_know_what_they_were_made_of(tier, messages):
    history, knowing, forgetful = History(messages), Stage(tier), Stage(tier)
    used, other = context(), context()
    kept = View(())
    for stop in range(len(messages) + 1):
        view = kept.appended(history.prefix(stop).entries(max(0, stop - 1)))

        made = knowing.run(view, used)

        again = forgetful.run(View(view.entries), other)
        assert (made.entries, made.events) == (again.entries, again.events)
        kept = View(made.entries)
