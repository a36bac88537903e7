"""Instructions, tasks and files after compactions, counted by hand; and where the cliff is."""

from dataclasses import replace

import pytest

from compaction.history import View, generated
from compaction.strategy import CompactionEvent
from evals.fidelity.survival import is_looked_at
from tests.needs_cases import in_segments, prepared, result, says, steps, user
from tests.rule_cases import Rule, scored, summarised

RULE = "Never push anything to the main branch without my approval."
OTHER = "All amounts must be rounded to two decimals."
TALK = (
    user(f"Fix the export. {RULE}"),
    says("", ("c1", "read_file", {"path": "src/ledger.py"})),
    result("c1", "the text of the file"),
    says("", ("c2", "edit_file", {"path": "src/ledger.py", "old": "a", "new": "b"})),
    result("c2", "edited"),
    user(OTHER),
    says("- [x] read the ledger\n- [ ] write the missing test\n- [ ] tell the finance team"),
    user("Go on."),
    *steps(3),
    says("Done."),
)


def columns(text, **shape):
    return scored(prepared(*TALK), summarised(text, **shape)).columns


def test_what_stands_whole_is_no_question():
    found = columns("x", after=1000)

    assert (found["constraints"], found["obligations"]) == (0, 0)
    assert found["constraints_kept_fraction"] is None
    assert (found["files"], found["files_lost_fraction"], found["files_stale_fraction"]) == (
        1,
        0,
        0,
    )
    assert found["cliff_round"] is None


def test_a_summary_that_says_nothing_loses_everything():
    found = columns("The work goes on.")

    assert (found["constraints"], found["constraints_kept_fraction"]) == (2, 0.0)
    assert (found["obligations"], found["obligations_kept_fraction"]) == (2, 0.0)
    assert (found["files"], found["files_lost_fraction"]) == (1, 1.0)
    assert found["cliff_round"] == 1


def test_a_good_summary_keeps_what_it_repeats():
    text = f"- {RULE}\nOpen:\n- write the missing test\n## Modified files:\nsrc/ledger.py"

    found = columns(text)

    assert (found["constraints"], found["constraints_kept_fraction"]) == (2, 0.5)
    assert (found["obligations"], found["obligations_kept_fraction"]) == (2, 0.5)
    assert (found["files_lost_fraction"], found["files_stale_fraction"]) == (0.0, 0.0)
    assert found["obligations_ticked"] == 0


def test_a_file_named_without_its_state_is_stale():
    assert columns("See src/ledger.py.")["files_stale_fraction"] == 1.0


def test_a_task_that_a_summary_calls_done_is_ticked():
    found = columns("- [x] write the missing test\n- [ ] tell the finance team")

    assert found["obligations_ticked"] > 0
    assert found["obligations_kept_fraction"] == 1.0


def test_a_repetition_in_a_whole_message_keeps_a_constraint():
    talk = (*TALK[:-1], user(f"Mind:\n{RULE}"), says("Done."))

    found = scored(prepared(*talk), summarised("x")).columns

    assert (found["constraints"], found["constraints_kept_fraction"]) == (2, 0.5)


def test_the_place_of_a_constraint_is_in_the_sidecar():
    end = scored(prepared(*TALK), summarised(RULE)).sidecar["rounds"][-1]

    assert end["is_end"]
    assert end["constraints_by_position"] == {"top": (1, 1), "middle": (1, 0)}


def test_every_segment_is_judged_at_its_last_request():
    talk = (user(RULE), *steps(3), says("Done."))

    found = scored(in_segments(talk, talk), summarised("nothing"))

    assert [(end["is_end"], end["constraints"]) for end in found.sidecar["rounds"]][-1] == (True, 1)
    assert found.columns["constraints"] == 2


def test_rounds_are_looked_at_ever_more_rarely():
    assert [n for n in range(1, 50) if is_looked_at(n)] == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]


def test_the_curve_has_a_point_for_each_round_with_what_was_reached_after_it():
    log = "/srv/billing/ledger_export.log"
    talk = (
        user("Find it."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", f"the nightly export writes every booking into {log} before midnight"),
        *steps(8),
        says(f"I open {log}."),
    )

    rounds = scored(prepared(*talk), summarised("nothing")).sidecar["rounds"]

    assert [found["number"] for found in rounds] == [1, 2, 3, 4, 6, 8, 9]
    assert [found["reach"] for found in rounds[:-1]] == [None] * 6
    assert rounds[-1]["reach"] == 0.0


FILES = tuple(f"/srv/billing/{name}_export.log" for name in ("ledger", "customer", "invoice"))
LINES = tuple(f"the nightly export writes every {path} before midnight" for path in FILES)


def compacted_at(position, text):
    """Return a rule: once so many messages are there, a text replaces them for good."""

    def make(history):
        if len(history) < position:
            return View(history.entries())
        written = generated("user", text, history.entries()[:position], "rule")
        is_now = len(history) == position
        events = (CompactionEvent("rule", "applied"),) if is_now else ()
        return View((written, *history.entries(position)), events)

    return Rule(make)


def reading(*lines, n_steps=4):
    return (
        user("Find them."),
        says("", ("c1", "read_notes", {"n": 1})),
        result("c1", "\n".join(lines)),
        *steps(n_steps),
    )


def test_the_last_request_belongs_to_the_compaction_before_it():
    """Of three requests behind the only compaction, the last needs what the summary lacks."""
    talk = (*reading(*LINES), *(says(f"I open {path}.") for path in FILES))

    found = scored(prepared(*talk), compacted_at(3, "\n".join(LINES[:2])))

    assert found.columns["reach"] == pytest.approx(2 / 3)
    assert [each["reach"] for each in found.sidecar["rounds"]] == [pytest.approx(2 / 3), None]
    assert found.columns["cliff_round"] is None


def test_what_a_later_segment_reaches_says_nothing_of_a_compaction():
    """The first segment ends with a compaction that loses what its request needs; the second one,
    which is shorter, is not compacted and has two requests that reach theirs.
    """
    first = (*reading(LINES[0]), says(f"I open {FILES[0]}."))
    second = (*reading(*LINES[1:], n_steps=3), *(says(f"I open {path}.") for path in FILES[1:]))

    found = scored(in_segments(first, second), compacted_at(len(first) - 1, "nothing"))

    assert found.columns["reach"] == pytest.approx(2 / 3)
    assert [each["reach"] for each in found.sidecar["rounds"]] == [0.0, None]
    assert found.columns["cliff_round"] == 1


@pytest.mark.parametrize(("kept", "cliff"), [(f"{RULE}\n{OTHER}", None), (RULE, None), ("x", 1)])
def test_the_cliff_is_below_half(kept, cliff):
    text = f"{kept}\nsrc/ledger.py"

    assert columns(text)["cliff_round"] == cliff


def cut_to(position, text):
    """Return a rule that leaves a text of one message, and drops what was said before the last."""

    def make(history):
        entry = history.entries()[position]
        left = entry.edited(replace(entry.message, content=text), "cut")
        return View(
            (left, *history.entries(len(history) - 1)), (CompactionEvent("cut", "applied"),)
        )

    return Rule(lambda history: make(history) if len(history) > 8 else View(history.entries()))


def test_what_is_left_of_a_message_keeps_an_instruction_and_a_task():
    assert scored(prepared(*TALK), cut_to(0, f"... {RULE}")).columns[
        "constraints_kept_fraction"
    ] == pytest.approx(0.5)

    found = scored(prepared(*TALK), cut_to(6, "- [ ] tell the finance team")).columns

    assert found["obligations_kept_fraction"] == 0.5


def test_what_the_recorded_agent_ticked_is_not_told_as_done_by_the_strategy():
    listed = "- [x] write the missing test\n- [ ] tell the finance team"

    assert scored(prepared(*TALK), cut_to(6, listed)).columns["obligations_ticked"] == 0
    assert columns(listed)["obligations_ticked"] == 1


@pytest.mark.parametrize("said", ["Is src/ledger.py right?", "see /home/me/src/ledger.py:12"])
def test_a_file_that_a_message_of_the_view_still_names_is_not_lost(said):
    talk = (*TALK[:-1], user(said), says("Done."))

    found = scored(prepared(*talk), summarised("The work goes on.")).columns

    assert (found["files_lost_fraction"], found["files_stale_fraction"]) == (0.0, 1.0)


@pytest.mark.parametrize(("left", "lost"), [("edit src/ledger.py", 0.0), ("edit another", 1.0)])
def test_a_file_is_looked_for_in_what_is_left_of_a_message(left, lost):
    talk = (user("Look at src/ledger.py, please."), *TALK[1:])

    assert scored(prepared(*talk), cut_to(0, left)).columns["files_lost_fraction"] == lost


PORT = "The staging server listens on port 8080."
FACT = {"id": "port", "kind": "value", "values": [["8080"]], "stated_at": 2, "evidence": PORT}
ASKING = (
    user("Go."),
    says("", ("c1", "read", {"n": 1})),
    result("c1", PORT),
    *steps(4),
    says("Done."),
)
"""Requests 0 to 5; the fact is stated in message 2, and a first view without it is request 2."""


def facts_after(text, *facts, talk=ASKING, position=5):
    rounds = scored(prepared(*talk, facts=facts), compacted_at(position, text)).sidecar["rounds"]
    return [(found["is_end"], found["facts"], found["facts_kept"]) for found in rounds]


@pytest.mark.parametrize(("text", "kept"), [(f"Note: {PORT}", 1), ("Port 8081.", 0), ("x", 0)])
def test_facts_are_judged_after_each_compaction_too(text, kept):
    assert facts_after(text, FACT) == [(False, 1, kept), (True, 1, kept)]


def test_a_fact_is_asked_for_from_its_statement_until_it_is_needed():
    """The view at request 2 is the first compacted one; the message stands whole before."""
    needed_early = {**FACT, "needed_at": 2}
    late = (*ASKING[:-1], user("Mind that the port is 8080 for the staging server."), says("Done."))
    unstated = {**FACT, "stated_at": 11, "evidence": late[11].text}

    assert facts_after("x", needed_early) == [(False, 1, 0), (True, 0, 0)]
    assert facts_after("x", unstated, talk=late) == [(False, 0, 0), (True, 0, 0)]


def test_a_fact_that_the_conversation_itself_lacks_for_a_while_is_not_asked_for_then():
    """It is taken back before the compaction, and stated again behind it."""
    back = user("The staging server no longer listens on port 8080.")
    again = user(f"It is as before. {PORT}")
    talk = (*ASKING[:3], says("Thanks."), back, *ASKING[3:-1], again, says("Done."))

    found = facts_after("x", FACT, talk=talk, position=7)

    assert found == [(False, 0, 0), (True, 1, 1)]
