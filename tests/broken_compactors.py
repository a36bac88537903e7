"""Small compactors, each with one fault that was found in a real system or that an invariant names.

`BROKEN` holds each with the invariants that must name it, and no others may.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from compaction.contract.providers import GEMINI, OPENAI_CHAT
from compaction.errors import ModelError
from compaction.history import Entry, History, Origin, View, generated, spans_of
from compaction.llm import ModelCall
from compaction.messages import Message, ToolCall
from compaction.pairing import pair, safe_cut_before
from compaction.strategy import CompactionEvent, Context, Promises

KEEP = 4
LIMIT = 16


@dataclass
class Turn:
    """What an edit sees at one request, and the state that it keeps between them."""

    entries: tuple
    history: History
    number: int
    context: Context
    state: dict
    tokens: int
    events: list = field(default_factory=list)

    @property
    def is_long(self):
        return len(self.entries) > LIMIT

    def applied(self, **fields):
        self.events.append(CompactionEvent("broken", "applied", **fields))

    def failed(self, reason):
        self.events.append(CompactionEvent("broken", "failed", reason=reason))

    def tell(self, after):
        """Add an event of what was done, unless the edit has told of itself."""
        if after != self.entries and not self.events:
            self.applied(messages_removed=len(shown_in(self.entries) - shown_in(after)))


@dataclass(frozen=True)
class Broken:
    """A rewriting strategy made of one generator function."""

    edit: Callable
    promises: Promises = field(default_factory=Promises)
    keep: int = KEEP
    undo: bool = False
    tells: bool = True
    """Whether an event is added where the edit itself tells of nothing."""
    version: str = "1"

    @property
    def name(self):
        return self.edit.__name__

    def start(self, context):
        return (Undoing if self.undo else Working)(self, context)


class Working:
    def __init__(self, strategy, context):
        self.strategy, self.context = strategy, context
        self.entries, self.seen, self.state, self.tokens = (), 0, {"keep": strategy.keep}, 0

    def steps(self, history, request):
        entries = self.entries + history.entries(self.seen)
        self.seen = len(history)
        turn = Turn(entries, history, request.index, self.context, self.state, self.tokens)
        self.entries = yield from self.strategy.edit(turn)
        self.seen += self.state.pop("skipped", 0)
        if self.strategy.tells:
            turn.tell(self.entries)
        return View(self.entries, tuple(turn.events))

    def record_usage(self, usage):
        self.tokens = usage.input_tokens

    def recover(self, handle):
        return self.context.store.get(handle)


class Undoing(Working):
    def undo(self):
        return View(self.entries[1:])


def shown_in(entries):
    return {entry.origin.first for entry in entries if entry.origin.kind != "generated"}


def head_and_tail(entries, keep=KEEP):
    """Cut between groups: (instructions and first user message, middle, tail)."""
    cut = safe_cut_before([entry.message for entry in entries], len(entries) - keep)
    return entries[:2], entries[2:cut], entries[cut:]


def edited(entry, **changes):
    return entry.edited(replace(entry.message, **changes), "broken")


def with_text(entry, text, **fields):
    return entry.edited(entry.message.with_text(text), "broken", **fields)


def each(entries, change):
    return tuple(change(entry) for entry in entries)


def written(message, replaces=()):
    return Entry(message, Origin("generated", spans_of(replaces), "broken"))


def nothing():
    yield from ()


def results_of(entries):
    return [at for at, entry in enumerate(entries) if entry.message.is_result]


def clear(entries, positions, text="[cleared]"):
    chosen = set(positions)
    return tuple(
        with_text(entry, text) if at in chosen and len(entry.message.text) > len(text) else entry
        for at, entry in enumerate(entries)
    )


# Free tiers.


def search_five_messages(turn):
    """langchain 34184: the calling message is looked for in the five messages before the cut."""
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    cut = len(turn.entries) - KEEP
    if turn.entries[cut].message.is_result:
        nearest = [at for at in range(cut, cut - 6, -1) if turn.entries[at].message.tool_calls]
        cut = nearest[0] if nearest else cut
    turn.applied(messages_removed=cut - 2)
    return turn.entries[:2] + turn.entries[cut:]


def delete_by_call_order(turn):
    """The n-th call of a message is taken to be answered by the n-th result behind it."""
    yield from nothing()
    entries = list(turn.entries)
    for at, entry in enumerate(turn.entries):
        calls = entry.message.tool_calls
        if turn.is_long and len(calls) == 2 and at + 2 < len(entries):
            entries[at] = edited(entry, tool_calls=calls[1:])
            entries[at + 1] = None
    return tuple(entry for entry in entries if entry is not None)


def keep_one_too_few(turn):
    yield from nothing()
    return clear(turn.entries, results_of(turn.entries)[: -(KEEP - 1)])


def slice_below_zero(turn):
    """With fewer results than it keeps, the end of the slice is counted from behind."""
    yield from nothing()
    found = results_of(turn.entries)
    return clear(turn.entries, found[: len(found) - KEEP - 1])


def placeholder_longer_than_result(turn):
    yield from nothing()
    placeholder = "[This result was cleared to save context; run the tool again.] " * 2
    return tuple(
        with_text(entry, placeholder)
        if entry.message.is_result and at < len(turn.entries) - KEEP
        else entry
        for at, entry in enumerate(turn.entries)
    )


def count_in_the_first_message(turn):
    yield from nothing()
    if not turn.entries:
        return ()
    first = turn.entries[0]
    return (with_text(first, f"{first.message.text[:-4]}{turn.number:04}"), *turn.entries[1:])


def copy_of_the_last_group(turn):
    """opencode 40235: what is put back after a pass still stands further down."""
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    called = [at for at, e in enumerate(tail[:-1]) if len(e.message.tool_calls) == 1]
    copies = [written(entry.message) for at in called[-1:] for entry in tail[at : at + 2]]
    return (*head, written(Message("user", "Earlier:"), middle), *copies, *tail)


def message_kept_twice(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    return (*head, written(Message("user", "[cut]"), middle), *tail, head[-1])


def newest_first(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, _middle, tail = head_and_tail(turn.entries)
    return (head[1], head[0], *tail)


def note_behind_the_call(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    at = next((at for at, entry in enumerate(tail) if entry.message.tool_calls), len(tail))
    note = written(Message("user", "[cut]"), middle)
    return (*head, *tail[: at + 1], note, *tail[at + 1 :])


def drop_open_calls(turn):
    """google/adk-python 4740: a call that waits for its confirmation is gone."""
    yield from nothing()
    pairing = pair([entry.message for entry in turn.entries])
    waiting = {at for at, _ in pairing.open_calls}
    waiting |= {result for at in waiting for result in pairing.results_of.get(at, ())}
    return tuple(entry for at, entry in enumerate(turn.entries) if at not in waiting)


def begin_with_an_answer(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    return (turn.entries[0], *head_and_tail(turn.entries)[2])


def cut_arguments(turn):
    yield from nothing()
    return each(
        turn.entries,
        lambda e: (
            edited(e, tool_calls=tuple(replace(c, arguments=c.arguments[:9]) for c in calls))
            if (calls := e.message.tool_calls) and e not in turn.entries[-KEEP:]
            else e
        ),
    )


def cut_inside_a_character(turn):
    yield from nothing()
    return each(
        turn.entries,
        lambda e: (
            with_text(e, e.message.text.encode()[:100].decode(errors="replace"))
            if len(e.message.text.encode()) > 103
            else e
        ),
    )


def empty_the_thinking(turn):
    """opencode 39291: the text of the reasoning goes, its signature stays."""
    yield from nothing()
    return each(turn.entries, lambda e: edited(e, reasoning=None) if e.message.reasoning else e)


def paraphrase_the_instructions(turn):
    yield from nothing()
    if not turn.entries:
        return ()
    first = turn.entries[0]
    return (with_text(first, first.message.text[:10]), *turn.entries[1:])


def drop_old_user_messages(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    return (turn.entries[0], *(e for e in turn.entries[1:] if e.message.role != "user"))


_NUMBERS = itertools.count()


def random_marker(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    return (*head, written(Message("user", f"[cut {next(_NUMBERS):06}]"), middle), *tail)


def same_as_a_cleared_result(turn):
    """Vibe-Trading 1343: a repeated result points to one that is cleared later."""
    yield from nothing()
    first, last = results_of(turn.entries)[:1], results_of(turn.entries)[-1:]
    if not first or first == last or not turn.is_long:
        return turn.entries
    entries = clear(turn.entries, first)
    to = turn.entries[first[0]].message.tool_call_id
    pointing = with_text(entries[last[0]], f"[Same as the result of {to} above.]")
    return (*entries[: last[0]], pointing, *entries[last[0] + 1 :])


def store_under_a_wrong_name(turn):
    yield from nothing()
    entries = list(turn.entries)
    for at in results_of(entries)[:-KEEP]:
        if entries[at].origin.kind == "whole":
            turn.context.store.put(f"h{at}", entries[at].message.text[:-1])
            entries[at] = with_text(entries[at], f"[h{at}]", handle=f"h{at}")
    return tuple(entries)


def clear_what_is_cleared(turn):
    yield from nothing()
    entries = list(turn.entries)
    for at in results_of(entries)[:-KEEP]:
        if len(entries[at].message.text) > 60:
            entries[at] = with_text(entries[at], entries[at].message.text[20:])
    return tuple(entries)


def trust_every_result(turn):
    """It looks up the call of each result, and takes for granted that there is one."""
    yield from nothing()
    calls = {c.call_id: c for e in turn.entries for c in e.message.tool_calls}
    made = [calls[e.message.tool_call_id] for e in turn.entries if e.message.is_result]
    return turn.entries if len(made) <= len(turn.entries) else ()


def remove_a_little(turn):
    """gajae-code 508: a pass breaks the prefix to reclaim next to nothing."""
    yield from nothing()
    return clear(turn.entries, results_of(turn.entries)[:-KEEP])


def keep_fewer_when_more_are_asked_for(turn):
    yield from nothing()
    keep = min(turn.state["keep"], KEEP) - max(0, turn.state["keep"] - KEEP)
    cut = head_and_tail(turn.entries, keep)
    return turn.entries if not turn.is_long else (*cut[0], *cut[2])


def miss_the_target_silently(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries, 8)
    turn.applied(messages_removed=len(middle))
    return (*head, *tail)


def count_in_two_ways(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    turn.applied(tokens_before=4000, tokens_after=3000, messages_removed=len(middle))
    turn.applied(tokens_before=900, tokens_after=500)
    return (*head, *tail)


def count_a_quarter(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    size = sum(turn.context.counter.count(e.message) for e in (*head, *tail))
    turn.applied(tokens_before=size, tokens_after=size // 4, messages_removed=len(middle))
    return (*head, *tail)


def cut_in_silence(turn):
    """docker-agent 3470: history goes, and what is reported is that nothing was done."""
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, _middle, tail = head_and_tail(turn.entries)
    return (*head, *tail)


def tell_of_less_than_was_done(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    turn.applied(messages_removed=len(middle) - 1)
    return (*head, *tail)


def preview_that_closes_its_block(turn):
    """The first lines of a result stand in a block as they are, closing tags included."""
    yield from nothing()
    return each(
        turn.entries,
        lambda e: (
            with_text(e, f"<stored>{e.message.text[:60]}</stored>")
            if e.message.is_result and len(e.message.text) > 90 and e.origin.kind == "whole"
            else e
        ),
    )


def preview_of_a_page(turn):
    """The same with a tag that a result of this conversation closes itself."""
    yield from nothing()
    return each(
        turn.entries,
        lambda e: (
            with_text(e, f"<page>{e.message.text[:90]}</page>")
            if e.message.is_result and len(e.message.text) > 104 and e.origin.kind == "whole"
            else e
        ),
    )


def undo_a_bit_too_much(turn):
    yield from nothing()
    if not turn.is_long:
        return turn.entries
    head, _middle, tail = head_and_tail(turn.entries)
    return (*head, *tail)


# Compactors that ask a model.


def ask(turn, subject, frame="{text}", **fields):
    text = "\n".join(f"{e.message.role}: {e.message.text}" for e in subject)
    prompt = Message("user", f"Summarize:\n{frame.replace('{text}', text)}")
    read = tuple(entry.message for entry in subject)
    return (yield ModelCall((prompt,), subject=read, max_output_tokens=40, **fields))


def is_good(reply):
    is_whole = reply.finish_reason == "stop" and reply.refusal is None
    return is_whole and bool(reply.text.strip()) and not reply.text.startswith("Error")


def summarize(turn, check=is_good, subject=None, role="user", **fields):
    """The sound form, which each of the others breaks in one place."""
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    try:
        reply = yield from ask(turn, middle if subject is None else subject(middle), **fields)
    except ModelError as error:
        turn.failed(str(error))
        return turn.entries
    if not check(reply):
        turn.failed("no summary")
        return turn.entries
    turn.applied(messages_removed=len(middle))
    return (*head, generated(role, f"Summary: {reply.text}", middle, "broken"), *tail)


def sound(turn):
    return (yield from summarize(turn))


def commit_anything(turn):
    """crush, OpenHands: whatever came back is the summary."""
    return (yield from summarize(turn, check=lambda reply: True))


def commit_before_the_summary(turn):
    """MiMo-Code 2148: the boundary is written first."""
    if not turn.is_long:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    try:
        reply = yield from ask(turn, middle)
    except ModelError:
        turn.failed("unreachable")
        return (*head, *tail)
    if not is_good(reply):
        turn.failed("no summary")
        return turn.entries
    return (*head, generated("user", f"Summary: {reply.text}", middle, "broken"), *tail)


def forget_what_was_kept(turn):
    """pi 2608: the second pass summarizes what is new, and drops what the first one kept."""
    kept = turn.state.get("kept", ())

    def only_new(middle):
        return [entry for entry in middle if entry not in kept]

    view = yield from summarize(turn, subject=only_new)
    if turn.events and turn.events[-1].outcome == "applied":
        turn.state["kept"] = view[3:]
    return view


def compact_above_a_threshold(turn):
    """opencode 27924: the fixed part alone is over the threshold, so every request compacts."""
    if turn.tokens < 2_000:
        return turn.entries
    head, middle, tail = head_and_tail(turn.entries)
    subject = middle or tail[:1]
    reply = None
    try:
        reply = yield from ask(turn, subject)
    except ModelError as error:
        turn.failed(str(error))
    if reply is None or not is_good(reply) or not middle:
        turn.applied()
        return turn.entries
    turn.applied(messages_removed=len(middle))
    return (*head, generated("user", f"Summary: {reply.text}", middle, "broken"), *tail)


def overwrite_what_came_meanwhile(turn):
    """agent-os 1645: what the model took its time for replaces the whole conversation."""
    log = turn.history._log.messages
    before = len(log)
    view = yield from summarize(turn)
    turn.state["skipped"] = len(log) - before
    return view


def offer_tools(turn):
    tool = {"type": "function", "function": {"name": "read", "parameters": {}}}
    return (yield from summarize(turn, tools=(tool,)))


def ask_for_too_much(turn):
    return (yield from summarize(turn))


def prompt_that_can_be_left(turn):
    """opencode 42363: what is to be summarised goes on behind its end, as the next turn."""
    return (yield from summarize(turn, frame="<conversation>\n{text}\n</conversation>"))


def summary_as_instruction(turn):
    return (yield from summarize(turn, role="system"))


# Functions, as other people write them.


def change_in_place(messages):
    for message in messages[:-KEEP]:
        if message["role"] == "tool" and len(message["content"]) > 9:
            message["content"] = "[cleared]"
    return messages


class Case(NamedTuple):
    target: object
    named: set
    promises: Promises | None = None
    profile: object = OPENAI_CHAT


def case(edit, *named, profile=OPENAI_CHAT, undo=False, tells=True, **promised):
    strategy = Broken(edit, Promises(**promised), undo=undo, tells=tells)
    return Case(strategy, set(named), None, profile)


BROKEN = [
    case(search_five_messages, "calls_stay_paired", "batches_stay_whole"),
    case(delete_by_call_order, "calls_stay_paired", "batches_stay_whole"),
    case(keep_one_too_few, "last_results_are_kept", keep_last_results=KEEP),
    case(slice_below_zero, "last_results_are_kept", keep_last_results=KEEP + 1),
    case(placeholder_longer_than_result, "never_grows", "prefix_is_stable"),
    case(count_in_the_first_message, "prefix_is_stable", "passes_come_to_rest"),
    case(copy_of_the_last_group, "ids_stay_unique"),
    case(message_kept_twice, "nothing_stands_twice"),
    case(newest_first, "order_is_kept"),
    case(note_behind_the_call, "results_stay_adjacent"),
    case(drop_open_calls, "open_calls_survive", keeps_open_calls=True),
    case(begin_with_an_answer, "roles_stay_legal", profile=GEMINI),
    case(cut_arguments, "content_stays_legal"),
    case(cut_inside_a_character, "content_stays_legal"),
    case(empty_the_thinking, "reasoning_stays_intact"),
    case(paraphrase_the_instructions, "system_is_kept", keeps_system=True),
    case(drop_old_user_messages, "last_user_is_kept", keeps_last_user=True),
    case(random_marker, "is_deterministic"),
    case(same_as_a_cleared_result, "pointers_resolve"),
    case(store_under_a_wrong_name, "handles_resolve", recoverable=True),
    case(clear_what_is_cleared, "a_second_pass_changes_nothing"),
    case(trust_every_result, "every_input_is_answered"),
    case(remove_a_little, "prefix_is_stable", min_reclaim_tokens=2_000),
    Case(
        Broken(
            keep_fewer_when_more_are_asked_for, Promises(monotone_parameters=("keep",)), keep=KEEP
        ),
        {"parameters_are_monotone"},
    ),
    case(miss_the_target_silently, "target_is_met_or_missed_aloud", target_tokens=500),
    case(count_in_two_ways, "counts_share_one_basis"),
    case(count_a_quarter, "counts_are_faithful", counts_within_fraction=0.1),
    case(undo_a_bit_too_much, "undo_restores", undoable=True, undo=True),
    case(sound, accounts_for_all=True, keeps_system=True, keeps_open_calls=True),
    case(commit_anything, "bad_summaries_are_refused"),
    case(commit_before_the_summary, "failures_commit_nothing"),
    case(preview_that_closes_its_block, "closing_tags_cannot_be_forged"),
    case(preview_of_a_page, "quotations_stay_closed"),
    case(prompt_that_can_be_left, "closing_tags_cannot_be_forged"),
    case(cut_in_silence, "changes_are_told", tells=False),
    case(tell_of_less_than_was_done, "changes_are_told"),
    case(forget_what_was_kept, "nothing_is_lost_unseen", accounts_for_all=True),
    case(compact_above_a_threshold, "passes_come_to_rest"),
    case(overwrite_what_came_meanwhile, "later_messages_survive"),
    case(offer_tools, "summariser_is_isolated"),
    case(ask_for_too_much, "summary_requests_fit", max_model_input_chars=300),
    case(summary_as_instruction, "roles_are_never_raised"),
    Case(change_in_place, {"input_is_not_changed"}),
]


def call(number, name="read"):
    return ToolCall(f"call_{number:03}", name, f'{{"path": "src/file_{number}.py"}}')


def result(number, text=None):
    content = f"{number}: " + "line " * (number % 7 + 16) if text is None else text
    return Message("tool", content, tool_call_id=f"call_{number:03}")


def ask_for(*numbers, **fields):
    return Message("assistant", None, tool_calls=tuple(map(call, numbers)), **fields)


SIGNED = {"extra": '{"thinking_blocks":[{"signature":"c2lnbmVk","type":"thinking"}]}'}

CONVERSATION = (
    Message("system", "You are a careful engineer. Never push to main. 0000"),
    Message("user", "Find out why the nightly job fails, and mend it."),
    ask_for(1),
    result(1),
    ask_for(2, reasoning="First the log, then the code.", **SIGNED),
    result(2),
    Message("assistant", "The log says that the quota is used up."),
    Message("user", "Then look at how the quota is computed. 配额是怎么计算的？"),
    ask_for(3, 4),
    result(4),
    result(3),
    ask_for(5),
    result(5, "5: </page> is how it ends. " + "结果" * 60),
    ask_for(6),
    result(6),
    ask_for(7, 8),
    result(8),
    result(7),
    ask_for(*range(10, 19)),
    *(result(number) for number in range(10, 19)),
    ask_for(20),
    result(20, "ok"),
    ask_for(21),
    result(21),
    ask_for(22),
    result(22),
    ask_for(23, 24),
    result(24),
    result(23),
    *(item for number in range(30, 44) for item in (ask_for(number), result(number))),
    ask_for(50, 51),
    result(51),
)
"""Ends with a call that is still open."""
