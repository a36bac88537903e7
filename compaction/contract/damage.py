"""Damaged variants of a conversation: what logs, crashes and other people's code leave behind."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from compaction.messages import Message, Messages

GIANT_CHARS: Final = 200_000


class Damaged(NamedTuple):
    name: str
    messages: Messages


def damaged(messages: Messages) -> Iterator[Damaged]:
    """Yield variants that no provider would take, and a few that are merely extreme."""
    yield Damaged("no messages at all", ())
    yield Damaged("one giant user message", (Message("user", "word " * (GIANT_CHARS // 5)),))
    system = tuple(message for message in messages if message.role == "system")
    yield Damaged("instructions only", system or (Message("system", "Be brief."),))
    results = [at for at, message in enumerate(messages) if message.is_result]
    if not results:
        return
    first, last = results[0], results[-1]
    yield Damaged("all results lost", tuple(m for m in messages if not m.is_result))
    yield Damaged("all calls lost", tuple(m for m in messages if not m.tool_calls))
    yield Damaged("the last result lost", messages[:last] + messages[last + 1 :])
    yield Damaged("a result twice", messages[: first + 1] + messages[first:])
    moved = (messages[first], *messages[:first], *messages[first + 1 :])
    yield Damaged("a result before its call", moved)
    nameless = replace(messages[first], tool_call_id=None)
    yield Damaged("a result without an id", (*messages[:first], nameless, *messages[first + 1 :]))
    yield Damaged("arguments that are no JSON", tuple(map(_with_cut_arguments, messages)))


def _with_cut_arguments(message: Message) -> Message:
    calls = tuple(replace(call, arguments=call.arguments[:-1]) for call in message.tool_calls)
    return replace(message, tool_calls=calls) if calls else message
