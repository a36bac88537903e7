"""Passes repeated, taken back, and with other parameters (I13, I16, I23, I31)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from compaction.contract.drives import (
    Found,
    Good,
    Verdict,
    at_step,
    first_difference,
    shown_indices,
)
from compaction.contract.trial import Recorder, Step, TooManyCallsError, Trial, usage_of
from compaction.history import View
from compaction.llm import run_steps
from compaction.strategy import Request, Strategy, parameters_of
from compaction.tokens import RunningTotal

REST_PASSES: Final = 12
"""Passes over one and the same history after which a strategy must have come to rest."""
HUGE_TOKENS: Final = 10_000_000
"""A fixed prefix above every threshold: system prompt and tools that no pass can shrink."""


def passes_come_to_rest(good: Good) -> Verdict:
    """Ask again and again, each time as if the fixed part alone were over every threshold.

    To say with each request that the view cannot be made smaller is rest as well.
    """
    trial, steps = good.trial, list[Step]()
    try:
        steps.extend(trial.drive(extra_tokens=HUGE_TOKENS))
        return _rest(trial, steps[-1]) if steps else "the conversation has no request"
    except TooManyCallsError as error:
        last = (steps or good.steps)[-1]
        return [at_step(last, "passes_come_to_rest", str(error))]


def _rest(trial: Trial, step: Step) -> list[Found]:
    recorder, view = Recorder(trial.model), step.view
    running = RunningTotal(trial.counter)
    for number in range(REST_PASSES):
        recorder.clear()
        step.compactor.record_usage(usage_of(running.total(view.entries), HUGE_TOKENS))
        request = Request(step.number + number + 1)
        before = view
        view = run_steps(step.compactor.steps(step.history, request), recorder.answer)
    differs = first_difference(before, view)
    outcomes = {event.outcome for event in view.events}
    is_stuck = differs is None and bool(outcomes) and "applied" not in outcomes
    if recorder.calls and not is_stuck:
        text = f"pass {REST_PASSES} over the same messages still asks the model"
    elif differs is not None and trial.strategy.promises.deterministic:
        text = f"pass {REST_PASSES} over the same messages still changes the view"
    else:
        return []
    position = differs if differs is not None and differs < len(view) else -1
    found = at_step(step, "passes_come_to_rest", text, position=position)
    return [found._replace(view=view)]


def a_second_pass_changes_nothing(good: Good) -> Verdict:
    """Ask twice at each request; where a model was asked, another pass is another summary."""
    trial, recorder = good.trial, Recorder(good.trial.model)
    for step in trial.drive():
        recorder.clear()
        steps = step.compactor.steps(step.history, Request(step.number))
        again = run_steps(steps, recorder.answer)
        if step.calls or recorder.calls:
            continue
        differs = first_difference(step.view, again)
        if differs is not None:
            text = "asked again with nothing new, the view differs here"
            position = differs if differs < len(again) else -1
            found = at_step(step, "a_second_pass_changes_nothing", text, position=position)
            return [found._replace(view=again)]
    return []


def undo_restores(good: Good) -> Verdict:
    before, seen = View(()), 0
    for step in good.trial.drive():
        raw = View(before.entries + step.history.entries(seen))
        if first_difference(raw, step.view) is not None:
            return _undone(step, raw)
        before, seen = step.view, len(step.history)
    return "nothing was compacted, so that there is nothing to take back"


def _undone(step: Step, raw: View) -> list[Found]:
    undo: Any = getattr(step.compactor, "undo", None)
    if not callable(undo):
        return [at_step(step, "undo_restores", "the compactor has no method `undo`")]
    restored = undo()
    differs = first_difference(raw, restored)
    if differs is None:
        return []
    text = "after undo, what was sent before the pass differs here"
    position = differs if differs < len(restored) else -1
    return [at_step(step, "undo_restores", text, position=position)._replace(view=restored)]


def parameters_are_monotone(good: Good) -> Verdict:
    found = []
    for name in good.trial.strategy.promises.monotone_parameters:
        larger = _enlarged(good.trial.strategy, name)
        if larger is None:
            return f"{name} has no number that could be enlarged"
        for few, many in zip(good.steps, replace(good.trial, strategy=larger).drive(), strict=True):
            if lost := shown_indices(few.view) - shown_indices(many.view):
                text = f"with a larger {name}, message {min(lost)} is no longer in the view"
                found.append(at_step(many, "parameters_are_monotone", text, concerns=min(lost)))
                break
    return found


def _enlarged(strategy: Strategy, name: str) -> Strategy | None:
    value = getattr(strategy, name, None)
    if not isinstance(value, int):
        return None
    given = dict(parameters_of(strategy))
    make: Callable[..., Strategy] = type(strategy)
    return make(**(given | {name: 2 * value + 1}))
