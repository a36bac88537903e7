"""What must hold of every view, whatever strategy made it, checked request by request.

`Checker` looks again only at what changed since the request before, so that a long conversation
costs little more than its changes. A fault that the conversation itself has is not held against
the strategy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from compaction.history import Entries, Entry, History, View, common_prefix, equal_prefix
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import Pairing, pair
from compaction.strategy import Promises
from compaction.tiers.results import original_text


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule at one request."""

    rule: str
    position: int
    """Index of the message in the view, or -1 if a missing message is the fault."""
    pointer: str
    """JSON pointer into the view."""
    explanation: str


RULES: Final[Mapping[str, str]] = {
    "calls_stay_paired": "Every result in the view follows its call, and every call that was "
    "answered has its results in the view.",
    "batches_stay_whole": "The calls of one assistant message and all their results are kept, "
    "replaced or dropped together.",
    "results_stay_adjacent": "Nothing stands between a call and its results that did not before.",
    "order_is_kept": "Messages of the history stand in the order of the history.",
    "nothing_stands_twice": "No message of the history is in the view twice.",
    "system_is_kept": "Leading instruction messages are unchanged at the front, if promised.",
    "last_user_is_kept": "The latest user message is in the view unchanged, if promised.",
    "last_results_are_kept": "The promised number of latest tool results is in the view unchanged.",
    "handles_resolve": "Every handle that a view names gives back the original, if promised.",
    "never_grows": "The view has no more tokens than the history it stands for.",
    "is_deterministic": "A second compactor that was fed the same returns the same view.",
}
"""Rule -> its statement."""


class Checker:
    """Checks the views of one conversation (one segment) in order."""

    def __init__(self, promises: Promises) -> None:
        self._promises = promises
        self._pairing = Pairing()
        self._entries: Entries = ()
        self._twin: Entries = ()
        self._agreed = 0
        """Leading entries in which the view and its twin were equal at the request before."""
        self._highest: list[int] = []
        """For each position of the view, the highest history index that stands up to there."""
        self._position_of: dict[int, int] = {}
        self._written: set[int] = set()
        """Positions of generated entries that hold calls or results."""
        self._structural: dict[int, list[Violation]] = {}
        """Faults that persist until the messages concerned change, by calling message."""
        self._misplaced: dict[int, Violation] = {}
        self._unresolved: dict[int, Violation] = {}

    def see(
        self,
        history: History,
        view: View,
        *,
        unchanged: int | None = None,
        twin: View | None = None,
        tokens_before: float | None = None,
        tokens_after: float | None = None,
        recover: Callable[[str], str | None] | None = None,
    ) -> list[Violation]:
        """Return what is broken at this request.

        `history` extends the one before. `unchanged` leading entries equal those of the view
        before, if the caller knows that. Sizes, twin and `recover` are checked if given.
        """
        touched = self._learn(history)
        same = equal_prefix(self._entries, view.entries) if unchanged is None else unchanged
        touched |= self._exchange(same, view.entries)
        for caller in touched:
            if faults := list(self._check_group(caller, view)):
                self._structural[caller] = faults
            else:
                self._structural.pop(caller, None)
        found = [item for items in self._structural.values() for item in items]
        found += self._misplaced.values()
        found += self._check_written(view)
        found += self._check_promises(history, view)
        if recover is not None and self._promises.recoverable:
            self._unresolved.update(_check_handles(history, view.entries[same:], same, recover))
            found += self._unresolved.values()
        if tokens_before is not None and tokens_after is not None and not self._promises.grows:
            found += _check_size(tokens_before, tokens_after)
        if twin is None:
            self._agreed = 0
        elif self._promises.deterministic:
            found += self._check_twin(view, twin, same)
        self._entries = view.entries
        return found

    def _learn(self, history: History) -> set[int]:
        """Take in new messages of the history; return the callers whose results came."""
        touched = set()
        for index in range(len(self._pairing), len(history)):
            self._pairing.append(history[index])
            if index in self._pairing.call_of:
                touched.add(self._pairing.call_of[index][0])
        return touched

    def _exchange(self, same: int, entries: Entries) -> set[int]:
        """Replace the entries from `same` on; return the callers that this concerns."""
        touched: set[int] = set()
        for position in range(same, len(self._entries)):
            index = _index_of(self._entries[position])
            self._misplaced.pop(position, None)
            self._unresolved.pop(position, None)
            self._written.discard(position)
            if index is not None and self._position_of.get(index) == position:
                del self._position_of[index]
                touched |= self._callers_of(index)
        del self._highest[same:]
        highest = self._highest[-1] if self._highest else -1
        for position in range(same, len(entries)):
            entry = entries[position]
            index = _index_of(entry)
            self._highest.append(max(highest, -1 if index is None else index))
            if index is None:
                if entry.message.tool_calls or entry.message.is_result:
                    self._written.add(position)
                continue
            if index in self._position_of:
                self._misplace("nothing_stands_twice", position, index)
                continue
            if index < highest:
                self._misplace("order_is_kept", position, index)
            highest = max(highest, index)
            self._position_of[index] = position
            touched |= self._callers_of(index)
        return touched

    def _misplace(self, rule: str, position: int, index: int) -> None:
        self._misplaced[position] = _violation(
            rule, position, f"message {index} of the history stands at {position}"
        )

    def _callers_of(self, index: int) -> set[int]:
        callers = {index} if index in self._pairing.results_of else set()
        if index in self._pairing.call_of:
            callers.add(self._pairing.call_of[index][0])
        return callers

    def _check_group(self, caller: int, view: View) -> Iterator[Violation]:
        """Check an assistant message and its results, where the history has both."""
        results = self._pairing.results_of.get(caller, [])
        at = self._position_of.get(caller)
        calls = set(view.entries[at].message.tool_calls) if at is not None else set()
        shown: list[int] = []
        for result in results:
            place = self._position_of.get(result)
            call = self._pairing.call_of[result][1]
            called = at is not None and any(_same_call(call, other) for other in calls)
            if place is not None:
                shown.append(place)
                if not called or (at is not None and place < at):
                    yield _violation(
                        "calls_stay_paired",
                        place,
                        f"the result of {call.name} ({call.call_id!r}) has no call before it",
                        "/tool_call_id",
                    )
            elif called and at is not None:
                yield _violation(
                    "calls_stay_paired",
                    at,
                    f"the call of {call.name} ({call.call_id!r}) has lost its result",
                    "/tool_calls",
                )
        if shown and len(results) > 1 and (at is None or len(shown) < len(results)):
            yield _violation(
                "batches_stay_whole",
                shown[0],
                f"{len(shown)} of {len(results)} results of one message are left",
            )
        adjacent = results == list(range(caller + 1, caller + 1 + len(results)))
        if at is not None and adjacent and shown:
            expected = set(range(at + 1, at + 1 + len(shown)))
            if set(shown) != expected:
                yield _violation(
                    "results_stay_adjacent", shown[-1], "something was put between call and result"
                )

    def _check_written(self, view: View) -> Iterator[Violation]:
        """Check calls and results that a strategy wrote itself, by their ids."""
        if not self._written:
            return
        paired = pair(view.messages)
        for position in paired.orphans:
            if position in self._written:
                yield _violation(
                    "calls_stay_paired", position, "a written result has no call before it"
                )
        for position, call in paired.open_calls:
            if position in self._written and position < len(view) - 1:
                yield _violation(
                    "calls_stay_paired", position, f"a written call of {call.name} has no result"
                )

    def _check_promises(self, history: History, view: View) -> Iterator[Violation]:
        if self._promises.keeps_system:
            yield from _check_system(history, view)
        if self._promises.keeps_last_user:
            last = history.last_user_position()
            if last is not None and not self._is_whole(last, history, view):
                yield _violation("last_user_is_kept", -1, f"message {last} is gone or changed")
        if self._promises.keep_last_results:
            kept = history.result_positions()[-self._promises.keep_last_results :]
            for index in kept:
                if not self._is_whole(index, history, view):
                    yield _violation(
                        "last_results_are_kept", -1, f"result {index} is gone or changed"
                    )

    def _is_whole(self, index: int, history: History, view: View) -> bool:
        position = self._position_of.get(index)
        return position is not None and view.entries[position].message == history[index]

    def _check_twin(self, view: View, twin: View, same: int) -> Iterator[Violation]:
        twin_same = common_prefix(self._twin, twin.entries)
        self._twin = twin.entries
        start = min(same, twin_same, self._agreed)
        equal = start + common_prefix(view.entries[start:], twin.entries[start:])
        self._agreed = equal
        if equal < max(len(view), len(twin)):
            yield _violation(
                "is_deterministic", equal, "a second run of the same conversation differs here"
            )


def _index_of(entry: Entry) -> int | None:
    """Return the history index that an entry shows, or None for written text."""
    return entry.origin.first if entry.origin.kind != "generated" else None


def _same_call(call: object, other: object) -> bool:
    """Whether two calls have one id and name; arguments may have been shortened."""
    return _identity(call) == _identity(other)


def _identity(call: object) -> tuple[object, ...]:
    return tuple(getattr(call, name) for name in ("call_id", "name", "kind"))


def _violation(rule: str, position: int, explanation: str, field: str = "") -> Violation:
    pointer = f"/{position}{field}" if position >= 0 else ""
    return Violation(rule, position, pointer, explanation)


def _check_system(history: History, view: View) -> Iterator[Violation]:
    for index in range(len(history)):
        message = history[index]
        if message.role not in INSTRUCTION_ROLES:
            return
        if index >= len(view) or view.entries[index].message != message:
            position = index if index < len(view) else -1
            yield _violation("system_is_kept", position, f"message {index} is gone or changed")


def _check_handles(
    history: History, added: Iterable[Entry], start: int, recover: Callable[[str], str | None]
) -> Iterator[tuple[int, Violation]]:
    for position, entry in enumerate(added, start):
        handle, index = entry.origin.handle, entry.origin.first
        if handle is None or index < 0:
            continue
        if handle not in entry.message.text:
            fault = f"handle {handle!r} is not in the text"
        elif recover(handle) != original_text(history[index]):
            fault = f"handle {handle!r} does not give back the original"
        else:
            continue
        yield position, _violation("handles_resolve", position, fault)


def _check_size(before: float, after: float) -> Iterator[Violation]:
    if after > before:
        yield _violation("never_grows", -1, f"{after:.0f} tokens stand for {before:.0f}")
