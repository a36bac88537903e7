"""Origins for a view that foreign code returned: which of the messages it was given are which.

Equal messages are the same entry; a result with the id and occurrence of one that was given, or an
assistant message with its calls, is that entry edited; everything else was written by the code, and
stands for what is missing around it.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import accumulate

from compaction.history import Entries, Entry, Origin, spans_of
from compaction.messages import Message
from compaction.pairing import result_key

Key = Hashable


def align(
    given: Entries, returned: Sequence[Message], by: str, *, is_recoverable: bool = False
) -> Entries:
    """Return the returned messages as entries, in their order.

    Args:
        given: What the code was called with.
        returned: What it gave back.
        by: Name of the code, for the origins.
        is_recoverable: Whether the code keeps originals. The handle of an edited result is then its
            call id, if the text that is left names it.
    """
    matched = _match(given, returned)
    result: list[Entry] = []
    for position, message in enumerate(returned):
        source = matched.get(position)
        if source is None:
            result.append(Entry(message, Origin("generated", (), by)))
        elif given[source].message == message:
            result.append(given[source])
        else:
            handle = _handle_in(message) if is_recoverable else None
            result.append(given[source].edited(message, by, handle=handle))
    return _with_spans(result, matched, given, by)


def _handle_in(message: Message) -> str | None:
    call_id = message.tool_call_id
    return call_id if message.is_result and call_id and call_id in message.text else None


def _match(given: Entries, returned: Sequence[Message]) -> dict[int, int]:
    """Return position in `returned` -> position in `given`, each of the latter at most once.

    In the order of `given` as far as there is a match in that order, because most code keeps it.
    """
    matched = _match_complete(given, returned)
    for key in (_digest, _call_key):
        _match_by(key, given, returned, matched, in_order=True)
    _match_fewer_calls(given, returned, matched)
    for key in (_digest, _call_key):
        _match_by(key, given, returned, matched, in_order=False)
    return matched


def _match_complete(given: Entries, returned: Sequence[Message]) -> dict[int, int]:
    """Match results of one id, and equal messages, of which as many came back as were given.

    Before anything else, because results of a reused id that were cleared to the same text are
    equal messages, and equality would take one for the other.
    """
    before = _places(entry.message for entry in given)
    after = _places(returned)
    return {
        position: source
        for key, positions in after.items()
        if len(sources := before.get(key, [])) == len(positions)
        for position, source in zip(positions, sources, strict=True)
    }


def _places(messages: Iterable[Message]) -> dict[Key, list[int]]:
    places: defaultdict[Key, list[int]] = defaultdict(list)
    for position, message in enumerate(messages):
        places[_call_key(message) if message.is_result else message.digest].append(position)
    return places


def _match_fewer_calls(
    given: Entries, returned: Sequence[Message], matched: dict[int, int]
) -> None:
    """Match assistant messages that lost some of their calls, in order."""
    taken, lowest = set(matched.values()), _highest_before(returned, matched)
    free = [
        (position, _call_ids(entry.message))
        for position, entry in enumerate(given)
        if position not in taken and entry.message.tool_calls
    ]
    limit = len(given)
    for position in range(len(returned) - 1, -1, -1):
        left = frozenset() if position in matched else _call_ids(returned[position])
        fitting = (item for item in reversed(free) if lowest[position] < item[0] < limit)
        found = next((item for item in fitting if left and left < item[1]), None)
        if found is not None:
            matched[position] = found[0]
            free.remove(found)
        limit = min(limit, matched.get(position, limit))


def _call_ids(message: Message) -> frozenset[str]:
    return frozenset(call.call_id or call.name for call in message.tool_calls)


def _match_by(
    key: Callable[[Message], Key | None],
    given: Entries,
    returned: Sequence[Message],
    matched: dict[int, int],
    *,
    in_order: bool,
) -> None:
    """Match the messages not matched yet, equal keys from the last ones back.

    From the back, because code that keeps one of several equal messages keeps the newest.
    """
    taken, lowest = set(matched.values()), _highest_before(returned, matched)
    free: defaultdict[Key, list[int]] = defaultdict(list)
    for position, entry in enumerate(given):
        found = key(entry.message)
        if position not in taken and found is not None:
            free[found].append(position)
    limit = len(given)
    for position in range(len(returned) - 1, -1, -1):
        found = key(returned[position]) if position not in matched else None
        if found is not None and (places := free.get(found)):
            at = bisect_left(places, limit) - 1
            # Else the last one, at -1, out of order.
            if not in_order or (at >= 0 and places[at] > lowest[position]):
                matched[position] = places.pop(at)
        limit = min(limit, matched.get(position, limit))


def _highest_before(returned: Sequence[Message], matched: dict[int, int]) -> list[int]:
    """Return for each position the highest match before it, -1 where there is none."""
    places = (matched.get(position, -1) for position in range(len(returned)))
    return list(accumulate(places, max, initial=-1))


def _digest(message: Message) -> Key:
    return message.digest


def _call_key(message: Message) -> Key | None:
    if message.is_result:
        return ("result", result_key(message))
    if message.tool_calls:
        return ("calls", tuple(call.call_id or call.name for call in message.tool_calls))
    return None


def _with_spans(entries: list[Entry], matched: dict[int, int], given: Entries, by: str) -> Entries:
    """Let each run of written entries stand for the given ones missing at its place."""
    following = sorted(matched.values())
    after, spans = -1, spans_of(given[: following[0] if following else len(given)])
    for position, entry in enumerate(entries):
        if position not in matched:
            entries[position] = Entry(entry.message, Origin("generated", spans, by))
            continue
        del following[bisect_left(following, matched[position])]
        after = max(after, matched[position])
        if position + 1 < len(entries) and position + 1 not in matched:
            at = bisect_right(following, after)
            stop = following[at] if at < len(following) else len(given)
            spans = spans_of(given[after + 1 : stop])
    return tuple(entries)
