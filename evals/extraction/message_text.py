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
    return "\n".join(str(leaf) if key is None else f"{key}: {leaf}" for key, leaf in leaves(value))


def leaves(value: object) -> Iterator[tuple[str | None, object]]:
    """Yield what nested JSON holds besides objects and lists, in its order.

    Each with its key in the object that holds it; None in a list, or if it is the whole.
    """
    pending: list[tuple[str | None, object]] = [(None, value)]
    while pending:  # a call can be nested deeper than Python's own calls may be
        key, item = pending.pop()
        if isinstance(item, dict):
            pending += reversed(item.items())
        elif isinstance(item, list):
            pending += ((None, each) for each in reversed(item))
        else:
            yield key, item
