"""What tiers need to know of a sequence of entries that grows a little from call to call.

Each entry is looked at once: comparing with the sequence before is a memory comparison, and only
entries from the first difference on are forgotten and learnt again.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, Protocol, overload, runtime_checkable

from compaction.history import Entries, View, equal_prefix
from compaction.messages import Message
from compaction.pairing import result_key
from compaction.strategy import Context


class Pass(Protocol):
    """A tier at work on one growing view."""

    def run(self, view: View) -> View:
        """Return what the tier's `apply` would; events tell only what is new since the last run."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A free tier that can take up where it stopped."""

    def resume(self, context: Context) -> Pass: ...


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


class _OpenCall(NamedTuple):
    position: int
    call_index: int
    name: str


class ResultIndex:
    """The tool results and user messages of a growing sequence of entries."""

    def __init__(self) -> None:
        self.entries: Entries = ()
        self.results: list[FoundResult] = []
        self.users: list[int] = []
        self._occurrences: defaultdict[str, int] = defaultdict(int)
        self._open: defaultdict[str, list[_OpenCall]] = defaultdict(list)
        self._taken: list[tuple[int, _OpenCall] | None] = []

    def follow(self, entries: Entries) -> int:
        """Take in `entries` and return the position where they differ from those before."""
        same = equal_prefix(self.entries, entries)
        for position in range(len(self.entries) - 1, same - 1, -1):
            self._forget(self.entries[position].message)
        for position in range(same, len(entries)):
            self._learn(position, entries[position].message)
        self.entries = entries
        return same

    def results_before(self, position: int) -> int:
        """Return how many results stand before `position`."""
        low, high = 0, len(self.results)
        while low < high:
            middle = (low + high) // 2
            if self.results[middle].position < position:
                low = middle + 1
            else:
                high = middle
        return low

    def open_positions(self) -> list[int]:
        """Return the positions of messages whose calls have no result yet."""
        return [call.position for waiting in self._open.values() for call in waiting]

    def _learn(self, position: int, message: Message) -> None:
        for call_index, call in enumerate(message.tool_calls):
            key = f"legacy:{call.name}" if call.kind == "legacy" else f"id:{call.call_id}"
            self._open[key].append(_OpenCall(position, call_index, call.name))
        if message.role == "user":
            self.users.append(position)
        if not message.is_result:
            return
        key = result_key(message)
        waiting = self._open[key]
        taken = None
        if waiting:
            newest = waiting[-1].position
            at = next(i for i, call in enumerate(waiting) if call.position == newest)
            taken = (at, waiting.pop(at))
        made = taken[1] if taken else _OpenCall(-1, -1, message.name or "")
        self.results.append(
            FoundResult(position, self._occurrences[key], made.name, made.position, made.call_index)
        )
        self._taken.append(taken)
        self._occurrences[key] += 1

    def _forget(self, message: Message) -> None:
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
