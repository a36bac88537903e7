import gc
import random
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.contract.invariants import RULES, Checker
from compaction.history import Entry, History, Origin, View, generated
from compaction.messages import INSTRUCTION_ROLES, Message, ToolCall
from compaction.pairing import pair
from compaction.strategy import Promises
from compaction.tiers.results import original_text

EVERYTHING = Promises(
    keeps_system=True, keeps_last_user=True, keep_last_results=2, recoverable=True
)


def call(name):
    return ToolCall(f"id_{name}", name, '{"path": "a"}')


def result(name, text):
    return Message("tool", text, tool_call_id=f"id_{name}")


CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", "Look."),
    Message("assistant", None, tool_calls=(call("a"), call("b"))),
    result("a", "first result"),
    result("b", "second result"),
    Message("assistant", "more", tool_calls=(call("c"),)),
    result("c", "third result"),
    Message("user", "And now?"),
    Message("assistant", "Done."),
)


# The oracle: the whole view at once, from the statements of the rules.


def identity_of(tool_call):
    return tool_call.call_id, tool_call.name, tool_call.kind


def places_of(entries):
    """Return history index -> first position, and the positions that are twice or out of order."""
    places, wrong, highest = {}, set(), -1
    for position, entry in enumerate(entries):
        if entry.origin.kind == "generated":
            continue
        index = entry.origin.first
        if index in places:
            wrong.add(("nothing_stands_twice", position))
            continue
        if index < highest:
            wrong.add(("order_is_kept", position))
        places[index] = position
        highest = max(highest, index)
    return places, wrong


def broken_groups(history, entries, places):
    paired = pair(history.messages())
    for index, (caller, made) in paired.call_of.items():
        at, place = places.get(caller), places.get(index)
        made_here = (
            [identity_of(c) for c in entries[at].message.tool_calls] if at is not None else []
        )
        is_called = identity_of(made) in made_here
        if place is not None and not (is_called and at < place):
            yield "calls_stay_paired", place
        if place is None and is_called:
            yield "calls_stay_paired", at
    for caller, results in paired.results_of.items():
        shown = [places[index] for index in results if index in places]
        at = places.get(caller)
        if len(results) > 1 and shown and (at is None or len(shown) < len(results)):
            yield "batches_stay_whole", shown[0]
        if at is None or results != [caller + 1 + n for n in range(len(results))]:
            continue
        if shown and sorted(shown) != [at + 1 + n for n in range(len(shown))]:
            yield "results_stay_adjacent", shown[-1]


def broken_written(entries):
    written = {at for at, entry in enumerate(entries) if entry.origin.kind == "generated"}
    paired = pair([entry.message for entry in entries])
    for at in written & set(paired.orphans):
        yield "calls_stay_paired", at
    for at in written & {at for at, _ in paired.open_calls} - {len(entries) - 1}:
        yield "calls_stay_paired", at


def broken_promises(history, entries, places, promises):
    messages = history.messages()
    n_instructions = next(
        (at for at, m in enumerate(messages) if m.role not in INSTRUCTION_ROLES), len(messages)
    )
    for at in range(n_instructions if promises.keeps_system else 0):
        if at >= len(entries):
            yield "system_is_kept", -1
        elif entries[at].message != messages[at]:
            yield "system_is_kept", at

    def is_whole(index):
        return index in places and entries[places[index]].message == messages[index]

    users = [at for at, m in enumerate(messages) if m.role == "user"]
    if promises.keeps_last_user and users and not is_whole(users[-1]):
        yield "last_user_is_kept", -1
    results = [at for at, m in enumerate(messages) if m.role in ("tool", "function")]
    for index in results[-promises.keep_last_results :] if promises.keep_last_results else []:
        if not is_whole(index):
            yield "last_results_are_kept", -1


def oracle(history, entries, promises, *, twin=None, sizes=None, recover=None):
    places, found = places_of(entries)
    found |= set(broken_groups(history, entries, places))
    found |= set(broken_written(entries))
    found |= set(broken_promises(history, entries, places, promises))
    for at, entry in enumerate(entries if recover and promises.recoverable else ()):
        handle = entry.origin.handle
        if handle is not None and entry.origin.spans and entry not in entries[:at]:
            original = original_text(history[entry.origin.first])
            if handle not in entry.message.text or recover(handle) != original:
                found.add(("handles_resolve", at))
    if sizes and not promises.grows and sizes[1] > sizes[0]:
        found.add(("never_grows", -1))
    if twin is not None and promises.deterministic:
        ours, theirs = [e.message for e in entries], [e.message for e in twin]
        if ours != theirs:
            pairs = zip(ours, theirs, strict=False)
            equal = next(
                (at for at, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs))
            )
            found.add(("is_deterministic", equal))
    return found


# Strategies that break what they can, each from a view to a view.


def group_at(entries, at):
    calls = {c.call_id for c in entries[at].message.tool_calls}
    return [e for n, e in enumerate(entries) if n != at and e.message.tool_call_id not in calls]


def without_one_call(entry, at):
    calls = entry.message.tool_calls
    return entry.edited(replace(entry.message, tool_calls=calls[:at] + calls[at + 1 :]), "test")


def cleared(entry, chance):
    handle = f"h{entry.origin.first}" if chance.random() < 0.7 else None
    text = f"[cleared {handle}]" if chance.random() < 0.9 else "[cleared]"
    return entry.edited(entry.message.with_text(text), "test", handle=handle)


def edit(entries, chance):  # noqa: C901 - one branch per fault
    entries, kind = list(entries), chance.randrange(11)
    if not entries:
        return entries
    at = chance.randrange(len(entries))
    other = chance.randrange(len(entries))
    if kind == 0:
        entries = group_at(entries, at)
    elif kind == 1:
        del entries[at]
    elif kind == 2 and entries[at].message.tool_calls:
        chosen = chance.randrange(len(entries[at].message.tool_calls))
        entries[at] = without_one_call(entries[at], chosen)
    elif kind == 3:
        entries[at], entries[other] = entries[other], entries[at]
    elif kind == 4:
        entries.insert(other, entries[at])
    elif kind in (5, 6) and entries[at].message.is_result:
        entries[at] = cleared(entries[at], chance)
    elif kind == 7:
        entries.insert(min(other, 2), entries.pop(at))
    elif kind == 8:
        first, last = sorted((at, other))
        entries[first:last] = [generated("user", "summary", entries[first:last], "test")]
    elif kind == 9:
        entries.insert(at, Entry(entries[other].message, Origin("generated", (), "test")))
    return entries


def placed(faults):
    """Return rules with positions, but leave open which result was cut off from its call."""
    return {(rule, None if rule == "results_stay_adjacent" else at) for rule, at in faults}


def recover(texts):
    """Give back every second original."""
    return lambda handle: texts[int(handle[1:])] if int(handle[1:]) % 2 else "something else"


@given(
    conversations(max_turns=3, max_rounds=4),
    st.integers(0, 2**32).map(random.Random),
    st.sampled_from([EVERYTHING, Promises(), replace(EVERYTHING, keep_last_results=1, grows=True)]),
)
def test_the_checker_says_at_every_request_what_a_look_at_the_whole_view_says(
    messages, chance, promises
):
    whole, checker, entries, seen = History(messages), Checker(promises), [], 0
    get = recover([original_text(message) for message in messages])
    ends = [at for at, m in enumerate(messages) if m.role == "assistant"] + [len(messages)]

    for end in ends:
        history = whole.prefix(end)
        is_fresh = chance.random() < 0.2
        entries = list(history.entries() if is_fresh else (*entries, *history.entries(seen)))
        for _ in range(chance.choice([0, 0, 1, 2])):
            entries = edit(entries, chance)
        twin = edit(entries, chance) if chance.random() < 0.3 else list(entries)
        twin = None if chance.random() < 0.1 else twin
        sizes = (10.0, chance.choice([9.0, 10.0, 10.5]))
        seen = end
        found = checker.see(
            history,
            View(tuple(entries)),
            twin=None if twin is None else View(tuple(twin)),
            tokens_before=sizes[0],
            tokens_after=sizes[1],
            recover=get,
        )

        expected = oracle(history, entries, promises, twin=twin, sizes=sizes, recover=get)
        assert placed((item.rule, item.position) for item in found) == placed(expected)
        assert {item.rule for item in found} <= RULES.keys()


def test_the_editing_strategies_break_every_rule_so_that_the_oracle_is_asked_about_each():
    broken, chance, history = set(), random.Random(1), History(CONVERSATION)
    get = recover([message.text for message in CONVERSATION])
    for _ in range(400):
        entries = edit(edit(history.entries(), chance), chance)
        twin = edit(entries, chance)
        found = oracle(history, entries, EVERYTHING, twin=twin, sizes=(1, 2), recover=get)
        broken |= {rule for rule, _ in found}

    assert broken == RULES.keys()


# Every known fault, and the rules that must name it.


def changed(edit_entries):
    entries = list(History(CONVERSATION).entries())
    edit_entries(entries)
    return View(tuple(entries))


def clear(entries, at, *, handle=None, text="[cleared]"):
    entries[at] = entries[at].edited(entries[at].message.with_text(text), "test", handle=handle)


def note(entries, at):
    entries.insert(at, generated("user", "note", [], "test"))


def drop_half_a_batch(entries):
    entries[2] = without_one_call(entries[2], 0)
    del entries[3]


def write_a_result(entries):
    entries.insert(2, Entry(result("x", "text"), Origin("generated", (), "test")))


def write_a_call(entries):
    made = Message("assistant", None, tool_calls=(call("x"),))
    entries.insert(2, Entry(made, Origin("generated", (), "test")))


FAULTS = [
    ("an orphan result", lambda e: e.pop(5), {("calls_stay_paired", "/5/tool_call_id")}),
    (
        "a call without its result",
        lambda e: e.pop(6),
        {("calls_stay_paired", "/5/tool_calls"), ("last_results_are_kept", "")},
    ),
    (
        "one result of a batch",
        lambda e: e.pop(3),
        {("calls_stay_paired", "/2/tool_calls"), ("batches_stay_whole", "/3")},
    ),
    ("one call of a batch with its result", drop_half_a_batch, {("batches_stay_whole", "/3")}),
    (
        "the call of a batch",
        lambda e: e.pop(2),
        {
            ("calls_stay_paired", "/2/tool_call_id"),
            ("calls_stay_paired", "/3/tool_call_id"),
            ("batches_stay_whole", "/2"),
        },
    ),
    ("a note between", lambda e: note(e, 6), {("results_stay_adjacent", "/7")}),
    ("a note in a batch", lambda e: note(e, 4), {("results_stay_adjacent", "/5")}),
    ("a note before a call", lambda e: note(e, 5), set()),
    (
        "an order",
        lambda e: e.insert(2, e.pop(7)),
        {("order_is_kept", f"/{n}") for n in range(3, 8)},
    ),
    ("a message twice", lambda e: e.append(e[1]), {("nothing_stands_twice", "/9")}),
    ("a written result", write_a_result, {("calls_stay_paired", "/2")}),
    ("a written call", write_a_call, {("calls_stay_paired", "/2")}),
    ("a changed system message", lambda e: clear(e, 0), {("system_is_kept", "/0")}),
    ("a note before the system", lambda e: note(e, 0), {("system_is_kept", "/0")}),
    ("the last user message", lambda e: e.pop(7), {("last_user_is_kept", "")}),
    ("the first user message", lambda e: e.pop(1), set()),
    ("a changed last user message", lambda e: clear(e, 7), {("last_user_is_kept", "")}),
    ("the last but one result", lambda e: clear(e, 4), {("last_results_are_kept", "")}),
    ("the last but two results", lambda e: clear(e, 3), set()),
    (
        "a handle of nothing",
        lambda e: clear(e, 3, handle="h9", text="[h9]"),
        {("handles_resolve", "/3")},
    ),
    (
        "a handle that the text does not name",
        lambda e: clear(e, 3, handle="h3"),
        {("handles_resolve", "/3")},
    ),
    ("a good handle", lambda e: clear(e, 3, handle="h3", text="[h3]"), set()),
]


@pytest.mark.parametrize(
    ("edit_entries", "expected"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_a_fault_is_named_by_exactly_the_rules_for_it(edit_entries, expected):
    view, originals = changed(edit_entries), {"h3": "first result"}

    found = Checker(EVERYTHING).see(History(CONVERSATION), view, recover=originals.get)

    assert {(item.rule, item.pointer) for item in found} == expected


def test_nothing_is_held_against_a_view_that_is_the_history():
    history = History(CONVERSATION)

    found = Checker(EVERYTHING).see(
        history,
        View.of(history),
        twin=View.of(history),
        tokens_before=100.0,
        tokens_after=100.0,
        recover={}.get,
    )

    assert found == []


def test_promises_that_were_not_made_are_not_checked():
    history, view = (
        History(CONVERSATION),
        changed(lambda e: (clear(e, 0), clear(e, 7), clear(e, 6))),
    )
    promises = Promises(deterministic=False, grows=True)

    found = Checker(promises).see(
        history, view, twin=View(()), tokens_before=1.0, tokens_after=2.0, recover={}.get
    )

    assert found == []


def test_one_token_more_than_the_history_is_growth():
    history = History(CONVERSATION)

    found = Checker(Promises()).see(
        history, View.of(history), tokens_before=100.0, tokens_after=101.0
    )

    assert [(item.rule, item.position, item.explanation) for item in found] == [
        ("never_grows", -1, "101 tokens stand for 100")
    ]


def test_a_twin_that_differs_is_named_at_every_request_until_it_is_equal_again():
    checker, history = Checker(Promises()), History(CONVERSATION)
    view, twin = View.of(history), changed(lambda e: clear(e, 3))

    found = [
        [item.position for item in checker.see(history, view, twin=other)]
        for other in (view, twin, twin, view)
    ]

    assert found == [[], [3], [3], []]


def test_a_fault_is_named_at_every_request_until_it_is_mended():
    checker, history = Checker(EVERYTHING), History(CONVERSATION)
    whole, faulty = View.of(history), changed(lambda e: clear(e, 3, handle="h9", text="[h9]"))

    found = [
        [item.rule for item in checker.see(history, view, recover={}.get)]
        for view in (faulty, faulty, whole)
    ]

    assert found == [["handles_resolve"], ["handles_resolve"], []]


def test_order_is_compared_with_everything_before_not_with_the_last_entry():
    checker, history = Checker(Promises()), History([Message("user", f"{n}") for n in range(4)])
    entries = history.entries()
    first = View((entries[2], entries[0]))

    found = [
        [item.position for item in checker.see(history, view)]
        for view in (first, first.appended((entries[1],)))
    ]

    assert found == [[1], [1, 2]]


FAULTY_LOGS = [
    [Message("user", "go"), result("z", "an orphan"), Message("assistant", "ok")],
    [
        Message("user", "go"),
        Message("assistant", None, tool_calls=(call("a"),)),
        Message("user", "?"),
    ],
    [
        Message("assistant", None, tool_calls=(call("a"), call("b"))),
        result("b", "1"),
        Message("user", "between"),
        result("a", "2"),
        result("a", "again"),
    ],
    [Message("user", "same"), Message("user", "same"), Message("system", "late")],
    [],
]


@pytest.mark.parametrize("messages", FAULTY_LOGS)
def test_a_fault_of_the_recorded_conversation_is_not_held_against_the_strategy(messages):
    whole, checker = History(messages), Checker(EVERYTHING)

    found = [
        checker.see(whole.prefix(end), View.of(whole.prefix(end)), recover={}.get)
        for end in range(len(messages) + 1)
    ]

    assert found == [[]] * (len(messages) + 1)


def test_a_result_that_comes_late_is_missed_from_the_request_on_that_could_show_it():
    whole, checker = History(CONVERSATION), Checker(Promises())
    without = tuple(e for e in whole.entries() if e.origin.first != 4)

    found = [
        [item.rule for item in checker.see(whole.prefix(end), View(without[:4]))] for end in (4, 5)
    ]

    assert found == [[], ["calls_stay_paired", "batches_stay_whole"]]


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


def test_a_request_costs_as_many_steps_late_in_a_long_conversation_as_early():
    messages = list(CONVERSATION[:2])
    for number in range(11_000):
        messages.append(Message("assistant", None, tool_calls=(call(f"{number}"),)))
        messages.append(result(f"{number}", "text"))
    messages.append(Message("assistant", "Done."))
    whole, checker, made = History(messages), Checker(EVERYTHING), {}

    for end in (100, 102, 104, 11_000, 11_002, 22_000, 22_002):
        history = whole.prefix(end)
        view = View.of(history)
        made[end] = calls_made(lambda h=history, v=view: checker.see(h, v, twin=v, recover={}.get))

    assert len(messages) == 22_003
    assert made[104] == made[11_002] == made[22_002]
    assert made[104] < 150


def test_a_result_that_goes_back_behind_its_call_is_no_fault_any_more():
    checker, history = Checker(Promises()), History(CONVERSATION)
    swapped = changed(lambda e: e.insert(5, e.pop(6)))

    found = [
        {item.rule for item in checker.see(history, view)}
        for view in (View.of(history), swapped, View.of(history))
    ]

    assert found == [set(), {"order_is_kept", "calls_stay_paired", "results_stay_adjacent"}, set()]


def test_a_difference_that_arose_while_no_twin_was_shown_is_named_when_one_is():
    checker, history = Checker(Promises()), History(CONVERSATION)
    view, other = View.of(history), changed(lambda e: clear(e, 3))

    found = [
        [item.position for item in checker.see(history, seen, twin=twin)]
        for seen, twin in ((view, view), (other, None), (other, view))
    ]

    assert found == [[], [], [3]]


def test_an_instruction_beyond_the_end_of_the_view_has_no_place_in_it():
    history = History([Message("system", "one"), Message("developer", "two")])

    found = Checker(EVERYTHING).see(history, View(history.entries()[:1]))

    assert [(item.rule, item.position, item.pointer) for item in found] == [
        ("system_is_kept", -1, "")
    ]


def test_a_result_that_also_stands_before_its_call_is_named_there():
    view = changed(lambda e: e.insert(2, e[6]))

    found = Checker(EVERYTHING).see(History(CONVERSATION), view)

    places = {(item.rule, item.pointer) for item in found}
    assert {("calls_stay_paired", "/2/tool_call_id"), ("nothing_stands_twice", "/7")} <= places
