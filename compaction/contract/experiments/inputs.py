"""Conversations that are damaged, and messages that must stay as they were given (I22, I28)."""

from collections.abc import Sequence
from typing import Final

from compaction.contract.callables import CallableCompactor
from compaction.contract.damage import damaged
from compaction.contract.drives import Good, Verdict, at_step, first_per_rule
from compaction.contract.trial import Step, describe, request_positions, values_of
from compaction.errors import CompactionError

DAMAGED_REQUESTS: Final = 4
"""About so many requests of each damaged conversation."""
DAMAGED_MESSAGES: Final = 2_000
"""Of a longer conversation the beginning is damaged: there is no other damage further on."""
_CRASHES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
)
"""What a callable raises by accident, and not to say that it does not take this conversation."""


def every_input_is_answered(good: Good) -> Verdict:
    """Give damaged variants of the conversation; a refusal must be a `CompactionError`."""
    found = []
    for name, messages in damaged(good.trial.messages[:DAMAGED_MESSAGES]):
        steps = list[Step]()
        try:
            positions = _few(request_positions(messages))
            steps.extend(good.trial.drive(messages=messages, positions=positions))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a strategy raises is a finding
            if _is_refusal(error):
                continue
            text = f"{name}: not answered: {describe(error)}"
            last = (steps or good.steps)[-1]
            found.append(at_step(last, "every_input_is_answered", text))
    return first_per_rule(found)


def _few(positions: Sequence[int]) -> Sequence[int]:
    """Return the last position and a few before it: a drive for each kind of damage is dear."""
    step = max(1, len(positions) // DAMAGED_REQUESTS)
    return sorted(positions[::-1][::step])


def _is_refusal(error: BaseException) -> bool:
    cause = error.__cause__
    is_crash = isinstance(cause, _CRASHES) or not isinstance(cause, Exception | None)
    return isinstance(error, CompactionError) and not is_crash


def input_is_not_changed(good: Good) -> Verdict:
    """Compare the messages with what they held, and a callable's copies with what it got."""
    if not good.steps:
        return "the conversation has no request"
    last, trial = good.steps[-1], good.trial
    pairs = enumerate(zip(trial.messages, trial.given, strict=True))
    changed = next((at for at, (message, given) in pairs if values_of(message) != given), None)
    if isinstance(last.compactor, CallableCompactor):
        changed = last.compactor.changed_input
    if changed is None:
        return []
    text = f"message {changed} of what was given is changed afterwards"
    return [at_step(last, "input_is_not_changed", text, concerns=changed)]
