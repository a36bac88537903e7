"""The `run` invariants of strategies that ask a model: bad replies, failures, what it was told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compaction.contract.drives import (
    Found,
    Good,
    at_step,
    first_difference,
    first_per_rule,
    shown_indices,
)
from compaction.contract.providers import OPENAI_CHAT, check_messages
from compaction.contract.trial import Step, Trial, describe, usage_of
from compaction.errors import CompactionError, ModelError
from compaction.history import Entry, History
from compaction.llm import ChatModel, ModelCall, ModelReply, run_steps
from compaction.messages import Message, Messages
from compaction.pairing import call_key, result_key
from compaction.strategy import Request

Verdict = list[Found] | str
PROBE_CHARS: Final = 40
"""So much of the beginning of a text stands for it when it is looked for in a request."""
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


@dataclass(frozen=True, slots=True)
class Always:
    """Answers every call alike; None fails."""

    reply: ModelReply | None
    name: str = "always"

    def complete(self, call: ModelCall) -> ModelReply:
        if self.reply is None:
            raise ModelError("the model cannot be reached")
        return self.reply

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


def bad_summaries_are_refused(good: Good) -> Verdict:
    """Compare with a drive in which every call fails: a bad reply may remove no more than that."""
    trial, found = good.trial, []
    try:
        kept = [shown_indices(step.view) for step in trial.drive(Always(None))]
    except CompactionError:
        return "the strategy raises where a model call fails"
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
    """Let every call fail: nothing leaves the view unless a tier that asks no model was applied.

    A view that is made anew each time commits nothing; there the events alone are looked at.
    """
    is_kept = good.trial.strategy.promises.mode == "rewriting"
    rule, step, found = "failures_commit_nothing", None, []
    before: tuple[set[int], int] = (set(), 0)
    try:
        for step in good.trial.drive(Always(None)):
            shown = shown_indices(step.view)
            expected = before[0] | set(range(before[1], len(step.history)))
            is_free = any(
                event.outcome == "applied" and not event.model_calls for event in step.view.events
            )
            lost = sorted(expected - shown)
            if is_kept and step.calls and lost and not is_free:
                text = f"a model call failed, and message {lost[0]} is gone all the same"
                found.append(at_step(step, rule, text, concerns=lost[0]))
            if step.calls and not any(event.outcome != "applied" for event in step.view.events):
                text = "a model call failed, and no event says failed or skipped"
                found.append(at_step(step, rule, text))
            before = shown, len(step.history)
    except CompactionError as error:
        last = step or good.steps[0]
        found.append(at_step(last, rule, f"a failed model call became {describe(error)}"))
    return first_per_rule(found)


def nothing_is_lost_unseen(good: Good) -> Verdict:
    """Look for each message that left the view in what the model was told, or in the store."""
    ledger = _Ledger()
    for step in good.steps:
        lost = ledger.see(step)
        if lost is not None:
            text = f"message {lost} left the view, and no summariser was given it"
            return [at_step(step, "nothing_is_lost_unseen", text, concerns=lost)]
    return []


class _Ledger:
    """What was shown, told to a model, or stored so far."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._told = ""
        self._stored: set[int] = set()
        self._summaries: dict[int, Entry] = {}

    def see(self, step: Step) -> int | None:
        """Return the first message that is lost at this request, or None."""
        for call, outcome in zip(step.calls, step.outcomes, strict=False):
            if isinstance(outcome, ModelReply):
                self._take(call)
        shown = shown_indices(step.view)
        self._stored |= {
            entry.origin.first for entry in step.view.entries if entry.origin.handle is not None
        }
        gone = [at for at in range(len(step.history)) if at not in shown | self._stored]
        lost = next((at for at in gone if not self._was_told(step.history[at])), None)
        return self._lost_summary(step) if lost is None else lost

    def _take(self, call: ModelCall) -> None:
        self._keys |= {key for message in call.subject for key in _keys_of(message)}
        self._told += _told_by(call)

    def _was_told(self, message: Message) -> bool:
        probe = _all_text(message).strip()[:PROBE_CHARS]
        return not probe or probe in self._told or bool(set(_keys_of(message)) & self._keys)

    def _lost_summary(self, step: Step) -> int | None:
        """Return a message whose summary left the view without being read again."""
        written = {
            id(entry): entry
            for entry in step.view.entries
            if entry.origin.kind == "generated" and entry.origin.spans
        }
        before, self._summaries = self._summaries, written
        # Without a model call it is a marker that was written anew, and no summary.
        if not step.calls:
            return None
        told = "\n".join(map(_told_by, step.calls))
        kept = {line for entry in written.values() for line in _lines(entry)}
        for key, entry in before.items():
            # Lines that stand in the new summary too are kept, or the frame around both.
            rest = [line for line in _lines(entry) if line not in kept]
            if key not in written and rest and not any(line in told for line in rest):
                return entry.origin.first
        return None


def _lines(entry: Entry) -> list[str]:
    """Return the end of each line; a frame may stand before its text on the same line."""
    lines = (line.strip() for line in entry.message.text.splitlines())
    return [line[-PROBE_CHARS // 2 :] for line in lines if line]


def _told_by(call: ModelCall) -> str:
    told = (*call.messages, *call.subject)
    return "\n".join([*map(_all_text, told), call.previous_summary or ""])


def _all_text(message: Message) -> str:
    calls = " ".join(call.arguments for call in message.tool_calls)
    return f"{message.text}{calls}"


def _keys_of(message: Message) -> list[str]:
    keys = [call_key(call) for call in message.tool_calls]
    return [*keys, f"result {result_key(message)}"] if message.is_result else keys


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


def summary_requests_fit(good: Good) -> Verdict:
    limit = good.trial.strategy.promises.max_model_input_chars or 0
    for step in good.steps:
        for call in step.calls:
            size = sum(len(_all_text(message)) for message in call.messages)
            if size > limit:
                text = f"the model was asked with {size} characters, the limit is {limit}"
                return [at_step(step, "summary_requests_fit", text)]
    return []


def summariser_is_isolated(good: Good) -> Verdict:
    for step in good.steps:
        for call in step.calls:
            if call.tools:
                text = f"the model that summarises was offered {len(call.tools)} tools"
                return [at_step(step, "summariser_is_isolated", text)]
            illegal = _refused(call)
            if illegal:
                text = f"the request for a {call.purpose} is refused: {illegal[0]}"
                return [at_step(step, "summariser_is_isolated", text)]
    return []


def _refused(call: ModelCall) -> Sequence[str]:
    return [
        f"message {item.position}: {item.explanation}"
        for item in check_messages(call.messages, OPENAI_CHAT)
    ]
