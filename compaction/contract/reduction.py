"""A smaller conversation that still shows the same fault: drops groups, then calls, then text.

Works on any conversation, recorded ones too, and keeps results with their calls, so that what is
left can be read. Not the smallest there is: no single group, call or text can be taken from it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from compaction.messages import Message, Messages, Part, ToolCall
from compaction.pairing import groups, pair

Fails = Callable[[Messages], bool]
MAX_ATTEMPTS: Final = 600
"""Conversations tried; each costs one full check."""


def reduced(messages: Messages, fails: Fails, *, max_attempts: int = MAX_ATTEMPTS) -> Messages:
    """Return a part of `messages`, simplified, for which `fails` still holds.

    Args:
        messages: A conversation for which `fails` holds.
        fails: Called with smaller and smaller conversations.
        max_attempts: Most calls of `fails`; what was reached by then is returned.
    """
    search = _Search(messages, fails, max_attempts)
    size = -1
    while size != search.size and not search.is_spent:
        size = search.size
        search.drop_groups()
        search.take_first(_with_fewer_calls)
        search.take_first(_with_simpler_message)
    return search.messages


class _Search:
    """The smallest conversation found so far."""

    def __init__(self, messages: Messages, fails: Fails, max_attempts: int) -> None:
        self.messages = messages
        self._fails = fails
        self._left = max_attempts
        self._tried: set[Messages] = {messages}

    @property
    def size(self) -> int:
        return size_of(self.messages)

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def accept(self, candidate: Messages) -> bool:
        """Take a candidate if it still fails."""
        if self.is_spent or candidate in self._tried:
            return False
        self._tried.add(candidate)
        self._left -= 1
        if not self._fails(candidate):
            return False
        self.messages = candidate
        return True

    def drop_groups(self) -> None:
        """Drop runs of groups, half of all at first, then smaller ones, down to single ones."""
        length = max(1, len(groups(self.messages)) // 2)
        while length:
            at = 0
            while at < len(ranges := groups(self.messages)):
                start, stop = ranges[at][0], ranges[min(at + length, len(ranges)) - 1][1]
                if not self.accept(self.messages[:start] + self.messages[stop:]):
                    at += length
            length //= 2

    def take_first(self, smaller: Callable[[Messages], Iterator[Messages]]) -> None:
        """Take the first smaller form that still fails, until there is none."""
        while not self.is_spent and any(map(self.accept, smaller(self.messages))):
            pass


def _with_fewer_calls(messages: Messages) -> Iterator[Messages]:
    """Yield the conversation without one call of several and its result, or without one result."""
    pairing = pair(messages)
    result_of = {(caller, call): result for result, (caller, call) in pairing.call_of.items()}
    for caller, message in enumerate(messages):
        for call in message.tool_calls if len(message.tool_calls) > 1 else ():
            fewer = tuple(other for other in message.tool_calls if other is not call)
            gone = result_of.get((caller, call))
            yield tuple(
                replace(message, tool_calls=fewer) if index == caller else other
                for index, other in enumerate(messages)
                if index != gone
            )
    last = max(pairing.results_of, default=None)
    for result in pairing.results_of[last] if last is not None else ():
        yield messages[:result] + messages[result + 1 :]


def _with_simpler_message(messages: Messages) -> Iterator[Messages]:
    for index, message in enumerate(messages):
        for simpler in _simpler(message):
            if _size(simpler) < _size(message):
                yield (*messages[:index], simpler, *messages[index + 1 :])


def _simpler(message: Message) -> Iterator[Message]:
    """Yield simpler forms, the simplest first."""
    text = message.text
    yield _bare(message, text[:1])
    yield replace(message, content=text[:1], content_given=True)
    yield _bare(message, text)
    yield replace(message, tool_calls=tuple(map(_bare_call, message.tool_calls)))
    if isinstance(message.content, tuple):
        yield replace(message, content=text)
        for at in range(len(message.content)):
            yield replace(message, content=message.content[:at] + message.content[at + 1 :])
        yield replace(message, content=tuple(map(_short_part, message.content)))
        return
    for length in (len(text) // 8, len(text) // 2, len(text) * 7 // 8):
        yield replace(message, content=text[:length], content_given=True)


def _bare(message: Message, text: str) -> Message:
    """Return role, text, calls without arguments, and nothing else."""
    return Message(
        message.role,
        text or None if message.tool_calls else text,
        tool_calls=tuple(map(_bare_call, message.tool_calls)),
        tool_call_id=message.tool_call_id,
        name=message.name if message.role == "function" else None,
    )


def _bare_call(call: ToolCall) -> ToolCall:
    return ToolCall(call.call_id, call.name, "{}", call.kind)


def _short_part(part: Part) -> Part:
    return part.with_text(part.text[:1]) if part.kind in ("text", "refusal") else part


def size_of(messages: Messages) -> int:
    """Return what a reduction makes smaller: above all calls and messages, then characters."""
    return sum(map(_size, messages))


def _size(message: Message) -> int:
    """Return a size by which every step of the reduction is smaller."""
    content = len(message.parts) * 10 if isinstance(message.content, tuple) else 0
    calls = sum(5 + len(call.arguments) + len(call.extra) for call in message.tool_calls)
    return (
        10
        + content
        + sum(len(part.raw) for part in message.parts)
        + len(message.reasoning or "")
        + len(message.extra)
        + calls
    )
