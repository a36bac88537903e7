"""A broken rule, and what a broken rule is told by."""

from dataclasses import dataclass
from typing import NamedTuple

from compaction.history import Entries, Entry
from compaction.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule at one request."""

    rule: str
    position: int
    """Index of the message in the view, or -1 if a missing message is the fault."""
    pointer: str
    """JSON pointer into the view."""
    explanation: str
    concerns: int | None = None
    """Index in the history of the message that the fault is about, where the view has it not."""


class Fault(NamedTuple):
    """A broken rule, tied to an entry and not to its position, which may move."""

    rule: str
    entry: Entry
    explanation: str
    field: str = ""


def index_of(entry: Entry) -> int | None:
    """Return the history index that an entry shows, or None for written text."""
    return entry.origin.first if entry.origin.kind != "generated" else None


def forget_from(position: int, faults: dict[int, Fault]) -> None:
    for known in [known for known in faults if known >= position]:
        del faults[known]


def first_shown(entries: Entries) -> dict[int, Entry]:
    """Return history index -> the first entry that shows it."""
    shown: dict[int, Entry] = {}
    for entry in entries:
        index = index_of(entry)
        if index is not None:
            shown.setdefault(index, entry)
    return shown


def identity(call: ToolCall) -> tuple[str, str, str]:
    """Return what a call is recognised by; its arguments may have been shortened."""
    return call.call_id, call.name, call.kind


def violation(
    rule: str, position: int, explanation: str, field: str = "", *, concerns: int | None = None
) -> Violation:
    pointer = f"/{position}{field}" if position >= 0 else ""
    return Violation(rule, position, pointer, explanation, concerns)
