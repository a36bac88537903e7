"""What the model was told: everything that leaves, no more than fits, no tools (I10, I25, I26)."""

from collections.abc import Sequence
from typing import Final

from compaction.contract.drives import Good, Verdict, at_step, shown_indices
from compaction.contract.providers import OPENAI_CHAT, check_messages
from compaction.contract.trial import Step
from compaction.history import Entry
from compaction.llm import ModelCall, ModelReply
from compaction.messages import Message
from compaction.pairing import call_key, result_key

PROBE_CHARS: Final = 40
"""So much of the beginning of a text stands for it when it is looked for in a request."""


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
