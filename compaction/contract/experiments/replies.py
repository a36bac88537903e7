"""What a model may answer and when: bad replies, failures, messages meanwhile (I14, I15, I24)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from compaction.contract.drives import (
    Found,
    Good,
    Verdict,
    at_step,
    first_difference,
    first_per_rule,
    shown_indices,
)
from compaction.contract.trial import Always, Step, Trial, describe, usage_of
from compaction.errors import CompactionError
from compaction.history import History
from compaction.llm import ChatModel, ModelCall, ModelReply, run_steps
from compaction.messages import Messages
from compaction.strategy import Request

MAX_APPENDS: Final = 3
"""Requests at which messages are appended while the summary is written."""
_CUT_OFF: Final = "## Goal\nThe user wants the settlement service to be"
BAD_REPLIES: Final[Mapping[str, ModelReply]] = {
    "an empty reply": ModelReply(""),
    "a blank reply": ModelReply(" \n\t "),
    "a refusal": ModelReply("I'm sorry, but I can't help with that.", refusal="declined"),
    "a truncated reply": ModelReply(_CUT_OFF, "length"),
    "a reply of tool calls only": ModelReply("", "tool_calls", tool_names=("read",)),
    "the text of an error": ModelReply("Error: context_length_exceeded: prompt is too long"),
}
"""What a summariser returned in the field instead of a summary."""


def bad_summaries_are_refused(good: Good) -> Verdict:
    """Compare with a drive in which every call fails: a bad reply may remove no more than that."""
    trial, found = good.trial, []
    if good.failing.error is not None:
        return "the strategy raises where a model call fails"
    kept = [shown_indices(step.view) for step in good.failing.steps]
    for name, reply in BAD_REPLIES.items():
        for step, without in zip(_until_error(trial, reply), kept, strict=False):
            committed = reply.text.strip() and any(
                entry.origin.kind == "generated" and reply.text in entry.message.text
                for entry in step.view.entries
            )
            lost = without - shown_indices(step.view)
            if lost or committed:
                text = f"{name} was committed" + (f"; message {min(lost)} is gone" if lost else "")
                at = next(iter(sorted(lost)), None)
                found.append(at_step(step, "bad_summaries_are_refused", text, concerns=at))
                break
    return found


def _until_error(trial: Trial, reply: ModelReply) -> Iterator[Step]:
    """Drive with one reply until the strategy raises, which is no commit."""
    try:
        yield from trial.drive(Always(reply))
    except CompactionError:
        return


def failures_commit_nothing(good: Good) -> Verdict:
    """Let every call fail: no more leaves the view than the events of free passes tell of.

    That holds of views that are made anew each time as well, since `changes_are_told` does.
    """
    rule, found = "failures_commit_nothing", list[Found]()
    before: tuple[set[int], int] = (set(), 0)
    for step in good.failing.steps:
        shown = shown_indices(step.view)
        expected = before[0] | set(range(before[1], len(step.history)))
        lost = sorted(expected - shown)
        if step.calls and len(lost) > _freely_removed(step):
            text = f"a model call failed, and message {lost[0]} is gone all the same"
            found.append(at_step(step, rule, text, concerns=lost[0]))
        if step.calls and not any(event.outcome != "applied" for event in step.view.events):
            text = "a model call failed, and no event says failed or skipped"
            found.append(at_step(step, rule, text))
        before = shown, len(step.history)
    if good.failing.error is not None:
        last = (good.failing.steps or good.steps)[-1]
        text = f"a failed model call became {describe(good.failing.error)}"
        found.append(at_step(last, rule, text))
    return first_per_rule(found)


def _freely_removed(step: Step) -> int:
    """Return how many messages the applied passes of a request removed that asked no model."""
    events = step.view.events
    free = (event for event in events if event.outcome == "applied" and not event.model_calls)
    return sum(event.messages_removed for event in free)


def later_messages_survive(good: Good) -> Verdict:
    """Append the next messages while the model is at work, and ask once more."""
    trial = good.trial
    if not trial.strategy.promises.deterministic:
        return "views cannot be compared: deterministic is not promised"
    asking = [step.number for step in good.steps[:-1] if step.calls]
    for number in asking[:MAX_APPENDS]:
        found = _append_during(good, number)
        if found is not None:
            return [found]
    return [] if asking else "no model was asked before the last request"


def _append_during(good: Good, number: int) -> Found | None:
    trial, history = good.trial, History()
    compactor = trial.start()
    for step in good.steps[: number + 2]:
        history = history.extended(trial.messages[len(history) : len(step.history)])
        following = len(good.steps[number + 1].history) if step.number == number else 0
        arriving = _Arriving(trial.model, history, trial.messages[len(history) : following])
        view = run_steps(compactor.steps(history, Request(step.number)), arriving.answer)
        differs = first_difference(step.view, view)
        if differs is not None:
            text = f"messages came while request {number} was compacted, and the view differs here"
            position = differs if differs < len(view) else -1
            found = at_step(step, "later_messages_survive", text, position=position)
            return found._replace(view=view)
        compactor.record_usage(usage_of(trial.size(view)))
        history = arriving.history
    return None


@dataclass
class _Arriving:
    """A model during whose first answer messages are appended to the conversation."""

    model: ChatModel
    history: History
    messages: Messages

    def answer(self, call: ModelCall) -> ModelReply:
        self.history, self.messages = self.history.extended(self.messages), ()
        return self.model.complete(call)
