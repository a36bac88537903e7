"""The table of invariants, and every known fault of a view with the rules that must name it."""

from dataclasses import replace

import pytest

from compaction.contract.invariants import (
    INVARIANTS,
    RULES,
    Before,
    Checker,
    Evidence,
    Invariant,
    check_view,
)
from compaction.contract.watches.pairs import PairWatch
from compaction.history import Entry, History, Origin, View, generated
from compaction.messages import Message, ToolCall
from compaction.strategy import CompactionEvent, Promises
from tests.contract_edits import without_one_call

EVERYTHING = Promises(
    keeps_system=True, keeps_last_user=True, keep_last_results=2, recoverable=True
)
TOLD = (CompactionEvent("test", "applied", messages_removed=99),)


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


# Every known fault, and the rules that must name it.


def changed(edit_entries):
    entries = list(History(CONVERSATION).entries())
    edit_entries(entries)
    return View(tuple(entries), TOLD)


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
    (
        "a written result",
        write_a_result,
        {("calls_stay_paired", "/2"), ("ids_stay_unique", "/2")},
    ),
    (
        "a written call",
        write_a_call,
        {("calls_stay_paired", "/2"), ("ids_stay_unique", "/2")},
    ),
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
        for view in (faulty, faulty, replace(whole, events=TOLD))
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
        [item.rule for item in checker.see(whole.prefix(end), View(without[:4], TOLD))]
        for end in (4, 5)
    ]

    assert found == [[], ["calls_stay_paired", "batches_stay_whole"]]


def test_a_result_that_goes_back_behind_its_call_is_no_fault_any_more():
    checker, history = Checker(Promises()), History(CONVERSATION)
    swapped = changed(lambda e: e.insert(5, e.pop(6)))

    found = [
        {item.rule for item in checker.see(history, replace(view, events=TOLD))}
        for view in (View.of(history), swapped, View.of(history))
    ]

    assert found == [set(), {"order_is_kept", "calls_stay_paired", "results_stay_adjacent"}, set()]


def test_messages_that_only_change_places_are_looked_at_in_pairs_as_well():
    checker, history = Checker(Promises()), History(CONVERSATION)
    entries = list(history.entries())
    entries.insert(5, entries.pop(6))

    found = [
        {item.rule for item in checker.see(history, view)}
        for view in (View.of(history), View(tuple(entries), TOLD), View.of(history))
    ]

    assert found[1] == {"order_is_kept", "calls_stay_paired", "results_stay_adjacent"}
    assert found[2] <= {"changes_are_told"}


def test_a_difference_that_arose_while_no_twin_was_shown_is_named_when_one_is():
    checker, history = Checker(Promises()), History(CONVERSATION)
    view, other = View.of(history), changed(lambda e: clear(e, 3))

    found = [
        [item.position for item in checker.see(history, replace(seen, events=TOLD), twin=twin)]
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


def test_the_table_has_every_id_and_every_field_bug():
    assert {item.id for item in INVARIANTS.values()} == {f"I{n}" for n in range(1, 32)}
    assert [name for name, item in INVARIANTS.items() if name != item.name] == []
    assert {bug for item in INVARIANTS.values() for bug in item.field_bugs} == set(range(1, 71))
    assert all(item.statement.endswith(".") and item.harm for item in INVARIANTS.values())


def test_the_table_says_what_a_replay_decides_and_what_takes_an_experiment():
    by_needs = {
        needs: {name for name, item in INVARIANTS.items() if item.needs == needs}
        for needs in ("replay", "experiment")
    }

    assert by_needs["replay"] == RULES.keys()
    assert by_needs["experiment"] == INVARIANTS.keys() - RULES.keys()
    assert {"passes_come_to_rest", "undo_restores", "every_input_is_answered"} <= by_needs[
        "experiment"
    ]


def test_only_what_costs_money_or_trust_in_a_number_is_a_warning():
    warnings = {name for name, item in INVARIANTS.items() if item.severity == "warning"}

    assert warnings == {"prefix_is_stable", "changes_are_told", "counts_share_one_basis"}


def test_an_invariant_is_decided_in_one_way():
    row = {"id": "I1", "name": "x", "statement": "x", "harm": "x"}

    with pytest.raises(ValueError, match="x must have watches or an experiment, and not both"):
        Invariant(**row)
    with pytest.raises(ValueError, match="not both"):
        Invariant(**row, watches=(PairWatch,), experiment=lambda good: [])


def test_what_an_invariant_needs_is_a_promise_that_is_off_by_default():
    on_by_default = {
        "not grows",
        "not raises_roles",
        "idempotent",
        "deterministic",
        "rewriting or min_reclaim_tokens",
    }

    for item in INVARIANTS.values():
        assert (item.unmet(Promises()) is None) == (set(item.promises) <= on_by_default)


def test_what_is_declared_is_not_held_against_a_strategy():
    size, prefix = INVARIANTS["never_grows"], INVARIANTS["prefix_is_stable"]
    grows, viewing = Promises(grows=True), Promises(mode="viewing")

    assert [item.unmet(grows) for item in (size, prefix)] == ["grows is declared"] * 2
    assert size.unmet(viewing) is None
    assert prefix.unmet(viewing) == "rewriting or min_reclaim_tokens is not promised"
    assert prefix.unmet(replace(viewing, min_reclaim_tokens=1)) is None
    assert INVARIANTS["undo_restores"].unmet(viewing) == "undoable is not promised"


@pytest.mark.parametrize("name", RULES)
def test_a_row_of_the_table_says_of_one_request_what_the_checker_says(name):
    history = History(CONVERSATION)
    before = Before(history.prefix(7), View.of(history.prefix(7)), 50.0, 50.0)
    faults = [edit for _, edit, _ in FAULTS] + [lambda e: e.append(e.pop(0)), lambda e: None]

    for edit in faults:
        evidence = Evidence(
            promises=replace(EVERYTHING, keeps_open_calls=True),
            twin=View.of(history),
            tokens_before=80.0,
            tokens_after=80.5,
            recover={"h3": "first result"}.get,
            previous=before,
        )
        view = replace(changed(edit), events=())
        found = check_view(history, view, evidence)

        assert INVARIANTS[name].check(history, view, evidence) == [
            item for item in found if item.rule == name
        ]


def test_the_table_itself_names_what_changed_since_the_request_before():
    history, evidence = History(CONVERSATION), Evidence(tokens_before=9.0, tokens_after=9.0)
    view = View(changed(lambda e: clear(e, 3)).entries)
    earlier = Before(history.prefix(7), View.of(history.prefix(7)), 7.0, 7.0)

    alone, after = (
        {item.rule for item in check_view(history, view, replace(evidence, previous=previous))}
        for previous in (None, earlier)
    )

    assert alone == set()
    assert after == {"prefix_is_stable", "changes_are_told"}


def test_a_row_keeps_nothing_between_calls():
    history, row = History(CONVERSATION), INVARIANTS["calls_stay_paired"]
    faulty, evidence = changed(lambda e: e.pop(5)), Evidence()

    found = [row.check(history, view, evidence) for view in (faulty, View.of(history), faulty)]

    assert found[0] == found[2] != []
    assert found[1] == []


def test_what_takes_an_experiment_is_not_decided_from_one_request():
    with pytest.raises(ValueError, match="passes_come_to_rest cannot be decided without"):
        INVARIANTS["passes_come_to_rest"].check(History(), View(()), Evidence())


def test_a_row_that_a_strategy_does_not_promise_says_nothing():
    history, view = History(CONVERSATION), changed(lambda e: e.pop(7))

    found = [
        INVARIANTS["last_user_is_kept"].check(history, view, Evidence(promises=promises))
        for promises in (EVERYTHING, Promises())
    ]

    assert [len(items) for items in found] == [1, 0]
