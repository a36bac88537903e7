"""Passes over sequences that change: cuts found from what came last, histories, followed views."""

from hypothesis import given
from hypothesis import strategies as st

from compaction.history import History, View
from compaction.llm import NoModel, drive
from compaction.messages import Message, ToolCall
from compaction.pairing import safe_cut_after, safe_cut_before
from compaction.strategy import Context, Request
from compaction.systems.my_pi_agent import MyPiAgent
from compaction.tiers import SnipMiddle
from compaction.tiers.growing import Change
from compaction.tokens import CharCounter


def call(*ids):
    calls = tuple(ToolCall(one, "read", "{}") for one in ids)
    return Message("assistant", None, tool_calls=calls)


def result(call_id, text="found"):
    return Message("tool", text, tool_call_id=call_id)


ids = st.sampled_from("abc")
loose_messages = st.lists(
    st.one_of(
        st.lists(ids, min_size=1, max_size=3).map(lambda used: call(*used)),
        ids.map(result),
        ids.map(result),
        st.just(Message("user", "go on")),
    ),
    max_size=30,
)
"""Ids are used again and again, so that orphans, repeated results and open calls are common."""


def change_to(before, after):
    return Change.between(View.of(History(before)).entries, View.of(History(after)).entries)


@given(first=loose_messages, second=loose_messages, keep=st.integers(0, 30))
def test_a_snip_cuts_where_the_looking_functions_cut(first, second, keep):
    tier = SnipMiddle(max_messages=7, keep_head=2)
    work = tier.resume(Context(counter=CharCounter()))
    before = []
    for messages in (first, first[:keep] + second, first):
        work.follow(change_to(before, messages))
        before = messages

        head = safe_cut_after(messages, 2)
        tail = safe_cut_before(messages, len(messages) - 4)
        expected = (head, tail) if len(messages) > 7 and tail - head >= 2 else None
        assert work.cut == expected


def test_a_call_that_is_answered_late_takes_the_head_along():
    messages = [call("a"), Message("user", "1"), Message("user", "2"), Message("user", "3")]
    tail = [Message("user", str(at)) for at in range(9)]
    tier = SnipMiddle(max_messages=6, keep_head=1)
    work = tier.resume(Context(counter=CharCounter()))

    work.follow(change_to([], messages + tail))
    assert work.cut == (1, 9)
    work.follow(change_to(messages + tail, [*messages, result("a"), *tail]))
    assert work.cut == (5, 10)


def test_a_repeated_result_takes_the_tail_back_to_the_first_call_of_its_id():
    users = [Message("user", str(at)) for at in range(9)]
    messages = [*users[:4], call("a"), result("a"), *users[4:], result("a"), users[0]]
    tier = SnipMiddle(max_messages=6, keep_head=1)
    work = tier.resume(Context(counter=CharCounter()))

    work.follow(change_to([], messages))
    assert work.cut == (1, 4)


def test_histories_of_one_conversation_share_a_beginning_and_others_what_is_equal():
    base = History([Message("user", "1"), Message("user", "2")])
    longer = base.extended([Message("user", "3")])
    other = base.extended([Message("user", "4")])

    assert longer.unchanged_since(base) == 2
    assert longer.prefix(1).unchanged_since(longer) == 1
    assert other.unchanged_since(longer) == 2
    assert History([Message("user", "2")]).unchanged_since(longer) == 0


@given(first=loose_messages, second=loose_messages, keep=st.integers(0, 30))
def test_a_followed_history_gives_the_view_of_a_new_compactor(first, second, keep):
    settings = MyPiAgent(max_messages=7, keep_head=2, micro_keep_recent=1, micro_min_chars=0)
    followed = settings.start(Context(counter=CharCounter()))
    for messages in (first[:keep], first, first[:keep] + second):
        history = History(messages * 3)
        for length in range(0, len(history) + 1, 5):
            asked = history.prefix(length)
            view = drive(followed.steps(asked, Request(0)), NoModel())

            new = settings.start(Context(counter=CharCounter()))
            assert view.entries == drive(new.steps(asked, Request(0)), NoModel()).entries
