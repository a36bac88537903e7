"""CutCtx's `ObservationMaskingPolicy`, planned and applied at every request of a log.

usage: cutctx_views.py RECORDED
"""

import json
import sys
from pathlib import Path

from cutctx import (
    CharRatioEstimator,
    CompactionBudget,
    CompactionExecutor,
    ObservationMaskingPolicy,
    Role,
    Transcript,
    TranscriptTurn,
)
from views import report

KEPT_RESULTS = 3


def turns_of(messages):
    """Return one turn a message; calls and results of one batch share an id, as CutCtx asks."""
    estimator, exchange = CharRatioEstimator(), None
    for index, message in enumerate(messages):
        text, calls = message.get("content") or "", message.get("tool_calls")
        if message["role"] != "tool":
            exchange = f"exchange-{index}" if calls else None
        tokens = estimator.estimate_tokens(text + (json.dumps(calls) if calls else ""))
        yield TranscriptTurn(f"m{index}", Role(message["role"]), text, tokens, exchange)


def views(turns, positions, masked):
    policy, executor = ObservationMaskingPolicy(KEPT_RESULTS), CompactionExecutor()
    # The smallest budget that is not refused, so that every result it may mask is masked.
    floor = sum(turn.token_estimate for turn in turns if turn.role is Role.SYSTEM)
    budget = CompactionBudget(max_tokens=floor, protected_recent_turns=0)
    for position in positions:
        transcript = Transcript(turns[:position])
        view = executor.apply(transcript, policy.decide(transcript, budget))
        masked.append([int(turn_id[1:]) for turn_id in view.report.masked_turn_ids])
        yield [turn.content for turn in view.transcript.turns]


def main():
    recorded = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    turns, masked = tuple(turns_of(recorded["messages"])), []
    report(views(turns, recorded["positions"], masked), edited=masked)


if __name__ == "__main__":
    main()
