"""The exceptions a caller may want to catch. Each message is one line: what, where, what to do."""

from typing import Literal


class CompactionError(Exception):
    """Base of every error this project raises on purpose."""


class MessageError(CompactionError):
    """A message dict does not have the shape the OpenAI API defines."""


class VocabularyError(CompactionError):
    """The tokenizer's vocabulary is not on this machine; nothing is estimated instead."""


class StoreError(CompactionError):
    """Evicted text could not be written or read back."""


CallFate = Literal["refused", "denied", "busy", "unreachable", "unanswered"]
"""What came of a failed call: the endpoint will never take it as it is; takes none of this caller;
could not take it now; was not reached; or got it and gave no usable answer. Only the last one may
have been charged."""


class ModelError(CompactionError):
    """A model call failed: refused connection, time-out, bad status, unusable reply."""

    def __init__(
        self,
        text: str = "",
        *,
        fate: CallFate = "unanswered",
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(text)
        self.fate: CallFate = fate
        self.retry_after_seconds = retry_after_seconds
        """What a busy endpoint asked for; None if it said nothing."""


class StrategyError(CompactionError):
    """A strategy is unknown, takes no such parameter, or broke its contract while it ran."""


class TranscriptError(CompactionError):
    """A file is not a conversation that can be replayed."""


class SessionError(CompactionError):
    """A session file is damaged or foreign, or a step back is not allowed."""


def one_line(text: str) -> str:
    """Return a text for a terminal: a name with line breaks or escape codes cannot pass for more.

    Whatever cannot be printed is written as an escape.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
