"""Where my_pi_agent's summary ends and the retained tail begins.

Indices are positions in the whole history, instruction messages included.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate

from compaction.messages import Message
from compaction.pairing import safe_cut_after, safe_cut_before


def find_cut(
    messages: Sequence[Message],
    sizes: Sequence[int],
    first: int,
    *,
    tail_size: float,
    suits: Callable[[int], bool],
    worthwhile: Callable[[int], bool],
) -> int | None:
    """Choose the index at which the tail begins, or None if no cut is worth a model call.

    Tried in this order: with the user message at or before the place that `tail_size` allows, with
    the last user message, between the groups around that place. The first that `suits` wins, else
    the smallest tail that is `worthwhile` at all.

    Args:
        messages: All of them.
        sizes: Of `messages[first:]`, in the unit of `tail_size`.
        first: The first index that the summary would newly take in.
        tail_size: The tail is at least so large, as the seed counts it.
        suits: Whether the tail from an index on leaves the view small enough.
        worthwhile: Whether what lies before an index is worth its summary.
    """
    after = accumulate(reversed(sizes))
    length = next((at for at, size in enumerate(after, 1) if size >= tail_size), len(sizes))
    naive = len(messages) - length
    users = [at for at in range(first, len(messages)) if messages[at].role == "user"]
    candidates = [
        *[at for at in users if at <= naive][-1:],
        *users[-1:],
        _before(messages, naive),
        safe_cut_after(messages, naive),
    ]
    possible = [
        at
        for at in dict.fromkeys(candidates)
        if first < at < len(messages) and _before(messages, at) == at and worthwhile(at)
    ]
    suitable = next((at for at in possible if suits(at)), None)
    return suitable if suitable is not None else max(possible, default=None)


def find_cut_as_printed(messages: Sequence[Message], keep_recent_tokens: int) -> int | None:
    """Do what the seed's code does: the tail begins just after a user message, or is empty."""
    budget_chars = keep_recent_tokens * 4
    total_chars = 0
    cut = len(messages)
    for index in range(len(messages) - 1, 0, -1):
        total_chars += len(messages[index].text)
        if total_chars >= budget_chars:
            cut = index
            break
    while cut > 1 and messages[cut - 1].role != "user":
        cut -= 1
    return cut if cut > 1 else None


def _before(messages: Sequence[Message], index: int) -> int:
    return safe_cut_before(messages, index)
