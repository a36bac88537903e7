"""Two compactors of one strategy, started and fed the same: equal views if it is deterministic.

A model is asked once for both.
"""

from collections import Counter
from dataclasses import replace
from operator import is_
from typing import NamedTuple, Protocol, runtime_checkable

from compaction.errors import ModelError
from compaction.history import Entries, History, View
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage, drive
from compaction.store import MemoryStore
from compaction.strategy import Context, Patient, Request, Strategy, Waiting

Outcomes = dict[ModelCall, list[ModelReply | ModelError]]
"""What came of each call, in the order in which it was made."""
Answered = tuple[ModelCall, ModelReply]


@runtime_checkable
class SelfAnswering(Protocol):
    """A compactor that has some of its calls answered itself: they cost what others do."""

    def take_answered(self) -> tuple[Answered, ...]:
        """Return what was asked and answered since the last time this was called."""
        ...


class RememberingModel:
    """Gives a compactor the outcomes that its twin had, so that a twin costs no second call.

    The n-th time a call is made, its n-th outcome is given, failures too: a retry is a real one,
    and a twin fares no better than the first.
    """

    def __init__(self, model: ChatModel, outcomes: Outcomes) -> None:
        self.name = model.name
        self._model = model
        self._outcomes = outcomes
        self._made: Counter[ModelCall] = Counter()
        self._answered: list[Answered] = []

    def take_answered(self) -> tuple[Answered, ...]:
        """Return what was asked and answered since the last time this was called."""
        if not self._answered:
            return ()
        answered = tuple(self._answered)
        self._answered.clear()
        return answered

    def complete(self, call: ModelCall) -> ModelReply:
        if self._is_new(call):
            try:
                self._outcomes[call].append(self._model.complete(call))
            except ModelError as error:
                self._outcomes[call].append(error)
        return self._next(call)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        if self._is_new(call):
            try:
                self._outcomes[call].append(await self._model.acomplete(call))
            except ModelError as error:
                self._outcomes[call].append(error)
        return self._next(call)

    def _is_new(self, call: ModelCall) -> bool:
        return len(self._outcomes.setdefault(call, [])) <= self._made[call]

    def _next(self, call: ModelCall) -> ModelReply:
        outcome = self._outcomes[call][self._made[call]]
        self._made[call] += 1
        if isinstance(outcome, ModelError):
            raise outcome
        self._answered.append((call, outcome))
        return outcome


class Sent(NamedTuple):
    """What two compactors made of a request."""

    view: View
    twin: View
    unchanged: int
    calls: tuple[Answered, ...]
    grew: bool


class Pair:
    """Two compactors, started and fed the same; the model is asked once for both."""

    def __init__(self, strategy: Strategy, model: ChatModel, context: Context) -> None:
        outcomes: Outcomes = {}
        self._models = [RememberingModel(model, outcomes) for _ in range(2)]
        self.first, self._second = (
            strategy.start(replace(context, store=MemoryStore())) for _ in range(2)
        )
        self._own = self.first if isinstance(self.first, SelfAnswering) else None
        self._patient = [each for each in (self.first, self._second) if isinstance(each, Patient)]
        self._view = self._twin = View(())
        self._seen = 0

    def ask(self, history: History, request: Request) -> Sent:
        before, twin_before, seen = self._view, self._twin, self._seen
        view = drive(self.first.steps(history, request), self._models[0])
        twin = drive(self._second.steps(history, request), self._models[1])
        self._view, self._twin, self._seen = view, twin, len(history)
        calls = self._models[0].take_answered()
        if self._own is not None:
            calls += self._own.take_answered()
        unchanged = view.same_as(before)
        grew = bool(seen and not view.events and not calls and unchanged == len(before))
        if grew:
            said = history.entries(seen)
            new = view.entries[unchanged:]
            # Observers tell entries apart by identity, so the objects have to be the same too.
            is_same = len(new) == len(said) and all(map(is_, new, said))
            grew = is_same and _is_followed(twin_before, said, twin)
        return Sent(view, twin, unchanged, calls, grew)

    def waiting(self) -> Waiting | None:
        """Return how long both only append what is said; None if they do not say it alike."""
        if not self._seen or len(self._patient) < len(self._models):
            return None
        first, second = (each.waiting() for each in self._patient)
        return first if first == second else None

    def grow(self, view: View, twin: View, seen: int) -> None:
        """Take in what both would have returned up to here, had they been asked."""
        self._view, self._twin, self._seen = view, twin, seen

    def record_usage(self, usage: Usage) -> None:
        self.first.record_usage(usage)
        self._second.record_usage(usage)


def _is_followed(before: View, said: Entries, after: View) -> bool:
    """Whether a view is the one before and what was said since."""
    same = len(before)
    return after.same_as(before) == same and after.entries[same:] == said
