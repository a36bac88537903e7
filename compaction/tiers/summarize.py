"""Replaces the older part of a conversation by a summary that a model writes. One model call.

Where to cut is `split_for_summary`, what is asked is a `SummaryPrompt`, what is refused is a
`Guard`; this file only puts them together. Nothing is committed unless everything went well.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal

from compaction.errors import ModelError
from compaction.guard import Guard
from compaction.history import Entries, Entry, Measure, Origin, View, spans_of
from compaction.llm import ModelCall, ModelReply, Steps
from compaction.messages import Message, Role
from compaction.prompts import PlainPrompt, SummaryPrompt, fitting_call
from compaction.quoting import quote, unquote
from compaction.strategy import CallRecord, CompactionEvent, Context
from compaction.tiers.split import Cut, Place, Split, fitting_tail, last_turns, split_for_summary
from compaction.tokens import CharCounter, total_of

SUMMARY_TEMPLATE: Final = (
    "The conversation up to here was summarized:\n\n{summary}\n\n(End of the summary.)"
)


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
        if self._is_hopeless(parts.subject, context.counter):
            return view.with_events(self._skipped("no summary is smaller than what it replaces"))
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
        text = self.template.replace("{summary}", quote(summary, self.template))
        return Entry(Message(role, text), Origin("generated", spans_of(replaces), self.name))

    def summary_in(self, entry: Entry) -> str | None:
        """Return the summary that an entry of this tier holds, without the template around it."""
        if entry.origin.kind != "generated" or entry.origin.by != self.name:
            return None
        before, after = self.template.split("{summary}")
        text = entry.message.text
        framed = text.startswith(before) and text.endswith(after)
        return (
            unquote(text[len(before) : len(text) - len(after)], self.template) if framed else text
        )

    def _previous(self, subject: Entries) -> tuple[str | None, Entries]:
        """Take earlier summaries out of what is to be summarized."""
        if self.merge == "reread":
            return None, subject
        summaries = [text for entry in subject if (text := self.summary_in(entry)) is not None]
        rest = tuple(entry for entry in subject if self.summary_in(entry) is None)
        return ("\n\n".join(summaries) or None), rest

    def _is_hopeless(self, subject: Entries, counter: Measure) -> bool:
        """Whether the frame of a summary alone is refused as too large: that costs no call."""
        frame = self.summary_entry("", subject).message
        replaced = tuple(entry.message for entry in subject)
        return self.guard.check_size(frame, replaced, counter) is not None

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
