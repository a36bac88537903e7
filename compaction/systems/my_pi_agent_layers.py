"""The free layers of my_pi_agent over a growing history, with or without a summary in front.

Each call costs a few tuple copies and work on what is new; nothing here asks a model.
"""

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from compaction.control import Stage
from compaction.history import Entries, Entry, History, Origin, View
from compaction.messages import INSTRUCTION_ROLES, Message
from compaction.session_entries import SUMMARY_PREFIX, record_of
from compaction.strategy import Context
from compaction.tiers.snip_middle import SnipMiddle
from compaction.tiers.summarize import Summarize
from compaction.tokens import CharCounter, total_of

if TYPE_CHECKING:
    from compaction.systems.my_pi_agent_strategy import MyPiAgent


_TEXT: Final = CharCounter()
_SMALL_SNIP: Final = 8
"""With so few messages to snip, whether the marker pays is judged on what L1 itself sees."""


class RecordChars:
    """Characters of a message's record in a JSON list, its separator included.

    The list itself has no further ones: `[` and `]` take the place of the first separator.
    """

    name = "my_pi_agent/record_chars"

    def __init__(self) -> None:
        self._counted: dict[Message, int] = {}

    def count(self, message: Message) -> int:
        counted = self._counted.get(message)
        if counted is None:
            counted = len(json.dumps(record_of(message), ensure_ascii=False)) + len(", ")
            self._counted[message] = counted
        return counted


class SummaryCache(NamedTuple):
    """The latest summary and what it stands for."""

    summary: str
    covered: int
    """Index of the first history message that it does not stand for."""
    tail_length: int
    """How many messages from there on were retained when it was made."""

    def entry(self, first: int) -> Entry:
        """Return the summary as the entry in place of history `first` to `covered`."""
        spans = ((first, self.covered),) if first < self.covered else ()
        message = Message("user", SUMMARY_PREFIX + self.summary)
        return Entry(message, Origin("generated", spans, Summarize.name))


class FreeLayers:
    """L3 over the whole history, L1 and L2 over what is sent."""

    def __init__(self, settings: "MyPiAgent", context: Context) -> None:
        self._settings = settings
        self._context = context
        offload = settings.offload_tier()
        self._offload = Stage(offload) if offload else None
        self._micro = Stage(settings.micro_tier())
        self._window_micro = Stage(settings.micro_tier())
        self._snip_tier = settings.snip_tier()
        self._snip = Stage(self._snip_tier)
        self._summary: tuple[SummaryCache, Entry] | None = None

    def offloaded(self, history: History) -> View:
        """Return every message of the history, the large results persisted (L3)."""
        view = View.of(history)
        return self._offload.run(view, self._context) if self._offload else view

    def view(self, history: History, offloaded: View, cache: SummaryCache | None) -> View:
        """Return the view before a summary: L1, then L2; or after one: L2 on the rest, then L1."""
        system = leading_instructions(offloaded.entries)
        last_user = history.last_user_position() if self._settings.keep_last_user else None
        if cache is None:
            return self._without_summary(offloaded, system, last_user)
        rest = self._rest(history, offloaded, cache)
        hoisted: Entries = ()
        if last_user is not None and last_user < cache.covered:
            hoisted = (offloaded.entries[last_user],)
        front = (*offloaded.entries[:system], self._summary_entry(cache, system), *hoisted)
        joined = View(front + rest.entries, offloaded.events + rest.events)
        return self._snipped(joined, len(front), last_user)

    def _without_summary(self, offloaded: View, system: int, last_user: int | None) -> View:
        """Apply L1, then L2.

        Where the tail of L1 holds all results that L2 spares, the two may change places. L2 then
        works on the growing history and not on a window that moves at each request, which costs a
        tenth.
        """
        margin = self._settings.max_messages + _SMALL_SNIP
        if len(offloaded) > margin:
            snipped = self._snipped(self._micro.run(offloaded, self._context), system, last_user)
            if self._spared_in_tail(snipped):
                return snipped
        snipped = self._snipped(offloaded, system, last_user)
        return self._window_micro.run(snipped, self._context)

    def _spared_in_tail(self, snipped: View) -> bool:
        needed = self._settings.micro_keep_recent
        for entry in reversed(snipped.entries):
            if needed <= 0:
                return True
            if entry.origin.by == SnipMiddle.name:
                return False
            needed -= entry.message.is_result
        return True

    def _rest(self, history: History, offloaded: View, cache: SummaryCache) -> View:
        """Return what follows the summary; as printed, L2 and L3 leave the retained tail alone."""
        if self._settings.retained_tail == "treated":
            return self._micro.run(View(offloaded.entries[cache.covered :]), self._context)
        newly = cache.covered + cache.tail_length
        tail = history.entries(cache.covered)[: cache.tail_length]
        treated = self._micro.run(View(offloaded.entries[newly:]), self._context)
        return View(tail + treated.entries, treated.events)

    def _summary_entry(self, cache: SummaryCache, system: int) -> Entry:
        if self._summary is None or self._summary[0] is not cache:
            self._summary = (cache, cache.entry(system))
        return self._summary[1]

    def _snipped(self, view: View, front: int, last_user: int | None) -> View:
        """Apply L1; what stands in front of the conversation proper is never snipped."""
        keep_head = max(self._settings.keep_head, front)
        if keep_head != self._snip_tier.keep_head:
            longest = max(self._settings.max_messages, keep_head + 2)
            self._snip_tier = SnipMiddle(max_messages=longest, keep_head=keep_head)
            self._snip = Stage(self._snip_tier)
        snipped = self._snip.run(view, self._context)
        if snipped is view:
            return view
        if last_user is not None:
            snipped = _with_user(view, snipped, last_user)
        return snipped if _gains(view, snipped) else view


def _gains(view: View, snipped: View) -> bool:
    """Whether a snip is worth its marker: two or three messages may be all but empty."""
    if len(view) - len(snipped) + 1 > 3:
        return True
    kept = set(map(id, snipped.entries))
    lost = (entry.message for entry in view.entries if id(entry) not in kept)
    written = (e.message for e in snipped.entries if e.origin.by == SnipMiddle.name)
    return total_of(_TEXT, lost) >= total_of(_TEXT, written)


def _with_user(view: View, snipped: View, last_user: int) -> View:
    """Put the last user message behind the marker if it was snipped; the view is one longer."""
    whole = ((last_user, last_user + 1),)
    if any(entry.origin.spans == whole for entry in snipped.entries):
        return snipped
    lost = next(entry for entry in reversed(view.entries) if entry.origin.spans == whole)
    after = 1 + next(
        at
        for at, entry in enumerate(snipped.entries)
        if any(start <= last_user < stop for start, stop in entry.origin.spans)
    )
    entries = (*snipped.entries[:after], lost, *snipped.entries[after:])
    return View(entries, snipped.events)


def leading_instructions(entries: Entries) -> int:
    """Return how many system and developer messages stand at the front."""
    for index, entry in enumerate(entries):
        if entry.message.role not in INSTRUCTION_ROLES:
            return index
    return len(entries)
