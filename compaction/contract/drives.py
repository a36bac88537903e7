"""What an experiment gets and gives: a drive that went well, and a broken rule at a request."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from compaction.contract.faults import Violation, index_of, violation
from compaction.contract.trial import Always, Step, Trial
from compaction.errors import CompactionError
from compaction.history import History, View


class Found(NamedTuple):
    """A broken rule, with what is needed to show it."""

    request: int
    violation: Violation
    view: View
    history: History


Verdict = list[Found] | str
"""What an experiment found, or why it could not decide."""


class Failing(NamedTuple):
    """A drive in which every model call fails."""

    steps: tuple[Step, ...]
    error: CompactionError | None
    """What the strategy raised after these steps, if it did."""


@dataclass(frozen=True)
class Good:
    """A drive in which nothing was raised."""

    trial: Trial
    steps: tuple[Step, ...]

    @cached_property
    def failing(self) -> Failing:
        steps = list[Step]()
        try:
            steps.extend(self.trial.drive(Always(None)))
        except CompactionError as error:
            return Failing(tuple(steps), error)
        return Failing(tuple(steps), None)

    @property
    def asked_model(self) -> bool:
        return any(step.calls for step in self.steps)


def at_step(
    step: Step, rule: str, explanation: str, *, position: int = -1, concerns: int | None = None
) -> Found:
    broken = violation(rule, position, explanation, concerns=concerns)
    return Found(step.number, broken, step.view, step.history)


def shown_indices(view: View) -> set[int]:
    """Return which messages of the history stand in a view, edited or not."""
    return {index for entry in view.entries if (index := index_of(entry)) is not None}


def first_difference(one: View, two: View) -> int | None:
    """Return the position of the first message in which two views differ, or None."""
    same = one.unchanged_since(two)
    return None if same == len(one) == len(two) else same


def first_per_rule(found: Sequence[Found]) -> list[Found]:
    """Return the first finding of each rule: what follows is mostly the same fault again."""
    return list({item.violation.rule: item for item in reversed(found)}.values())
