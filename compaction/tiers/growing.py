"""What tiers need to know of a sequence of entries that grows a little from call to call.

Each entry is looked at once: a `Change` says how many leading entries stay, and only those from
there on are forgotten and learnt again. Whoever knows what was added need not compare or copy.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple, Protocol, overload, runtime_checkable

from compaction.history import Entries, Entry, View, equal_prefix
from compaction.messages import Message
from compaction.pairing import result_key
from compaction.strategy import CompactionEvent, Context


class Change(NamedTuple):
    """How a sequence of entries differs from the one before."""

    same: int
    """So many leading entries stay."""
    added: Entries
    """What follows them now, in place of all that did."""

    @classmethod
    def between(cls, before: Entries, after: Entries, known: int = 0) -> "Change":
        """Compare two sequences, of which `known` leading entries are known to be equal."""
        same = known + equal_prefix(before[known:], after[known:])
        return cls(same, after[same:])


class Followed(NamedTuple):
    """What a pass did."""

    same: int
    """So many leading entries of its output are the same objects as before."""
    events: tuple[CompactionEvent, ...]
    """Only what is new since the change before."""


class Pass(Protocol):
    """A tier at work on one growing sequence of entries."""

    @property
    def output(self) -> Sequence[Entry]:
        """What the tier's `apply` returns for all entries so far; valid until the next change."""
        ...

    def follow(self, change: Change) -> Followed: ...


@runtime_checkable
class Resumable(Protocol):
    """A free tier that can take up where it stopped."""

    def resume(self, context: Context) -> Pass: ...


def applied(work: Pass, view: View) -> View:
    """Return what a new pass makes of a whole view."""
    followed = work.follow(Change(0, view.entries))
    return View(tuple(work.output), (*view.events, *followed.events))


class Untouched:
    """A pass that changes nothing."""

    def __init__(self) -> None:
        self.output: list[Entry] = []

    def follow(self, change: Change) -> Followed:
        self.output[change.same :] = change.added
        return Followed(change.same, ())


class FoundResult(NamedTuple):
    """A tool result of a view."""

    position: int
    occurrence: int
    """How many earlier results have the same call id."""
    tool: str
    """Name of the tool, empty if neither a call nor the result names it."""
    caller: int
    """Position of the message that called, or -1 for an orphan."""
    call_index: int
    needs: int
    """No cut may part it from this position: its caller; for an orphan the first call of its id,
    and its own position if there is none."""


class _OpenCall(NamedTuple):
    position: int
    call_index: int
    name: str


class ResultIndex:
    """The tool results and user messages of a growing sequence of entries."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.results: list[FoundResult] = []
        self.users: list[int] = []
        self._occurrences: defaultdict[str, int] = defaultdict(int)
        self._open: defaultdict[str, list[_OpenCall]] = defaultdict(list)
        self._taken: list[tuple[int, _OpenCall] | None] = []
        self._first_calls: dict[str, int] = {}

    def follow(self, change: Change) -> None:
        """Take in what was added in place of all from `change.same` on."""
        before = self.entries[change.same :]
        alike = change.same + _alike(before, change.added)
        for position in range(len(self.entries) - 1, alike - 1, -1):
            self._forget(position, self.entries[position].message)
        self.entries[change.same :] = change.added
        for position in range(alike, len(self.entries)):
            self._learn(position, self.entries[position].message)

    def results_before(self, position: int) -> int:
        """Return how many results stand before `position`."""
        return bisect_left(self.results, position, key=itemgetter(0))

    def open_positions(self) -> list[int]:
        """Return the positions of messages whose calls have no result yet."""
        return [call.position for waiting in self._open.values() for call in waiting]

    def _learn(self, position: int, message: Message) -> None:
        for call_index, call in enumerate(message.tool_calls):
            key = f"legacy:{call.name}" if call.kind == "legacy" else f"id:{call.call_id}"
            self._open[key].append(_OpenCall(position, call_index, call.name))
            self._first_calls.setdefault(key, position)
        if message.role == "user":
            self.users.append(position)
        if not message.is_result:
            return
        key = result_key(message)
        waiting = self._open[key]
        taken = None
        if waiting:
            at = 0
            if len(waiting) > 1:
                newest = waiting[-1].position
                at = next(i for i, call in enumerate(waiting) if call.position == newest)
            taken = (at, waiting.pop(at))
        made = taken[1] if taken else _OpenCall(-1, -1, message.name or "")
        needs = made.position if taken else self._first_calls.get(key, position)
        self.results.append(
            FoundResult(
                position, self._occurrences[key], made.name, made.position, made.call_index, needs
            )
        )
        self._taken.append(taken)
        self._occurrences[key] += 1

    def _forget(self, position: int, message: Message) -> None:
        if message.is_result:
            key = result_key(message)
            self._occurrences[key] -= 1
            self.results.pop()
            if taken := self._taken.pop():
                self._open[key].insert(*taken)
        if message.role == "user":
            self.users.pop()
        for call in reversed(message.tool_calls):
            key = f"legacy:{call.name}" if call.kind == "legacy" else f"id:{call.call_id}"
            self._open[key].pop()
            if self._first_calls.get(key) == position:
                del self._first_calls[key]


def _alike(before: Sequence[Entry], after: Sequence[Entry]) -> int:
    """Return how many leading entries an index learns the same of, such as results cut short."""
    for at, (one, other) in enumerate(zip(before, after, strict=False)):
        old, new = one.message, other.message
        if old is not new and (
            old.role != new.role
            or old.tool_call_id != new.tool_call_id
            or old.name != new.name
            or old.tool_calls != new.tool_calls
        ):
            return at
    return min(len(before), len(after))


class MessagesOf(Sequence[Message]):
    """The messages of entries, taken out only where they are looked at."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [entry.message for entry in self._entries[index]]
        return self._entries[index].message
