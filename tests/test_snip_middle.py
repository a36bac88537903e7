"""What `SnipMiddle` tells: an event for every change of what is removed, and exact counts.

What it keeps is in `test_tiers_free`; here it also works inside my_pi_agent.
"""

from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations, long_runs
from compaction.control import Stage
from compaction.extractive import ExtractiveModel
from compaction.history import History, View
from compaction.llm import NoModel, drive
from compaction.messages import Message, ToolCall
from compaction.strategy import Context, Request
from compaction.systems.my_pi_agent import MyPiAgent
from compaction.tiers import SnipMiddle
from compaction.tokens import CharCounter


def context():
    return Context(counter=CharCounter())


def shown(view):
    return {at for e in view.entries if e.origin.kind != "generated" for at in e.origin.indices}


def views_of_growth(tier, messages, lengths):
    """Yield what a viewing strategy of this tier alone sends, request by request."""
    stage, whole = Stage(tier), History(messages)
    for length in lengths:
        yield whole.prefix(length), stage.run(View.of(whole.prefix(length)), context())


def removed_by(view, tier="SnipMiddle"):
    events = [event for event in view.events if event.tier == tier]
    assert {event.outcome for event in events} <= {"applied"}
    return [event.messages_removed for event in events]


def markers(view):
    return [e.message.text for e in view.entries if e.origin.by == "SnipMiddle"]


def told_exactly(views):
    """Check that each request tells how many messages are gone, come back, or are counted anew."""
    before, length, marked = set(), 0, []
    for history, view in views:
        now = shown(view)
        gone = (before | set(range(length, len(history)))) - now
        is_back = bool(now & set(range(length)) - before)
        is_told = bool(gone) or is_back or markers(view) != marked
        assert removed_by(view) == ([len(gone)] if is_told else [])
        before, length, marked = now, len(history), markers(view)


PLAIN = tuple(Message("user" if n % 2 == 0 else "assistant", f"m{n}") for n in range(30))


def test_each_message_that_is_snipped_is_told_of_once():
    views = views_of_growth(SnipMiddle(max_messages=10), PLAIN, [10, 11, 13, 13, 30])

    assert [removed_by(view) for _, view in views] == [[], [2], [2], [], [17]]


def test_an_earlier_marker_is_no_message_that_is_snipped_again():
    tier = SnipMiddle(max_messages=10)
    once = tier.apply(View.of(History(PLAIN)), context())

    twice = tier.apply(View(once.entries + View.of(History(PLAIN * 2)).entries[30:34]), context())

    assert removed_by(once) == [21]
    assert removed_by(twice) == [4]


def test_messages_that_come_back_are_told_of_by_an_event_that_removes_none():
    first, late = ToolCall("call_1", "read", "{}"), ToolCall("call_2", "read", "{}")
    asks = Message("assistant", None, tool_calls=(first, late))
    messages = (
        *PLAIN[:4],
        asks,
        Message("tool", "at once", tool_call_id="call_1"),
        *PLAIN[6:16],
        Message("tool", "late", tool_call_id="call_2"),
    )
    tier = SnipMiddle(max_messages=8, keep_head=1)

    (_, before), (_, after) = views_of_growth(tier, messages, [16, 17])

    assert (min(shown(before) - {0}), removed_by(before)) == (10, [9])
    assert (min(shown(after) - {0}), removed_by(after)) == (4, [0])


@given(
    messages=conversations(min_turns=1, max_turns=5),
    max_messages=st.integers(4, 12),
    keep_head=st.integers(0, 2),
    chance=st.randoms(use_true_random=False),
)
def test_events_tell_exactly_what_is_gone_or_back(messages, max_messages, keep_head, chance):
    lengths = sorted(chance.sample(range(1, len(messages) + 1), k=(len(messages) + 1) // 2))

    told_exactly(
        views_of_growth(
            SnipMiddle(max_messages=max_messages, keep_head=keep_head), messages, lengths
        )
    )


def views_of_agent(strategy, messages, lengths):
    compactor, whole = strategy.start(context()), History(messages)
    for number, length in enumerate(lengths):
        history = whole.prefix(length)
        yield history, drive(compactor.steps(history, Request(number)), NoModel())


@given(
    messages=conversations(min_turns=1, max_turns=6) | long_runs(min_rounds=8, max_rounds=20),
    keep_last_user=st.booleans(),
)
def test_my_pi_agent_tells_exactly_what_its_snip_leaves_out_or_brings_back(
    messages, keep_last_user
):
    strategy = MyPiAgent(
        context_budget=10**9, max_messages=8, keep_last_user=keep_last_user, micro_min_chars=0
    )

    told_exactly(views_of_agent(strategy, messages, range(1, len(messages) + 1)))


def test_the_user_message_that_is_kept_from_a_snip_is_told_of_when_the_next_one_comes():
    order = Message("user", "the order of all")
    rounds = [Message("assistant", f"step {n}") for n in range(12)]
    messages = (Message("user", "hello"), *rounds[:3], order, *rounds[3:], Message("user", "new"))
    strategy = MyPiAgent(context_budget=10**9, max_messages=8, keep_last_user=True)

    views = [view for _, view in views_of_agent(strategy, messages, [14, 15])]

    assert [4 in shown(view) for view in views] == [True, False]
    # At 14 messages 3 and 5 to 9 are gone, 4 is kept; then 10 goes, and 4 with it.
    assert [removed_by(view) for view in views] == [[6], [2]]


def test_the_user_message_behind_a_summary_is_told_of_when_the_next_one_comes():
    order = Message("user", "the order of all " * 40)
    rounds = [Message("assistant", f"step {n} " * 40) for n in range(12)]
    messages = (Message("user", "hello"), order, *rounds, Message("user", "new"))
    strategy = MyPiAgent(context_budget=1_200, keep_recent_tokens=100, keep_last_user=True)
    compactor, whole = strategy.start(context()), History(messages)

    views = []
    for number, length in enumerate([14, 15]):
        steps = compactor.steps(whole.prefix(length), Request(number))
        views.append(drive(steps, ExtractiveModel()))

    assert [1 in shown(view) for view in views] == [True, False]
    assert compactor.cache is not None
    assert sum(removed_by(views[1], "Summarize")) >= 1
