"""Whether a strategy kept what every compactor must keep, at every request of a cell."""

from collections import Counter
from dataclasses import asdict
from typing import Any, Final

from compaction.contract.invariants import Checker, Violation
from compaction.messages import Json
from evals.fates import FateTracker
from evals.replay import Step
from evals.scorers import Cell

MAX_VIOLATIONS_KEPT: Final = 50
"""Of one cell, in its sidecar; the row counts all."""


class SafetyScorer:
    """Runs the invariants on every view, from the first changed entry on."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._checkers: dict[int, Checker] = {}
        self._violated: Counter[str] = Counter()
        self._violations: list[tuple[int, Violation]] = []

    def see(self, step: Step, fates: FateTracker) -> None:
        number = step.request.segment
        if number not in self._checkers:
            self._checkers[number] = Checker(self._cell.strategy.promises)
        broken = self._checkers[number].see(
            step.history,
            step.view,
            unchanged=step.unchanged,
            twin=step.twin,
            tokens_before=step.request.tokens,
            tokens_after=step.tokens,
            recover=step.compactor.recover,
        )
        self._violated.update({violation.rule for violation in broken})
        room = MAX_VIOLATIONS_KEPT - len(self._violations)
        self._violations.extend((step.request.index, item) for item in broken[:room])

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
