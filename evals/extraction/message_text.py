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
    except ValueError:
        return arguments
    return "\n".join(_strings(value))


def _strings(value: object) -> Iterator[str]:
    """Yield `key: value` texts of nested JSON."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                yield from _strings(item)
            else:
                yield f"{key}: {item}"
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    else:
        yield str(value)
