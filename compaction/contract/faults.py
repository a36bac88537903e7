"""A broken rule, and the looks at a single entry or a whole view that `checker` is built from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from compaction.history import Entries, Entry, History, View
from compaction.messages import INSTRUCTION_ROLES, ToolCall
from compaction.tiers.results import original_text


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


def position_of(entry: Entry, view: View) -> int:
    return next(at for at, other in enumerate(view.entries) if other is entry)


def check_adjacent(asking: Entry, shown: list[Entry], view: View) -> Iterator[Fault]:
    at = position_of(asking, view)
    places = {position_of(entry, view) for entry in shown}
    if places != set(range(at + 1, at + 1 + len(shown))):
        yield Fault("results_stay_adjacent", shown[-1], "something was put between call and result")


def violation(
    rule: str, position: int, explanation: str, field: str = "", *, concerns: int | None = None
) -> Violation:
    pointer = f"/{position}{field}" if position >= 0 else ""
    return Violation(rule, position, pointer, explanation, concerns)


def check_system(history: History, view: View) -> Iterator[Violation]:
    for index in range(len(history)):
        message = history[index]
        if message.role not in INSTRUCTION_ROLES:
            return
        if index >= len(view) or view.entries[index].message != message:
            position = index if index < len(view) else -1
            yield violation(
                "system_is_kept", position, f"message {index} is gone or changed", concerns=index
            )


def check_handles(
    history: History, come: Iterable[Entry], recover: Callable[[str], str | None]
) -> dict[int, Fault]:
    faults: dict[int, Fault] = {}
    for entry in come:
        handle, index = entry.origin.handle, entry.origin.first
        if handle is None or index < 0:
            continue
        if handle not in entry.message.text:
            fault = f"handle {handle!r} is not in the text"
        elif recover(handle) != original_text(history[index]):
            fault = f"handle {handle!r} does not give back the original"
        else:
            continue
        faults[id(entry)] = Fault("handles_resolve", entry, fault)
    return faults


def check_size(before: float, after: float) -> Iterator[Violation]:
    if after > before:
        yield violation("never_grows", -1, f"{after:.0f} tokens stand for {before:.0f}")
