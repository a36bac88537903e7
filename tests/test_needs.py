"""What counts as a need, worked out by hand on small conversations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.messages import Message
from evals.extraction.message_text import held_text
from evals.extraction.reference_index import ReferenceIndex
from evals.extraction.references import extract_references
from evals.fidelity.placebo import Placebo
from evals.needs import (
    MAX_EARLIER_BLOCKS,
    MAX_NEEDS_PER_REQUEST,
    find_needs,
)
from evals.prepare import prepare
from evals.synthetic import generate, planted_in
from tests.needs_cases import in_segments, prepared, result, says, steps, user

LOG = "/srv/billing/ledger_export.log"


def needs_of(*messages, tools=()):
    return find_needs(prepared(*messages)).by_request


def needs_at(request, *messages):
    return needs_of(*messages).get(request, ())


def one(found, value):
    (need,) = [need for need in found if need.value == value]
    return need


def test_what_a_result_brought_and_a_later_call_uses_is_a_need_with_its_source():
    found = needs_of(
        user("Find it."),
        says("Looking.", ("c1", "find_files", {"name": "ledger"})),
        result("c1", f"found {LOG}"),
        says("Reading.", ("c2", "read_file", {"path": LOG})),
    )

    (need,) = found[1]
    assert list(found) == [1]
    assert (need.kind, need.value, need.class_name) == ("need", LOG, "path")
    assert (need.gap, need.sources, need.others) == (1, (2,), ())


def test_what_a_later_user_message_brought_is_a_need():
    found = needs_at(
        1,
        user("Hello."),
        says("Hello."),
        user(f"Now read {LOG}."),
        says(f"I read {LOG}."),
    )

    assert [(need.kind, need.sources) for need in found] == [("need", (2,))]


def test_what_the_assistant_named_first_is_derived_and_no_need():
    (need,) = needs_at(
        1,
        user("Write it."),
        says("", ("c1", "write_file", {"path": LOG})),
        result("c1", f"wrote {LOG}"),
        says(f"It is in {LOG}."),
    )

    assert (need.kind, need.sources, need.others) == ("derived", (2,), (1,))


@pytest.mark.parametrize(
    "opening",
    [
        (Message("system", f"The log is {LOG}."), user("Go.")),
        (user(f"Look at {LOG}."),),
    ],
    ids=["system", "first user message"],
)
def test_what_always_stands_in_front_is_pinned_and_its_holder_is_its_source(opening):
    (need,) = needs_at(
        1,
        *opening,
        says("Looking.", ("c1", "run", {"go": "on"})),
        result("c1", "ok"),
        says(f"I read {LOG}."),
    )

    assert (need.kind, need.sources) == ("pinned", (0,))


def test_what_is_used_only_to_repeat_a_call_is_reread_and_counts_apart():
    read = ("read_file", {"path": LOG})

    found = needs_of(
        user("Find it."),
        says("", ("c1", "find_files", {"name": "ledger"})),
        result("c1", f"found {LOG}"),
        says("", ("c2", *read)),
        result("c2", "empty"),
        says("", ("c3", *read)),
        result("c3", "empty"),
        says(f"Again: {LOG}", ("c4", *read)),
    )

    assert [one(found[request], LOG).kind for request in (1, 2, 3)] == ["need", "reread", "need"]


def test_an_escaped_use_beside_a_repeated_call_is_a_use():
    """The fresh call names the file behind an escaped line break."""
    read = ("read_file", {"path": LOG})

    found = needs_at(
        2,
        user("Find it."),
        says("", ("c1", "find_files", {"name": "ledger"})),
        result("c1", f"found {LOG}"),
        says("", ("c2", *read)),
        result("c2", "empty"),
        says("", ("c3", *read), ("c4", "note", {"text": f"see\n{LOG}\nfor more"})),
    )

    assert one(found, LOG).kind == "need"


@pytest.mark.parametrize(("holders", "is_need"), [(5, True), (6, False)])
def test_a_reference_is_specific_up_to_five_earlier_messages(holders, is_need):
    brought = [
        message
        for number in range(holders)
        for message in (
            says("", (f"c{number}", "run", {"n": number})),
            result(f"c{number}", f"see {LOG}"),
        )
    ]

    found = needs_at(holders, user("Go."), *brought, says(f"I read {LOG}."))

    assert MAX_EARLIER_BLOCKS == 5
    assert len(found) == is_need


@pytest.mark.parametrize("between", [0, 1, 4])
def test_the_gap_counts_the_requests_that_saw_it_this_one_included(between):
    (need,) = needs_at(
        1 + between,
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", f"see {LOG}"),
        *steps(between),
        says(f"I read {LOG}."),
    )

    assert need.gap == 1 + between
    assert need.is_long == (need.gap > 3)


def test_the_gap_starts_at_the_last_earlier_holder_whoever_that_is():
    """Result at request 0, the assistant's own mention at request 3, the use at request 5."""
    found = needs_of(
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", f"see {LOG}"),
        *steps(2),
        says(f"There is {LOG}.", ("c2", "run", {"n": 2})),
        result("c2", "ok"),
        *steps(1, start=5),
        says(f"I read {LOG}."),
    )

    assert one(found[3], LOG).gap == 3
    use = one(found[5], LOG)
    assert (use.kind, use.gap, use.sources, use.others) == ("need", 2, (2,), (7,))


def test_one_request_needs_a_reference_once_however_often_it_uses_it():
    found = needs_at(
        1,
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", f"see {LOG} and {LOG}"),
        says(f"{LOG}: {LOG}", ("c2", "read_file", {"path": LOG}), ("c3", "run", {"x": LOG})),
    )

    assert [need.value for need in found] == [LOG]


def test_reasoning_is_a_place_to_stand_in_but_never_a_use():
    found = needs_of(
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", f"see {LOG}"),
        says("Next.", ("c2", "run", {"n": 2}), reasoning=f"I could read {LOG}."),
        result("c2", "ok"),
        says(f"I read {LOG}."),
    )

    assert list(found) == [2]
    assert (found[2][0].sources, found[2][0].others, found[2][0].gap) == ((2,), (3,), 1)


def test_a_relative_path_stands_in_an_absolute_one():
    found = needs_at(
        1,
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", "open /home/me/billing/src/ledger_export.py now"),
        says("", ("c2", "read_file", {"path": "src/ledger_export.py"})),
    )

    assert one(found, "src/ledger_export.py").sources == (2,)


def test_a_part_of_a_word_holds_nothing():
    found = needs_at(
        1,
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", "see my_ledger_export_key"),
        says("I set ledger_export_key."),
    )

    assert found == ()


def test_parallel_results_are_sources_of_one_request():
    found = needs_at(
        1,
        user("Go."),
        says("", ("c1", "run", {"n": 1}), ("c2", "run", {"n": 2})),
        result("c2", "see alpha_ledger_key"),
        result("c1", "see beta_ledger_key and alpha_ledger_key"),
        says("Use alpha_ledger_key with beta_ledger_key."),
    )

    by_value = {need.value: need.sources for need in found}
    assert by_value == {"alpha_ledger_key": (2, 3), "beta_ledger_key": (3,)}


def test_needs_do_not_reach_over_a_recorded_compaction():
    first = (user("Go."), says("", ("c1", "run", {})), result("c1", f"see {LOG}"), says("Seen."))
    second = (user("Summary of before."), says(f"I read {LOG}."))

    assert find_needs(in_segments((*first, *second))).by_request != {}
    assert find_needs(in_segments(first, second)).by_request == {}


def test_requests_and_sources_count_in_their_segment_and_requests_in_the_transcript():
    segment = (
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", f"see {LOG}"),
        says(f"I read {LOG}."),
    )

    found = find_needs(in_segments(segment, segment)).by_request

    assert {request: needs[0].sources for request, needs in found.items()} == {1: (2,), 3: (2,)}
    assert {need.request for needs in found.values() for need in needs} == {1, 3}


BEFORE = (user("Go."), says("", ("c1", "run", {})), result("c1", f"see {LOG}"), says("Seen."))
"""A segment that brings a log; its compaction drops it. Requests 0 and 1."""


def test_a_need_whose_source_was_compacted_away_is_unresolvable_and_counted():
    """Request 2 would have been the first to see what `BEFORE` ends with, request 1 saw the log."""
    found = find_needs(in_segments(BEFORE, (user("Summary of before."), says(f"I read {LOG}."))))

    (need,) = found.unresolvable
    assert found.by_request == {}
    assert (need.kind, need.value, need.request) == ("unresolvable", LOG, 2)
    assert (need.sources, need.others, need.gap) == ((), (), 2)


def test_what_the_recorded_summary_names_is_a_need_of_that_summary():
    found = find_needs(in_segments(BEFORE, (user(f"Summary: see {LOG}."), says(f"I read {LOG}."))))

    assert found.unresolvable == ()
    assert [(need.kind, need.sources) for need in found.by_request[2]] == [("need", (0,))]


def test_a_mention_of_the_assistant_alone_does_not_resolve_what_was_compacted_away():
    """Only its own words after the boundary hold the log; they are no source."""
    after = (user("Summary of before."), says(f"Next is {LOG}."), user("Go."), says(f"See {LOG}."))

    found = find_needs(in_segments(BEFORE, after))

    assert found.by_request == {}
    assert [need.request for need in found.unresolvable] == [2, 3]


def test_what_the_assistant_said_first_stays_derived_after_a_compaction():
    said = (user("Write it."), says("", ("c1", "write_file", {"path": LOG})), result("c1", "ok"))
    after = (user("Next."), says("", ("c2", "ls", {})), result("c2", LOG), says(f"It is {LOG}."))

    found = find_needs(in_segments((*said, says("Done.")), after))

    assert [need.kind for need in found.by_request[3]] == ["derived"]
    assert found.unresolvable == ()
    gone = find_needs(in_segments((*said, says("Done.")), (user("Next."), says(f"It is {LOG}."))))
    assert (gone.by_request, gone.unresolvable) == ({}, ())


@pytest.mark.parametrize(("before", "is_need"), [(4, True), (5, False)])
def test_earlier_messages_count_over_all_segments_each_text_once(before, is_need):
    """With the one after the boundary there are five or six; what is repeated there counts once."""
    brought = [
        message
        for number in range(before)
        for message in (
            says("", (f"c{number}", "run", {"n": number})),
            result(f"c{number}", f"{number}: see {LOG}"),
        )
    ]
    kept = brought[-1]
    after = (user("Summary."), says("", ("d", "run", {})), result("d", f"again {LOG}"), says(LOG))

    found = find_needs(in_segments((user("Go."), *brought, says("On.")), after))
    repeated = find_needs(in_segments((user("Go."), *brought, says("On.")), (kept, *after)))

    last = before + 2
    assert bool(found.by_request.get(last)) == is_need
    assert bool(repeated.by_request.get(last)) == is_need


def test_a_source_whose_file_a_later_call_changed_is_noted_with_that_call():
    (need,) = [
        need
        for need in needs_at(
            2,
            user("Go."),
            says("", ("c1", "read_file", {"path": "src/app_main.py"})),
            result("c1", "ledger_export_key = 1"),
            says("", ("c2", "edit_file", {"path": "src/app_main.py", "text": "x"})),
            result("c2", "ok"),
            says("So ledger_export_key it is."),
        )
        if need.kind == "need"
    ]

    assert (need.sources, need.changed) == ((2,), ((2, 3),))


FILE = "     1→def export(ledger):\n     2→    return ledger.rows\n"
LINES = "def export(ledger):\n    return ledger.rows"


@pytest.mark.parametrize("key", ["old_string", "old_str", "oldText", "old_text", "search"])
def test_bytes_that_an_edit_must_find_are_a_quote_whatever_the_key(key):
    (need,) = needs_at(
        1,
        user("Mend it."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", FILE),
        says("", ("c2", "edit", {"edits": [{key: LINES, "new": "pass"}]})),
    )

    assert (need.kind, need.value, need.sources) == ("quote", LINES, (2,))
    assert (need.class_name, need.gap) == ("quote", 1)


@pytest.mark.parametrize(
    "shown",
    [
        FILE,
        "1\tdef export(ledger):\n2\t    return ledger.rows\n",
        " 10: def export(ledger):\n 11:     return ledger.rows",
        " 10| def export(ledger):\n 11|     return ledger.rows",
        LINES,
    ],
    ids=["arrow", "tab", "colon", "bar", "none"],
)
def test_line_numbers_of_a_viewer_do_not_hide_a_quote(shown):
    found = needs_at(
        1,
        user("Mend it."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", shown),
        says("", ("c2", "edit", {"old_string": LINES})),
    )

    assert [need.value for need in found] == [LINES]


def test_a_quote_that_itself_begins_lines_with_numbers_is_found():
    numbered = "1: first entry\n2: second entry"

    found = needs_at(
        1,
        user("Mend it."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", f"list:\n{numbered}\n"),
        says("", ("c2", "edit", {"old_string": numbered})),
    )

    assert [(need.kind, need.sources) for need in found] == [("quote", (2,))]


def test_bytes_that_the_assistant_wrote_first_are_a_derived_quote():
    found = needs_of(
        user("Write it."),
        says("", ("c1", "write", {"content": LINES})),
        result("c1", "written"),
        says("", ("c2", "read", {"n": 1})),
        result("c2", FILE),
        says("", ("c3", "edit", {"old_string": LINES})),
        result("c3", "edited"),
    )

    (need,) = found[2]
    assert (need.kind, need.sources, need.others) == ("derived_quote", (4,), (1,))


def test_a_quote_that_the_assistant_repeated_later_stays_a_quote():
    found = needs_at(
        2,
        user("Mend it."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", FILE),
        says("", ("c2", "write", {"path": "copy.py", "content": LINES})),
        result("c2", "written"),
        says("", ("c3", "edit", {"old_string": LINES})),
    )

    assert [(need.kind, need.sources, need.others) for need in found] == [("quote", (2,), (3,))]


@pytest.mark.parametrize(
    "quote", ["short quote", "           x           ", "never shown anywhere"]
)
def test_a_short_or_unseen_quote_is_none(quote):
    found = needs_at(
        1,
        user("Mend it."),
        says("", ("c1", "read", {"n": 1})),
        result("c1", "a short quote and            x           here"),
        says("", ("c2", "edit", {"old_string": quote})),
    )

    assert found == ()


def test_a_request_has_at_most_twenty_needs_and_always_the_same():
    names = [f"ledger_entry_{number}x" for number in range(50)]
    messages = (
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", " ".join(names)),
        says("", ("c2", "write", {"content": " ".join(reversed(names))})),
    )

    found, again = needs_at(1, *messages), needs_at(1, *messages)

    assert len(found) == MAX_NEEDS_PER_REQUEST == 20
    assert found == again
    assert len({need.value for need in found}) == 20


def test_the_cap_takes_no_room_from_quotes():
    names = "\n".join(f"ledger_entry_{number}x = here" for number in range(50))

    found = needs_at(
        1,
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", names),
        says("", ("c2", "edit", {"old_string": names})),
    )

    assert [need.kind for need in found].count("need") == 20
    assert [need.value for need in found if need.kind == "quote"] == [names]


def test_the_placebo_rate_is_the_share_of_needed_references_in_the_other_text():
    conversation = prepared(
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", "alpha_ledger_key beta_ledger_key /srv/one/gamma_log.txt /srv/two/d_log.txt"),
        says("alpha_ledger_key beta_ledger_key /srv/one/gamma_log.txt /srv/two/d_log.txt"),
    )

    found = find_needs(conversation, placebo=Placebo("a book", "it has beta_ledger_key"))

    assert (found.placebo, found.placebo_fraction) == ("a book", 0.25)
    assert found.placebo_by_class == {"identifier": 0.5, "path": 0.0}
    assert find_needs(conversation).placebo_fraction is None


def test_the_placebo_is_as_long_as_the_transcript_and_no_longer():
    conversation = prepared(
        user("Go."),
        says("", ("c1", "run", {})),
        result("c1", "alpha_ledger_key"),
        says("alpha_ledger_key"),
    )

    found = find_needs(conversation, placebo=Placebo("a book", "x " * 500 + "alpha_ledger_key"))

    assert found.placebo_fraction == 0.0


@pytest.mark.parametrize("seed", range(4))
def test_planted_needs_of_generated_transcripts_are_all_found_with_their_gap_and_nothing_else(seed):
    transcript = generate(403, seed=seed)
    planted = planted_in(transcript)

    found = find_needs(prepare(transcript)).by_request

    expected = {(item.kind, item.value, item.used_at, item.gap) for item in planted}
    got = {
        (need.class_name, need.value, need.request, need.gap)
        for needs in found.values()
        for need in needs
        if need.kind == "need"
    }
    assert len(planted) > 20
    assert got == expected
    assert all(needs[0].sources for needs in found.values())


TEXTS = [
    "请看config_loader的值",
    "见 /srv/app/config_loader.py 文件",
    "x\\nconfig_loader here",
    "x\\u4f60config_loader here",
    r"open C:\proj\new_app\test_runner.py",
    r"open C:\\proj\\new_app\\test_runner.py",
    "docs/re\u0301sume\u0301_final.md",
    "docs/résumé_final.md",
    "ValueError: 12345 of 0x1f is bad",
    "error[E0425]: cannot find value here",
    "max_tokens：8787, limit_x: 1_000, retry=1,000",
    'a "port_b": 8787 and "mode_c": "very fast"',
    "https://host-1.example/a/b-c?q=1",
    "3f2b8c1d-9a4e-4b7c-8d6f-0a1b2c3d4e5f and deadbeef12",
]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.sampled_from(["\n", " ; "]))
def test_the_index_finds_whatever_the_extractor_does(texts, glue):
    text = glue.join(texts)
    references = extract_references(text)

    index = ReferenceIndex(references)

    assert references
    assert set(index.found_in(text)) == references


def test_each_text_of_the_index_property_has_a_reference():
    assert [text for text in TEXTS if not extract_references(text)] == []


def test_strings_in_arguments_are_read_without_their_escapes():
    message = says("", ("c1", "write", {"content": "first line\nledger_export_key"}))

    assert "\nledger_export_key" in held_text(message)
