"""What a provider refuses in the request made from a view and not in that from the history (I5).

Where a view shows whole neighbours of the history, it is as legal as the history. So a request is
converted only in blocks around what a strategy wrote, edited or brought together. While one of
them or an end looks faulty, or the order is not kept, the whole view is converted, which decides.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Final

from compaction.contract.faults import Violation, index_of, violation
from compaction.contract.providers import Illegality, Profile, check_messages
from compaction.contract.standing import Standing
from compaction.contract.watches.blocks import (
    Indexed,
    Shown,
    block_at,
    changed_blocks,
    first_spoken,
    last_spoken,
)
from compaction.contract.watches.watch import Evidence
from compaction.history import Entries, Entry, History
from compaction.messages import Message, Messages

PAIRING_RULES: Final = frozenset(
    {"calls_stay_paired", "batches_stay_whole", "results_stay_adjacent", "open_calls_survive"}
)
"""Where one of these is broken, a provider would only say the same again."""
_SOMEBODY: Final = Message("user", "x")


class ProviderWatch:
    """Holds blocks under suspicion until they change or the whole view acquits them."""

    def __init__(self) -> None:
        self._suspects: list[Entries] = []
        self._legal_start: Entry | None = None
        """The entry that began the view when its beginning was last found legal."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        profile, history = evidence.profile, standing.history
        if self._suspects:
            here = set(map(id, standing.view.entries))
            self._suspects = [block for block in self._suspects if here.issuperset(map(id, block))]
        for block in changed_blocks(standing):
            if _looks_faulty(block, history, profile):
                self._suspects.append(block)
        has_odd_ends = self._has_odd_ends(standing, profile)
        if not (self._suspects or has_odd_ends or standing.misplaced):
            return
        if any(item.rule in PAIRING_RULES for item in found):
            return
        refused = list(refusals(standing.view.entries, history, profile))
        if not refused:
            self._suspects = []
        yield from refused

    def _has_odd_ends(self, standing: Standing, profile: Profile) -> bool:
        entries, history = standing.view.entries, standing.history
        shown = Shown(entries)
        first, last = first_spoken(shown), last_spoken(shown)
        if first is None or last is None:
            return first_spoken(history) is not None or len(shown) == 0
        if not _stands_for(start := entries[first], first_spoken(history)):
            if start is not self._legal_start and _start_rules(shown, profile):
                return True
            self._legal_start = start
        if _stands_for(entries[last], last_spoken(history)):
            return False
        return bool(_end_rules(shown, profile))


def _stands_for(entry: Entry, index: int | None) -> bool:
    return entry.origin.kind == "whole" and entry.origin.first == index


def _looks_faulty(block: Entries, history: History, profile: Profile) -> bool:
    for item in _refused(tuple(entry.message for entry in block), profile):
        if not item.is_at_end:
            index = index_of(block[item.position])
            if index is None or not _is_own(item, index, history, profile):
                return True
    return False


@lru_cache(maxsize=16_384)
def _refused(messages: Messages, profile: Profile) -> tuple[Illegality, ...]:
    """Do as `check_messages` for a block: many settings of a sweep send the same."""
    return tuple(check_messages(messages, profile))


def refusals(entries: Entries, history: History, profile: Profile) -> Iterator[Violation]:
    """Yield what a provider would refuse in a view and would not in the history."""
    own = _Own(history, profile)
    for item in check_messages([entry.message for entry in entries], profile):
        entry = None if item.position < 0 else entries[item.position]
        if not own.has(item, entry):
            text = f"{profile.name}: {item.explanation}"
            yield violation("roles_stay_legal", item.position, text, item.field)


class _Own:
    """What the history itself breaks, looked up as far as it is asked for."""

    def __init__(self, history: History, profile: Profile) -> None:
        self._history, self._profile = history, profile

    def has(self, item: Illegality, entry: Entry | None) -> bool:
        if item.is_at_end or entry is None:
            return item.rule in self._at_ends
        index = index_of(entry)
        if index is None:
            return False
        if item.rule == "id_reused":
            return index in self._reused
        return _is_own(item, index, self._history, self._profile)

    @cached_property
    def _at_ends(self) -> set[str]:
        return _start_rules(self._history, self._profile) | _end_rules(self._history, self._profile)

    @cached_property
    def _reused(self) -> set[int]:
        """Ids are the one thing that a provider may look for anywhere."""
        found = check_messages(self._history.messages(), self._profile)
        return {item.position for item in found if item.rule == "id_reused"}


def _is_own(item: Illegality, index: int, history: History, profile: Profile) -> bool:
    """Whether the history breaks the same rule at the same message, as far as its block tells."""
    block = block_at(history, index)
    own = check_messages([history[at] for at in block], profile)
    return any(one.rule == item.rule and block[one.position] == index for one in own)


def _start_rules(messages: Indexed, profile: Profile) -> set[str]:
    """Return the rules about the first message that are broken."""
    first = first_spoken(messages)
    block = range(len(messages)) if first is None else block_at(messages, first)
    found = check_messages([messages[at] for at in block], profile)
    offset = 0 if first is None else first - block.start
    return {item.rule for item in found if item.is_at_end and item.position <= offset}


def _end_rules(messages: Indexed, profile: Profile) -> set[str]:
    """Return the rules about the last message that are broken."""
    last = last_spoken(messages)
    block = range(len(messages)) if last is None else block_at(messages, last)
    found = check_messages([_SOMEBODY, *(messages[at] for at in block)], profile)
    return {item.rule for item in found if item.is_at_end and item.position != 0}
