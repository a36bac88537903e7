"""Replaces the older part of a conversation by a summary that a model writes. One model call.

Where to cut is `split_for_summary`, what is asked is a `SummaryPrompt`, what is refused is a
`Guard`; this file only puts them together. Nothing is committed unless everything went well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, NamedTuple

from compaction.clipping import clip_head
from compaction.errors import ModelError
from compaction.guard import Guard
from compaction.history import Entries, Entry, Measure, Origin, View, spans_of
from compaction.llm import ModelCall, ModelReply, Steps
from compaction.messages import INSTRUCTION_ROLES, Message, Messages, Role
from compaction.pairing import pair, safe_cut_after, safe_cut_before
from compaction.prompts import PlainPrompt, SummaryPrompt
from compaction.strategy import CallRecord, CompactionEvent, Context
from compaction.tiers.growing import MessagesOf
from compaction.tokens import CharCounter, total_of

Cut = Literal["group", "user"]
Place = Literal["after_head", "system", "only"]
"""`after_head` puts a message between head and tail; `system` replaces the body of the first
system message (or inserts one); `only` drops the head as well."""

CLIPPED_NOTE: Final = "\n[the rest is left out: it did not fit]"
SUMMARY_TEMPLATE: Final = (
    "The conversation up to here was summarized:\n\n{summary}\n\n(End of the summary.)"
)


class Split(NamedTuple):
    """A view in three parts; what is replaced by the summary is `subject`."""

    head: Entries
    subject: Entries
    tail: Entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize:
    """Replace everything between head and tail by one summary.

    The head is the instruction messages at the front and `keep_head` messages more; the tail is
    what one of the `keep_tail_*` parameters says (none set: nothing). Both borders move to whole
    groups. Promise: a failed, refused or grown summary returns the view unchanged with a `failed`
    event, nothing to condense returns it with a `skipped` event.
    """

    name: ClassVar[str] = "Summarize"

    keep_head: int = 0
    keep_tail_messages: int | None = None
    keep_tail_chars: int | None = None
    keep_tail_tokens: int | None = None
    keep_tail_turns: int | None = None
    cut: Cut = "group"
    """`user`: the tail begins with a user message if one is found, else with a whole group."""
    hoist_last_user: bool = False
    """Keep the last user message even if it is far back: it becomes the first of the tail."""
    place: Place = "after_head"
    role: Role = "user"
    """Of the summary; ignored by `place="system"`."""
    template: str = SUMMARY_TEMPLATE
    merge: Literal["update", "reread"] = "update"
    """`update` hands an earlier summary over as such, `reread` as one message among others."""
    prompt: SummaryPrompt = field(default_factory=PlainPrompt)
    max_summary_tokens: int | None = 1_024
    max_input_chars: int | None = None
    """Characters of the whole request; the oldest messages are left out, and the prompt says so."""
    guard: Guard = field(default_factory=Guard)

    def __post_init__(self) -> None:
        tails = ("keep_tail_messages", "keep_tail_chars", "keep_tail_tokens", "keep_tail_turns")
        if len([tail for tail in tails if getattr(self, tail) is not None]) > 1:
            raise ValueError(f"at most one of {', '.join(tails)} may be set")
        for parameter in ("keep_head", *tails):
            value = getattr(self, parameter)
            if value is not None and value < 0:
                raise ValueError(f"{parameter} must be >= 0, got {value}")
        for parameter in ("max_summary_tokens", "max_input_chars"):
            value = getattr(self, parameter)
            if value is not None and value < 1:
                raise ValueError(f"{parameter} must be >= 1, got {value}")
        if self.template.count("{summary}") != 1:
            raise ValueError(f"template must hold {{summary}} once, got {self.template!r}")

    def split(self, view: View, counter: Measure) -> Split | None:
        """Return what would be kept and what summarized, or None if there is nothing."""
        keep = self.keep_tail_messages
        if self.keep_tail_chars is not None:
            keep = fitting_tail(view.entries, self.keep_tail_chars, CharCounter())
        elif self.keep_tail_tokens is not None:
            keep = fitting_tail(view.entries, self.keep_tail_tokens, counter)
        elif self.keep_tail_turns is not None:
            keep = last_turns(view.entries, self.keep_tail_turns)
        return split_for_summary(
            view,
            keep_head=self.keep_head,
            keep_tail=keep or 0,
            cut=self.cut,
            hoist_last_user=self.hoist_last_user,
            place=self.place,
        )

    def steps(
        self,
        view: View,
        context: Context,
        *,
        split: Split | None = None,
        previous_summary: str | None = None,
        focus: str | None = None,
    ) -> Steps[View]:
        """Make the summary and return the view with it.

        Args:
            view: What to condense.
            context: Gives the counter that sizes are compared by.
            split: Where to cut instead of where the parameters say.
            previous_summary: Instead of the one found in the view.
            focus: What the summary should give most room to.
        """
        parts = split or self.split(view, context.counter)
        if parts is None or not parts.subject:
            return view.with_events(self._skipped("nothing to condense"))
        found, rest = self._previous(parts.subject)
        previous = found if previous_summary is None else previous_summary
        if not rest:
            return view.with_events(self._skipped("nothing new to condense"))
        call = fitting_call(
            lambda subject, left_out: self.prompt.build(
                subject, previous_summary=previous, focus=focus, left_out=left_out
            ),
            tuple(entry.message for entry in rest),
            self.max_input_chars,
        )
        if call is None:
            reason = f"the request does not fit into {self.max_input_chars} characters"
            return view.with_events(self._failed(reason))
        call = replace(call, max_output_tokens=self.max_summary_tokens)
        try:
            reply = yield call
        except ModelError as error:
            return view.with_events(self._failed(str(error)))
        return self._commit(view, parts, call, reply, context.counter)

    def summary_entry(self, summary: str, replaces: Entries) -> Entry:
        """Return the entry that stands for `replaces`."""
        role: Role = "system" if self.place == "system" else self.role
        text = self.template.replace("{summary}", summary)
        return Entry(Message(role, text), Origin("generated", spans_of(replaces), self.name))

    def summary_in(self, entry: Entry) -> str | None:
        """Return the summary that an entry of this tier holds, without the template around it."""
        if entry.origin.kind != "generated" or entry.origin.by != self.name:
            return None
        before, after = self.template.split("{summary}")
        text = entry.message.text
        framed = text.startswith(before) and text.endswith(after)
        return text[len(before) : len(text) - len(after)] if framed else text

    def _previous(self, subject: Entries) -> tuple[str | None, Entries]:
        """Take earlier summaries out of what is to be summarized."""
        if self.merge == "reread":
            return None, subject
        summaries = [text for entry in subject if (text := self.summary_in(entry)) is not None]
        rest = tuple(entry for entry in subject if self.summary_in(entry) is None)
        return ("\n\n".join(summaries) or None), rest

    def _commit(
        self, view: View, parts: Split, call: ModelCall, reply: ModelReply, counter: Measure
    ) -> View:
        calls = (CallRecord.of(call, reply),)
        summary = self.prompt.parse(reply.text)
        entry = self.summary_entry(summary, parts.subject)
        replaced = tuple(old.message for old in parts.subject)
        reason = self.guard.check(reply, summary) or self.guard.check_size(
            entry.message, replaced, counter
        )
        if reason is not None:
            return view.with_events(self._failed(reason, *calls))
        front = (entry, *parts.head) if self.place == "system" else (*parts.head, entry)
        entries = (*front, *parts.tail)
        event = CompactionEvent(
            self.name,
            "applied",
            tokens_before=total_of(counter, view.messages),
            tokens_after=total_of(counter, (item.message for item in entries)),
            messages_removed=len(parts.subject),
            model_calls=calls,
        )
        return View(entries, (*view.events, event))

    def _failed(self, reason: str, *calls: CallRecord) -> CompactionEvent:
        return CompactionEvent(self.name, "failed", reason=reason, model_calls=calls)

    def _skipped(self, reason: str) -> CompactionEvent:
        return CompactionEvent(self.name, "skipped", reason=reason)


def split_for_summary(
    view: View,
    *,
    keep_head: int = 0,
    keep_tail: int = 0,
    cut: Cut = "group",
    hoist_last_user: bool = False,
    place: Place = "after_head",
) -> Split | None:
    """Cut a view into what stays, what is summarized, and what stays.

    The tail has at least `keep_tail` messages unless the group it would begin with is all there
    is to summarize. A group whose results are still to come is always in the tail.

    Returns:
        The parts, or None if nothing would be left to summarize. With `place="system"` the
        subject begins with the first system message.
    """
    entries, messages = view.entries, MessagesOf(view.entries)
    instructions = _count_instructions(entries)
    replaced = 1 if place == "system" and instructions else 0
    start = min(len(entries), instructions + keep_head)
    start = 0 if place == "only" else safe_cut_after(messages, start)
    wanted = min(len(entries) - keep_tail, _start_of_pending(messages))
    end = _tail_start(entries, start, wanted, cut)
    subject, tail = entries[start:end], entries[end:]
    if hoist_last_user and not any(_is_user(entry) for entry in tail):
        last = next((at for at in reversed(range(len(subject))) if _is_user(subject[at])), None)
        if last is not None:
            tail = (subject[last], *tail)
            subject = subject[:last] + subject[last + 1 :]
    if not subject:
        return None
    return Split(entries[replaced:start], entries[:replaced] + subject, tail)


def fitting_tail(entries: Entries, budget: int, measure: Measure) -> int:
    """Return how many of the last messages have at most the size `budget` together."""
    size = 0
    for count, entry in enumerate(reversed(entries)):
        size += measure.count(entry.message)
        if size > budget:
            return count
    return len(entries)


def last_turns(entries: Entries, turns: int) -> int:
    """Return how many messages the last turns have; all if there are fewer turns."""
    seen = 0
    for count, entry in enumerate(reversed(entries)):
        if seen == turns:
            return count
        seen += _is_user(entry)
    return len(entries)


def fitting_call(
    build: Callable[[Messages, int], ModelCall], subject: Messages, max_input_chars: int | None
) -> ModelCall | None:
    """Return the call about as many of the last messages as fit, the very last one clipped."""
    call = build(subject, 0)
    if max_input_chars is None or _chars_of(call) <= max_input_chars:
        return call
    fits = None
    low, high = 1, len(subject) - 1
    while low <= high:
        left_out = (low + high) // 2
        call = build(subject[left_out:], left_out)
        if _chars_of(call) <= max_input_chars:
            fits, high = call, left_out - 1
        else:
            low = left_out + 1
    if fits is not None:
        return fits
    return _clipped_call(build, subject, max_input_chars)


def _clipped_call(
    build: Callable[[Messages, int], ModelCall], subject: Messages, max_input_chars: int
) -> ModelCall | None:
    last = subject[-1]
    overhead = _chars_of(build((last.with_text(CLIPPED_NOTE),), len(subject) - 1))
    room = max_input_chars - overhead
    if room < 1:
        return None
    clipped = last.with_text(clip_head(last.text, room) + CLIPPED_NOTE)
    call = build((clipped,), len(subject) - 1)
    return call if _chars_of(call) <= max_input_chars else None


def _chars_of(call: ModelCall) -> int:
    return sum(len(message.text) for message in call.messages)


def _count_instructions(entries: Entries) -> int:
    """Count the instruction messages at the front; a summary of role system is none."""
    own = (e.message.role in INSTRUCTION_ROLES and e.origin.kind != "generated" for e in entries)
    return next((at for at, is_own in enumerate(own) if not is_own), len(entries))


def _start_of_pending(messages: MessagesOf) -> int:
    """Return where the last group begins if results are still to come, else the end."""
    at = len(messages) - 1
    while at >= 0 and messages[at].is_result:
        at -= 1
    return at if at >= 0 and pair(messages[at:]).open_calls else len(messages)


def _tail_start(entries: Entries, start: int, wanted: int, cut: Cut) -> int:
    """Return where the tail begins; `start` if nothing can be summarized."""
    if wanted <= start:
        return start
    messages = MessagesOf(entries)
    if cut == "user":
        for at in range(min(wanted, len(entries) - 1), start, -1):
            if _is_user(entries[at]) and safe_cut_before(messages, at) == at:
                return at
    before = safe_cut_before(messages, wanted)
    if before > start:
        return before
    after = safe_cut_after(messages, wanted)
    return after if after < len(entries) else start


def _is_user(entry: Entry) -> bool:
    return entry.message.role == "user" and entry.origin.kind != "generated"
