"""Closing tags in the conversation that a strategy would take for its own (I27)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from compaction.contract.drives import Good, Verdict, at_step
from compaction.contract.trial import Step
from compaction.errors import CompactionError
from compaction.history import Entries, equal_prefix
from compaction.llm import ModelReply
from compaction.messages import INSTRUCTION_ROLES, Message

FORGED: Final = " forged-7f3a: "
"""Follows each forged tag, so that it is told from a tag of the strategy."""
_CLOSING: Final = re.compile(r"</([A-Za-z][\w.-]*)>")


def closing_tags_cannot_be_forged(good: Good) -> Verdict:
    """Begin every message with the tags that the strategy closes, and look for them in its text."""
    trial, rule = good.trial, "closing_tags_cannot_be_forged"
    own = {name for message in trial.messages for name in _closed_in(message.text)}
    written = (text for _, _, text in _written(good.steps))
    names = sorted({name for text in written for name in _wrapping(text)} - own)
    if not names:
        return "the strategy writes no closing tags around what it was given"
    hostile = tuple(_with_tags(message, names) for message in trial.messages)
    replies: dict[int, str] = {}
    try:
        for step, position, text in _written(trial.drive(messages=hostile)):
            if step.number not in replies:
                given = (reply for reply in step.outcomes if isinstance(reply, ModelReply))
                replies[step.number] = "".join(reply.text for reply in given)
            forged = (name for name in names if _is_forged(name, text, replies.values()))
            name = next(forged, None)
            if name is not None:
                what = "what the model is told" if position is None else "this message"
                text = f"</{name}> in the conversation closes the <{name}> of {what}"
                at = -1 if position is None else position
                return [at_step(step, rule, text, position=at)]
    except CompactionError:
        return "the strategy refuses a conversation with tags in it"
    return []


def _is_forged(name: str, text: str, replies: Iterable[str]) -> bool:
    """Whether a tag of the conversation stands unchanged inside one that the strategy opened.

    A tag that a reply opened is the model's: it may have quoted a message of the view.
    """
    at = text.find(f"</{name}>{FORGED}")
    opened = re.finditer(rf"<{re.escape(name)}(?:\s[^>]*)?>", text[: max(0, at)])
    return any(not any(tag[0] in reply for reply in replies) for tag in opened)


def _with_tags(message: Message, names: list[str]) -> Message:
    if message.role in INSTRUCTION_ROLES or not message.text:
        return message
    tags = "".join(f"</{name}>{FORGED}" for name in names)
    return message.with_text(tags + message.text)


def _wrapping(text: str) -> list[str]:
    """Return the names of tags that a text both opens and closes."""
    return [name for name in _closed_in(text) if f"<{name}>" in text or f"<{name} " in text]


def _closed_in(text: str) -> list[str]:
    return _CLOSING.findall(text) if "</" in text else []


def _written(steps: Iterable[Step]) -> Iterator[tuple[Step, int | None, str]]:
    """Yield all texts that the strategy made, once: new ones of a view with places, and calls."""
    before: Entries = ()
    for step in steps:
        entries = step.view.entries
        same = equal_prefix(before, entries)
        for position, entry in enumerate(entries[same:], same):
            if entry.origin.kind != "whole":
                yield step, position, entry.message.text
        for call in step.calls:
            for message in call.messages:
                yield step, None, message.text
        before = entries
