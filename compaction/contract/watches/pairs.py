"""Calls and results: pairs, batches, neighbours, and the order of everything (I1, I2, I3, I24)."""

from collections.abc import Iterator, Sequence

from compaction.contract.faults import (
    Fault,
    Violation,
    forget_from,
    identity,
    index_of,
    violation,
)
from compaction.contract.standing import Standing
from compaction.contract.watches.watch import Evidence
from compaction.history import Entry
from compaction.pairing import pair


class PairWatch:
    """Looks again at the groups whose messages came, went or got a result."""

    def __init__(self) -> None:
        self._groups: dict[int, list[Fault]] = {}
        """Faults that persist until the messages concerned change, by calling message."""
        self._between: dict[int, Fault] = {}
        """By position: written between a call and its result."""
        self._written: set[int] = set()
        """Object ids of generated entries that hold calls or results."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> list[Violation]:
        self._follow_written(standing)
        self._check_written_between(standing)
        for caller in self._touched(standing):
            if faults := list(_check_group(caller, standing)):
                self._groups[caller] = faults
            else:
                self._groups.pop(caller, None)
        broken = [
            violation(fault.rule, position, fault.explanation)
            for position, fault in (standing.misplaced or self._between).items()
        ]
        broken += [
            violation(fault.rule, standing.place_of(fault.entry), fault.explanation, fault.field)
            for faults in self._groups.values()
            for fault in faults
        ]
        if self._written:
            broken += self._check_written(standing)
        return broken

    def _touched(self, standing: Standing) -> set[int]:
        if standing.misplaced or standing.was_misplaced:
            return {*standing.pairing.results_of}
        answered = (at for at in standing.learned if at in standing.pairing.call_of)
        return standing.callers_of({*standing.moved, *answered})

    def _follow_written(self, standing: Standing) -> None:
        if self._written:
            self._written.difference_update(map(id, standing.gone))
        for entry in standing.come:
            if entry.origin.kind == "generated" and (
                entry.message.tool_calls or entry.message.is_result
            ):
                self._written.add(id(entry))

    def _check_written_between(self, standing: Standing) -> None:
        """Look for results that written text has cut off from their call."""
        forget_from(standing.same, self._between)
        entries = standing.view.entries
        for position in reversed(standing.seams):
            if position < max(standing.same, 1):
                break
            if index_of(entries[position - 1]) is not None:
                continue
            index = index_of(entries[position])
            caller, _ = standing.pairing.call_of.get(-1 if index is None else index, (-1, None))
            is_inside = caller in standing.shown and caller <= standing.highest[position - 1]
            if is_inside and standing.is_adjacent(caller):
                self._between[position] = Fault(
                    "results_stay_adjacent",
                    entries[position],
                    "something was put between call and result",
                )

    def _check_written(self, standing: Standing) -> Iterator[Violation]:
        """Check calls and results that a strategy wrote itself, by their ids."""
        view = standing.view
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


def _check_group(caller: int, standing: Standing) -> Iterator[Fault]:
    """Check an assistant message and its results, where the history has both."""
    results = standing.pairing.results_of.get(caller, [])
    asking = standing.shown.get(caller)
    calls = [identity(call) for call in asking.message.tool_calls] if asking else []
    shown: list[Entry] = []
    for result in results:
        entry = standing.shown.get(result)
        call = standing.pairing.call_of[result][1]
        called = identity(call) in calls
        if entry is not None:
            shown.append(entry)
            if not called or (asking is not None and _precedes(entry, asking, standing)):
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
    if standing.misplaced and asking is not None and shown and standing.is_adjacent(caller):
        yield from _check_adjacent(asking, shown, standing)


def _precedes(entry: Entry, other: Entry, standing: Standing) -> bool:
    """Whether an entry stands before another that the history has before it."""
    return bool(standing.misplaced) and standing.place_of(entry) < standing.place_of(other)


def _check_adjacent(asking: Entry, shown: list[Entry], standing: Standing) -> Iterator[Fault]:
    at = standing.place_of(asking)
    places = {standing.place_of(entry) for entry in shown}
    if places != set(range(at + 1, at + 1 + len(shown))):
        yield Fault("results_stay_adjacent", shown[-1], "something was put between call and result")
