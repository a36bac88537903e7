"""Drops the oldest messages and leaves nothing in their place. Free, and nothing can be read back.

A prompt cache ends at the first message that goes.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from compaction.history import Entries, View
from compaction.pairing import safe_cut_after, safe_cut_before
from compaction.strategy import CompactionEvent, Context
from compaction.tiers.growing import MessagesOf
from compaction.tiers.split import count_instructions, fitting_tail, start_of_pending


@dataclass(frozen=True, slots=True, kw_only=True)
class DropOldest:
    """Keep the instructions at the front, the first user message and the newest messages.

    Exactly one of the `keep_tail_*` parameters is set. Promise: no group is split, calls that are
    still open stay, and so does the newest group.
    """

    name: ClassVar[str] = "DropOldest"

    keep_tail_messages: int | None = None
    keep_tail_tokens: int | None = None
    """By `context.counter`."""
    keep_tail_fraction: float | None = None
    """Of the messages behind the head, rounded up."""
    keep_first_user: bool = True
    """The head reaches to the first user message, with what stands before it."""
    border: Literal["later", "earlier"] = "later"
    """A border within a group moves behind it (fewer messages are kept) or before it (more)."""

    def __post_init__(self) -> None:
        tails = ("keep_tail_messages", "keep_tail_tokens", "keep_tail_fraction")
        if len([tail for tail in tails if getattr(self, tail) is not None]) != 1:
            raise ValueError(f"exactly one of {', '.join(tails)} must be set")
        for parameter in tails:
            value = getattr(self, parameter)
            if value is not None and value < 0:
                raise ValueError(f"{parameter} must be >= 0, got {value}")
        if self.keep_tail_fraction is not None and self.keep_tail_fraction > 1:
            raise ValueError(f"keep_tail_fraction must be <= 1, got {self.keep_tail_fraction}")

    def apply(self, view: View, context: Context) -> View:
        head = self._head(view.entries)
        tail = self._tail(view.entries, head, context)
        if tail <= head:
            return view
        event = CompactionEvent(self.name, "applied", messages_removed=tail - head)
        return View(view.entries[:head] + view.entries[tail:], (*view.events, event))

    def settled(self, view: View) -> int:
        return 0

    def _head(self, entries: Entries) -> int:
        head = count_instructions(entries)
        if self.keep_first_user:
            rest = range(head, len(entries))
            head = next((at + 1 for at in rest if entries[at].message.role == "user"), head)
        return safe_cut_after(MessagesOf(entries), head)

    def _tail(self, entries: Entries, head: int, context: Context) -> int:
        """Return where the tail begins; at most `head` if nothing goes."""
        behind = len(entries) - head
        if self.keep_tail_messages is not None:
            keep = self.keep_tail_messages
        elif self.keep_tail_tokens is not None:
            keep = fitting_tail(entries[head:], self.keep_tail_tokens, context.counter)
        else:
            keep = behind - int(behind * (1 - (self.keep_tail_fraction or 0.0)))
        messages = MessagesOf(entries)
        if keep >= behind:
            return head
        wanted = min(len(entries) - max(keep, 1), start_of_pending(messages))
        if self.border == "earlier":
            return safe_cut_before(messages, wanted)
        tail = safe_cut_after(messages, wanted) if wanted > head else head
        if tail < len(entries):
            return tail
        return safe_cut_before(messages, len(entries) - 1)
