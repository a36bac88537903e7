"""What became of a need, on views made by hand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.history import Entry, View, equal_prefix, generated
from compaction.messages import Message
from compaction.strategy import Promises
from evals.fidelity.need_status import NeedScorer
from evals.needs import find_needs
from evals.prepare import prepare
from evals.replay import Step
from evals.synthetic import generate
from tests.needs_cases import Shelf, in_segments, prepared, result, says, steps, user

LOG = "/srv/billing/ledger_export.log"
LINE = f"the nightly export writes every booking into {LOG} before midnight"
TALK = (
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"first line\n{LINE}\nlast line"),
    *steps(4),
    says(f"I open {LOG}."),
)
USE = 5
"""The request that uses the log; its gap is 5, so it counts for the headline."""
NOTHING = Promises()
RECOVERABLE = Promises(recoverable=True)


def step_at(conversation, request, entries, shelf=None, *, before=()):
    asked = conversation.requests[request]
    segment = conversation.segments[asked.segment]
    history = segment.history.prefix(asked.recorded.position)
    view = View(tuple(entries))
    unchanged = equal_prefix(tuple(before), view.entries)
    return Step(asked, segment, history, view, view, unchanged, 0.0, shelf or Shelf())


def whole_entries(conversation, request):
    asked = conversation.requests[request]
    history = conversation.segments[asked.segment].history
    return list(history.prefix(asked.recorded.position).entries())


def statuses(conversation, request, entries, shelf=None, promises=NOTHING, *, is_declared=True):
    scorer = NeedScorer(find_needs(conversation), promises, is_declared=is_declared)
    scorer.see(step_at(conversation, request, entries, shelf))
    return [row[-1] for row in scorer.details()["rows"]]


def status(entries_of, shelf=None, promises=NOTHING, *, is_declared=True, talk=TALK):
    """Return the status of the one need of a talk at its last request."""
    conversation = prepared(*talk)
    request = len(conversation.requests) - 1
    entries = entries_of(whole_entries(conversation, request))
    (found,) = statuses(conversation, request, entries, shelf, promises, is_declared=is_declared)
    return found


def shown_as(text, *, handle=None):
    """Return a change of a view: the source at position 2 is edited into `text`."""

    def change(entries):
        edited = entries[2].edited(entries[2].message.with_text(text), "test", handle=handle)
        return [*entries[:2], edited, *entries[3:]]

    return change


def written(text):
    """Return a change of a view: call and result are replaced by a written text."""

    def change(entries):
        return [entries[0], generated("user", text, entries[1:3], "test"), *entries[3:]]

    return change


def without_group(entries):
    return [entries[0], *entries[3:]]


def test_a_need_whose_source_stands_whole_is_visible():
    assert status(lambda entries: entries) == "visible_source"


def test_an_edited_source_that_still_has_the_line_is_visible():
    assert status(shown_as(f"[shortened]\n  {LINE}  ")) == "visible_source"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[cleared: nightly bookings before midnight, see {LOG}]", "restated"),
        (f"[cleared {LOG}]", "mentioned"),
        ("[cleared]", "regenerable"),
    ],
)
def test_an_edited_source_without_the_line_has_what_its_own_words_say(text, expected):
    assert status(shown_as(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Nightly bookings until midnight go to {LOG}.", "restated"),
        (f"The nightly bookings go into it before every run: {LOG}.", "mentioned"),
        (f"Nightly bookings before midnight.\nSee {LOG}.", "mentioned"),
        (LOG, "mentioned"),
        (f"src/a_b.py, {LOG}, /srv/nightly_booking/before_midnight.txt", "mentioned"),
        (f"I also saw {LOG}x and my{LOG}_2.", "lost"),
        ("Nightly bookings go somewhere before midnight.", "lost"),
    ],
    ids=["3 words", "2 words", "other line", "bare", "list", "part of a word", "absent"],
)
def test_a_written_text_restates_with_three_shared_words_and_mentions_with_fewer(text, expected):
    assert status(written(text)) == expected


def test_a_mention_by_the_assistant_alone_is_judged_like_any_other_text():
    talk = (*TALK[:3], says(f"So nightly bookings go to {LOG} before midnight."), *TALK[3:])
    bare = (*TALK[:3], says(f"So: {LOG}."), *TALK[3:])

    assert status(without_group, talk=talk) == "restated"
    assert status(without_group, talk=bare) == "mentioned"


def test_a_need_is_recoverable_if_the_store_gives_back_text_that_holds_it():
    shelf = Shelf({"h1": f"first line\n{LINE}"})

    assert status(shown_as("[see h1]", handle="h1"), shelf, RECOVERABLE) == "recoverable"
    assert shelf.asked == ["h1"]


@pytest.mark.parametrize(
    "shelf",
    [Shelf(), Shelf({"h1": "something else"}), Shelf({"h1": LOG + "_old"}), Shelf({"h2": LINE})],
    ids=["nothing", "other text", "other file", "other handle"],
)
def test_a_store_that_does_not_hold_it_is_not_believed(shelf):
    assert status(shown_as("[see h1]", handle="h1"), shelf, RECOVERABLE) == "regenerable"


def test_a_handle_counts_for_nothing_without_the_promise():
    shelf = Shelf({"h1": LINE})

    assert status(shown_as("[see h1]", handle="h1"), shelf) == "regenerable"
    assert shelf.asked == []


def test_a_read_only_call_that_is_still_visible_can_be_repeated():
    kept_call = shown_as("[cleared]")

    assert status(kept_call) == "regenerable"
    assert status(without_group) == "lost"
    writing = (TALK[0], says("", ("c1", "delete_notes", {})), *TALK[2:])
    assert status(kept_call, talk=writing) == "lost"


def test_what_foreign_code_does_not_declare_is_not_called_lost():
    assert status(without_group, is_declared=False) == "undeclared"
    assert status(shown_as("[cleared]"), is_declared=False) == "regenerable"
    assert status(written(LOG), is_declared=False) == "mentioned"


def test_the_best_status_that_applies_is_given():
    """The order is: source, restated, recoverable, mentioned, regenerable, lost."""
    shelf = Shelf({"h1": LINE})
    restated = says(f"So nightly bookings go to {LOG} before midnight.")
    mentioned = says(f"So: {LOG}.")

    def seen(third, text, handle=None):
        talk = (*TALK[:3], third, *TALK[3:])
        return status(shown_as(text, handle=handle), shelf, RECOVERABLE, talk=talk)

    assert seen(restated, LINE, "h1") == "visible_source"
    assert seen(restated, "[see h1]", "h1") == "restated"
    assert seen(mentioned, "[see h1]", "h1") == "recoverable"
    assert seen(mentioned, "[cleared]") == "mentioned"
    assert seen(says("Yes."), "[cleared]") == "regenerable"


def test_one_surviving_source_of_two_is_enough():
    talk = (*TALK[:3], says("", ("c2", "run", {})), result("c2", f"also {LOG}"), *TALK[3:])

    assert status(without_group, talk=talk) == "visible_source"


def test_a_pinned_reference_of_the_instructions_is_kept_as_long_as_they_stand():
    talk = (Message("system", f"Logs go to {LOG}."), user("Go."), says("Yes."), says(LOG))

    assert status(lambda entries: entries, talk=talk) == "visible_source"
    assert status(lambda entries: entries[1:], talk=talk) == "lost"


QUOTE = "def export(ledger):\n    return ledger.rows"
EDITING = (
    user("Mend it."),
    says("", ("c1", "read", {"n": 1})),
    result("c1", "     1→def export(ledger):\n     2→    return ledger.rows\n"),
    says("", ("c2", "edit", {"old_string": QUOTE})),
)


@pytest.mark.parametrize(
    ("change", "shelf", "expected"),
    [
        (lambda entries: entries, None, "visible_source"),
        (shown_as("  7→def export(ledger):\n  8→    return ledger.rows"), None, "visible_source"),
        (shown_as("7→def export(ledger):\n[cut]"), None, "lost"),
        (shown_as("[see h]", handle="h"), Shelf({"h": QUOTE}), "recoverable"),
        (shown_as("[see h]", handle="h"), Shelf({"h": "def export(ledger):"}), "lost"),
        (without_group, None, "lost"),
    ],
)
def test_a_quote_is_kept_whole_or_not_at_all(change, shelf, expected):
    assert status(change, shelf, RECOVERABLE, talk=EDITING) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"The function is\n{QUOTE}\nand must be mended.", "restated"),
        ("so far:\n 1→def export(ledger):\n 2→    return ledger.rows", "restated"),
        ("The function `export(ledger)` returns `ledger.rows`.", "lost"),
    ],
)
def test_a_quote_that_stands_verbatim_in_a_written_text_is_restated(text, expected):
    assert status(written(text), talk=EDITING) == expected


def test_a_quote_in_an_edited_message_that_never_held_it_is_restated():
    talk = (*EDITING[:3], says("", ("c9", "run", {})), result("c9", "done"), EDITING[3])

    def moved(entries):
        text = f"done; see also\n{QUOTE}"
        return [entries[0], entries[3], entries[4].edited(entries[4].message.with_text(text), "t")]

    assert status(moved, talk=talk) == "restated"


def test_a_quote_is_looked_for_in_the_texts_of_the_present_view_only():
    talk = (*EDITING, result("c2", "ok"), says("", ("c3", "edit", {"search": QUOTE})))
    conversation = prepared(*talk)
    scorer = NeedScorer(find_needs(conversation), NOTHING)
    first = step_at(conversation, 1, written(QUOTE)(whole_entries(conversation, 1)))
    second = step_at(conversation, 2, written("nothing")(whole_entries(conversation, 2))[:2])
    scorer.see(first)
    scorer.see(second._replace(unchanged=1))

    found = scorer.summary()

    assert [row[-1] for row in scorer.details()["rows"]] == ["restated", "lost"]
    assert (found.quote_needs, found.quote_kept_fraction) == (2, 0.5)


PATH = "src/ledger_main.py"
CHANGED = (
    user("Mend it."),
    says("", ("c1", "read_file", {"path": PATH})),
    result("c1", "first line\nledger_export_key = 7\nlast line"),
    says("Changing it.", ("c2", "edit_file", {"path": PATH, "new": "x"})),
    result("c2", "ok"),
    *steps(4),
    says("So ledger_export_key it is."),
)
"""The key is read at 2, its file is changed at 3, and request 6 uses the key."""


def stale_of(change, talk=CHANGED):
    conversation = prepared(*talk)
    scorer = NeedScorer(find_needs(conversation), NOTHING)
    last = len(conversation.requests) - 1
    scorer.see(step_at(conversation, last, change(whole_entries(conversation, last))))
    found = scorer.summary()
    return found.visible_source, found.stale_visible


def test_a_source_of_a_changed_file_is_stale_where_the_change_is_not_seen():
    assert stale_of(lambda entries: entries) == (1, 0)
    assert stale_of(lambda entries: [*entries[:3], *entries[5:]]) == (1, 1)
    kept_line = shown_as("ledger_export_key = 7")
    assert stale_of(lambda entries: [*kept_line(entries)[:3], *entries[5:]]) == (1, 1)
    assert stale_of(lambda entries: [entries[0], *entries[3:]]) == (0, 0)


def test_a_second_source_that_nobody_changed_is_fresh():
    again = (says("", ("c8", "run", {"n": 8})), result("c8", "ledger_export_key is 7"))
    talk = (*CHANGED[:5], *again, *CHANGED[5:])

    assert stale_of(lambda entries: [*entries[:3], *entries[5:]], talk) == (1, 0)
    assert stale_of(lambda entries: [*entries[:3], *entries[7:]], talk) == (1, 1)


def test_needs_that_were_compacted_away_are_counted_and_not_judged():
    before = (user("Go."), says("", ("c1", "run", {})), result("c1", f"see {LOG}"), says("Seen."))
    conversation = in_segments(before, (user("Summary."), says(f"I read {LOG}.")))
    scorer = NeedScorer(find_needs(conversation), NOTHING)
    for request in range(3):
        scorer.see(step_at(conversation, request, whole_entries(conversation, request)))

    found = scorer.summary()

    assert (found.unresolvable_needs, found.needs_all_gaps, found.lost) == (1, 0, 0)
    assert scorer.details()["rows"] == []


def test_reach_is_the_mean_over_requests_that_have_needs():
    """Three needs at one request, one reached; one need at another, reached: (1/3 + 1) / 2."""
    names = ("alpha_ledger_key", "beta_ledger_key", "gamma_ledger_key")
    conversation = prepared(
        user("Go."),
        says("", *((f"c{n}", "run", {"n": n}) for n in range(3))),
        *(result(f"c{n}", f"see {name}") for n, name in enumerate(names)),
        *steps(4),
        says(" ".join(names)),
        *steps(4, start=10),
        says(names[0]),
    )
    scorer = NeedScorer(find_needs(conversation), Promises())
    for request in conversation.requests:
        entries = whole_entries(conversation, request.index)
        cleared = (entry.edited(entry.message.with_text("-"), "test") for entry in entries[3:5])
        scorer.see(
            step_at(conversation, request.index, [*entries[:3], *cleared, *entries[5:]])
            if len(entries) > 5
            else step_at(conversation, request.index, entries)
        )

    found = scorer.summary()

    assert (found.needs, found.requests_with_needs) == (4, 2)
    assert (found.visible_source, found.lost) == (2, 2)
    assert found.reach == pytest.approx((1 / 3 + 1) / 2)


def test_short_gaps_count_apart_and_no_need_gives_no_reach():
    conversation = prepared(*TALK[:3], says(f"I open {LOG}."))
    scorer = NeedScorer(find_needs(conversation), Promises())

    scorer.see(step_at(conversation, 1, whole_entries(conversation, 1)))
    found = scorer.summary()

    assert (found.reach, found.needs) == (None, 0)
    assert (found.reach_all_gaps, found.needs_all_gaps) == (1.0, 1)


def test_pinned_derived_and_quotes_are_no_part_of_reach():
    conversation = prepared(
        user(f"See {LOG}."),
        says("", ("c1", "write_file", {"name": "delta_ledger_key"})),
        result("c1", EDITING[2].text),
        *steps(4),
        says(f"{LOG} delta_ledger_key", ("c2", "edit", {"old_string": QUOTE})),
    )
    scorer = NeedScorer(find_needs(conversation), Promises())
    last = conversation.requests[-1].index

    scorer.see(step_at(conversation, last, []))
    found = scorer.summary()

    assert (found.reach, found.needs, found.lost) == (None, 0, 0)
    assert (found.pinned_needs, found.pinned_kept_fraction) == (1, 0.0)
    assert (found.quote_needs, found.quote_kept_fraction) == (1, 0.0)
    assert found.derived_needs == 1


def test_rereads_and_quotes_of_own_words_are_counted_by_themselves_over_all_gaps():
    """The last request repeats a call, and edits bytes that the assistant had written and bytes
    that a result had just brought (gap 1): nothing but the latter is in the view.
    """
    own = "def written_by_me():\n    return ledger_total(1, 2, 3)\n"
    read = ("read_file", {"path": LOG})
    edits = [("c5", "edit", {"old_string": own}), ("c6", "edit", {"old_string": QUOTE})]
    conversation = prepared(
        user("Find it."),
        says("", ("c1", "find_files", {"name": "ledger"})),
        result("c1", f"found {LOG}"),
        says("", ("c2", "write", {"content": own}), ("c3", *read)),
        result("c2", "written"),
        result("c3", EDITING[2].text),
        says("", *edits, ("c4", *read)),
    )
    scorer = NeedScorer(find_needs(conversation), Promises())

    scorer.see(step_at(conversation, 2, whole_entries(conversation, 2)[5:]))
    found = scorer.summary()

    assert (found.quote_needs, found.quote_kept_fraction) == (1, 1.0)
    assert (found.derived_quote_needs, found.derived_quote_kept_fraction) == (1, 0.0)
    assert (found.reread_needs, found.needs_all_gaps) == (1, 0)


def test_a_new_segment_starts_with_nothing_shown():
    segment = (*TALK[:3], *TALK[3:])
    conversation = in_segments(segment, segment)
    scorer = NeedScorer(find_needs(conversation), Promises())

    for request in conversation.requests:
        seen = whole_entries(conversation, request.index) if request.segment == 0 else []
        scorer.see(step_at(conversation, request.index, seen))

    assert [row[-1] for row in scorer.details()["rows"]] == ["visible_source", "lost"]


def test_sidecar_rows_hold_no_text_of_the_conversation():
    conversation = prepared(*TALK)
    scorer = NeedScorer(find_needs(conversation), Promises())

    scorer.see(step_at(conversation, USE, whole_entries(conversation, USE)))
    details = scorer.details()

    ((digest, *rest),) = details["rows"]
    assert len(details["columns"]) == 1 + len(rest) == 6
    assert rest == ["path", "need", USE, 5, "visible_source"]
    assert "ledger" not in digest
    assert len(digest) == 12


GENERATED = prepare(generate(25, seed=3, gaps=(1, 2, 4, 9), plant_every=1, round_chars=300))
REPEATED = prepared(
    user("Go."),
    *(
        message
        for number in range(6)
        for message in (
            says("", ("same", "read_log", {})),
            result("same", f"see {LOG}" if number % 2 else "see other_ledger_key"),
        )
    ),
    says(f"{LOG} and other_ledger_key"),
    says(f"Again {LOG} and other_ledger_key"),
)
"""Equal messages at several places, as in logs that use call ids again."""


@st.composite
def views(draw, conversation, request, previous):
    """Draw a view: each message whole, edited, summarised with its neighbours, or gone.

    A beginning of the view before may stay, as the same objects or as equal ones.
    """
    kept = previous[: draw(st.integers(0, len(previous)))]
    shown = [Entry(entry.message, entry.origin) for entry in kept] if draw(st.booleans()) else kept
    start = max((index + 1 for entry in shown for index in entry.origin.indices), default=0)
    pending, shown = [], list(shown)
    for entry in whole_entries(conversation, request)[start:]:
        fate = draw(st.sampled_from(["whole", "whole", "whole", "gone", "edited", "summarised"]))
        if fate == "summarised":
            pending.append(entry)
            continue
        if pending:
            text = draw(st.sampled_from([pending[0].message.text, "summary", LOG, "cut"]))
            shown.append(generated("user", text, pending, "test"))
            pending = []
        if fate == "whole":
            shown.append(entry)
        elif fate == "edited":
            text = draw(st.sampled_from(["[cleared]", entry.message.text[-200:], LOG]))
            shown.append(entry.edited(entry.message.with_text(text), "test"))
    return shown


@pytest.mark.parametrize("conversation", [GENERATED, REPEATED], ids=["generated", "repeated"])
@given(data=st.data())
def test_judging_what_changed_equals_judging_each_view_anew(conversation, data):
    needs = find_needs(conversation)
    growing = NeedScorer(needs, NOTHING)
    shown, anew = [], []

    for request in conversation.requests:
        before, shown = shown, data.draw(views(conversation, request.index, shown))
        growing.see(step_at(conversation, request.index, shown, before=before))
        fresh = NeedScorer(needs, NOTHING)
        fresh.see(step_at(conversation, request.index, shown))
        anew += fresh.details()["rows"]

    assert anew == growing.details()["rows"]
    assert any(row[2] == "need" for row in anew)


def test_an_entry_that_was_made_anew_in_between_goes_with_the_one_it_equals():
    """Code that builds its list each time gives equal entries that are other objects."""
    conversation = prepared(*TALK)
    scorer = NeedScorer(find_needs(conversation), NOTHING)
    mention = whole_entries(conversation, USE)[2]
    first = mention.edited(mention.message.with_text(f"[cleared {LOG}]"), "test")
    anew = Entry(first.message, first.origin)

    for before, view in pairwise([[], [first], [anew], []]):
        scorer.see(step_at(conversation, USE, view, before=before))

    assert [row[-1] for row in scorer.details()["rows"]] == ["mentioned", "mentioned", "lost"]


def test_an_equal_message_of_another_place_takes_its_place_and_goes_with_it():
    """The two results are equal; first one stands in the view, then the other, then none."""
    entries = whole_entries(REPEATED, 6)
    shown = {number: entries[2 * number + 2] for number in (1, 3)}
    needs = find_needs(REPEATED)
    scorer = NeedScorer(needs, Promises())

    for before, view in pairwise([[], [shown[1]], [shown[3]], []]):
        scorer.see(step_at(REPEATED, 5, view, before=before))
    scorer.see(step_at(REPEATED, 6, []))

    assert shown[1].message == shown[3].message
    assert shown[1].origin != shown[3].origin
    assert {row[-1] for row in scorer.details()["rows"]} <= {"lost", "mentioned"}
