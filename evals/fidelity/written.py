"""Whether a strategy's own texts say only what the conversation says.

An unsupported reference stands in a summary and nowhere in what was said before it. A drifted pair
is a `key=value` of a summary whose key the conversation has with other values only. Both are found
without a model; a wrong sentence made of right names is not. Source: reference/methods.md, F4.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from compaction.history import Entries, exchanged
from compaction.messages import Message, digest_of
from evals.extraction.message_text import held_text
from evals.extraction.references import Reference, extract_references, occurs_in
from evals.fidelity.fates import FateTracker
from evals.replay import Growth, Step
from evals.scorers import Cell

MAX_KEPT: Final = 200
"""Unsupported references of one cell in its sidecar."""


@dataclass
class _Said:
    """The references of one segment's history, as far as it has been read."""

    references: set[Reference] = field(default_factory=set)
    values_of: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    n_messages: int = 0

    def read(self, message: Message) -> None:
        found = references_in(message)
        self.references |= found
        for reference in found:
            if reference.kind == "key_value":
                key, _, value = reference.value.partition("=")
                self.values_of[key].add(value)
        self.n_messages += 1


@dataclass(frozen=True, slots=True)
class _Unsupported:
    reference: Reference
    request: int
    is_drift: bool


class WrittenScorer:
    """Looks at every text that a strategy wrote, once, when it first stands in a view."""

    def __init__(self, cell: Cell) -> None:
        self._show_text = cell.show_text
        self._said: dict[int, _Said] = {}
        self._entries: dict[int, Entries] = {}
        self._judged: set[Message] = set()
        self._written: set[Reference] = set()
        self._unsupported: dict[Reference, _Unsupported] = {}

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        """Nothing is written at requests that only add what was said."""

    def see(self, step: Step, fates: FateTracker) -> None:
        if step.grew:
            return
        number = step.request.segment
        before = self._entries.get(number, ())
        _, come = exchanged(before, step.view.entries, min(step.unchanged, len(before)))
        self._entries[number] = step.view.entries
        written = dict.fromkeys(entry.message for entry in come if entry.origin.kind == "generated")
        new = [message for message in written if message not in self._judged]
        if not new:
            return
        said = self._said.setdefault(number, _Said())
        for at in range(said.n_messages, len(step.history)):
            said.read(step.history[at])
        handles = {handle for event in step.view.events for handle in event.handles}
        for message in new:
            self._judge(message, step, said, handles)

    def columns(self) -> dict[str, Any]:
        drifted = sum(found.is_drift for found in self._unsupported.values())
        n = len(self._written)
        return {
            "written_references": n,
            "unsupported_fraction": len(self._unsupported) / n if n else None,
            "drifted_pairs": drifted,
        }

    def sections(self) -> Mapping[str, Any]:
        rows = [
            [
                found.reference.value if self._show_text else digest_of(found.reference.value)[:12],
                found.reference.kind,
                found.request,
                found.is_drift,
            ]
            for found in list(self._unsupported.values())[:MAX_KEPT]
        ]
        return {"unsupported": {"columns": ["value", "class", "request", "is_drift"], "rows": rows}}

    def _judge(self, message: Message, step: Step, said: _Said, handles: set[str]) -> None:
        self._judged.add(message)
        # The order of a set differs from process to process, and so would that of the sidecar.
        for reference in sorted(references_in(message)):
            if reference in said.references or reference in self._unsupported:
                self._written.add(reference)
                continue
            if any(reference.value in handle for handle in handles):
                continue
            self._written.add(reference)
            is_drift = self._is_drift(reference, said)
            if is_drift or not _stands_in_history(reference, step):
                found = _Unsupported(reference, step.request.index, is_drift)
                self._unsupported[reference] = found

    def _is_drift(self, reference: Reference, said: _Said) -> bool:
        if reference.kind != "key_value":
            return False
        key, _, value = reference.value.partition("=")
        known = said.values_of.get(key)
        return bool(known) and value not in (known or ())


def _stands_in_history(reference: Reference, step: Step) -> bool:
    """Look for the characters: a part of a longer path is no reference there, but it was said."""
    messages = step.history.messages()
    return any(occurs_in(reference.value, held_text(message)) for message in messages)


@lru_cache(maxsize=65_536)
def references_in(message: Message) -> frozenset[Reference]:
    """Return the references of a message, remembered for all settings of a sweep."""
    return extract_references(held_text(message))
