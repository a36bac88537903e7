"""Contestants whose result is known beforehand: they show that the numbers mean something.

`identity` saves nothing and loses nothing, `drop_all` the opposite; `random_drop` and `truncate`
are what a strategy has to beat at equal savings; `salad` lists every reference and must not score.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from compaction.history import Entries, Entry, History, View, generated, whole
from compaction.llm import Steps, Usage
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import Pairing, safe_cut_after
from compaction.strategy import CompactionEvent, Compactor, Context, Promises, Request, Waiting
from evals.extraction.references import extract_references

CONTROLS: Final[Mapping[str, str]] = {
    "identity": "evals.controls:Identity",
    "drop_all": "evals.controls:DropAll",
    "random_drop": "evals.controls:RandomDrop",
    "salad": "evals.controls:Salad",
    "truncate": "evals.controls:Truncate",
}
"""Short name -> `module:Class`, as in `compaction.registry`."""

TRUNCATE_SLACK_FRACTION: Final = 0.125


@dataclass(frozen=True, slots=True)
class Identity:
    """Sends the whole history."""

    name: ClassVar[str] = "identity"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(
        mode="viewing", keeps_system=True, keeps_last_user=True, keep_last_results=16
    )

    def start(self, context: Context) -> Compactor:
        return _Window(context, keep_tokens=None)


@dataclass(frozen=True, slots=True)
class Truncate:
    """Keeps the instructions and the newest groups that fit in `keep_tokens`, one at least.

    When they no longer fit, an eighth more than necessary goes, so that the window does not move at
    every request: a real agent would break its prompt cache each time.
    """

    keep_tokens: int = field(default=32_000, metadata={"unit": "counted_tokens"})
    name: ClassVar[str] = "truncate"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing", keeps_system=True)

    def __post_init__(self) -> None:
        if self.keep_tokens < 0:
            raise ValueError(f"keep_tokens must be >= 0, got {self.keep_tokens}")

    def start(self, context: Context) -> Compactor:
        return _Window(context, keep_tokens=self.keep_tokens)


@dataclass(slots=True)
class _Window:
    """The instructions and a suffix of the history; None keeps all."""

    context: Context
    keep_tokens: int | None
    _start: int = 0
    _room_tokens: int | None = None
    """What can follow the latest view before it moves; None while instructions may follow."""

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        if self.keep_tokens is None:
            return View.of(history)
        head = _n_instructions(history)
        moved_from = self._start = max(self._start, head)
        total = history.total(self.context.counter)
        if self._size_from(history, total) > self.keep_tokens:
            target = self.keep_tokens * (1 - TRUNCATE_SLACK_FRACTION)
            while self._size_from(history, total) > target:
                cut = self._next_cut(history)
                if cut >= len(history):
                    break
                self._start = cut
        room_tokens = self.keep_tokens - self._size_from(history, total)
        self._room_tokens = room_tokens if head < len(history) else None
        view = View(history.prefix(head).entries() + history.entries(self._start))
        removed = self._start - moved_from
        event = CompactionEvent(self._name, "applied", messages_removed=removed)
        return view.with_events(event) if removed else view

    _name: ClassVar[str] = "truncate"

    def _size_from(self, history: History, total: int) -> int:
        return total - history.prefix(self._start).total(self.context.counter)

    def _next_cut(self, history: History) -> int:
        """Return the next safe cut; calls and results are neighbours in nearly every log."""
        tail = history.messages(self._start)
        return self._start + safe_cut_after(tail, 1)

    def waiting(self) -> Waiting | None:
        if self.keep_tokens is None:
            return Waiting()
        room = self._room_tokens
        return None if room is None else Waiting(self.context.counter, room)

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class DropAll:
    """Keeps the instructions and the latest user message."""

    name: ClassVar[str] = "drop_all"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing", keeps_system=True, keeps_last_user=True)

    def start(self, context: Context) -> Compactor:
        return _PerMessage(lambda history, index: None)


@dataclass(frozen=True, slots=True)
class RandomDrop:
    """Drops each group with the same chance, drawn once when the group is first seen."""

    drop_fraction: float = 0.5
    seed: int = 0
    name: ClassVar[str] = "random_drop"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing", keeps_system=True, keeps_last_user=True)

    def __post_init__(self) -> None:
        if not 0 <= self.drop_fraction <= 1:
            raise ValueError(f"drop_fraction must be in 0..1, got {self.drop_fraction}")

    def start(self, context: Context) -> Compactor:
        return _PerMessage(_Lottery(self.drop_fraction, self.seed + context.seed))


@dataclass(frozen=True, slots=True)
class Salad:
    """Replaces every message by a bare list of the references in it."""

    name: ClassVar[str] = "salad"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(
        mode="viewing", keeps_system=True, keeps_last_user=True, grows=True
    )

    def start(self, context: Context) -> Compactor:
        return _PerMessage(_listed)


def _listed(history: History, index: int) -> Entry | None:
    message = history[index]
    texts = [message.text, *(call.arguments for call in message.tool_calls)]
    found = sorted({reference.value for text in texts for reference in extract_references(text)})
    if not found:
        return None
    return generated("user", ", ".join(found), [whole(message, index)], "salad")


class _Lottery:
    """Keeps or drops a message together with the calls and results of its group."""

    def __init__(self, drop_fraction: float, seed: int) -> None:
        self._drop_fraction = drop_fraction
        self._random = random.Random(seed)
        self._pairing = Pairing()
        self._dropped: set[int] = set()

    def __call__(self, history: History, index: int) -> Entry | None:
        self._pairing.append(history[index])
        caller, _ = self._pairing.call_of.get(index, (None, None))
        if caller is None and self._random.random() < self._drop_fraction:
            self._dropped.add(index)
        return (
            None
            if (index if caller is None else caller) in self._dropped
            else (whole(history[index], index))
        )


@dataclass(slots=True)
class _PerMessage:
    """Decides each message once; instructions and the latest user message always stay."""

    decide: Callable[[History, int], Entry | None]
    _seen: int = 0
    _last_user: tuple[int, Entry | None] | None = None
    """Index of the latest user message, and what becomes of it when it is no longer the latest."""
    _before: Entries = ()
    _after: Entries = ()

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        removed = 0
        for index in range(self._seen, len(history)):
            message, entry = history[index], self.decide(history, index)
            if message.role in INSTRUCTION_ROLES:
                entry = whole(message, index)
            if message.role == "user":
                removed += self._last_user is not None and _is_gone(self._last_user[1])
                self._before += self._present(self._last_user and self._last_user[1]) + self._after
                self._last_user, self._after = (index, entry), ()
            else:
                removed += _is_gone(entry)
                self._after += self._present(entry)
        self._seen = len(history)
        latest = self._last_user and whole(history[self._last_user[0]], self._last_user[0])
        event = CompactionEvent("control", "applied", messages_removed=removed)
        return View(self._before + self._present(latest) + self._after, (event,) if removed else ())

    @staticmethod
    def _present(entry: Entry | None) -> Entries:
        return () if entry is None else (entry,)

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        return None


def _is_gone(entry: Entry | None) -> bool:
    return entry is None or entry.origin.kind == "generated"


def _n_instructions(history: History) -> int:
    return next(
        (at for at in range(len(history)) if history[at].role not in INSTRUCTION_ROLES),
        len(history),
    )
