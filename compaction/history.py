"""What was said (`History`, append-only) and what would be sent now (`View`), entry by entry.

What an entry is and how entries compare is in `entries`. Deciding what to shrink is not here
(`tiers`), nor is counting (`tokens`).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from compaction.entries import Entries as Entries
from compaction.entries import Entry as Entry
from compaction.entries import Origin as Origin
from compaction.entries import OriginKind as OriginKind
from compaction.entries import Spans as Spans
from compaction.entries import common_prefix as common_prefix
from compaction.entries import equal_prefix as equal_prefix
from compaction.entries import exchanged as exchanged
from compaction.entries import generated as generated
from compaction.entries import is_sorted_by_origin as is_sorted_by_origin
from compaction.entries import merge_spans as merge_spans
from compaction.entries import spans_of as spans_of
from compaction.entries import whole as whole
from compaction.messages import Message, Messages, ToolCall
from compaction.pairing import Pairing

if TYPE_CHECKING:
    from compaction.strategy import CompactionEvent


class Measure(Protocol):
    """A size of one message that adds up: tokens by some counter, or characters."""

    @property
    def name(self) -> str:
        """Identifies the measure; two measures of one name give the same sizes."""
        ...

    def count(self, message: Message) -> int: ...


class _Log:
    """Storage shared by every `History` of one conversation; it only grows."""

    __slots__ = ("entries", "messages", "pairing", "results", "sums", "users")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.entries: list[Entry] = []
        self.results: list[int] = []
        self.users: list[int] = []
        self.sums: dict[str, list[int]] = {}
        self.pairing = Pairing()
        """As far as it was asked for."""

    def append(self, message: Message) -> None:
        index = len(self.messages)
        self.messages.append(message)
        self.entries.append(whole(message, index))
        if message.is_result:
            self.results.append(index)
        elif message.role == "user":
            self.users.append(index)


class History:
    """The first `len(history)` messages of a conversation, with running sums and indices.

    A value: `extended` returns a longer history and leaves this one as it is. Histories of one
    conversation share their storage, so a prefix costs nothing.
    """

    __slots__ = ("_length", "_log")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._log = _Log()
        for message in messages:
            self._log.append(message)
        self._length = len(self._log.messages)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Message:
        if not -self._length <= index < self._length:
            raise IndexError(f"history has {self._length} messages, asked for {index}")
        return self._log.messages[index % self._length]

    def prefix(self, length: int) -> "History":
        """Return the first `length` messages."""
        if not 0 <= length <= self._length:
            raise IndexError(f"history has {self._length} messages, asked for the first {length}")
        return self._sharing(length)

    def extended(self, messages: Iterable[Message]) -> "History":
        """Return this history followed by `messages`."""
        log = self._log
        if len(log.messages) != self._length:
            return History((*self.messages(), *messages))
        for message in messages:
            log.append(message)
        return self._sharing(len(log.messages))

    def messages(self, start: int = 0) -> Messages:
        return tuple(self._log.messages[start : self._length])

    def entries(self, start: int = 0) -> Entries:
        """Return whole entries for the messages from `start` on; the same objects each time."""
        return tuple(self._log.entries[start : self._length])

    def result_positions(self) -> Sequence[int]:
        """Return the indices of the tool results, ascending."""
        return self._log.results[: bisect_left(self._log.results, self._length)]

    def last_user_position(self) -> int | None:
        """Return the index of the latest user message, or None."""
        count = bisect_left(self._log.users, self._length)
        return self._log.users[count - 1] if count else None

    def is_self_contained(self, start: int) -> bool:
        """Whether every result from `start` on answers a call that is from there on too."""
        return self.contained_until(start) == self._length

    def contained_until(self, start: int) -> int:
        """Return the index of the first result from `start` on that answers no call from there on.

        The length if there is none.
        """
        calls, results = self._paired().call_of, self._log.results
        for at in results[bisect_left(results, start) : bisect_left(results, self._length)]:
            if at not in calls or calls[at][0] < start:
                return at
        return self._length

    def call_of(self, index: int) -> ToolCall | None:
        """Return the call that a message answers; None for what is no result, or an orphan."""
        found = self._paired().call_of.get(index)
        return found[1] if found else None

    def _paired(self) -> Pairing:
        log = self._log
        for message in log.messages[len(log.pairing) : self._length]:
            log.pairing.append(message)
        return log.pairing

    def unchanged_since(self, previous: "History") -> int:
        """Return how many leading messages are those of another history.

        Two of one conversation are not compared, since what they share is what was appended.
        """
        if self._log is previous._log:
            return min(len(self), len(previous))
        return equal_prefix(previous.entries(), self.entries())

    def total(self, measure: Measure) -> int:
        """Return the summed size of all messages; each message is measured once per log."""
        sums = self._log.sums.setdefault(measure.name, [0])
        for message in self._log.messages[len(sums) - 1 : self._length]:
            sums.append(sums[-1] + measure.count(message))
        return sums[self._length]

    def _sharing(self, length: int) -> "History":
        history = History.__new__(History)
        history._log, history._length = self._log, length
        return history


@dataclass(frozen=True, slots=True)
class View:
    """What the model would be sent: immutable, with what was done to get there in this call."""

    entries: Entries
    events: "tuple[CompactionEvent, ...]" = field(default=(), compare=False)
    _base: Entries = field(default=(), init=False, compare=False, repr=False)
    """Entries of an earlier view, if this one was made of it."""
    _same: int = field(default=0, init=False, compare=False, repr=False)
    """So many leading entries are those of `_base`."""

    @classmethod
    def of(cls, history: History) -> "View":
        return cls(history.entries())

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def messages(self) -> Messages:
        return tuple(entry.message for entry in self.entries)

    def appended(self, entries: Entries, *events: "CompactionEvent") -> "View":
        """Return this view followed by `entries`."""
        appended = self.entries + entries
        return View.made_of(self.entries, len(self.entries), appended, self.events + events)

    @classmethod
    def made_of(
        cls,
        base: Entries,
        same: int,
        entries: Entries,
        events: "tuple[CompactionEvent, ...]" = (),
    ) -> "View":
        """Return a view whose first `same` entries are those of `base`, and that remembers it."""
        view = cls(entries, events)
        object.__setattr__(view, "_base", base)
        object.__setattr__(view, "_same", same)
        return view

    def same_as(self, before: "View") -> int:
        """Return how many leading entries equal those of another view, origins included.

        Costs what may differ, if this view was made of that one or both of the same.
        """
        known = 0
        if self._base is before.entries:
            known = self._same
        elif self._base is before._base:
            known = min(self._same, before._same)
        return known + equal_prefix(before.entries[known:], self.entries[known:])

    def extends(self, before: Entries) -> bool:
        """Whether this view was made by appending to those very entries."""
        return self._base is before and self._same == len(before)

    def replaced(self, updates: Mapping[int, Entry], *events: "CompactionEvent") -> "View":
        """Return a view with the entries at some positions exchanged."""
        entries = list(self.entries)
        for position, entry in updates.items():
            entries[position] = entry
        return View(tuple(entries), self.events + events)

    def with_events(self, *events: "CompactionEvent") -> "View":
        return self.telling(self.events + events)

    def telling(self, events: "tuple[CompactionEvent, ...]") -> "View":
        """Return the same entries with these events and no others."""
        return View.made_of(self._base, self._same, self.entries, events)

    def unchanged_since(self, previous: "View") -> int:
        """Return the position of the first entry that differs from the previous view.

        Messages decide, not origins: this is the prefix that a provider's cache would still hold.
        """
        return common_prefix(previous.entries, self.entries)
