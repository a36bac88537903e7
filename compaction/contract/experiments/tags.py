"""Closing tags in the conversation that a strategy would take for its own (I27)."""

import re
from collections.abc import Iterator
from typing import Final

from compaction.contract.drives import Good, Verdict, at_step
from compaction.contract.trial import Step
from compaction.errors import CompactionError
from compaction.llm import ModelReply
from compaction.messages import INSTRUCTION_ROLES, Message

FORGED: Final = " forged-7f3a: "
"""Follows each forged tag, so that it is told from a tag of the strategy."""
_CLOSING: Final = re.compile(r"</([A-Za-z][\w.-]*)>")


def closing_tags_cannot_be_forged(good: Good) -> Verdict:
    """Begin every message with the tags that the strategy closes, and look for them in its text."""
    trial, rule = good.trial, "closing_tags_cannot_be_forged"
    own = {name for message in trial.messages for name in _closed_in(message.text)}
    names = sorted({name for step in good.steps for name in _written_tags(step)} - own)
    if not names:
        return "the strategy writes no closing tags around what it was given"
    hostile, replies = tuple(_with_tags(message, names) for message in trial.messages), ""
    try:
        for step in trial.drive(messages=hostile):
            replies += "".join(
                reply.text for reply in step.outcomes if isinstance(reply, ModelReply)
            )
            for position, text in _written(step):
                name = next((name for name in names if _is_forged(name, text, replies)), None)
                if name is not None:
                    what = "what the model is told" if position is None else "this message"
                    text = f"</{name}> in the conversation closes the <{name}> of {what}"
                    at = -1 if position is None else position
                    return [at_step(step, rule, text, position=at)]
    except CompactionError:
        return "the strategy refuses a conversation with tags in it"
    return []


def _is_forged(name: str, text: str, replies: str) -> bool:
    """Whether a tag of the conversation stands unchanged inside one that the strategy opened.

    A tag that a reply opened is the model's: it may have quoted a message of the view.
    """
    at = text.find(f"</{name}>{FORGED}")
    opened = re.finditer(rf"<{re.escape(name)}(?:\s[^>]*)?>", text[: max(0, at)])
    return any(tag[0] not in replies for tag in opened)


def _with_tags(message: Message, names: list[str]) -> Message:
    if message.role in INSTRUCTION_ROLES or not message.text:
        return message
    tags = "".join(f"</{name}>{FORGED}" for name in names)
    return message.with_text(tags + message.text)


def _written_tags(step: Step) -> Iterator[str]:
    for _, text in _written(step):
        for name in _closed_in(text):
            if f"<{name}>" in text or f"<{name} " in text:
                yield name


def _closed_in(text: str) -> list[str]:
    return _CLOSING.findall(text) if "</" in text else []


def _written(step: Step) -> Iterator[tuple[int | None, str]]:
    """Yield all texts that the strategy made: messages of the view with their places, and calls."""
    for position, entry in enumerate(step.view.entries):
        if entry.origin.kind != "whole":
            yield position, entry.message.text
    for call in step.calls:
        for message in call.messages:
            yield None, message.text
