"""Blocks of a conversation: as far as a provider's rules look, but for ids and the two ends.

A block begins with an assistant message behind another role, instructions not counted, and goes on
to the next one. Profiles merge neighbours and match calls with results within it.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from compaction.contract.faults import index_of
from compaction.contract.standing import Standing
from compaction.history import Entries, History
from compaction.messages import INSTRUCTION_ROLES, Message

MAX_BLOCK: Final = 1_000
"""Messages; a longer block, of which no real conversation has any, is not looked at."""


class Indexed(Protocol):
    """Messages by position: of a history, or of a view."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Message: ...


class Shown:
    """The messages of a view, taken out only where they are looked at."""

    def __init__(self, entries: Entries) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: int, /) -> Message:
        return self._entries[index].message


def block_at(messages: Indexed, position: int) -> range:
    """Return the positions of the block around one of them; none if it is too long."""
    start = position
    while start and not begins_block(messages, start):
        start -= 1
        if position - start > MAX_BLOCK:
            return range(0)
    stop = position + 1
    while stop < len(messages) and not begins_block(messages, stop):
        stop += 1
        if stop - position > MAX_BLOCK:
            return range(0)
    return range(start, stop)


def begins_block(messages: Indexed, position: int) -> bool:
    if messages[position].role != "assistant":
        return False
    before = position - 1
    while before >= 0 and messages[before].role in INSTRUCTION_ROLES:
        before -= 1
    return before < 0 or messages[before].role != "assistant"


def changed_blocks(standing: Standing) -> Iterator[Entries]:
    """Yield the blocks that have an edit, a seam or written text which they did not have before.

    At the border of two blocks there is a seam for each that has another neighbour than itself.
    """
    entries, shown, done = standing.view.entries, Shown(standing.view.entries), -1
    for position in sorted(_odd_positions(standing, shown)):
        block = block_at(shown, position) if position > done else range(0)
        if block:
            done = block[-1]
            yield tuple(entries[at] for at in block)


def _odd_positions(standing: Standing, shown: Shown) -> Iterator[int]:
    yield from standing.edits
    for joint in standing.joints:
        yield from (joint - 1, joint)
    entries, history = standing.view.entries, standing.history
    for seam in standing.new_seams:
        if not begins_block(shown, seam):
            yield seam
            continue
        if not _is_border(index_of(entries[seam]), history):
            yield seam
        before = index_of(entries[seam - 1]) if seam else -1
        if not _is_border(None if before is None else before + 1, history):
            yield seam - 1
    if entries:
        last = index_of(entries[-1])
        if not _is_border(None if last is None else last + 1, history):
            yield len(entries) - 1


def _is_border(index: int | None, history: History) -> bool:
    """Whether a block begins at a message of the history, or ends in front of it."""
    if index is None:
        return False
    return index in (0, len(history)) or begins_block(history, index)


def first_spoken(messages: Indexed) -> int | None:
    """Return the position of the first message that is no instruction."""
    places = range(len(messages))
    return next((at for at in places if messages[at].role not in INSTRUCTION_ROLES), None)


def last_spoken(messages: Indexed) -> int | None:
    places = reversed(range(len(messages)))
    return next((at for at in places if messages[at].role not in INSTRUCTION_ROLES), None)
