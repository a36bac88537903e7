"""The checker says at every request what a look at the whole view says, and costs what changed."""

import gc
import random
import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.contract.invariants import RULES, Checker
from compaction.contract.providers import ANTHROPIC, OPENAI_CHAT, PROFILES
from compaction.history import History, View
from compaction.messages import Message, ToolCall
from compaction.strategy import CompactionEvent, Promises
from compaction.tiers.results import original_text
from tests.contract_edits import ANY, TALK, edit
from tests.contract_oracle import Request, broken

EVERYTHING = Promises(
    keeps_system=True,
    keeps_last_user=True,
    keep_last_results=2,
    recoverable=True,
    keeps_open_calls=True,
)
READ = ToolCall("call_read", "read", '{"path": "a.py"}')
LIST = ToolCall("call_list", "list", "{}")
CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", "Look."),
    Message("assistant", None, tool_calls=(READ, LIST), reasoning="why"),
    Message("tool", "first", tool_call_id="call_list"),
    Message("tool", "second", tool_call_id="call_read"),
    Message("assistant", "Half."),
    Message("user", "Go on."),
    Message("assistant", "", tool_calls=(READ,), reasoning="then"),
    Message("tool", "third", tool_call_id="call_read"),
    Message("assistant", "", tool_calls=(READ, LIST)),
    Message("tool", "fourth", tool_call_id="call_read"),
)
"""Ends with an open call, and uses an id again."""
VARIANTS = [
    EVERYTHING,
    Promises(),
    replace(EVERYTHING, keep_last_results=1, grows=True),
    Promises(mode="viewing", deterministic=False, raises_roles=True),
    Promises(mode="viewing", min_reclaim_tokens=1),
]


def recover(texts):
    """Give back every second original."""

    def get(handle):
        if not handle.startswith("h"):
            return None
        return texts[int(handle[1:])] if int(handle[1:]) % 2 else "something else"

    return get


def requests_of(messages, chance, promises, profile=OPENAI_CHAT):
    """Yield requests whose views are edited at random, each on top of the one before or anew."""
    whole, entries, seen, previous = History(messages), [], 0, None
    edits = chance.choice([ANY, TALK])
    get = recover([original_text(message) for message in messages])
    ends = [at for at, m in enumerate(messages) if m.role == "assistant"] + [len(messages)]
    for end in ends:
        history = whole.prefix(end)
        is_fresh = chance.random() < 0.2
        entries = list(history.entries() if is_fresh else (*entries, *history.entries(seen)))
        for _ in range(chance.choice([0, 0, 1, 2])):
            entries = edit(entries, chance, edits)
        twin = edit(entries, chance, edits) if chance.random() < 0.3 else list(entries)
        told = chance.choice([(), (1,), (0, 9), (9,)])
        request = Request(
            history,
            entries,
            promises,
            tuple(CompactionEvent("test", "applied", messages_removed=n) for n in told),
            None if chance.random() < 0.1 else twin,
            chance.choice([None, (10.0, 9.0), (10.0, 10.0), (10.0, 10.5)]),
            get,
            profile,
            previous,
        )
        yield request
        seen, previous = end, request


def seen_by(checker, request):
    before, after = request.sizes or (None, None)
    return checker.see(
        request.history,
        View(tuple(request.entries), request.events),
        twin=None if request.twin is None else View(tuple(request.twin)),
        tokens_before=before,
        tokens_after=after,
        recover=request.recover,
    )


def placed(faults, entries):
    """Return rules with positions, of equal entries the first, and of cut off results none."""

    def place(rule, at):
        if rule == "results_stay_adjacent":
            return None
        return entries.index(entries[at]) if 0 <= at < len(entries) else at

    return {(rule, place(rule, at)) for rule, at in faults}


chances = st.integers(0, 2**32).map(random.Random)


@given(
    conversations(max_turns=3, max_rounds=4),
    chances,
    st.sampled_from(VARIANTS),
    st.sampled_from([*PROFILES.values()]),
)
def test_the_checker_says_at_every_request_what_a_look_at_the_whole_view_says(
    messages, chance, promises, profile
):
    checker = Checker(promises, profile)

    for request in requests_of(messages, chance, promises, profile):
        found = seen_by(checker, request)

        said = placed(((item.rule, item.position) for item in found), request.entries)
        assert said == placed(broken(request), request.entries)
        assert {item.rule for item in found} <= RULES.keys()


def test_the_random_edits_break_every_rule_so_that_the_oracle_is_asked_about_each():
    hit, chance = set(), random.Random(3)
    for _ in range(40):
        for promises in VARIANTS:
            for request in requests_of(CONVERSATION, chance, promises, ANTHROPIC):
                hit |= {rule for rule, _ in broken(request)}

    assert hit == RULES.keys()


def calls_made(run):
    """Return how many Python functions `run` calls."""
    made = 0

    def count(frame, event, argument):
        nonlocal made
        made += event == "call"

    gc.disable()  # Hypothesis has Python run at each collection
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return made


def seen(checker, history, view):
    checker.see(history, view, twin=view, tokens_before=1, tokens_after=1, recover={}.get)


def test_a_request_costs_as_many_steps_late_in_a_long_conversation_as_early():
    messages = list(CONVERSATION[:2])
    for number in range(11_000):
        messages.append(
            Message("assistant", None, tool_calls=(replace(READ, call_id=f"c{number}"),))
        )
        messages.append(Message("tool", "text", tool_call_id=f"c{number}"))
    messages.append(Message("assistant", "Done."))
    whole, checker, made = History(messages), Checker(EVERYTHING), {}

    for end in (100, 102, 104, 11_000, 11_002, 22_000, 22_002):
        history = whole.prefix(end)
        view = View.of(history)
        made[end] = calls_made(lambda h=history, v=view: seen(checker, h, v))

    assert len(messages) == 22_003
    assert made[104] == made[11_002] == made[22_002]
    assert made[104] < 200
