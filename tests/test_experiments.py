"""The experiments beyond the broken compactors: the other side of each verdict."""

from dataclasses import replace

import pytest

from compaction.contract.callables import as_strategy
from compaction.contract.suite import check_conversation
from compaction.contract.texts import RequestBytes
from compaction.contract.trial import RequestChars
from compaction.errors import ModelError
from compaction.history import View, generated
from compaction.llm import ModelCall, ModelReply
from compaction.messages import Message
from compaction.pairing import safe_cut_before
from compaction.strategy import CompactionEvent, Promises
from tests.broken_compactors import (
    CONVERSATION,
    Broken,
    ask,
    ask_for,
    edited,
    head_and_tail,
    is_good,
    nothing,
    result,
    sound,
    summarize,
    undo_a_bit_too_much,
)


def broken(edit, **promised):
    return check_conversation(Broken(edit, Promises(**promised)), CONVERSATION).broken


class EndsEarly(Broken):
    """Gives back the beginning of what was sent before its pass."""

    def start(self, context):
        compactor = super().start(context)
        compactor.undo = lambda: View(compactor.entries[:1])
        return compactor


def test_where_an_undo_ends_early_there_is_no_message_to_blame():
    strategy = EndsEarly(undo_a_bit_too_much, Promises(undoable=True))

    found = check_conversation(strategy, CONVERSATION).violations

    assert [(v.invariant, v.violation.position) for v in found] == [("undo_restores", -1)]


def fail_in_silence(turn):
    view = yield from summarize(turn)
    turn.events = [event for event in turn.events if event.outcome == "applied"]
    return view


def fall_back_to_dropping(turn):
    """A free tier is applied where the model fails, and says so."""
    view = yield from summarize(turn)
    if not any(event.outcome == "failed" for event in turn.events):
        return view
    head, middle, tail = head_and_tail(turn.entries)
    turn.events.append(CompactionEvent("drop", "applied", messages_removed=len(middle)))
    return (*head, *tail)


def drop_where_the_model_fails(turn):
    view = yield from summarize(turn)
    if not any(event.outcome == "failed" for event in turn.events):
        return view
    head, _, tail = head_and_tail(turn.entries)
    return (*head, *tail)


def raise_where_the_model_fails(turn):
    view = yield from summarize(turn)
    if any(event.outcome == "failed" for event in turn.events):
        raise ModelError("gave up")
    return view


def keep_a_refusal(turn):
    """The text of a refusal is put beside everything, and nothing is removed."""
    if not turn.is_long or turn.state.get("asked"):
        return turn.entries
    turn.state["asked"] = True
    try:
        reply = yield from ask(turn, turn.entries[2:-4])
    except ModelError as error:
        turn.failed(str(error))
        return turn.entries
    turn.failed("no summary")
    if is_good(reply):
        return turn.entries
    return (*turn.entries, generated("user", f"Summary: {reply.text}", (), "broken"))


def drop_for_a_bad_summary(turn):
    """A reply that is no summary is not committed, but what it was about is gone."""
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    try:
        reply = yield from ask(turn, middle)
    except ModelError as error:
        turn.failed(str(error))
        return turn.entries
    text = reply.text if is_good(reply) else "(nothing)"
    return (*head, generated("user", f"Summary: {text}", middle, "broken"), *tail)


def forget_the_first_summary(turn):
    def only_messages(middle):
        return [entry for entry in middle if entry.origin.kind != "generated"]

    return (yield from summarize(turn, subject=only_messages))


def store_then_drop(turn):
    """What no summariser is told is in the store, and its pointer was in the view."""
    yield from nothing()
    entries = list(turn.entries)
    for at, entry in enumerate(entries[1:-4], 1):
        if entry.origin.kind == "whole":
            handle = f"h{entry.origin.first}"
            turn.context.store.put(handle, entry.message.text)
            entries[at] = entry.edited(entry.message.with_text(f"[{handle}]"), "b", handle=handle)
    return tuple(entries if len(entries) < 12 else (entries[0], *entries[-6:]))


def drop_without_storing(turn):
    yield from nothing()
    entries = turn.entries
    return entries if len(entries) < 12 else (entries[0], *entries[-6:])


def count_what_was_never_told(turn):
    """The model fails, and what it was asked about goes later all the same."""
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    if "tried" in turn.state:
        return (*head, *tail)
    turn.state["tried"] = True
    try:
        yield from ask(turn, middle)
    except ModelError as error:
        turn.failed(str(error))
    return turn.entries


def ask_with_an_orphan(turn):
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    prompt = (Message("tool", "x", tool_call_id="call_1"), Message("user", "Summarize."))
    try:
        reply = yield ModelCall(prompt, subject=tuple(entry.message for entry in middle))
    except ModelError as error:
        turn.failed(str(error))
        return turn.entries
    if not is_good(reply):
        turn.failed("no summary")
        return turn.entries
    return (*head, generated("user", f"Summary: {reply.text}", middle, "broken"), *tail)


def say_that_it_is_stuck(turn):
    if turn.tokens < 2_000:
        return turn.entries
    try:
        yield from ask(turn, turn.entries[-1:])
    except ModelError as error:
        turn.failed(str(error))
    turn.failed("the fixed part alone is over the threshold")
    return turn.entries


def toggle(turn):
    yield from nothing()
    if not turn.is_long or turn.number % 2:
        return turn.entries
    last = turn.entries[-1]
    return (*turn.entries[:-1], last.edited(last.message.with_text(last.message.text[:-1]), "b"))


def miss_the_target_aloud(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries, 8)
    turn.applied(messages_removed=len(middle))
    turn.failed("the target was not reached")
    return (*head, *tail)


def keep_as_told(turn):
    yield from nothing()
    messages = [entry.message for entry in turn.entries]
    cut = max(2, safe_cut_before(messages, max(0, len(messages) - turn.state["keep"])))
    return (*turn.entries[:2], *turn.entries[cut:])


@pytest.mark.parametrize(
    ("edit", "promised", "expected"),
    [
        (fail_in_silence, {}, {"failures_commit_nothing"}),
        (fall_back_to_dropping, {}, set()),
        (drop_where_the_model_fails, {}, {"failures_commit_nothing"}),
        (drop_where_the_model_fails, {"mode": "viewing"}, {"failures_commit_nothing"}),
        (fall_back_to_dropping, {"mode": "viewing"}, set()),
        (keep_a_refusal, {"grows": True}, {"bad_summaries_are_refused"}),
        (drop_for_a_bad_summary, {}, {"bad_summaries_are_refused"}),
        (forget_the_first_summary, {"accounts_for_all": True}, {"nothing_is_lost_unseen"}),
        (forget_the_first_summary, {}, set()),
        (ask_with_an_orphan, {}, {"summariser_is_isolated"}),
        (say_that_it_is_stuck, {}, set()),
        (toggle, {}, {"a_second_pass_changes_nothing"}),
        (miss_the_target_aloud, {"target_tokens": 500}, set()),
        (sound, {"counts_within_fraction": 0.1, "max_model_input_chars": 9_000}, set()),
    ],
)
def test_a_verdict_is_exact(edit, promised, expected):
    assert broken(edit, **promised) == expected


def test_what_has_a_handle_may_leave_the_view():
    talk = [Message("system", "Be brief.")]
    for number in range(20):
        talk += [Message("user", f"{number}?" * 20), Message("assistant", f"{number}!" * 20)]
    promises = Promises(accounts_for_all=True, recoverable=True)
    found = [
        check_conversation(Broken(edit, promises), tuple(talk)).broken
        for edit in (store_then_drop, drop_without_storing)
    ]

    assert found == [set(), {"nothing_is_lost_unseen"}]


def test_a_failure_that_is_raised_is_no_view():
    assert broken(raise_where_the_model_fails) >= {"failures_commit_nothing"}


def test_what_a_failed_call_was_told_is_not_accounted_for():
    class Unreachable:
        name = "unreachable"

        def complete(self, call):
            raise ModelError("down")

    strategy = Broken(count_what_was_never_told, Promises(accounts_for_all=True))

    findings = check_conversation(strategy, CONVERSATION, model=Unreachable())

    first = next(v for v in findings.violations if v.invariant == "nothing_is_lost_unseen")
    assert first.violation.concerns == 2


@pytest.mark.parametrize("keep", [1, 2, 4, 7])
def test_a_parameter_that_keeps_more_is_monotone(keep):
    strategy = Broken(keep_as_told, Promises(monotone_parameters=("keep",)), keep=keep)

    findings = check_conversation(strategy, CONVERSATION)

    assert findings.broken == set()
    assert "parameters_are_monotone" in findings.applicable


def counting(measure, before=None):
    """A sound cut whose events tell sizes by a measure of its own."""

    def cut(turn):
        yield from nothing()
        if not turn.is_long:
            return turn.entries
        head, middle, tail = head_and_tail(turn.entries, 8)
        sizes = [sum(measure(e.message) for e in part) for part in (turn.entries, (*head, *tail))]
        turn.applied(
            tokens_before=sizes[0] if before is None else before,
            tokens_after=sizes[1],
            messages_removed=len(middle),
        )
        return (*head, *tail)

    return cut


BYTES = RequestBytes().count


def of(message, *, with_calls=True, with_reasoning=True, image=3_000, size=BYTES):
    """The size of a message with some of it left out."""
    kept = replace(
        message,
        content=message.text,
        tool_calls=message.tool_calls if with_calls else (),
        reasoning=message.reasoning if with_reasoning else None,
    )
    return size(kept) + image * sum(part.kind == "image" for part in message.parts)


TALK = (
    Message("system", "Be brief."),
    *(
        message
        for number in range(12)
        for message in (
            Message("user", f"{number}? " * 40),
            ask_for(number),
            result(number),
            Message("assistant", f"{number}! " * 40),
        )
    ),
)


@pytest.mark.parametrize(
    ("measure", "before", "said"),
    [
        (of, None, None),
        (lambda m: of(m, size=RequestChars().count), None, "in Chinese: an event says"),
        (lambda m: of(m, image=0), None, "with images: an event says"),
        (lambda m: of(m, image=40_000), None, "with images: an event says"),
        (lambda m: of(m, with_reasoning=False), None, "with reasoning: an event says"),
        (lambda m: of(m, with_calls=False), None, "with long calls: an event says"),
        (of, 7, "as it is: an event says 7 before, the counter"),
    ],
)
def test_sizes_in_events_are_compared_for_each_kind_of_text(measure, before, said):
    strategy = Broken(counting(measure, before), Promises(counts_within_fraction=0.3))

    found = check_conversation(strategy, TALK)

    texts = [item.violation.explanation for item in found.violations]
    assert [text[: len(said or "")] for text in texts] == ([] if said is None else [said])
    assert found.broken == (set() if said is None else {"counts_are_faithful"})


@pytest.mark.parametrize(("size", "is_off"), [(90, False), (110, False), (89, True), (111, True)])
def test_a_size_may_be_off_by_the_promised_fraction_and_no_more(size, is_off):
    def tell(turn):
        yield from nothing()
        measured = sum(turn.context.counter.count(entry.message) for entry in turn.entries)
        turn.applied(tokens_after=measured * size // 100)
        return turn.entries

    long = (Message("user", "x" * 9_972),)
    strategy = Broken(tell, Promises(counts_within_fraction=0.1, idempotent=False))

    assert RequestChars().count(long[0]) == 10_000
    assert ("counts_are_faithful" in check_conversation(strategy, long).broken) == is_off


def test_a_tag_that_only_the_model_opened_is_not_the_strategys():
    class Quoting:
        name = "quoting"

        def complete(self, call):
            said = call.subject[-1].text
            return ModelReply(f"<memory> {said} </memory>")

    strategy = Broken(sound)

    found = check_conversation(strategy, CONVERSATION, model=Quoting())

    assert "closing_tags_cannot_be_forged" not in found.broken
    assert "closing_tags_cannot_be_forged" in found.applicable


@pytest.mark.parametrize(
    ("opening", "is_block"),
    [("<stored>", True), ('<stored by="us">', True), ("<stored-elsewhere>", False), ("", False)],
)
def test_only_what_a_strategy_opens_and_closes_is_a_block_of_its_own(opening, is_block):
    def preview(turn):
        yield from nothing()
        return tuple(
            edited(entry, content=f"{opening}{entry.message.text[:60]}</stored>")
            if entry.message.is_result and entry.origin.kind == "whole"
            else entry
            for entry in turn.entries
        )

    found = check_conversation(Broken(preview), CONVERSATION)

    assert ("closing_tags_cannot_be_forged" in found.applicable) == is_block
    assert ("closing_tags_cannot_be_forged" in found.broken) == is_block


def test_without_tags_nothing_can_be_forged():
    reasons = check_conversation(Broken(sound), CONVERSATION).not_applicable

    assert "writes no closing tags" in reasons["closing_tags_cannot_be_forged"]


def test_a_name_that_is_no_number_makes_monotony_undecided():
    strategy = Broken(keep_as_told, Promises(monotone_parameters=("version",)))

    reason = check_conversation(strategy, CONVERSATION).not_applicable["parameters_are_monotone"]

    assert reason == "version has no number that could be enlarged"


def test_an_accident_of_a_callable_is_a_fault_and_a_refusal_is_none():
    def by_accident(messages):
        answered = {c["id"] for m in messages for c in m.get("tool_calls") or ()}
        for message in messages:
            if message["role"] == "tool":
                answered.remove(message["tool_call_id"])
        return messages

    def on_purpose(messages):
        try:
            return by_accident(messages)
        except KeyError as error:
            raise ValueError("a result without its call") from error

    rounds = (Message("user", "go"), ask_for(1), result(1), Message("assistant", "done"))
    found = [check_conversation(as_strategy(f), rounds).broken for f in (by_accident, on_purpose)]

    assert found == [{"every_input_is_answered"}, set()]


def test_what_is_not_asked_for_is_not_decided():
    replayed = check_conversation(Broken(sound), CONVERSATION, needs=("replay",))
    tried = check_conversation(Broken(sound), CONVERSATION, needs=("experiment",))

    reasons = replayed.not_applicable["passes_come_to_rest"], tried.not_applicable["never_grows"]
    assert reasons == (
        "what needs an experiment was not asked for",
        "what needs a replay was not asked for",
    )
    assert not replayed.applicable & tried.applicable
