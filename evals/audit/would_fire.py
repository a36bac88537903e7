"""When each default strategy would first have compacted a session that nobody compacted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from compaction.errors import CompactionError
from compaction.llm import ChatModel, drive
from compaction.store import MemoryStore
from compaction.strategy import Context, Request
from compaction.tokens import RunningTotal
from evals.prepare import Prepared, PreparedSegment
from evals.replay import usage_told
from evals.settings import SHARES, Setting, bind, default_settings

SHARE: Final = SHARES[1]
"""Of the session's own peak, beside the literal defaults."""


@dataclass(frozen=True, slots=True)
class FirstFire:
    """The first compaction that a strategy would have made."""

    label: str
    request: int | None
    """Counts from 0; None: it would never have compacted."""
    tokens: int | None
    """Input of that request without the compaction, as the provider would have counted it."""
    tier: str | None
    """What it would have done."""
    error: str | None = None


def firing_settings() -> list[Setting]:
    """Return the default systems, each as it is and at half of the peak."""
    return [
        setting
        for setting in default_settings()
        if not setting.is_control and set(setting.parameters.values()) <= {SHARE}
    ]


def first_fires(
    prepared: Prepared, settings: Sequence[Setting], model: ChatModel
) -> list[FirstFire]:
    """Return for each setting the first request before which it would have applied anything."""
    return [_first_fire(prepared, setting, model) for setting in settings]


def _first_fire(prepared: Prepared, setting: Setting, model: ChatModel) -> FirstFire:
    try:
        for segment in prepared.segments:
            found = _in_segment(prepared, segment, setting, model)
            if found is not None:
                return found
    except CompactionError as error:
        return FirstFire(setting.label, None, None, None, str(error))
    return FirstFire(setting.label, None, None, None)


def _in_segment(
    prepared: Prepared, segment: PreparedSegment, setting: Setting, model: ChatModel
) -> FirstFire | None:
    compactor = bind(setting, prepared).start(Context(prepared.counter, MemoryStore()))
    running = RunningTotal(prepared.counter)
    for number, request in enumerate(segment.requests):
        history = segment.history.prefix(request.recorded.position)
        asked = Request(
            index=number,
            time=request.recorded.time,
            model=request.recorded.model,
            tools=prepared.transcript.tools,
        )
        view = drive(compactor.steps(history, asked), model)
        applied = next((event for event in view.events if event.outcome == "applied"), None)
        if applied is not None:
            return FirstFire(setting.label, request.index, round(request.tokens), applied.tier)
        counted = running.total(view.entries) + prepared.fixed_tokens
        tokens = segment.calibration.size(counted)
        compactor.record_usage(usage_told(segment, tokens, request))
    return None
