"""A `Conversation` as JSON text: what is stored, and the reading of what older versions stored.

Since 1.3.0 each message carries `kind` and `raw`; before, the messages were plain OpenAI dicts,
in an object or as a bare list. Both are read, the present form is written.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from compaction.conversation_messages import ConversationMessage, message_from_json
from compaction.errors import MessageError, TranscriptError
from compaction.messages import Json
from compaction.systems.xun_levels import CompactionCounter

TOKENS_KEY: Final = "tokens_used"
"""Key of `total_tokens`, kept for archives of all ages."""
_COUNTER_KEYS: Final = ("tool_rounds", "summary_rounds")


@dataclass(frozen=True, slots=True)
class Archive:
    """All that a stored conversation consists of."""

    messages: tuple[ConversationMessage, ...]
    total_tokens: int | None = None
    counter: CompactionCounter = field(default_factory=CompactionCounter)
    originals: Mapping[str, str] = field(default_factory=dict)
    """Handle -> text of a collected tool result."""

    def dumps(self) -> str:
        stored: Json = {
            "messages": [message.to_json() for message in self.messages],
            TOKENS_KEY: self.total_tokens,
            "compaction_counter": {key: getattr(self.counter, key) for key in _COUNTER_KEYS},
            "compacted_toolcalls": dict(self.originals),
        }
        return json.dumps(stored, ensure_ascii=False)


def loads_archive(text: str) -> Archive:
    """Read an archive.

    Raises:
        TranscriptError: not one, with the line or the message index.
    """
    try:
        stored = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise TranscriptError(f"{where}: the archive is not JSON: {error.msg}") from error
    except ValueError as error:
        raise TranscriptError(f"the archive is not JSON: {error}") from error
    except RecursionError as error:
        raise TranscriptError("the archive is nested too deeply to be a conversation") from error
    if isinstance(stored, list):
        stored = {"messages": stored}
    if not isinstance(stored, dict) or not isinstance(stored.get("messages"), list):
        raise TranscriptError("the archive has no list 'messages'")
    return Archive(
        _messages(stored["messages"]),
        _count(stored, TOKENS_KEY, None),
        _counter(stored.get("compaction_counter") or {}),
        _originals(stored.get("compacted_toolcalls") or {}),
    )


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"byte {error.start}: the archive is not UTF-8") from error


def _messages(stored: Sequence[object]) -> tuple[ConversationMessage, ...]:
    messages = []
    for index, item in enumerate(stored):
        try:
            messages.append(message_from_json(item))
        except MessageError as error:
            raise TranscriptError(f"messages[{index}]: {error}") from error
    return tuple(messages)


def _counter(stored: object) -> CompactionCounter:
    if not isinstance(stored, dict):
        raise TranscriptError("'compaction_counter' must be an object")
    return CompactionCounter(*(_count(stored, key, 0) or 0 for key in _COUNTER_KEYS))


def _originals(stored: object) -> dict[str, str]:
    if not isinstance(stored, dict) or not all(isinstance(v, str) for v in stored.values()):
        raise TranscriptError("'compacted_toolcalls' must be an object of strings")
    return stored


def _count(stored: Mapping[str, Any], key: str, default: int | None) -> int | None:
    value = stored.get(key, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise TranscriptError(f"{key!r} must be a count or null, got {value!r}")
    return value
