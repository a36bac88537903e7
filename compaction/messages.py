"""Messages as frozen values, lossless to and from OpenAI chat dicts.

`Message.from_openai(d).to_openai() == d` for every dict that the API accepts or returns: absent and
null differ, `tool_calls: []` stays, unknown fields survive as canonical JSON. Other formats are
converted to OpenAI dicts by the importers, never here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, Literal, get_args

from compaction.errors import MessageError

Json = dict[str, Any]
"""A JSON object at the edge of the project, before or after it is a typed value."""

Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
PartKind = Literal["text", "image", "file", "audio", "refusal", "opaque"]
CallKind = Literal["function", "custom", "legacy"]

INSTRUCTION_ROLES: Final = frozenset({"system", "developer"})
RESULT_ROLES: Final = frozenset({"tool", "function"})
REASONING_FIELDS: Final = ("reasoning_content", "reasoning")
"""Where OpenAI-compatible servers put reasoning text; the first one present is read."""

_PART_KINDS: Final[Mapping[str, PartKind]] = {
    "text": "text",
    "image_url": "image",
    "file": "file",
    "input_audio": "audio",
    "refusal": "refusal",
}


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
"""Made once: `json.dumps` makes one per call, a quarter of the time for short messages."""


def canonical_json(value: object) -> str:
    """Dump with sorted keys, no spaces and no ASCII escapes: equal values give equal text."""
    return _CANONICAL.encode(value)


def digest_of(text: str) -> str:
    """Return 32 hexadecimal digits that stand for `text` (BLAKE2b, 128 bits)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Part:
    """One element of a list-valued `content`."""

    kind: PartKind
    text: str
    """The text of a text or refusal part; empty for media and opaque parts."""
    raw: str
    """Canonical JSON of the part as it was given; the only source of `to_openai`."""

    @classmethod
    def from_openai(cls, raw: object) -> "Part":
        if not isinstance(raw, dict):
            return cls("opaque", "", canonical_json(raw))
        kind = _PART_KINDS.get(str(raw.get("type")), "opaque")
        text = raw.get(kind) if kind in ("text", "refusal") else ""
        if not isinstance(text, str):
            return cls("opaque", "", canonical_json(raw))
        return cls(kind, text, canonical_json(raw))

    @classmethod
    def of_text(cls, text: str) -> "Part":
        return cls.from_openai({"type": "text", "text": text})

    def with_text(self, text: str) -> "Part":
        """Return this text or refusal part with other text, its further fields kept."""
        return Part.from_openai({**self.to_openai(), self.kind: text})

    def to_openai(self) -> Any:
        return json.loads(self.raw)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that an assistant message makes.

    `legacy` is the `function_call` field of old messages: it has no id (`call_id` is empty) and is
    answered by the next message of role `function` with the same name.
    """

    call_id: str
    name: str
    arguments: str
    """As the model wrote them: JSON text for functions, free text for custom tools."""
    kind: CallKind = "function"
    extra: str = "{}"
    """Canonical JSON of the fields that the four above do not determine."""

    @classmethod
    def from_openai(cls, raw: object) -> "ToolCall":
        if not isinstance(raw, dict):
            raise MessageError(f"a tool call must be an object, got {type(raw).__name__}")
        given_kind = raw.get("type")
        kind: CallKind = "custom" if given_kind == "custom" and "custom" in raw else "function"
        body = raw.get(kind)
        if not isinstance(body, dict):
            raise MessageError(f"tool call {raw.get('id')!r} has no object {kind!r}")
        text_key = "input" if kind == "custom" else "arguments"
        return cls(
            call_id=_text_field(raw, "id", "tool call"),
            name=_text_field(body, "name", "tool call"),
            arguments=_text_field(body, text_key, "tool call"),
            kind=kind,
            extra=canonical_json(
                _without_empty(
                    {
                        "call": _rest(raw, "id", kind, *(("type",) if given_kind == kind else ())),
                        "body": _rest(body, "name", text_key),
                        "untyped": given_kind != kind and "type" not in raw,
                    }
                )
            ),
        )

    @classmethod
    def from_legacy(cls, raw: object) -> "ToolCall":
        """Read the value of a `function_call` field."""
        if not isinstance(raw, dict):
            raise MessageError(f"function_call must be an object, got {type(raw).__name__}")
        rest = _rest(raw, "name", "arguments")
        return cls(
            call_id="",
            name=_text_field(raw, "name", "function_call"),
            arguments=_text_field(raw, "arguments", "function_call"),
            kind="legacy",
            extra=canonical_json({"body": rest} if rest else {}),
        )

    def to_openai(self) -> Json:
        """Return the element of `tool_calls`, or for a legacy call the value of `function_call`."""
        extra = json.loads(self.extra) if self.extra != "{}" else {}
        text_key = "input" if self.kind == "custom" else "arguments"
        body = {"name": self.name, text_key: self.arguments, **extra.get("body", {})}
        if self.kind == "legacy":
            return body
        typed = {} if extra.get("untyped") else {"type": self.kind}
        return {"id": self.call_id, **typed, self.kind: body, **extra.get("call", {})}


Content = str | tuple[Part, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One entry of a conversation. Two are equal when their OpenAI dicts are equal."""

    role: Role
    content: Content = None
    _: KW_ONLY
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """The call that a `tool` message answers."""
    name: str | None = None
    reasoning: str | None = None
    """Text of the reasoning step; signatures and encrypted blocks are in `extra`."""
    reasoning_field: str = REASONING_FIELDS[0]
    extra: str = "{}"
    """Canonical JSON of all other fields, and of known ones in an unusual shape."""
    content_given: bool = True
    """False when the dict had no `content` key at all, which is not the same as null."""
    _digest: str = field(default="", init=False, repr=False)

    @classmethod
    def from_openai(cls, raw: object) -> "Message":
        """Read one message dict.

        Raises:
            MessageError: not an object, unknown role, or a known field of a type the API has not.
        """
        if not isinstance(raw, Mapping):
            raise MessageError(f"a message must be an object, got {type(raw).__name__}")
        role = _role(raw.get("role"))
        rest = {key: value for key, value in raw.items() if key not in ("role", "content")}
        calls = _take_calls(rest)
        reasoning_field = next(
            (key for key in REASONING_FIELDS if isinstance(rest.get(key), str)), None
        )
        try:
            return cls(
                role,
                _content(raw.get("content")),
                tool_calls=calls,
                tool_call_id=_take_text(rest, "tool_call_id"),
                name=_take_text(rest, "name"),
                reasoning=_take_text(rest, reasoning_field) if reasoning_field else None,
                reasoning_field=reasoning_field or REASONING_FIELDS[0],
                extra=canonical_json(rest),
                content_given="content" in raw,
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise MessageError(f"message of role {role!r} is not JSON: {error}") from error

    def to_openai(self) -> Json:
        result: Json = {"role": self.role}
        if self.content_given or self.content is not None:
            listed = isinstance(self.content, tuple)
            result["content"] = (
                [part.to_openai() for part in self.parts] if listed else self.content
            )
        if self.reasoning is not None:
            result[self.reasoning_field] = self.reasoning
        if self.extra != "{}":
            result |= json.loads(self.extra)
        if calls := [call.to_openai() for call in self.tool_calls if call.kind != "legacy"]:
            result["tool_calls"] = calls
        for call in self.tool_calls:
            if call.kind == "legacy":
                result["function_call"] = call.to_openai()
        if self.tool_call_id is not None:
            result["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            result["name"] = self.name
        return result

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a string is one text part, null is none."""
        if isinstance(self.content, tuple):
            return self.content
        return (Part.of_text(self.content),) if self.content is not None else ()

    @property
    def text(self) -> str:
        """The text of the content, parts joined by newlines; media and reasoning are not in it."""
        if isinstance(self.content, tuple):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""

    @property
    def digest(self) -> str:
        """32 hexadecimal digits that name this value across processes; computed once."""
        if not self._digest:
            object.__setattr__(self, "_digest", digest_of(canonical_json(self.to_openai())))
        return self._digest

    @property
    def is_result(self) -> bool:
        """Whether this message answers a tool call."""
        return self.role in RESULT_ROLES

    def with_text(self, text: str) -> "Message":
        """Return this message with `text` as its whole content and every other field kept."""
        return replace(self, content=text, content_given=True)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Message) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self._digest or self.digest)


Messages = tuple[Message, ...]


def messages_from_openai(raw: Sequence[object]) -> Messages:
    """Read a list of message dicts.

    Raises:
        MessageError: with the index of the first message that is not one.
    """
    result = []
    for index, item in enumerate(raw):
        try:
            result.append(Message.from_openai(item))
        except MessageError as error:
            raise MessageError(f"message {index}: {error}") from error
    return tuple(result)


def messages_to_openai(messages: Sequence[Message]) -> list[Json]:
    return [message.to_openai() for message in messages]


def _role(raw: object) -> Role:
    for role in get_args(Role):
        if raw == role:
            return role  # type: ignore[no-any-return]  # one of the literals
    raise MessageError(f"unknown role {raw!r}; known: {', '.join(get_args(Role))}")


def _content(raw: object) -> Content:
    if raw is None or isinstance(raw, str):
        return raw
    if isinstance(raw, list):
        return tuple(Part.from_openai(part) for part in raw)
    raise MessageError(f"content must be a string, a list or null, got {type(raw).__name__}")


def _take_calls(rest: Json) -> tuple[ToolCall, ...]:
    """Remove the calls from `rest`; empty and null lists stay there, being unusual shapes."""
    calls: tuple[ToolCall, ...] = ()
    if rest.get("tool_calls"):
        listed = rest.pop("tool_calls")
        if not isinstance(listed, list):
            raise MessageError(f"tool_calls must be a list, got {type(listed).__name__}")
        calls = tuple(ToolCall.from_openai(call) for call in listed)
    if rest.get("function_call"):
        calls += (ToolCall.from_legacy(rest.pop("function_call")),)
    return calls


def _take_text(rest: Json, key: str) -> str | None:
    return rest.pop(key) if isinstance(rest.get(key), str) else None


def _text_field(raw: Mapping[str, Any], key: str, owner: str) -> str:
    value = raw.get(key)
    if not isinstance(value, str):
        raise MessageError(f"{owner} needs a string {key!r}, got {type(value).__name__}")
    return value


def _rest(raw: Mapping[str, Any], *taken: str) -> Json:
    return {key: value for key, value in raw.items() if key not in taken}


def _without_empty(raw: Json) -> Json:
    return {key: value for key, value in raw.items() if value}
