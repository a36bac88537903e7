"""Whether a strategy kept what every compactor must keep, at every request of a cell."""

from collections import Counter
from dataclasses import asdict
from typing import Any, Final

from compaction.contract.invariants import Checker, Violation
from compaction.messages import INSTRUCTION_ROLES, Json
from evals.fidelity.fates import FateTracker
from evals.replay import Growth, Step
from evals.scorers import Cell

MAX_VIOLATIONS_KEPT: Final = 50
"""Of one cell, in its sidecar; the row counts all."""


class SafetyScorer:
    """Runs the invariants on every view that may break one, from the first changed entry on.

    A view that broke none and since then only grew by whole groups of messages breaks none. So the
    last of such requests is looked at, and only if one of another kind follows.
    """

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._checker = Checker(cell.strategy.promises)
        self._segment = -1
        self._is_sound = False
        """Whether the latest view breaks nothing and ends with the latest message."""
        self._seen = 0
        """Messages of the history."""
        self._unchanged = 0
        """Leading entries that are as at the request which was looked at last."""
        self._passed_over: Step | None = None
        self._violated: Counter[str] = Counter()
        self._violations: list[tuple[int, Violation]] = []

    def see(self, step: Step, fates: FateTracker) -> None:
        if step.request.segment != self._segment:
            self._segment, self._passed_over = step.request.segment, None
            self._checker = Checker(self._cell.strategy.promises)
            self._is_sound = False
        seen, self._seen = self._seen, len(step.history)
        if self._is_sound and step.grew and step.history.is_self_contained(seen):
            if self._passed_over is None:
                self._unchanged = step.unchanged
            self._passed_over = step
            return
        if self._passed_over is not None:
            self._look_at(self._passed_over, self._unchanged)
            self._passed_over = None
        broken = self._look_at(step, step.unchanged)
        self._is_sound = not broken and _ends_with_latest(step)
        self._violated.update({violation.rule for violation in broken})
        room = MAX_VIOLATIONS_KEPT - len(self._violations)
        self._violations.extend((step.request.index, item) for item in broken[:room])

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        if self._is_sound and growth.is_self_contained:
            if self._passed_over is None:
                self._unchanged = len(growth.start.view)
            self._passed_over = growth.end
            self._seen = len(self._passed_over.history)
            return
        for step in growth.steps():
            self.see(step, fates)

    def _look_at(self, step: Step, unchanged: int) -> list[Violation]:
        return self._checker.see(
            step.history,
            step.view,
            unchanged=unchanged,
            twin=step.twin,
            tokens_before=step.request.tokens,
            tokens_after=step.tokens,
            recover=step.compactor.recover,
        )

    def columns(self) -> dict[str, Any]:
        return {
            "violations": sum(self._violated.values()),
            "violated": dict(self._violated),
            "not_declared": self._not_declared(),
        }

    def sections(self) -> Json:
        return {"violations": [{"request": at, **asdict(item)} for at, item in self._violations]}

    def _not_declared(self) -> tuple[str, ...]:
        """Name what somebody's code does not say about itself; it is not held against it."""
        if not self._cell.is_foreign:
            return ()
        promises = self._cell.strategy.promises
        declared = {
            "keeps_system": promises.keeps_system,
            "keeps_last_user": promises.keeps_last_user,
            "keep_last_results": promises.keep_last_results is not None,
            "recoverable": promises.recoverable,
        }
        return tuple(name for name, is_declared in declared.items() if not is_declared)


def _ends_with_latest(step: Step) -> bool:
    """Whether a view ends with the latest message as it was said, and that is no instruction.

    Then what follows it has no seam before it, which is where order and roles are judged.
    """
    if not step.view.entries:
        return False
    last = step.view.entries[-1]
    is_latest = last.origin.kind == "whole" and last.origin.first == len(step.history) - 1
    return is_latest and last.message.role not in INSTRUCTION_ROLES
