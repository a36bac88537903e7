"""What a provider refuses: a profile converts messages into its request and looks at that."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from compaction.messages import Json, Message


@dataclass(frozen=True, slots=True)
class Converted:
    """A request as a provider wants it."""

    body: Json
    """The fields that hold the conversation, such as `messages` and `system`."""
    sources: tuple[tuple[int, ...], ...]
    """For each item of the list in `body`: the indices of the messages that went into it."""
    unconverted: tuple[str, ...] = ()
    """What has no counterpart there and was left out, with its place."""


@dataclass(frozen=True, slots=True)
class Illegality:
    """One thing that a provider would refuse."""

    rule: str
    position: int
    """Index of the message, or -1 for the conversation as a whole."""
    explanation: str
    field: str = ""
    is_at_end: bool = False
    """It concerns the first or last message because that is the first or last."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The rules of one API."""

    name: str
    convert: Callable[[Sequence[Message]], Converted]
    refusals: Callable[[Converted], Iterator[Illegality]]


def check_messages(messages: Sequence[Message], profile: Profile) -> list[Illegality]:
    """Return what the provider would refuse in the request made from these messages."""
    return list(profile.refusals(profile.convert(messages)))


EMPTY: Final = "the conversation is empty"


def last_source(converted: Converted, at: int) -> int:
    """Return the message that an item ends with, or -1."""
    return converted.sources[at][-1] if converted.sources[at] else -1
