"""OpenAI Chat Completions: the form that messages have here already, and what the API refuses.

Source: the API reference of Chat Completions and the texts of its 400 errors ("messages with role
'tool' must be a response to a preceding message with 'tool_calls'", "An assistant message with
'tool_calls' must be followed by tool messages responding to each 'tool_call_id'").
"""

from collections.abc import Iterator, Sequence
from typing import Final

from compaction.contract.providers.profiles import EMPTY, Converted, Illegality, Profile
from compaction.messages import Json, Message, messages_to_openai


def to_openai_chat(messages: Sequence[Message]) -> Converted:
    """Return the `messages` of a Chat Completions request."""
    unconverted = [
        f"message {at}: a part that the API does not know"
        for at, message in enumerate(messages)
        if isinstance(message.content, tuple)
        for part in message.content
        if part.kind == "opaque"
    ]
    body = {"messages": messages_to_openai(messages)}
    return Converted(body, tuple((at,) for at in range(len(messages))), tuple(unconverted))


def _refusals(converted: Converted) -> Iterator[Illegality]:
    messages: list[Json] = converted.body["messages"]
    if not messages:
        yield Illegality("empty_request", -1, EMPTY, is_at_end=True)
    waiting: dict[str, int] = {}
    for at, message in enumerate(messages):
        if message["role"] in ("tool", "function"):
            yield from _check_result(at, message, waiting)
        else:
            yield from _unanswered(waiting)
            waiting = {}
        yield from _check_content(at, message)
        for call in message.get("tool_calls") or ():
            key = call.get("id", "")
            if key in waiting:
                yield Illegality("id_reused", at, f"two calls have the id {key!r}", "/tool_calls")
            waiting[key] = at
        if message.get("function_call"):
            waiting[f"legacy:{message['function_call'].get('name')}"] = at
    yield from _unanswered(waiting)


def _check_result(at: int, message: Json, waiting: dict[str, int]) -> Iterator[Illegality]:
    is_legacy = message["role"] == "function"
    key = f"legacy:{message.get('name')}" if is_legacy else str(message.get("tool_call_id"))
    if waiting.pop(key, None) is None and not is_legacy:
        text = f"no call of the assistant message before it has the id {key!r}"
        yield Illegality("result_without_call", at, text, "/tool_call_id")


def _unanswered(waiting: dict[str, int]) -> Iterator[Illegality]:
    for key, at in waiting.items():
        if not key.startswith("legacy:"):
            text = f"its call {key!r} is not answered by the messages right behind it"
            yield Illegality("call_without_result", at, text, "/tool_calls")


def _check_content(at: int, message: Json) -> Iterator[Illegality]:
    content, role = message.get("content"), message["role"]
    calls = bool(message.get("tool_calls") or message.get("function_call"))
    if content == []:
        yield Illegality("empty_content", at, "its content is an empty list", "/content")
    elif content is None and role not in ("assistant", "function"):
        yield Illegality("empty_content", at, f"a {role} message needs content", "/content")
    elif content is None and not calls and not message.get("refusal") and not message.get("audio"):
        text = "an assistant message needs content or calls"
        yield Illegality("empty_content", at, text, "/content")
    if message.get("tool_calls") == []:
        yield Illegality("empty_calls", at, "its list of calls is empty", "/tool_calls")


OPENAI_CHAT: Final = Profile("openai_chat", to_openai_chat, _refusals)
