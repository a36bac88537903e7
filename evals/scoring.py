"""One cell: a transcript replayed under one setting, measured into a row and a sidecar."""

import gc
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from compaction.contract.invariants import Checker, Violation
from compaction.llm import ChatModel
from compaction.messages import Json
from compaction.strategy import CompactionEvent, Promises, Strategy
from evals.facts import FactScorer, FactSet
from evals.fates import FATE_CODES, FateTracker
from evals.foreign import ForeignStrategy
from evals.need_status import NeedScorer
from evals.needs import NeedSet
from evals.prepare import Prepared
from evals.replay import Step, replay
from evals.results import ENGAGED_FRACTION

_EVENT_FIELDS: Final = tuple(item.name for item in fields(CompactionEvent))

MAX_VIOLATIONS_KEPT = 50
"""Of one cell, in its sidecar; the row counts all."""


@dataclass(frozen=True)
class Material:
    """A transcript with everything that all settings share."""

    prepared: Prepared
    needs: NeedSet
    facts: FactSet


@dataclass(frozen=True)
class Score:
    columns: dict[str, Any]
    """Columns of `evals.results.Row`."""
    sidecar: Json


@dataclass
class _Totals:
    """What adds up over the requests of a cell."""

    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    events: list[tuple[int, CompactionEvent]] = field(default_factory=list)
    compacted_requests: int = 0
    violated: Counter[str] = field(default_factory=Counter)
    violations: list[tuple[int, Violation]] = field(default_factory=list)

    def add(self, step: Step, broken: list[Violation]) -> None:
        self.before.append(step.request.tokens)
        self.after.append(step.tokens)
        events = step.view.events
        self.events.extend((step.request.index, event) for event in events)
        self.compacted_requests += any(event.outcome == "applied" for event in events)
        self.violated.update({violation.rule for violation in broken})
        room = MAX_VIOLATIONS_KEPT - len(self.violations)
        self.violations.extend((step.request.index, item) for item in broken[:room])


def score(
    material: Material,
    strategy: Strategy,
    model: ChatModel,
    *,
    seed: int = 0,
    timeout_seconds: float | None = None,
    show_text: bool = False,
) -> Score:
    """Replay a transcript under a strategy and measure it.

    Args:
        material: The transcript, prepared.
        strategy: Bound to the transcript.
        model: Answers the strategy's calls.
        seed: For strategies that draw.
        timeout_seconds: Longest time for the whole cell.
        show_text: Write the needed references themselves into the sidecar.

    Raises:
        StrategyError: the strategy failed; names the request.
    """
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    prepared, promises = material.prepared, strategy.promises
    is_foreign = isinstance(strategy, ForeignStrategy)
    needs = NeedScorer(material.needs, promises, is_declared=promises.recoverable or not is_foreign)
    facts = FactScorer(material.facts)
    totals = _Totals()
    trackers: dict[int, FateTracker] = {}
    checkers: dict[int, Checker] = {}
    with _without_collector():
        for step in replay(prepared, strategy, model, seed=seed, deadline=deadline):
            number = step.request.segment
            checker = checkers.setdefault(number, Checker(promises))
            tracker = trackers.setdefault(number, FateTracker(step.segment.first_message))
            tracker.see(
                step.history, step.view.entries, step.request.index, unchanged=step.unchanged
            )
            needs.see(step)
            facts.see(step, tracker)
            totals.add(
                step,
                checker.see(
                    step.history,
                    step.view,
                    unchanged=step.unchanged,
                    twin=step.twin,
                    tokens_before=step.request.tokens,
                    tokens_after=step.tokens,
                    recover=step.compactor.recover,
                ),
            )
    columns = _sizes(prepared, totals) | asdict(needs.summary()) | asdict(facts.summary())
    columns["not_declared"] = _not_declared(strategy, promises)
    changes = [change for tracker in trackers.values() for change in tracker.changes]
    details = needs.details(_firsts(prepared) if show_text else None)
    return Score(columns, _sidecar(prepared, totals, details, facts, changes))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking all live messages again and again.

    A replay makes no cycles; on long conversations this is an eighth of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _sizes(prepared: Prepared, totals: _Totals) -> dict[str, Any]:
    before, after = sum(totals.before), sum(totals.after)
    saving = 1 - after / before if before else 0.0
    calls = [call for _, event in totals.events for call in event.model_calls]
    known = [call.usage for call in calls if call.usage is not None]
    failures = [event.reason for _, event in totals.events if event.outcome == "failed"]
    return {
        "messages": len(prepared.transcript.messages),
        "requests": len(totals.before),
        "segments": len(prepared.segments),
        **_calibration(prepared),
        "engaged": saving >= ENGAGED_FRACTION,
        "input_tokens_before": before,
        "input_tokens_after": after,
        "saving_fraction": saving,
        "peak_tokens_before": max(totals.before, default=0.0),
        "peak_tokens_after": max(totals.after, default=0.0),
        "compactions": totals.compacted_requests,
        "compactions_failed": len(failures),
        "first_failure": failures[0] if failures else None,
        "model_calls": len(calls),
        "model_input_tokens": sum(usage.input_tokens for usage in known) if known else None,
        "model_output_tokens": sum(usage.output_tokens for usage in known) if known else None,
        "violations": sum(totals.violated.values()),
        "violated": dict(totals.violated),
    }


def _calibration(prepared: Prepared) -> dict[str, float | None]:
    """Return the fit of the segment with the most requests; the sidecar has them all."""
    segment = max(prepared.segments, key=lambda item: len(item.requests), default=None)
    if segment is None or segment.calibration.n_requests == 0:
        return {}
    return {
        "calibration_slope": segment.calibration.slope,
        "calibration_offset_tokens": segment.calibration.offset_tokens,
        "calibration_error_fraction": segment.calibration.error_fraction,
    }


def _firsts(prepared: Prepared) -> dict[int, int]:
    """Return request index -> index of the first message of its segment."""
    return {
        request.index: segment.first_message
        for segment in prepared.segments
        for request in segment.requests
    }


def _not_declared(strategy: Strategy, promises: Promises) -> tuple[str, ...]:
    """Name what somebody's code does not say about itself, so that it is not held against it."""
    if not isinstance(strategy, ForeignStrategy):
        return ()
    declared = {
        "keeps_system": promises.keeps_system,
        "keeps_last_user": promises.keeps_last_user,
        "keep_last_results": promises.keep_last_results is not None,
        "recoverable": promises.recoverable,
    }
    return tuple(name for name, is_declared in declared.items() if not is_declared)


def _event_json(event: CompactionEvent) -> Json:
    """Return the fields of an event; `asdict` copies them one by one, ten times slower."""
    content: Json = {name: getattr(event, name) for name in _EVENT_FIELDS}
    content["model_calls"] = [asdict(call) for call in event.model_calls]
    return content


def _sidecar(
    prepared: Prepared,
    totals: _Totals,
    needs: Json,
    facts: FactScorer,
    changes: list[tuple[int, int, str]],
) -> Json:
    return {
        "requests": {
            "before": [round(tokens, 1) for tokens in totals.before],
            "after": [round(tokens, 1) for tokens in totals.after],
            "first_message": [segment.first_message for segment in prepared.segments],
            "segment": [request.segment for request in prepared.requests],
            "position": [request.recorded.position for request in prepared.requests],
        },
        "calibration": [asdict(segment.calibration) for segment in prepared.segments],
        "events": [{"request": at, **_event_json(event)} for at, event in totals.events],
        "violations": [{"request": at, **asdict(item)} for at, item in totals.violations],
        "fate_codes": dict(FATE_CODES),
        "fates": changes,
        "needs": needs,
        "facts": facts.details(),
    }
