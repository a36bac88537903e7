"""Where a conversation is cut for a summary: pure functions over a view, no model."""

from typing import Literal, NamedTuple

from compaction.history import Entries, Entry, Measure, View
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import pair, safe_cut_after, safe_cut_before
from compaction.tiers.growing import MessagesOf

Cut = Literal["group", "user"]
Place = Literal["after_head", "system", "only"]
"""`after_head` puts a message between head and tail; `system` replaces the body of the first
system message (or inserts one); `only` drops the head as well."""


class Split(NamedTuple):
    """A view in three parts; what is replaced by the summary is `subject`."""

    head: Entries
    subject: Entries
    tail: Entries


def split_for_summary(
    view: View,
    *,
    keep_head: int = 0,
    keep_tail: int = 0,
    cut: Cut = "group",
    hoist_last_user: bool = False,
    place: Place = "after_head",
) -> Split | None:
    """Cut a view into what stays, what is summarized, and what stays.

    The tail has at least `keep_tail` messages unless the group it would begin with is all there
    is to summarize. A group whose results are still to come is always in the tail.

    Returns:
        The parts, or None if nothing would be left to summarize. With `place="system"` the
        subject begins with the first system message.
    """
    entries, messages = view.entries, MessagesOf(view.entries)
    instructions = count_instructions(entries)
    replaced = 1 if place == "system" and instructions else 0
    start = min(len(entries), instructions + keep_head)
    start = 0 if place == "only" else safe_cut_after(messages, start)
    wanted = min(len(entries) - keep_tail, start_of_pending(messages))
    end = _tail_start(entries, start, wanted, cut)
    subject, tail = entries[start:end], entries[end:]
    if hoist_last_user and not any(_is_user(entry) for entry in tail):
        last = next((at for at in reversed(range(len(subject))) if _is_user(subject[at])), None)
        if last is not None:
            tail = (subject[last], *tail)
            subject = subject[:last] + subject[last + 1 :]
    if not subject:
        return None
    return Split(entries[replaced:start], entries[:replaced] + subject, tail)


def fitting_tail(entries: Entries, budget: int, measure: Measure) -> int:
    """Return how many of the last messages have at most the size `budget` together."""
    size = 0
    for count, entry in enumerate(reversed(entries)):
        size += measure.count(entry.message)
        if size > budget:
            return count
    return len(entries)


def last_turns(entries: Entries, turns: int) -> int:
    """Return how many messages the last turns have; all if there are fewer turns."""
    seen = 0
    for count, entry in enumerate(reversed(entries)):
        if seen == turns:
            return count
        seen += _is_user(entry)
    return len(entries)


def count_instructions(entries: Entries) -> int:
    """Count the instruction messages at the front; a summary of role system is none."""
    own = (e.message.role in INSTRUCTION_ROLES and e.origin.kind != "generated" for e in entries)
    return next((at for at, is_own in enumerate(own) if not is_own), len(entries))


def start_of_pending(messages: MessagesOf) -> int:
    """Return where the last group begins if results are still to come, else the end."""
    at = len(messages) - 1
    while at >= 0 and messages[at].is_result:
        at -= 1
    return at if at >= 0 and pair(messages[at:]).open_calls else len(messages)


def _tail_start(entries: Entries, start: int, wanted: int, cut: Cut) -> int:
    """Return where the tail begins; `start` if nothing can be summarized."""
    if wanted <= start:
        return start
    messages = MessagesOf(entries)
    if cut == "user":
        for at in range(min(wanted, len(entries) - 1), start, -1):
            if _is_user(entries[at]) and safe_cut_before(messages, at) == at:
                return at
    before = safe_cut_before(messages, wanted)
    if before > start:
        return before
    after = safe_cut_after(messages, wanted)
    return after if after < len(entries) else start


def _is_user(entry: Entry) -> bool:
    return entry.message.role == "user" and entry.origin.kind != "generated"
