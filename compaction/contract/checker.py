"""What must hold of every view, whatever strategy made it, checked request by request.

`Checker` looks again only at what changed since the request before, so that a long conversation
costs little more than its changes. A fault that the conversation itself has is not held against
the strategy.
"""

from collections.abc import Callable, Iterable, Iterator

from compaction.contract.faults import (
    Fault,
    Violation,
    check_adjacent,
    check_handles,
    check_size,
    check_system,
    first_shown,
    forget_from,
    identity,
    index_of,
    position_of,
    violation,
)
from compaction.history import (
    Entries,
    Entry,
    History,
    View,
    common_prefix,
    equal_prefix,
    exchanged,
)
from compaction.pairing import Pairing, pair
from compaction.strategy import Promises


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
        self._shown: dict[int, Entry] = {}
        """History index -> the entry that shows this message."""
        self._written: set[int] = set()
        """Object ids of generated entries that hold calls or results."""
        self._groups: dict[int, list[Fault]] = {}
        """Faults that persist until the messages concerned change, by calling message."""
        self._misplaced: dict[int, Fault] = {}
        self._between: dict[int, Fault] = {}
        """By position: out of order or standing twice; written between a call and its result."""
        self._unresolved: dict[int, Fault] = {}
        """By object id of the entry that names the handle."""

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
        same = equal_prefix(self._entries, view.entries) if unchanged is None else unchanged
        # Equal entries may be other objects; from here on object identity tells entries apart.
        view = View(self._entries[:same] + view.entries[same:])
        gone, come = exchanged(self._entries, view.entries, same)
        was_misplaced = bool(self._misplaced)
        touched = self._learn(history) | self._exchange(gone, come)
        self._check_order(same, view.entries)
        if self._misplaced or was_misplaced:
            self._shown = first_shown(view.entries)
            touched = {*self._pairing.results_of}
        self._check_written_between(same, view.entries)
        for caller in touched:
            if faults := list(self._check_group(caller, view)):
                self._groups[caller] = faults
            else:
                self._groups.pop(caller, None)
        if recover is not None and self._promises.recoverable:
            self._unresolved |= check_handles(history, come, recover)
        found = self._placed(view)
        found += self._check_written(view)
        found += self._check_promises(history, view)
        if tokens_before is not None and tokens_after is not None and not self._promises.grows:
            found += check_size(tokens_before, tokens_after)
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

    def _exchange(self, gone: Iterable[Entry], come: Iterable[Entry]) -> set[int]:
        """Note what went and what came; return the callers that this concerns."""
        touched: set[int] = set()
        for entry in gone:
            index = index_of(entry)
            self._unresolved.pop(id(entry), None)
            self._written.discard(id(entry))
            if index is not None and self._shown.get(index) is entry:
                del self._shown[index]
                touched |= self._callers_of(index)
        for entry in come:
            index = index_of(entry)
            if index is None:
                if entry.message.tool_calls or entry.message.is_result:
                    self._written.add(id(entry))
            elif index not in self._shown:
                self._shown[index] = entry
                touched |= self._callers_of(index)
        return touched

    def _check_order(self, same: int, entries: Entries) -> None:
        """Check that the entries from `same` on continue in the order of the history."""
        forget_from(same, self._misplaced)
        del self._highest[same:]
        highest = self._highest[-1] if self._highest else -1
        for position in range(same, len(entries)):
            index = index_of(entries[position])
            if index is not None and index <= highest:
                self._misplace(position, index, entries)
            elif index is not None:
                highest = index
            self._highest.append(highest)

    def _misplace(self, position: int, index: int, entries: Entries) -> None:
        twice = any(index_of(entry) == index for entry in entries[:position])
        rule = "nothing_stands_twice" if twice else "order_is_kept"
        self._misplaced[position] = Fault(
            rule, entries[position], f"message {index} of the history stands at {position}"
        )

    def _check_written_between(self, same: int, entries: Entries) -> None:
        """Look for results, from `same` on, that written text has cut off from their call."""
        forget_from(same, self._between)
        for position in range(max(same, 1), len(entries)):
            if index_of(entries[position - 1]) is not None:
                continue
            index = index_of(entries[position])
            caller, _ = self._pairing.call_of.get(-1 if index is None else index, (-1, None))
            is_inside = caller in self._shown and caller <= self._highest[position - 1]
            if is_inside and self._is_adjacent(caller):
                self._between[position] = Fault(
                    "results_stay_adjacent",
                    entries[position],
                    "something was put between call and result",
                )

    def _is_adjacent(self, caller: int) -> bool:
        """Whether the history itself has the results right behind their call."""
        results = self._pairing.results_of.get(caller, [])
        return results == list(range(caller + 1, caller + 1 + len(results)))

    def _callers_of(self, index: int) -> set[int]:
        callers = {index} if index in self._pairing.results_of else set()
        if index in self._pairing.call_of:
            callers.add(self._pairing.call_of[index][0])
        return callers

    def _check_group(self, caller: int, view: View) -> Iterator[Fault]:
        """Check an assistant message and its results, where the history has both."""
        results = self._pairing.results_of.get(caller, [])
        asking = self._shown.get(caller)
        calls = [identity(call) for call in asking.message.tool_calls] if asking else []
        shown: list[Entry] = []
        for result in results:
            entry = self._shown.get(result)
            call = self._pairing.call_of[result][1]
            called = identity(call) in calls
            if entry is not None:
                shown.append(entry)
                if not called or (asking is not None and self._precedes(entry, asking, view)):
                    yield Fault(
                        "calls_stay_paired",
                        entry,
                        f"the result of {call.name} ({call.call_id!r}) has no call before it",
                        "/tool_call_id",
                    )
            elif called and asking is not None:
                yield Fault(
                    "calls_stay_paired",
                    asking,
                    f"the call of {call.name} ({call.call_id!r}) has lost its result",
                    "/tool_calls",
                )
        if shown and len(results) > 1 and (asking is None or len(shown) < len(results)):
            yield Fault(
                "batches_stay_whole",
                shown[0],
                f"{len(shown)} of {len(results)} results of one message are left",
            )
        if self._misplaced and asking is not None and shown and self._is_adjacent(caller):
            yield from check_adjacent(asking, shown, view)

    def _precedes(self, entry: Entry, other: Entry, view: View) -> bool:
        """Whether an entry stands before another that the history has before it."""
        if not self._misplaced:
            return False
        return position_of(entry, view) < position_of(other, view)

    def _placed(self, view: View) -> list[Violation]:
        """Return the faults noted so far, at the places where their entries stand now."""
        at_position = self._misplaced or self._between
        found = [
            violation(fault.rule, position, fault.explanation)
            for position, fault in at_position.items()
        ]
        faults = [fault for faults in self._groups.values() for fault in faults]
        faults += self._unresolved.values()
        if faults:
            # From the back: an entry that stands twice is named where it stands first.
            numbered = [*enumerate(view.entries)]
            positions = {id(entry): at for at, entry in reversed(numbered)}
            found += [
                violation(fault.rule, positions[id(fault.entry)], fault.explanation, fault.field)
                for fault in faults
            ]
        return found

    def _check_written(self, view: View) -> Iterator[Violation]:
        """Check calls and results that a strategy wrote itself, by their ids."""
        if not self._written:
            return
        paired = pair(view.messages)
        for position in paired.orphans:
            if id(view.entries[position]) in self._written:
                yield violation(
                    "calls_stay_paired", position, "a written result has no call before it"
                )
        for position, call in paired.open_calls:
            if id(view.entries[position]) in self._written and position < len(view) - 1:
                yield violation(
                    "calls_stay_paired", position, f"a written call of {call.name} has no result"
                )

    def _check_promises(self, history: History, view: View) -> Iterator[Violation]:
        if self._promises.keeps_system:
            yield from check_system(history, view)
        if self._promises.keeps_last_user:
            last = history.last_user_position()
            if last is not None and not self._is_whole(last, history):
                yield violation(
                    "last_user_is_kept", -1, f"message {last} is gone or changed", concerns=last
                )
        if self._promises.keep_last_results:
            kept = history.result_positions()[-self._promises.keep_last_results :]
            for index in kept:
                if not self._is_whole(index, history):
                    yield violation(
                        "last_results_are_kept",
                        -1,
                        f"result {index} is gone or changed",
                        concerns=index,
                    )

    def _is_whole(self, index: int, history: History) -> bool:
        entry = self._shown.get(index)
        return entry is not None and entry.message == history[index]

    def _check_twin(self, view: View, twin: View, same: int) -> Iterator[Violation]:
        twin_same = common_prefix(self._twin, twin.entries)
        self._twin = twin.entries
        start = min(same, twin_same, self._agreed)
        equal = start + common_prefix(view.entries[start:], twin.entries[start:])
        self._agreed = equal
        if equal < max(len(view), len(twin)):
            yield violation(
                "is_deterministic", equal, "a second run of the same conversation differs here"
            )
