"""The `run` invariants that need no model: what takes more than a look at each view.

An experiment returns what it found, or as text why it could not decide. The table at the end holds
those of `experiments_model` as well.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from compaction.contract import experiments_model
from compaction.contract.callables import CallableCompactor
from compaction.contract.damage import damaged
from compaction.contract.drives import (
    Found,
    Good,
    at_step,
    first_difference,
    first_per_rule,
    shown_indices,
)
from compaction.contract.trial import (
    Recorder,
    Step,
    TooManyCallsError,
    Trial,
    describe,
    request_positions,
    usage_of,
)
from compaction.errors import CompactionError
from compaction.history import View
from compaction.llm import run_steps
from compaction.messages import Messages, canonical_json, digest_of
from compaction.strategy import Request, Strategy, parameters_of

Verdict = list[Found] | str
REST_PASSES: Final = 12
"""Passes over one and the same history after which a strategy must have come to rest."""
DAMAGED_REQUESTS: Final = 4
"""About so many requests of each damaged conversation."""
HUGE_TOKENS: Final = 10_000_000
"""A fixed prefix above every threshold: system prompt and tools that no pass can shrink."""
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


def target_is_met_or_missed_aloud(good: Good) -> Verdict:
    target = good.trial.strategy.promises.target_tokens or 0
    found = []
    for step in good.steps:
        outcomes = {event.outcome for event in step.view.events}
        size = step.size
        if "applied" in outcomes and not outcomes & {"failed", "skipped"} and size > target:
            text = f"the pass ended at {size}, the target is {target}, and no event says why"
            found.append(at_step(step, "target_is_met_or_missed_aloud", text))
    return found[:1]


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
    for number in range(REST_PASSES):
        recorder.clear()
        step.compactor.record_usage(usage_of(trial.size(view), HUGE_TOKENS))
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


def counts_are_faithful(good: Good) -> Verdict:
    allowed = good.trial.strategy.promises.counts_within_fraction or 0.0
    for step in good.steps:
        told = [event.tokens_after for event in step.view.events if event.tokens_after is not None]
        size = step.size
        if told and abs(told[-1] - size) > allowed * size:
            text = f"the event says {told[-1]}, the counter {size}"
            return [at_step(step, "counts_are_faithful", text)]
    return []


def counts_share_one_basis(good: Good) -> Verdict:
    for step in good.steps:
        events = [e for e in step.view.events if None not in (e.tokens_before, e.tokens_after)]
        for one, two in pairwise(events):
            if one.tokens_after != two.tokens_before:
                text = (
                    f"{one.tier} ended with {one.tokens_after}, "
                    f"{two.tier} begins with {two.tokens_before}"
                )
                return [at_step(step, "counts_share_one_basis", text)]
    return []


def every_input_is_answered(good: Good) -> Verdict:
    """Give damaged variants of the conversation; a refusal must be a `CompactionError`."""
    found = []
    for name, messages in damaged(good.trial.messages):
        steps = list[Step]()
        try:
            positions = _few(request_positions(messages))
            steps.extend(good.trial.drive(messages=messages, positions=positions))
        except Exception as error:  # noqa: BLE001 - whatever a strategy raises is a finding
            if _is_refusal(error):
                continue
            text = f"{name}: the strategy raised {describe(error)}"
            last = (steps or good.steps)[-1]
            found.append(at_step(last, "every_input_is_answered", text))
    return first_per_rule(found)


def _few(positions: Sequence[int]) -> Sequence[int]:
    """Return the last position and a few before it: a drive for each kind of damage is dear."""
    step = max(1, len(positions) // DAMAGED_REQUESTS)
    return sorted(positions[::-1][::step])


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, CompactionError) and not isinstance(error.__cause__, _CRASHES)


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


def input_is_not_changed(good: Good) -> Verdict:
    """Compare the messages with what they were, and a callable's copies with what it got."""
    if not good.steps:
        return "the conversation has no request"
    last = good.steps[-1]
    changed = _changed_message(good.trial.messages)
    if isinstance(last.compactor, CallableCompactor):
        changed = last.compactor.changed_input
    if changed is None:
        return []
    text = f"message {changed} of what was given is changed afterwards"
    return [at_step(last, "input_is_not_changed", text, concerns=changed)]


def _changed_message(messages: Messages) -> int | None:
    """Compare digests, which each message keeps from its first comparison on, with new ones."""
    changed = (
        at
        for at, message in enumerate(messages)
        if message.digest != digest_of(canonical_json(message.to_openai()))
    )
    return next(changed, None)


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


EXPERIMENTS: Final[Mapping[str, Callable[[Good], Verdict]]] = {
    "nothing_is_lost_unseen": experiments_model.nothing_is_lost_unseen,
    "target_is_met_or_missed_aloud": target_is_met_or_missed_aloud,
    "passes_come_to_rest": passes_come_to_rest,
    "bad_summaries_are_refused": experiments_model.bad_summaries_are_refused,
    "failures_commit_nothing": experiments_model.failures_commit_nothing,
    "a_second_pass_changes_nothing": a_second_pass_changes_nothing,
    "counts_are_faithful": counts_are_faithful,
    "counts_share_one_basis": counts_share_one_basis,
    "every_input_is_answered": every_input_is_answered,
    "undo_restores": undo_restores,
    "later_messages_survive": experiments_model.later_messages_survive,
    "summary_requests_fit": experiments_model.summary_requests_fit,
    "summariser_is_isolated": experiments_model.summariser_is_isolated,
    "input_is_not_changed": input_is_not_changed,
    "parameters_are_monotone": parameters_are_monotone,
}
"""Name of the `run` invariant -> its experiment."""
