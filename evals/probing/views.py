"""The view that a strategy would send at a chosen request, without scoring anything."""

from collections.abc import Iterable, Iterator

from compaction.history import View
from compaction.llm import ChatModel, drive
from compaction.store import MemoryStore
from compaction.strategy import Context, Request, Strategy
from evals.prepare import Prepared, PreparedRequest, PreparedSegment
from evals.replay import usage_told


def views_at(
    prepared: Prepared,
    segment: PreparedSegment,
    strategy: Strategy,
    model: ChatModel,
    wanted: Iterable[int],
) -> Iterator[tuple[PreparedRequest, View]]:
    """Yield the views at the requests of `wanted` (transcript numbering), in order.

    The compactor is asked at every request up to the last of them, as in a replay.
    """
    indices = set(wanted)
    compactor = strategy.start(Context(prepared.counter, MemoryStore()))
    for number, request in enumerate(segment.requests):
        if request.index > max(indices, default=-1):
            return
        history = segment.history.prefix(request.recorded.position)
        asked = Request(
            index=number,
            time=request.recorded.time,
            model=request.recorded.model,
            tools=prepared.transcript.tools,
        )
        view = drive(compactor.steps(history, asked), model)
        if request.index in indices:
            yield request, view
        size = prepared.fixed_tokens + sum(map(prepared.counter.count, view.messages))
        tokens = segment.calibration.size(size)
        compactor.record_usage(usage_told(segment, tokens, request))
