"""The free layers of my_pi_agent over a growing history, with or without a summary in front.

Each call costs what is new and what is sent; nothing here asks a model.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from compaction.control import Stage
from compaction.history import Entries, Entry, History, Origin, View
from compaction.late_results import left_out
from compaction.messages import INSTRUCTION_ROLES, Message
from compaction.pairing import Pairing
from compaction.session_entries import SUMMARY_PREFIX, record_of
from compaction.strategy import CompactionEvent, Context
from compaction.systems.my_pi_agent_laid import Laid, LeftOut, Without
from compaction.tiers.growing import Change, Pass, Untouched
from compaction.tiers.snip_middle import SnipMiddle
from compaction.tiers.summarize import Summarize
from compaction.tokens import CharCounter, total_of

if TYPE_CHECKING:
    from compaction.systems.my_pi_agent_strategy import MyPiAgent


_TEXT: Final = CharCounter()
_JSON: Final = json.JSONEncoder(ensure_ascii=False)
_SMALL_SNIP: Final = 8
"""With so few messages to snip, whether the marker pays is judged on what L1 itself sees."""
_FEW: Final = 3
"""So many messages may be all but empty: whether a snip is worth its marker is looked at."""


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
            counted = len(_JSON.encode(record_of(message))) + len(", ")
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


Events = tuple[CompactionEvent, ...]
Pieces = tuple[Sequence[Entry], ...]


class _Cut(NamedTuple):
    entries: Entries
    snipped: Without


class FreeLayers:
    """L3 over the whole history, L1 and L2 over what is sent.

    L1 and L2 follow what comes out of L3. Only what is sent is ever put together: neither the
    history nor what L3 and L2 make of it is copied. Views may be laid that are not sent.
    """

    def __init__(self, settings: "MyPiAgent", context: Context) -> None:
        self._settings = settings
        self._context = context
        self._history = History()
        tier = settings.offload_tier()
        self._offload: Pass = tier.resume(context) if tier else Untouched()
        self._offload_events: Events = ()
        self._micro = settings.micro_tier().resume(context)
        self._micro_place = _Place()
        self._window_micro = Stage(settings.micro_tier())
        self._snip_tier = settings.snip_tier()
        self._snip = self._snip_tier.resume(context)
        self._snip_place = _Place()
        self._summary: tuple[SummaryCache, Entry] | None = None
        self._late = _LateResults()
        self._sent = Laid(View(()), LeftOut())

    def offloaded(self, history: History) -> Sequence[Entry]:
        """Return every message of the history, the large results persisted (L3).

        Valid until the next call.
        """
        known = history.unchanged_since(self._history)
        self._history = history
        self._late.follow(history, known)
        followed = self._offload.follow(Change(known, history.entries(known)))
        self._offload_events = followed.events
        self._micro_place.lose(followed.same)
        self._snip_place.lose(followed.same)
        return self._offload.output

    def lay(self, history: History, cache: SummaryCache | None) -> Laid:
        """Return the view before a summary: L1, then L2; or after one: L2 on the rest, then L1."""
        offloaded = self._offload.output
        system = leading_instructions(offloaded)
        last_user = history.last_user_position() if self._settings.keep_last_user else None
        if cache is None:
            return self._without_summary(system, last_user)
        hoisted = last_user if last_user is not None and last_user < cache.covered else None
        behind = () if hoisted is None else (offloaded[hoisted],)
        front = (*offloaded[:system], self._summary_entry(cache, system), *behind)
        self._snip_from(front, cache.covered, keep_head=len(front))
        raw = 0 if self._settings.retained_tail == "treated" else cache.tail_length
        tail = history.prefix(min(len(history), cache.covered + raw)).entries(cache.covered)
        self._micro_from(cache.covered + len(tail))
        pieces = front, tail, self._micro.output
        last_user = last_user if hoisted is None else None
        entries, snipped = self._cut(pieces, last_user, offset=cache.covered - len(front))
        view = self._late.left_out(View(entries, self._offload_events), cache.covered)
        covered = Without(min(system, cache.covered), cache.covered, hoisted)
        return Laid(view, LeftOut(covered, snipped))

    def sent(self, laid: Laid, *, told: int | None = None) -> View:
        """Return the view, which is sent now, with events of all that is other than before.

        `told` is how many messages a summary tells of that was made for this view.
        """
        before, self._sent = self._sent, laid
        return laid.told_since(before, told=told)

    def take_summary_as_told(self, laid: Laid) -> None:
        """Tell of no message that the summary in `laid` stands for."""
        left_out = self._sent.left_out._replace(covered=laid.left_out.covered)
        self._sent = self._sent._replace(left_out=left_out)

    def _without_summary(self, system: int, last_user: int | None) -> Laid:
        """Apply L1, then L2.

        Where the tail of L1 holds all results that L2 spares, the two may change places. L2 then
        works on the growing history and not on a window that moves at each request, which costs a
        tenth.
        """
        self._snip_from((), 0, keep_head=system)
        if len(self._offload.output) > self._settings.max_messages + _SMALL_SNIP:
            self._micro_from(0)
            entries, snipped = self._cut((self._micro.output,), last_user)
            if self._spared_in_tail(entries):
                return Laid(View(entries, self._offload_events), LeftOut(snipped=snipped))
        entries, snipped = self._cut((self._offload.output,), last_user)
        cleared = self._window_micro.run(View(entries), self._context).entries
        return Laid(View(cleared, self._offload_events), LeftOut(snipped=snipped))

    def _spared_in_tail(self, snipped: Entries) -> bool:
        needed = self._settings.micro_keep_recent
        for entry in reversed(snipped):
            if needed <= 0:
                return True
            if entry.origin.by == SnipMiddle.name:
                return False
            needed -= entry.message.is_result
        return True

    def _micro_from(self, start: int) -> None:
        """Apply L2 to what L3 left from `start` on."""
        self._micro.follow(self._micro_place.change(self._offload.output, start))

    def _summary_entry(self, cache: SummaryCache, system: int) -> Entry:
        if self._summary is None or self._summary[0] is not cache:
            self._summary = (cache, cache.entry(system))
        return self._summary[1]

    def _snip_from(self, front: Entries, start: int, *, keep_head: int) -> None:
        """Let L1 choose what to cut from `front` and what L3 left from `start` on.

        L2 changes neither order nor pairs, so that the choice holds for what L2 leaves as well.
        What stands in front of the conversation proper is never snipped.
        """
        keep_head = max(self._settings.keep_head, keep_head)
        if keep_head != self._snip_tier.keep_head:
            longest = max(self._settings.max_messages, keep_head + 2)
            self._snip_tier = SnipMiddle(max_messages=longest, keep_head=keep_head)
            self._snip = self._snip_tier.resume(self._context)
            self._snip_place = _Place()
        self._snip.follow(self._snip_place.change(self._offload.output, start, front))

    def _cut(self, pieces: Pieces, last_user: int | None, *, offset: int = 0) -> _Cut:
        """Return the pieces without what L1 cuts, but with the user message at `last_user`.

        Args:
            pieces: Follow one another.
            last_user: Index in the history.
            offset: Of the index in the history from the position in the pieces.
        """
        length = sum(map(len, pieces))
        if self._snip.cut is None:
            return _Cut(part(pieces, 0, length), Without())
        head, tail = self._snip.cut
        if last_user is not None and not head <= last_user - offset < tail:
            last_user = None
        at = head if last_user is None else last_user - offset
        kept = part(pieces, at, at + (last_user is not None))
        marker = self._snip.marker()
        if tail - head - len(kept) <= _FEW:
            lost = (one.message for one in part(pieces, head, tail) if one not in kept)
            if total_of(_TEXT, lost) < _TEXT.count(marker.message):
                return _Cut(part(pieces, 0, length), Without())
        entries = (*part(pieces, 0, head), marker, *kept, *part(pieces, tail, length))
        return _Cut(entries, Without(head + offset, tail + offset, last_user))


class _LateResults:
    """Results of a growing history whose call is on the other side of a cut."""

    def __init__(self) -> None:
        self._pairing = Pairing()
        self._told: set[int] = set()

    def follow(self, history: History, known: int) -> None:
        """Take in the history, of which `known` leading messages are as they were."""
        if known < len(self._pairing):
            self._pairing = Pairing()
        for message in history.messages(len(self._pairing)):
            self._pairing.append(message)

    def left_out(self, view: View, covered: int) -> View:
        """Return the view without results of calls before `covered`; each is told of once."""
        late = [entry for entry in view.entries if self._is_late(entry, covered)]
        if not late:
            return view
        events = left_out(entry.message for entry in late if entry.origin.first not in self._told)
        self._told |= {entry.origin.first for entry in late}
        kept = tuple(entry for entry in view.entries if not self._is_late(entry, covered))
        return View(kept, view.events + events)

    def _is_late(self, entry: Entry, covered: int) -> bool:
        if not entry.message.is_result:
            return False
        caller, _ = self._pairing.call_of.get(entry.origin.first, (covered, None))
        return caller < covered


class _Place:
    """How far a pass has followed a list of entries that changes near its end."""

    def __init__(self) -> None:
        self._front: Entries = ()
        self._start = 0
        self._known = 0

    def lose(self, same: int) -> None:
        """Note that only `same` leading entries of the list are as they were."""
        self._known = min(self._known, same)

    def change(self, entries: Sequence[Entry], start: int, front: Entries = ()) -> Change:
        """Return what a pass over `front` and `entries[start:]` has not seen yet."""
        if (start, front) == (self._start, self._front) and start <= self._known:
            change = Change(len(front) + self._known - start, tuple(entries[self._known :]))
        else:
            change = Change(0, (*front, *entries[start:]))
        self._front, self._start, self._known = front, start, len(entries)
        return change


def part(pieces: Pieces, start: int, stop: int) -> Entries:
    """Return a range of the joined pieces."""
    found: list[Entry] = []
    for piece in pieces:
        found += piece[max(0, start) : max(0, stop)]
        start, stop = start - len(piece), stop - len(piece)
    return tuple(found)


def leading_instructions(entries: Sequence[Entry]) -> int:
    """Return how many system and developer messages stand at the front."""
    for index, entry in enumerate(entries):
        if entry.message.role not in INSTRUCTION_ROLES:
            return index
    return len(entries)
