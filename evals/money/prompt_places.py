"""Places in a prompt that caching rules speak of: in front of the message at a position."""

from collections.abc import Sequence

from compaction.history import Entry
from compaction.messages import INSTRUCTION_ROLES


def instructions_end(entries: Sequence[Entry]) -> int:
    """Return how many leading messages are instructions."""
    for index, entry in enumerate(entries):
        if entry.message.role not in INSTRUCTION_ROLES:
            return index
    return len(entries)


def positions_after(position: int, entries: Sequence[Entry], limit: int) -> int:
    """Return how many places Anthropic's search passes from the end back to `position`.

    A run of tool calls is one place, so is a run of tool results; every other block is one.
    Counting stops at `limit`.
    """
    count = 0
    is_in_results = False
    for index in range(len(entries) - 1, position - 1, -1):
        message = entries[index].message
        if message.is_result:
            count += not is_in_results
        else:
            content = message.content
            count += len(content) if isinstance(content, tuple) else bool(content)
            count += bool(message.tool_calls) + bool(message.reasoning)
        is_in_results = message.is_result
        if count >= limit:
            break
    return count


def is_ending(entries: Sequence[Entry], position: int) -> bool:
    """Whether a user message or a group of tool results ends in front of `position`."""
    message = entries[position - 1].message
    if message.role == "user":
        return True
    is_last = position == len(entries) or not entries[position].message.is_result
    return message.is_result and is_last


def common_messages(before: Sequence[Entry], after: Sequence[Entry], known: int) -> int:
    """Return how many leading messages are equal; `known` of them are."""
    end = min(len(before), len(after))
    for index in range(known, end):
        if before[index] is not after[index] and before[index].message != after[index].message:
            return index
    return end
