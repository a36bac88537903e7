"""Which result answers which call, and where a conversation may be cut.

Call ids are reused in real logs, so calls and results are matched by id *and* order. A group is an
assistant message with all its results; cuts between groups are safe, all others orphan something.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from compaction.messages import Message, ToolCall


class Pairing:
    """The calls of a growing conversation matched with its results. All numbers are indices.

    A result takes the oldest open call with its id in the newest assistant message that has one;
    a `function` message takes the open legacy call with its name.
    """

    __slots__ = ("_length", "_open", "call_of", "orphans", "results_of")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.call_of: dict[int, tuple[int, ToolCall]] = {}
        """Result -> the assistant message that called, and the call."""
        self.results_of: defaultdict[int, list[int]] = defaultdict(list)
        """Assistant message -> its results, ascending."""
        self.orphans: list[int] = []
        """Results that answer no earlier call that is still open."""
        self._open: defaultdict[str, list[tuple[int, ToolCall]]] = defaultdict(list)
        self._length = 0
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        index = self._length
        self._length += 1
        for call in message.tool_calls:
            self._open[call_key(call)].append((index, call))
        if message.is_result:
            key = result_key(message)
            waiting = self._open.get(key)
            if not waiting:
                self.orphans.append(index)
                return
            newest = waiting[-1][0]
            taken = next(item for item in waiting if item[0] == newest)
            waiting.remove(taken)
            if not waiting:
                del self._open[key]
            self.call_of[index] = taken
            self.results_of[newest].append(index)

    def __len__(self) -> int:
        return self._length

    @property
    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """Calls without a result, in order, each with the message that made it."""
        waiting = (item for items in self._open.values() for item in items)
        return sorted(waiting, key=lambda item: item[0])


def pair(messages: Sequence[Message]) -> Pairing:
    """Match every result with the call it answers."""
    return Pairing(messages)


def result_key(message: Message) -> str:
    """Return what a result is matched by: its call id, or the name for legacy functions."""
    if message.role == "function":
        return f"legacy:{message.name}"
    return f"id:{message.tool_call_id}"


def call_key(call: ToolCall) -> str:
    return f"legacy:{call.name}" if call.kind == "legacy" else f"id:{call.call_id}"


def orphan_results(messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the indices of results whose call is not before them."""
    return tuple(pair(messages).orphans)


def safe_cuts(messages: Sequence[Message]) -> list[int]:
    """Return every index where no result from there on answers a call before, 0 and the end too."""
    crossing = [0] * (len(messages) + 1)
    for result, (caller, _) in pair(messages).call_of.items():
        crossing[caller + 1] += 1
        crossing[result + 1] -= 1
    return [index for index, depth in enumerate(accumulate(crossing)) if depth == 0]


def safe_cut_before(messages: Sequence[Message], index: int) -> int:
    """Move a cut left until it separates no call from its result.

    Looks at the messages from the cut on and back to the calls that they need, so that a cut near
    the end of a long conversation is cheap. The nearest safe cut, unless results are duplicated.
    """
    cut = index
    while cut > 0:
        needed = _needed_keys(messages[cut:])
        earlier = range(cut - 1, -1, -1) if needed else ()
        caller = next((at for at in earlier if needed & _keys_of(messages[at])), None)
        if caller is None:
            return cut
        cut = caller
    return cut


def _needed_keys(tail: Sequence[Message]) -> set[str]:
    """Return the keys of results in a tail whose call is not in it before them."""
    waiting: Counter[str] = Counter()
    needed: set[str] = set()
    for message in tail:
        for call in message.tool_calls:
            waiting[call_key(call)] += 1
        if message.is_result:
            key = result_key(message)
            if waiting[key] > 0:
                waiting[key] -= 1
            else:
                needed.add(key)
    return needed


def safe_cut_after(messages: Sequence[Message], index: int) -> int:
    """Move a cut right until it separates no call from its result."""
    cut, pairing = index, Pairing(messages[:index])
    for at in range(index, len(messages)):
        if all(caller >= cut for caller, _ in pairing.open_calls):
            return cut
        pairing.append(messages[at])
        answered = pairing.call_of.get(at)
        if answered is not None and answered[0] < cut:
            cut = at + 1
    return cut


def groups(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Return the half-open ranges between neighbouring safe cuts: the units of structural edits."""
    cuts = safe_cuts(messages)
    return list(pairwise(cuts))


def _keys_of(message: Message) -> set[str]:
    return {call_key(call) for call in message.tool_calls}


def called_names(messages: Iterable[Message]) -> dict[str, str]:
    """Return call id -> tool name, the latest call of an id winning."""
    return {call.call_id: call.name for message in messages for call in message.tool_calls}
