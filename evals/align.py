"""Origins for a view that foreign code returned: which of the messages it was given are which.

Equal messages are the same entry; a result with the id and occurrence of one that was given, or an
assistant message with its calls, is that entry edited; everything else was written by the code, and
stands for what is missing around it.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from compaction.history import Entries, Entry, Origin, spans_of
from compaction.messages import Message

Key = Hashable


def align(given: Entries, returned: Sequence[Message], by: str) -> Entries:
    """Return the returned messages as entries, in their order.

    Args:
        given: What the code was called with.
        returned: What it gave back.
        by: Name of the code, for the origins.
    """
    matched = _match(given, returned)
    taken = set(matched.values())
    result: list[Entry] = []
    for position, message in enumerate(returned):
        source = matched.get(position)
        if source is None:
            result.append(Entry(message, Origin("generated", (), by)))
        elif given[source].message == message:
            result.append(given[source])
        else:
            result.append(given[source].edited(message, by))
    return _with_spans(result, matched, given, taken, by)


def _match(given: Entries, returned: Sequence[Message]) -> dict[int, int]:
    """Return position in `returned` -> position in `given`, each of the latter at most once."""
    matched: dict[int, int] = {}
    _match_by(lambda message: message.digest, given, returned, matched)
    _match_by(_call_key, given, returned, matched)
    return matched


def _match_by(
    key: Callable[[Message], Key | None],
    given: Entries,
    returned: Sequence[Message],
    matched: dict[int, int],
) -> None:
    """Match the messages not matched yet, in order, equal keys from the last ones back.

    From the back, because code that keeps one of several equal messages keeps the newest.
    """
    taken = set(matched.values())
    free: defaultdict[Key, list[int]] = defaultdict(list)
    for position, entry in enumerate(given):
        found = key(entry.message)
        if position not in taken and found is not None:
            free[found].append(position)
    for position in range(len(returned) - 1, -1, -1):
        found = key(returned[position]) if position not in matched else None
        if found is not None and free[found]:
            matched[position] = free[found].pop()


def _call_key(message: Message) -> Key | None:
    if message.role == "tool":
        return ("result", message.tool_call_id)
    if message.tool_calls:
        return ("calls", tuple(call.call_id for call in message.tool_calls))
    return None


def _with_spans(
    entries: list[Entry], matched: dict[int, int], given: Entries, taken: set[int], by: str
) -> Entries:
    """Let each run of written entries stand for the given ones missing at its place."""
    after = -1
    for position, entry in enumerate(entries):
        if position in matched:
            after = max(after, matched[position])
            continue
        following = [matched[at] for at in range(position + 1, len(entries)) if at in matched]
        stop = min((at for at in following if at > after), default=len(given))
        missing = [given[at] for at in range(after + 1, stop) if at not in taken]
        entries[position] = Entry(entry.message, Origin("generated", spans_of(missing), by))
    return tuple(entries)
