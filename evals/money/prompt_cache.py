"""What a provider's cache holds of the requests of one conversation, and what each request reads.

A message that changed anywhere is not matched at all, although a provider that matches tokens would
still read its beginning. Work per request is near-constant in what changed since the last one.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

from compaction.history import Entry
from compaction.messages import Message
from evals.money.caching import CachingRule
from evals.money.prompt_places import common_messages, instructions_end, is_ending, positions_after
from evals.money.splits import Scale, Split, cached_length, split_of

MAX_EARLIER_LINES: Final = 4
"""So many views that were left for another are remembered, in case a strategy goes back to one."""


class Sent(NamedTuple):
    """What became of one request."""

    split: Split
    kept: int
    """Leading messages equal to those of the request before."""
    could_read: float
    """Tokens of the request before that the cache still held: read, had all of it been kept."""


class Limit(NamedTuple):
    """What a record tells of the cache at one request."""

    tokens: float = inf
    """That it held at most."""
    is_outlived: bool = False
    """Whether it still held the request before, beyond its lifetime or a restart."""


class _Mark(NamedTuple):
    """A place in a prompt, in front of the message at `position`."""

    position: int
    counted_tokens: float
    """Of the messages before it."""
    is_stored: bool
    """Whether the cache has an entry that ends here."""


_position: Final = attrgetter("position")


@dataclass(slots=True, eq=False)
class _Line:
    """Requests that each begin with the one before."""

    entries: Sequence[Entry] = ()
    marks: list[_Mark] = field(default_factory=lambda: [_Mark(0, 0.0, is_stored=False)])
    """Ascending; the first is at 0."""
    answer: Message | None = None
    base_tokens: float = 0.0
    """Of what stood before the messages."""
    last_used: float | None = None
    is_sent: bool = False
    """A view without messages is a request too, where a log lacks what stood in it."""
    shared: int = 0
    """Leading messages that it has in common with the open line."""
    own_from: int = 0
    """Marks before this position are those of the line that it left."""


class PromptCache:
    """One conversation at one provider."""

    def __init__(self, rule: CachingRule, count: Callable[[Message], float]) -> None:
        self._rule = rule
        self._count = count
        self._open = _Line()
        self._earlier: deque[_Line] = deque(maxlen=MAX_EARLIER_LINES)
        self._is_outlived = False
        """Of the open line, at the request that is taken in."""

    def send(
        self,
        entries: Sequence[Entry],
        tokens: float,
        scale: Scale,
        *,
        unchanged: int = 0,
        time: float | None = None,
        asked: float | None = None,
        limit: Limit | None = None,
        unreadable_from: int | None = None,
        answer: Message | None = None,
    ) -> Sent:
        """Take in a request and say how its input is billed.

        Args:
            entries: The view.
            tokens: Its size, with all that stands before it.
            scale: How parts of the view are measured.
            unchanged: Leading entries known to be equal to those of the request before.
            time: Unix seconds; without it nothing expires.
            asked: When it was sent, if `time` is when it was answered.
            limit: What a record tells of the cache. It is of the requests that the log holds, so
                it says nothing of a view that was left for another.
            unreadable_from: Index in the history of the first message that cannot be read, though
                an earlier request left it in the cache; instructions always can.
            answer: What the model answered, which some providers cache too.
        """
        last = self._open
        kept = common_messages(last.entries, entries, unchanged)
        held, self._is_outlived = limit or Limit()
        asked_at = time if asked is None else asked
        could_read = 0.0
        if unreadable_from is not None and not self._is_outlived:
            self._forget(unreadable_from)
        if self._is_alive(last, asked_at):
            could_read = self._cached(last, last.marks[-1], scale)
        line, common = self._nearest_line(entries, kept, asked_at)
        common = min(common, line.marks[-1].position)
        is_alive = self._is_alive(line, asked_at)
        marks = self._marks_up_to(common, line, entries, is_alive=is_alive)
        if kept < len(last.entries) or line is not last:
            last.shared = kept
            self._take_over(marks, line, asked_at)
        hit = self._readable(marks, entries) if is_alive else None
        read = self._cached(line, hit, scale) if hit else 0.0
        if self._rule.reads == "units" and common < min(len(line.entries), len(entries)):
            # What two requests had in common becomes an entry of its own.
            marks[-1] = marks[-1]._replace(is_stored=True)
        self._store(marks, entries, tokens, scale)
        if time is None:
            time = line.last_used
        base = scale.base_tokens
        sent = _Line(entries, marks, answer, base, time, is_sent=True, own_from=common)
        self._replace(line, kept, sent)
        split = split_of(self._rule, tokens, min(read, held, tokens))
        return Sent(split, kept, min(could_read, held))

    def _cached(self, line: _Line, mark: _Mark, scale: Scale) -> float:
        """Return how much can be read of a line's requests up to a mark.

        What stands before the messages can be longer now than it was: read is what was there.
        """
        base = min(line.base_tokens, scale.base_tokens)
        return cached_length(self._rule, scale._replace(base_tokens=base).size(mark.counted_tokens))

    def _forget(self, first: int) -> None:
        """Forget what is cached from a message of the history on."""
        line = self._open
        self._earlier.clear()
        start, end = instructions_end(line.entries), len(line.entries)
        while end > start and line.entries[end - 1].origin.first >= first:
            end -= 1
        line.marks = line.marks[: bisect_right(line.marks, end, key=_position)]

    def _is_alive(self, line: _Line, time: float | None) -> bool:
        if not line.is_sent:
            return False
        if time is None or line.last_used is None:
            return True
        if line is self._open and self._is_outlived:
            return True
        return time - line.last_used <= self._rule.ttl_seconds

    def _nearest_line(
        self, entries: Sequence[Entry], kept: int, time: float | None
    ) -> tuple[_Line, int]:
        """Return the living line with the longest common beginning, and how many messages that is.

        An earlier line was left at a message; only if this view leaves the open line right there
        can it have more in common with the earlier one.
        """
        nearest, common = self._open, kept
        for line in self._earlier:
            if line.shared != kept:
                line.shared = min(line.shared, kept)
                continue
            line.shared = common_messages(line.entries, entries, kept)
            if line.shared > common and self._is_alive(line, time):
                nearest, common = line, line.shared
        return nearest, common

    def _replace(self, line: _Line, kept: int, new: _Line) -> None:
        """Open a line; the one that was open is remembered if it was left."""
        if kept < len(self._open.entries):
            self._earlier.append(self._open)
        elif line is self._open:
            new.own_from = line.own_from
        if line.shared == len(line.entries) and line in self._earlier:
            self._earlier.remove(line)
        self._open = new

    def _marks_up_to(
        self, common: int, line: _Line, entries: Sequence[Entry], *, is_alive: bool
    ) -> list[_Mark]:
        """Return the marks of the common beginning, with one at its end."""
        marks = line.marks
        if marks[-1].position > common:
            marks = marks[: bisect_right(marks, common, key=_position)]
        if not is_alive:
            marks = [mark._replace(is_stored=False) for mark in marks]
        self._extend(marks, entries, common, is_stored=False)
        is_answer = (
            self._rule.reads == "units"
            and common == len(line.entries) < len(entries)
            and entries[common].message == line.answer
        )
        if is_answer:
            self._extend(marks, entries, common + 1, is_stored=True)
        return marks

    def _take_over(self, marks: list[_Mark], line: _Line, time: float | None) -> None:
        """Add what other living lines have stored of the beginning that the view shares with them.

        What they have from before they left another line, that one has too.
        """
        for other in (self._open, *self._earlier):
            if other is line or not self._is_alive(other, time):
                continue
            for mark in reversed(other.marks):
                if mark.position < other.own_from:
                    break
                if mark.position > other.shared or not mark.is_stored:
                    continue
                at = bisect_left(marks, mark.position, key=_position)
                is_known = at < len(marks) and marks[at].position == mark.position
                marks[at : at + is_known] = [mark]

    def _extend(
        self, marks: list[_Mark], entries: Sequence[Entry], position: int, *, is_stored: bool
    ) -> None:
        last = marks[-1]
        if last.position < position:
            added = sum(self._count(entry.message) for entry in entries[last.position : position])
            marks.append(_Mark(position, last.counted_tokens + added, is_stored))

    def _readable(self, marks: list[_Mark], entries: Sequence[Entry]) -> _Mark | None:
        """Return where the longest prefix ends that the cache gives back; `marks` ends there."""
        reads = self._rule.reads
        if reads == "prefix":
            return marks[-1]
        if reads == "endings":
            return self._last_ending(marks, entries)
        stored = next((mark for mark in reversed(marks) if mark.is_stored), None)
        if stored is None or reads != "breakpoints" or self._is_near(stored.position, entries):
            return stored
        # The breakpoint behind the instructions looks for an entry of its own.
        instructions = instructions_end(entries)
        own = next((mark for mark in marks if mark.position == instructions), None)
        return own if own and own.is_stored else None

    def _is_near(self, position: int, entries: Sequence[Entry]) -> bool:
        """Whether the search back from the end of the request comes as far as `position`."""
        lookback = self._rule.lookback
        return lookback is None or positions_after(position, entries, lookback) < lookback

    def _last_ending(self, marks: list[_Mark], entries: Sequence[Entry]) -> _Mark | None:
        """Return the latest ending of a message group within the common beginning."""
        common = marks[-1].position
        left = self._rule.lookback
        for position in range(len(entries), 0, -1):
            if left == 0:
                break
            if not is_ending(entries, position):
                continue
            if position <= common:
                return self._mark_at(position, marks, entries)
            left = left - 1 if left is not None else None
        instructions = instructions_end(entries)
        return self._mark_at(instructions, marks, entries) if instructions <= common else None

    def _mark_at(self, position: int, marks: list[_Mark], entries: Sequence[Entry]) -> _Mark:
        before = marks[bisect_right(marks, position, key=_position) - 1]
        nearer = [before]
        self._extend(nearer, entries, position, is_stored=False)
        return nearer[-1]

    def _store(
        self, marks: list[_Mark], entries: Sequence[Entry], tokens: float, scale: Scale
    ) -> None:
        """Note what this request leaves in the cache: marks up to its end."""
        size, instructions = len(entries), instructions_end(entries)
        self._extend(marks, entries, instructions, is_stored=False)
        if marks[-1].position < size:
            marks.append(_Mark(size, scale.counted(tokens), is_stored=False))
        if self._rule.reads == "breakpoints":
            # Instructions stand in front: their mark is among the first.
            at = next(at for at, mark in enumerate(marks) if mark.position == instructions)
            marks[at] = marks[at]._replace(is_stored=True)
        if self._rule.reads in ("breakpoints", "units"):
            marks[-1] = marks[-1]._replace(is_stored=True)
