"""A transcript driven through a compactor, request by request, on the recorded trajectory.

The recorded actions are held fixed: what the model would have done with another view is not asked
here. Whoever scores reads the steps as they come; nothing is collected in memory.
"""

import time
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compaction.errors import CompactionError, StrategyError
from compaction.history import Entries, History, View
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage
from compaction.strategy import Compactor, Context, Request, Strategy, Waiting
from compaction.tokens import RunningTotal
from evals.pair import Pair
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


@dataclass(frozen=True)
class Growth:
    """Requests in a row at which a view only grew: most are, and nothing has to be looked at."""

    start: Step
    """The step that all of them grew from."""
    requests: tuple[PreparedRequest, ...]
    """At least one."""
    tokens: tuple[float, ...]
    """Input tokens of each view, calibrated."""

    @cached_property
    def _said(self) -> Entries:
        """All that was said from the start to the last request."""
        end = self.requests[-1].recorded.position
        return self.start.segment.history.prefix(end).entries(len(self.start.history))

    @cached_property
    def _views(self) -> tuple[Entries, Entries]:
        """The entries of the last view and of its twin; the others are beginnings of these."""
        start, said = self.start, self._said
        entries = start.view.entries + said
        return entries, entries if start.twin is start.view else start.twin.entries + said

    def step(self, number: int) -> Step:
        """Return one of them as a step of its own."""
        start, request = self.start, self.requests[number]
        seen, position = len(start.history), request.recorded.position
        before = self.requests[number - 1].recorded.position if number else seen
        entries, twin_entries = self._views
        view = View(entries[: len(start.view) + position - seen])
        is_same = twin_entries is entries
        return Step(
            request=request,
            segment=start.segment,
            history=start.segment.history.prefix(position),
            view=view,
            twin=view if is_same else View(twin_entries[: len(start.twin) + position - seen]),
            unchanged=len(start.view) + before - seen,
            tokens=self.tokens[number],
            compactor=start.compactor,
            grew=True,
        )

    def steps(self) -> Iterator[Step]:
        return map(self.step, range(len(self.requests)))

    def at(self, wanted: Container[int]) -> Iterator[Step]:
        """Yield those of them whose request is wanted, by its index in the transcript."""
        for number, request in enumerate(self.requests):
            if request.index in wanted:
                yield self.step(number)

    @property
    def is_self_contained(self) -> bool:
        """Whether every result that came answers a call that came since the request before."""
        answering = self.start.segment.answering
        return not answering or answering.isdisjoint(each.index for each in self.requests)

    @cached_property
    def end(self) -> Step:
        return self.step(len(self.requests) - 1)


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
    return flat(replay_parts(prepared, strategy, model, seed=seed, deadline=deadline))


def flat(parts: Iterable[Step | Growth]) -> Iterator[Step]:
    """Yield every request as a step."""
    for part in parts:
        if isinstance(part, Growth):
            yield from part.steps()
        else:
            yield part


def replay_parts(
    prepared: Prepared,
    strategy: Strategy,
    model: ChatModel,
    *,
    seed: int = 0,
    deadline: float | None = None,
) -> Iterator[Step | Growth]:
    """Do the same as `replay`, without asking compactors that wait: what they would do is known."""
    for segment in prepared.segments:
        yield from _replay_segment(prepared, segment, strategy, model, seed, deadline)


def _replay_segment(
    prepared: Prepared,
    segment: PreparedSegment,
    strategy: Strategy,
    model: ChatModel,
    seed: int,
    deadline: float | None,
) -> Iterator[Step | Growth]:
    pair = Pair(strategy, model, Context(prepared.counter, seed=seed, deadline=deadline))
    running = RunningTotal(prepared.counter)
    view = View(())
    number = 0
    while number < len(segment.requests):
        request = segment.requests[number]
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
        step = Step(
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
        yield step
        number += 1
        try:
            pair.record_usage(usage_told(segment, tokens, request))
            waiting = pair.waiting()
        except Exception as error:
            raise _failure(request, error) from error
        if waiting is None:
            continue
        growth = _growth(step, counted, number, waiting)
        if growth is None:
            continue
        yield growth
        number += len(growth.requests)
        end = growth.end
        view = end.view
        running.know(
            view,
            counted + end.request.counted_tokens - request.counted_tokens - prepared.fixed_tokens,
        )
        pair.grow(view, end.twin, len(end.history))
        pair.record_usage(usage_told(segment, end.tokens, end.request))


def _growth(step: Step, counted_tokens: int, number: int, waiting: Waiting) -> Growth | None:
    """Return the requests from `number` on for which a compactor that waits need not be asked.

    Args:
        step: The step before.
        counted_tokens: Of its view, with all that stands before it.
        number: Within the segment.
        waiting: What both compactors say.
    """
    segment, history = step.segment, step.segment.history
    seen = len(step.history)
    contained = history.contained_until(seen)
    requests, sizes = [], []
    told = usage_told(segment, step.tokens, step.request)
    for request in segment.requests[number:]:
        position = request.recorded.position
        if position > contained or told.total_tokens > waiting.max_usage_tokens:
            break
        if waiting.said is not None:
            said = history.prefix(position).total(waiting.said) - step.history.total(waiting.said)
            if said > waiting.max_said:
                break
        grown = request.counted_tokens - step.request.counted_tokens
        tokens = segment.calibration.size(counted_tokens + grown)
        requests.append(request)
        sizes.append(tokens)
        told = usage_told(segment, tokens, request)
    return Growth(step, tuple(requests), tuple(sizes)) if requests else None


def usage_told(segment: PreparedSegment, tokens: float, request: PreparedRequest) -> Usage:
    """Return what a compactor is told after a request whose view has so many (calibrated) tokens.

    It cannot have seen the prefix that the log lacks, and may have to know how large that is.
    """
    return Usage(
        round(tokens),
        request.output_tokens,
        unlogged_tokens=round(segment.calibration.offset_tokens),
    )


def _failure(request: PreparedRequest, error: Exception) -> StrategyError:
    """Say at which request a strategy failed, whatever it raised."""
    if isinstance(error, CompactionError):
        return StrategyError(f"request {request.index}: {error}")
    text = (str(error).splitlines() or [""])[0]
    return StrategyError(f"request {request.index}: {type(error).__name__}: {text}")
