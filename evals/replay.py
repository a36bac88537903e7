"""A transcript driven through a compactor, request by request, on the recorded trajectory.

The recorded actions are held fixed: what the model would have done with another view is not asked
here. Whoever scores reads the steps as they come; nothing is collected in memory.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from compaction.errors import CompactionError, ModelError, StrategyError
from compaction.history import Entries, History, View
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage, drive
from compaction.store import MemoryStore
from compaction.strategy import Compactor, Context, Request, Strategy
from compaction.tokens import RunningTotal
from evals.prepare import Prepared, PreparedRequest, PreparedSegment


class Step(NamedTuple):
    """One request as a strategy would have sent it."""

    request: PreparedRequest
    segment: PreparedSegment
    history: History
    """What was said before the request."""
    view: View
    twin: View
    """The view of a second compactor, started and fed the same: equal if deterministic."""
    unchanged: int
    """Leading entries equal to those of the step before, origins included; 0 at the start."""
    tokens: float
    """Input tokens of the view, calibrated."""
    compactor: Compactor
    model_calls: tuple[tuple[ModelCall, ModelReply], ...] = ()
    """Calls that the compactor made for this view and that were answered."""
    grew: bool = False
    """Whether the view is the one before and what was said since, without an event or a call, and
    the twin's too. Most requests are like this, and nearly nothing has to be looked at again."""


Outcomes = dict[ModelCall, list[ModelReply | ModelError]]
"""What came of each call, in the order in which it was made."""


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
        self._answered: list[tuple[ModelCall, ModelReply]] = []

    def take_answered(self) -> tuple[tuple[ModelCall, ModelReply], ...]:
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


def replay(
    prepared: Prepared,
    strategy: Strategy,
    model: ChatModel,
    *,
    seed: int = 0,
    deadline: float | None = None,
) -> Iterator[Step]:
    """Yield a step for each request, segment after segment, each with compactors of its own.

    Raises:
        StrategyError: the strategy raised or broke its contract; names the request.
    """
    for segment in prepared.segments:
        yield from _replay_segment(prepared, segment, strategy, model, seed, deadline)


def _replay_segment(
    prepared: Prepared,
    segment: PreparedSegment,
    strategy: Strategy,
    model: ChatModel,
    seed: int,
    deadline: float | None,
) -> Iterator[Step]:
    pair = _Pair(strategy, model, Context(prepared.counter, seed=seed, deadline=deadline))
    running = RunningTotal(prepared.counter)
    view = View(())
    for number, request in enumerate(segment.requests):
        history = segment.history.prefix(request.recorded.position)
        if deadline is not None and time.monotonic() > deadline:
            raise StrategyError(f"request {request.index}: out of time; raise --cell-timeout")
        asked = Request(
            index=number,
            time=request.recorded.time,
            model=request.recorded.model,
            tools=prepared.transcript.tools,
        )
        try:
            sent = pair.ask(history, asked)
        except Exception as error:
            raise _failure(request, error) from error
        before, view, unchanged = view.entries, sent.view, sent.unchanged
        if unchanged and not view.extends(before):
            # Equal entries may be other objects; observers tell entries apart by identity.
            view = View(before[:unchanged] + view.entries[unchanged:], view.events)
        counted = running.of(view, unchanged=unchanged) + prepared.fixed_tokens
        tokens = segment.calibration.size(counted)
        yield Step(
            request,
            segment,
            history,
            view,
            sent.twin,
            unchanged,
            tokens,
            pair.first,
            sent.calls,
            sent.grew,
        )
        try:
            pair.record_usage(usage_told(segment, tokens, request))
        except Exception as error:
            raise _failure(request, error) from error


def usage_told(segment: PreparedSegment, tokens: float, request: PreparedRequest) -> Usage:
    """Return what a compactor is told after a request whose view has so many (calibrated) tokens.

    It cannot have seen the prefix that the log lacks, and may have to know how large that is.
    """
    return Usage(
        round(tokens),
        request.output_tokens,
        unlogged_tokens=round(segment.calibration.offset_tokens),
    )


class _Sent(NamedTuple):
    """What two compactors made of a request."""

    view: View
    twin: View
    unchanged: int
    calls: tuple[tuple[ModelCall, ModelReply], ...]
    grew: bool


class _Pair:
    """Two compactors, started and fed the same; the model is asked once for both."""

    def __init__(self, strategy: Strategy, model: ChatModel, context: Context) -> None:
        outcomes: Outcomes = {}
        self._models = [RememberingModel(model, outcomes) for _ in range(2)]
        self.first, self._second = (
            strategy.start(replace(context, store=MemoryStore())) for _ in range(2)
        )
        self._view = self._twin = View(())
        self._seen = 0

    def ask(self, history: History, request: Request) -> _Sent:
        before, twin_before, seen = self._view, self._twin, self._seen
        view = drive(self.first.steps(history, request), self._models[0])
        twin = drive(self._second.steps(history, request), self._models[1])
        self._view, self._twin, self._seen = view, twin, len(history)
        calls = self._models[0].take_answered()
        unchanged = view.same_as(before)
        grew = bool(seen and not view.events and not calls and unchanged == len(before))
        if grew:
            said = history.entries(seen)
            new = view.entries[unchanged:]
            # Observers tell entries apart by identity, so the objects have to be the same too.
            is_same = len(new) == len(said) and all(map(is_, new, said))
            grew = is_same and _is_followed(twin_before, said, twin)
        return _Sent(view, twin, unchanged, calls, grew)

    def record_usage(self, usage: Usage) -> None:
        self.first.record_usage(usage)
        self._second.record_usage(usage)


def _is_followed(before: View, said: Entries, after: View) -> bool:
    """Whether a view is the one before and what was said since."""
    same = len(before)
    return after.same_as(before) == same and after.entries[same:] == said


def _failure(request: PreparedRequest, error: Exception) -> StrategyError:
    """Say at which request a strategy failed, whatever it raised."""
    if isinstance(error, CompactionError):
        return StrategyError(f"request {request.index}: {error}")
    text = (str(error).splitlines() or [""])[0]
    return StrategyError(f"request {request.index}: {type(error).__name__}: {text}")
