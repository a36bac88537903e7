"""Key facts: which annotations can be judged at all, and what becomes of those that can."""

import pytest

from compaction.history import View, generated
from evals.facts import FactScorer, find_facts
from evals.fidelity.fates import FateTracker
from evals.prepare import prepare
from evals.probing.annotated_answers import problem_of_answers
from evals.replay import Step
from evals.transcripts import Transcript
from tests.needs_cases import Shelf, in_segments, prepared, result, says, steps, user

EVIDENCE = "The staging server listens on port 8080."
TALK = (
    user("Go."),
    says("", ("c1", "read", {"n": 1})),
    result("c1", EVIDENCE),
    *steps(2),
    says("Done."),
)
"""Requests 0 to 3; the fact is stated in message 2, which request 1 sees first."""
PORT = {"id": "port", "kind": "value", "values": [["8080"]], "stated_at": 2, "evidence": EVIDENCE}


def refusals(*facts, talk=TALK):
    return {item.id: item.reason for item in find_facts(prepared(*talk, facts=facts)).unverifiable}


def whole_entries(conversation, request):
    asked = conversation.requests[request]
    history = conversation.segments[asked.segment].history
    return list(history.prefix(asked.recorded.position).entries())


def judged(entries_of, *facts, talk=TALK, shelf=None):
    """Return what a scorer says of the facts when each request's view is `entries_of(whole)`."""
    conversation = prepared(*talk, facts=facts)
    scorer, tracker = FactScorer(find_facts(conversation)), FateTracker(0)
    for request in conversation.requests:
        history = conversation.segments[0].history.prefix(request.recorded.position)
        view = View(tuple(entries_of(whole_entries(conversation, request.index))))
        tracker.see(history, view.entries, request.index)
        segment = conversation.segments[0]
        step = Step(request, segment, history, view, view, 0, 0.0, shelf or Shelf())
        scorer.see(step, tracker)
    return scorer


def verdicts(entries_of, *facts, talk=TALK, shelf=None):
    rows = judged(entries_of, *facts, talk=talk, shelf=shelf).details()["rows"]
    return {row[0]: (row[3], row[4]) for row in rows}


def replaced_by(text):
    """Return a change: a written text stands for the second and third message."""

    def change(entries):
        written = [generated("user", text, entries[1:3], "test")] if text else []
        return [*entries[:1], *written, *entries[3:]] if len(entries) > 2 else entries

    return change


def shown_as(text, handle=None):
    def change(entries):
        if len(entries) < 3:
            return entries
        edited = entries[2].edited(entries[2].message.with_text(text), "test", handle=handle)
        return [*entries[:2], edited, *entries[3:]]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "rumour"}, "unknown kind 'rumour'"),
        ({"kind": ["value"]}, "unknown kind ['value']"),
        ({"kind": None}, "unknown kind None"),
        ({"values": []}, "values must be a non-empty list"),
        ({"values": [[]]}, "values must be a non-empty list"),
        ({"values": [["8080", " "]]}, "values must be a non-empty list"),
        ({"values": ["8080"]}, "values must be a non-empty list"),
        ({"values": [[8080]]}, "values must be a non-empty list"),
        ({"values": [["\u200b"]]}, "values must hold at least one non-empty form"),
        ({"stated_at": 8}, "stated_at must be in 0..7, got 8"),
        ({"stated_at": -1}, "stated_at must be in 0..7, got -1"),
        ({"stated_at": "2"}, "stated_at must be in 0..7, got '2'"),
        ({"stated_at": True}, "stated_at must be in 0..7, got True"),
        ({"stated_at": None}, "stated_at must be in 0..7, got None"),
        ({"evidence": ""}, "evidence is missing"),
        ({"evidence": ["x"]}, "evidence is missing"),
        ({"evidence": "port 8081"}, "the evidence does not stand in message 2"),
        ({"stated_at": 0}, "the evidence does not stand in message 0"),
        ({"needed_at": 4}, "needed_at must be in 0..3, got 4"),
        ({"needed_at": False}, "needed_at must be in 0..3, got False"),
        ({"needed_at": 0}, "request 0 does not follow the statement"),
        ({"answers": "8080"}, "answers must be a non-empty list of non-empty texts"),
        ({"answers": []}, "answers must be a non-empty list of non-empty texts"),
        ({"answers": ["8080", ""]}, "answers must be a non-empty list of non-empty texts"),
        ({"answers": ["yes", "No, never"]}, "the answers contradict each other: 'yes' and 'No,"),
        ({"answers": ["8080", "9090"]}, "the answers contradict each other: '8080' and '9090'"),
        ({"answers": ["9090"]}, "the answer '9090' contradicts the value '8080'"),
        ({"superseded_by": "nobody"}, "superseded_by names no fact: 'nobody'"),
        ({"superseded_by": ["nobody"]}, "superseded_by names no fact: ['nobody']"),
    ],
)
def test_an_annotation_that_cannot_be_judged_is_named_with_its_reason(change, reason):
    found = refusals({**PORT, **change})

    assert list(found) == ["port"]
    assert found["port"].startswith(reason)


def test_a_sound_annotation_is_judged_at_the_last_request_or_where_it_is_needed():
    late, early = {**PORT, "id": "late"}, {**PORT, "id": "early", "needed_at": 2}

    found = find_facts(prepared(*TALK, facts=(late, early)))

    assert found.unverifiable == ()
    assert {fact.id: fact.judged_at for fact in found.facts} == {"late": 3, "early": 2}


@pytest.mark.parametrize(
    "answers", [["8080", "８０８０", "port 8080"], ["8080 ms", "8080"], ["yes", "yes, 8080"], None]
)
def test_answers_that_agree_are_accepted(answers):
    assert refusals({**PORT, "answers": answers}) == {}


def test_a_number_in_two_units_is_no_contradiction():
    evidence = "The limit is 150.00 EUR (15000)."

    assert problem_of_answers(["150.00", "15000"], [["15000"]], evidence) is None
    assert problem_of_answers(["150.00", "151.00"], [["15000"]], evidence) == (
        "the answers contradict each other: '150.00' and '151.00'"
    )


def test_an_id_counts_once():
    assert refusals(PORT, PORT) == {"port": "the id is used twice"}


def test_facts_that_are_no_objects_are_counted_and_the_others_judged():
    found = find_facts(prepared(*TALK, facts=("port", 3, PORT)))

    assert [fact.id for fact in found.facts] == ["port"]
    assert [tuple(item) for item in found.unverifiable] == [("facts", "2 of 3 are no JSON objects")]


def test_a_statement_that_no_request_follows_is_not_judged():
    found = refusals(
        {**PORT, "stated_at": 7, "evidence": "Done.", "values": [["Done"]]},
    )

    assert found == {"port": "no request follows the statement in its segment"}


def test_a_fact_is_not_needed_beyond_a_recorded_compaction():
    segments = in_segments(TALK, TALK).transcript.segments
    facts = ({**PORT, "needed_at": 5}, {**PORT, "id": "second", "stated_at": 10})

    found = find_facts(prepare(Transcript("talk", segments, facts=facts)))

    assert [tuple(item) for item in found.unverifiable] == [
        ("port", "request 5 does not follow the statement")
    ]
    assert [(fact.id, fact.segment, fact.stated_at, fact.judged_at) for fact in found.facts] == [
        ("second", 1, 2, 7)
    ]


def test_what_a_later_message_takes_back_is_excluded_and_named():
    talk = (*TALK[:3], user("The staging server no longer listens on port 8080."), *TALK[3:])

    found = refusals(PORT, talk=talk)

    assert found == {"port": "the uncompacted input at request 3 has it contradicted"}


def test_a_fact_whose_words_tie_it_to_nothing_is_excluded():
    fact = {**PORT, "values": [["9999"]]}

    assert refusals(fact) == {"port": "the uncompacted input at request 3 has it lost"}


def test_a_fact_in_the_untouched_tail_stands_apart():
    scorer = judged(lambda entries: entries, PORT)

    found = scorer.summary()
    assert (found.facts, found.facts_removed, found.facts_kept) == (1, 0, 1)
    assert (found.facts_kept_fraction, found.facts_tail_kept_fraction) == (None, 1.0)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (EVIDENCE, "kept"),
        ("Summary: staging listens on port 8080.", "kept"),
        ("Summary: staging listens on port 80801.", "contradicted"),
        ("Summary: staging is up.", "lost"),
        ("Summary: the staging server does not listen on port 8080 any more.", "contradicted"),
        ("", "lost"),
    ],
)
def test_a_removed_fact_is_judged_by_what_was_written_instead(text, verdict):
    scorer = judged(replaced_by(text), PORT)

    found = scorer.summary()
    assert scorer.details()["rows"] == [["port", "value", 3, verdict, True]]
    assert (found.facts_removed, found.facts_kept_fraction) == (1, float(verdict == "kept"))
    assert found.facts_tail_kept_fraction is None


@pytest.mark.parametrize(
    ("shelf", "verdict"),
    [
        (Shelf({"h1": EVIDENCE}), "recoverable"),
        (Shelf({"h1": "The staging server listens on port 8081."}), "lost"),
        (Shelf(), "lost"),
    ],
)
def test_a_fact_is_recoverable_only_if_the_store_gives_it_back(shelf, verdict):
    change = shown_as("[see h1]", "h1")

    assert verdicts(change, PORT, shelf=shelf) == {"port": (verdict, True)}
    found = judged(change, PORT, shelf=shelf).summary()
    assert found.facts_kept_fraction == float(verdict == "recoverable")


def test_a_correction_that_is_gone_while_the_old_value_stands_is_stale():
    """The old port is said by the user first; the correction is cleared from the view."""
    talk = (
        user("The staging server listens on port 8080."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", "Correction: the staging server listens on port 9090."),
        *steps(1),
        says("Done."),
    )
    old = {**PORT, "id": "old", "stated_at": 0, "superseded_by": "new", "needed_at": 0}
    new = {
        "id": "new",
        "kind": "correction",
        "values": [["9090"]],
        "stated_at": 2,
        "evidence": talk[2].text,
    }

    assert refusals(old, new, talk=talk) == {}
    assert verdicts(lambda entries: entries, old, new, talk=talk)["new"] == ("kept", False)
    assert verdicts(shown_as("[cleared]"), old, new, talk=talk)["new"] == ("stale", True)
    assert verdicts(shown_as("[cleared]"), new, talk=talk)["new"][0] in ("lost", "contradicted")


def test_an_edited_message_is_no_longer_the_untouched_tail():
    assert verdicts(shown_as(f"[shortened] {EVIDENCE}"), PORT) == {"port": ("kept", True)}


def test_the_summary_counts_each_verdict_once():
    facts = (PORT, {**PORT, "id": "again"})

    found = judged(replaced_by(""), *facts).summary()

    assert (found.facts, found.facts_lost, found.facts_removed) == (2, 2, 2)
    assert (found.facts_kept, found.facts_recoverable, found.facts_stale) == (0, 0, 0)
