"""Records with short stand-ins for long texts: enough to count, in a fraction of the memory.

Equal texts have equal stand-ins and others have others, so what is compared, counted and paired
stays as it was.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from compaction.messages import digest_of

JsonValue = Any

MAX_CHARS: Final = 100
"""A longer text is replaced."""
KEPT_CHARS: Final = 60
"""Of its start: formats are told apart by how a text begins."""

_IS_ON: Final = ContextVar("outlining", default=False)


@contextmanager
def outlining(*, is_on: bool = True) -> Iterator[None]:
    """Let every reader of JSON Lines keep outlines only, until the block ends."""
    token = _IS_ON.set(is_on)
    try:
        yield
    finally:
        _IS_ON.reset(token)


def is_outlining() -> bool:
    return _IS_ON.get()


def outlined(value: JsonValue) -> JsonValue:
    """Replace the long texts in a JSON value, in place as far as it is an object or a list."""
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARS else _stand_in(value)
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, dict | list) or (isinstance(item, str) and len(item) > MAX_CHARS):
                value[key] = outlined(item)
    return value


def _stand_in(text: str) -> str:
    """Shorten a text; one that is JSON itself, such as the arguments of a call, stays JSON."""
    if text[0] in "{[":
        try:
            return json.dumps(outlined(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            pass
    return f"{text[:KEPT_CHARS]} [{len(text)} characters, {digest_of(text)[:16]}]"
