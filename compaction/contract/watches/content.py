"""What became of single messages, and what they point to (I6, I7, I21, I27).

Each edit and each written entry is looked at once, when it comes into the view. What is a fault of
a message is said by `compaction.contract.content`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from compaction.contract.content import (
    check_edited,
    check_generated,
    has_lost_reasoning,
    is_sound_edit,
)
from compaction.contract.faults import Fault, Violation, violation
from compaction.contract.standing import Standing
from compaction.contract.watches.watch import Evidence
from compaction.history import Entry, History

_WORD: Final = re.compile(r"[\w.:-]{6,}")

Recover = Callable[[str], str | None]


class ContentWatch:
    """Remembers the faults of an entry until it leaves the view."""

    def __init__(self) -> None:
        self._faults: dict[int, list[Fault]] = {}
        """By object id of the entry."""
        self._thoughtless: dict[int, Entry] = {}
        """By object id: edits since the latest user message that took the reasoning away."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        history = standing.history
        for entry in standing.gone:
            self._faults.pop(id(entry), None)
            self._thoughtless.pop(id(entry), None)
        for entry in standing.come:
            if entry.origin.kind != "whole":
                self._look_at(entry, history, raises_roles=evidence.promises.raises_roles)
        yield from self._check_loop(standing)
        for faults in self._faults.values():
            for fault in faults:
                at = standing.place_of(fault.entry)
                yield violation(fault.rule, at, fault.explanation, fault.field)

    def _look_at(self, entry: Entry, history: History, *, raises_roles: bool) -> None:
        if entry.origin.kind == "generated":
            faults = list(check_generated(entry, history))
        elif is_sound_edit(entry.message, history[entry.origin.first]):
            return
        else:
            faults = list(check_edited(entry, history))
            if has_lost_reasoning(entry.message, history[entry.origin.first]):
                self._thoughtless[id(entry)] = entry
        if raises_roles:
            # Declared, and to find the place of a fault at every request is dear.
            faults = [fault for fault in faults if fault.rule != "roles_are_never_raised"]
        if faults:
            self._faults[id(entry)] = faults

    def _check_loop(self, standing: Standing) -> Iterator[Violation]:
        last = standing.history.last_user_position()
        for entry in [*self._thoughtless.values()]:
            if last is None or entry.origin.first < last:
                del self._thoughtless[id(entry)]
            else:
                text = "its reasoning is gone though the tool loop is not finished"
                yield violation("reasoning_stays_intact", standing.place_of(entry), text)


class PointerWatch:
    """Looks at a pointer when it comes, and again when results with the id it names have moved."""

    def __init__(self) -> None:
        self._latest: dict[str, int] = {}
        """Call id -> the latest result with it."""
        self._earlier: dict[int, int] = {}
        """Result -> the one before it with the same call id."""
        self._pointing: dict[int, tuple[Entry, tuple[str, ...]]] = {}
        """By object id of the entry: the call ids that it names."""
        self._pointed: dict[str, set[int]] = {}
        """Call id -> object ids of the entries that name it."""
        self._dangling: dict[int, str] = {}
        """Object id of an entry -> a call id of which no result is visible or stored."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        history = standing.history
        for index in standing.learned:
            message = history[index]
            if message.is_result and message.tool_call_id:
                earlier = self._latest.get(message.tool_call_id)
                self._latest[message.tool_call_id] = index
                if earlier is not None:
                    self._earlier[index] = earlier
        for entry in standing.gone if self._pointing else ():
            self._forget(entry)
        again = {*self._dangling}
        for entry in standing.come:
            if entry.origin.kind == "edited" and (named := self._named_by(entry, history)):
                self._pointing[id(entry)] = entry, named
                for call_id in named:
                    self._pointed.setdefault(call_id, set()).add(id(entry))
                again.add(id(entry))
        if self._pointing:
            moved = (history[index].tool_call_id or "" for index in standing.moved)
            again |= {one for call_id in moved for one in self._pointed.get(call_id, ())}
            self._resolve(again, standing, evidence.recover)
        for one, call_id in self._dangling.items():
            text = f"it points to {call_id!r}, which is neither visible nor stored"
            at = standing.place_of(self._pointing[one][0])
            yield violation("pointers_resolve", at, text, "/content")

    def _forget(self, entry: Entry) -> None:
        _, named = self._pointing.pop(id(entry), (entry, ()))
        for call_id in named:
            self._pointed[call_id].discard(id(entry))
        self._dangling.pop(id(entry), None)

    def _named_by(self, entry: Entry, history: History) -> tuple[str, ...]:
        """Return call ids that an edit wrote into a message: `same as call_12 above`."""
        before = history[entry.origin.first]
        own = {before.tool_call_id, entry.origin.handle}
        words = _words_in(entry.message.text) - own
        named = [word for word in words if word in self._latest]
        if not named:
            return ()
        known = _words_in(before.text)
        return tuple(word for word in named if word not in known)

    def _resolve(self, again: Iterable[int], standing: Standing, recover: Recover | None) -> None:
        for one in again:
            missing = (
                call_id
                for call_id in self._pointing[one][1]
                if not self._is_visible(call_id, standing)
                and (recover is None or recover(call_id) is None)
            )
            call_id = next(missing, None)
            if call_id is None:
                self._dangling.pop(one, None)
            else:
                self._dangling[one] = call_id

    def _is_visible(self, call_id: str, standing: Standing) -> bool:
        index: int | None = self._latest[call_id]
        while index is not None:
            entry = standing.shown.get(index)
            if entry is not None and entry.origin.kind == "whole":
                return True
            index = self._earlier.get(index)
        return False


@lru_cache(maxsize=1_024)
def _words_in(text: str) -> frozenset[str]:
    return frozenset(word.rstrip(".:") for word in _WORD.findall(text))
