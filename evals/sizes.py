"""What a strategy saves: tokens before and after, its events and its own model calls."""

from dataclasses import asdict, fields
from typing import Any, Final

from compaction.messages import Json
from compaction.strategy import CompactionEvent
from evals.fidelity.fates import FateTracker
from evals.prepare import Prepared
from evals.replay import Growth, Step
from evals.results import ENGAGED_FRACTION
from evals.scorers import Cell

_EVENT_FIELDS: Final = tuple(item.name for item in fields(CompactionEvent))


class SizeScorer:
    """Adds up the input tokens of all requests, and notes what the strategy did."""

    def __init__(self, cell: Cell) -> None:
        self._prepared = cell.material.prepared
        self._before = [request.tokens for request in self._prepared.requests]
        self._after: list[float] = []
        self._events: list[tuple[int, CompactionEvent]] = []
        self._compacted_requests = 0

    def see(self, step: Step, fates: FateTracker) -> None:
        self._after.append(step.tokens)
        if not (events := step.view.events):
            return
        self._events.extend((step.request.index, event) for event in events)
        self._compacted_requests += any(event.outcome == "applied" for event in events)

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        self._after += growth.tokens

    def columns(self) -> dict[str, Any]:
        prepared = self._prepared
        before, after = sum(self._before), sum(self._after)
        saving = 1 - after / before if before else 0.0
        calls = [call for _, event in self._events for call in event.model_calls]
        known = [call.usage for call in calls if call.usage is not None]
        failures = [event.reason for _, event in self._events if event.outcome == "failed"]
        return {
            "messages": len(prepared.transcript.messages),
            "requests": len(self._before),
            "segments": len(prepared.segments),
            **_calibration(prepared),
            "fixed_tokens": prepared.fixed_tokens,
            "estimate_per_counted_token": prepared.estimate_per_counted_token,
            "engaged": saving >= ENGAGED_FRACTION,
            "input_tokens_before": before,
            "input_tokens_after": after,
            "saving_fraction": saving,
            "peak_tokens_before": max(self._before, default=0.0),
            "peak_tokens_after": max(self._after, default=0.0),
            "compactions": self._compacted_requests,
            "compactions_failed": len(failures),
            "first_failure": failures[0] if failures else None,
            "model_calls": len(calls),
            "summary_model": ", ".join(sorted({call.model for call in calls if call.model}))
            or None,
            "own_seconds": sum(call.seconds for call in calls) if calls else None,
            "model_input_tokens": sum(usage.input_tokens for usage in known) if known else None,
            "model_output_tokens": sum(usage.output_tokens for usage in known) if known else None,
        }

    def sections(self) -> Json:
        prepared = self._prepared
        return {
            "requests": {
                "before": [round(tokens, 1) for tokens in self._before],
                "after": [round(tokens, 1) for tokens in self._after],
                "first_message": [segment.first_message for segment in prepared.segments],
                "segment": [request.segment for request in prepared.requests],
                "position": [request.recorded.position for request in prepared.requests],
            },
            "calibration": [asdict(segment.calibration) for segment in prepared.segments],
            "events": [{"request": at, **_event_json(event)} for at, event in self._events],
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


def _event_json(event: CompactionEvent) -> Json:
    """Return the fields of an event; `asdict` copies them one by one, ten times slower."""
    content: Json = {name: getattr(event, name) for name in _EVENT_FIELDS}
    content["model_calls"] = [asdict(call) for call in event.model_calls]
    return content
