"""The text of a message in which references and facts are looked for."""

import json
from collections.abc import Iterator
from functools import lru_cache

from compaction.messages import Message


def output_texts(message: Message) -> list[str]:
    """Return where an assistant message uses references: text and arguments, not reasoning."""
    return [message.text, *(decoded(call.arguments) for call in message.tool_calls)]


def held_text(message: Message) -> str:
    """Return all text of a message in which a reference can stand, reasoning included."""
    texts = output_texts(message)
    return "\n".join((*texts, message.reasoning) if message.reasoning else texts)


@lru_cache(maxsize=4096)
def decoded(arguments: str) -> str:
    """Return the strings in JSON arguments without their escapes, else the text as it is."""
    if "\\" not in arguments:
        return arguments
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return "\n".join(_strings(value))


def _strings(value: object) -> Iterator[str]:
    """Yield `key: value` texts of nested JSON."""
    pending: list[tuple[str | None, object]] = [(None, value)]
    while pending:  # a call can be nested deeper than Python's own calls may be
        key, item = pending.pop()
        if isinstance(item, dict):
            pending += reversed(item.items())
        elif isinstance(item, list):
            pending += ((None, each) for each in reversed(item))
        else:
            yield str(item) if key is None else f"{key}: {item}"
