"""A transcript driven through a compactor, request by request, on the recorded trajectory.

The recorded actions are held fixed: what the model would have done with another view is not asked
here. Whoever scores reads the steps as they come; nothing is collected in memory.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from compaction.errors import CompactionError, StrategyError
from compaction.history import History, View, equal_prefix
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage, drive
from compaction.store import MemoryStore
from compaction.strategy import Compactor, Context, Request, Strategy
from compaction.tokens import RunningTotal
from evals.prepare import Prepared, PreparedRequest, PreparedSegment


@dataclass(frozen=True, slots=True)
class Step:
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


class RememberingModel:
    """Gives a call it has seen before the same reply, so that a twin costs no second call."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self._model = model
        self._replies: dict[ModelCall, ModelReply] = {}

    def complete(self, call: ModelCall) -> ModelReply:
        if call not in self._replies:
            self._replies[call] = self._model.complete(call)
        return self._replies[call]

    async def acomplete(self, call: ModelCall) -> ModelReply:
        if call not in self._replies:
            self._replies[call] = await self._model.acomplete(call)
        return self._replies[call]


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
    remembering = RememberingModel(model)
    pair = [
        strategy.start(Context(prepared.counter, MemoryStore(), seed, deadline)) for _ in range(2)
    ]
    running = RunningTotal(prepared.counter)
    previous = View(())
    for number, request in enumerate(segment.requests):
        history = segment.history.prefix(request.recorded.position)
        asked = Request(
            index=number,
            time=request.recorded.time,
            model=request.recorded.model,
            tools=prepared.transcript.tools,
        )
        if deadline is not None and time.monotonic() > deadline:
            raise StrategyError(f"request {request.index}: out of time; raise --timeout")
        try:
            view, twin = (drive(each.steps(history, asked), remembering) for each in pair)
            unchanged = equal_prefix(previous.entries, view.entries)
            counted = running.total(view.entries, unchanged=unchanged) + prepared.fixed_tokens
            tokens = segment.calibration.size(counted)
            usage = Usage(round(tokens), request.output_tokens)
            yield Step(request, segment, history, view, twin, unchanged, tokens, pair[0])
            for each in pair:
                each.record_usage(usage)
        except CompactionError as error:
            raise StrategyError(f"request {request.index}: {error}") from error
        previous = view
