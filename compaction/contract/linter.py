"""Structural faults of one conversation, with their places: what a strict provider would refuse.

Looks at raw OpenAI dicts, so that it can name what `Message` would not even read. What is odd but
legal passes: results out of order, an id used again in a later turn, content as a list of parts.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from compaction.messages import INSTRUCTION_ROLES, RESULT_ROLES, Message, Role

ROLES: Final = frozenset(get_args(Role))
RULES: Final[Mapping[str, str]] = {
    "not_a_message": "an entry is no object",
    "unknown_role": "a role that the API does not know",
    "missing_id": "a call without an id, or a result that does not say what it answers",
    "bad_call": "a call without a function and its name",
    "bad_arguments": "arguments that are no JSON object",
    "duplicate_id": "an id that is used again before its call is answered",
    "orphan_result": "a result that answers no call",
    "result_before_call": "a result that stands before its call",
    "duplicate_result": "a second result for one call",
    "dangling_call": "a message none of whose calls is answered",
    "partial_group": "a message some of whose calls are not answered",
    "between_call_and_result": "a message between a call and its result",
    "system_in_tool_group": "instructions between a call and its result",
    "empty_assistant": "an assistant message with neither content nor calls",
}
"""Rule -> what it names."""


@dataclass(frozen=True, slots=True)
class Lint:
    """One fault."""

    rule: str
    index: int
    """Of the message."""
    pointer: str
    """JSON pointer into the list of messages."""
    explanation: str


@dataclass(slots=True)
class _Group:
    """An assistant message with calls, while its results are looked for."""

    index: int
    open: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    between: list[tuple[int, bool]] = field(default_factory=list)
    """Messages since the call that are no results, and whether they are instructions."""


def lint(messages: Sequence[object]) -> list[Lint]:
    """Return every structural fault of a conversation, in the order of the messages.

    Args:
        messages: OpenAI dicts, whatever is in them, or `Message` values.
    """
    raw = [item.to_openai() if isinstance(item, Message) else item for item in messages]
    found = list(_Linter(raw).run())
    return sorted(found, key=lambda item: item.index)


class _Linter:
    """One pass over a conversation."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = messages
        self._groups: list[_Group] = []
        """Those with open calls, oldest first."""
        self._answered: set[str] = set()
        self._early: Counter[str] = Counter()
        """Results that stood before their call."""
        self._later = Counter(
            key for message in messages if isinstance(message, dict) for key in _call_keys(message)
        )
        """Calls that are still to come."""

    def run(self) -> Iterator[Lint]:
        for index, message in enumerate(self._messages):
            if not isinstance(message, dict):
                kind = type(message).__name__
                yield Lint("not_a_message", index, f"/{index}", f"a {kind} is no message")
                continue
            yield from _check_alone(index, message)
            if message.get("role") in RESULT_ROLES:
                yield from self._take_result(index, message)
            else:
                self._interrupt(index, message)
                yield from self._take_calls(index, message)
        yield from self._unanswered()

    def _interrupt(self, index: int, message: Mapping[str, Any]) -> None:
        for group in self._groups[-1:]:
            group.between.append((index, message.get("role") in INSTRUCTION_ROLES))

    def _take_calls(self, index: int, message: Mapping[str, Any]) -> Iterator[Lint]:
        group, waiting = _Group(index), {key for known in self._groups for key in known.open}
        for at, key in enumerate(_call_keys(message)):
            self._later[key] -= 1
            if self._early[key]:
                self._early[key] -= 1
                continue
            if key in waiting or key in group.open:
                text = f"the id {key!r} is used again before its call is answered"
                yield Lint("duplicate_id", index, f"/{index}/tool_calls/{at}/id", text)
            group.open[key] += 1
        if group.open:
            self._groups.append(group)

    def _take_result(self, index: int, message: Mapping[str, Any]) -> Iterator[Lint]:
        key = _result_key(message)
        if key is None:
            return
        group = next((known for known in reversed(self._groups) if known.open[key] > 0), None)
        if group is None:
            yield self._unexpected(index, key)
            return
        for at, is_instruction in group.between:
            rule = "system_in_tool_group" if is_instruction else "between_call_and_result"
            text = f"stands between the call in message {group.index} and its result {index}"
            yield Lint(rule, at, f"/{at}", text)
        group.between = []
        group.open[key] -= 1
        group.answered += 1
        self._answered.add(key)
        group.open = +group.open
        if not group.open:
            self._groups.remove(group)

    def _unexpected(self, index: int, key: str) -> Lint:
        pointer = f"/{index}/tool_call_id"
        if key in self._answered:
            return Lint("duplicate_result", index, pointer, f"{key!r} was answered before")
        if self._later[key] > 0:
            self._early[key] += 1
            text = f"the call {key!r} comes only later"
            return Lint("result_before_call", index, pointer, text)
        return Lint("orphan_result", index, pointer, f"there is no call {key!r}")

    def _unanswered(self) -> Iterator[Lint]:
        for group in self._groups:
            rule = "partial_group" if group.answered else "dangling_call"
            keys = ", ".join(repr(key) for key in group.open)
            text = f"no result for {keys}"
            yield Lint(rule, group.index, f"/{group.index}/tool_calls", text)


def _calls(message: Mapping[str, Any]) -> list[Any]:
    listed = message.get("tool_calls")
    return listed if isinstance(listed, list) else []


def _call_keys(message: Mapping[str, Any]) -> Iterator[str]:
    for call in _calls(message):
        key = call.get("id") if isinstance(call, dict) else None
        if isinstance(key, str) and key:
            yield key
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        yield f"function {legacy.get('name')}"


def _result_key(message: Mapping[str, Any]) -> str | None:
    if message["role"] == "function":
        return f"function {message.get('name')}"
    key = message.get("tool_call_id")
    return key if isinstance(key, str) and key else None


def _check_alone(index: int, message: Mapping[str, Any]) -> Iterator[Lint]:
    """Check what a message shows without its neighbours."""
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        text = f"the role {role!r} is unknown; known: {', '.join(get_args(Role))}"
        yield Lint("unknown_role", index, f"/{index}/role", text)
    if role == "tool" and _result_key(message) is None:
        text = "the result has no tool_call_id"
        yield Lint("missing_id", index, f"/{index}/tool_call_id", text)
    if role == "assistant" and _is_empty(message):
        text = "it has neither content nor calls"
        yield Lint("empty_assistant", index, f"/{index}/content", text)
    listed = message.get("tool_calls")
    if listed is not None and not isinstance(listed, list):
        text = f"the calls are a list, and not a {type(listed).__name__}"
        yield Lint("bad_call", index, f"/{index}/tool_calls", text)
    for at, call in enumerate(_calls(message)):
        yield from _check_call(index, f"/{index}/tool_calls/{at}", call)
    if isinstance(message.get("function_call"), dict):
        pointer = f"/{index}/function_call"
        yield from _check_function(index, pointer, message["function_call"])


def _is_empty(message: Mapping[str, Any]) -> bool:
    others = ("tool_calls", "function_call", "refusal", "audio")
    if any(message.get(name) for name in others):
        return False
    content = message.get("content")
    if not isinstance(content, list):
        return not content
    texts = [part.get("text") for part in content if isinstance(part, dict) and "text" in part]
    return not any(texts) and len(texts) == len(content)


def _check_call(index: int, pointer: str, call: object) -> Iterator[Lint]:
    if not isinstance(call, dict):
        kind = type(call).__name__
        yield Lint("bad_call", index, pointer, f"a call is an object, and not a {kind}")
        return
    key = call.get("id")
    if not isinstance(key, str) or not key:
        yield Lint("missing_id", index, f"{pointer}/id", "the call has no id")
    if isinstance(call.get("custom"), dict):
        return
    if not isinstance(call.get("function"), dict):
        yield Lint("bad_call", index, pointer, "the call names no function")
        return
    yield from _check_function(index, f"{pointer}/function", call["function"])


def _check_function(index: int, pointer: str, function: Mapping[str, Any]) -> Iterator[Lint]:
    name, arguments = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        yield Lint("bad_call", index, f"{pointer}/name", "the function has no name")
    if not isinstance(arguments, str):
        kind = type(arguments).__name__
        text = f"arguments are JSON in a string, and not a {kind}"
        yield Lint("bad_arguments", index, f"{pointer}/arguments", text)
        return
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        text = f"the arguments of {name} are no JSON object"
        yield Lint("bad_arguments", index, f"{pointer}/arguments", text)
