"""The typed messages of a `Conversation`: what is sent, what is stored, and back again.

Sending is `completion_param()`, storing is `to_json()`, and `message_from_json()` reads both what
is stored now (`kind` and `raw`) and what was stored before 1.3.0 (plain OpenAI dicts).
"""

import base64
import importlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from compaction.errors import MessageError
from compaction.messages import Json, Message, Role
from compaction.systems.xun_prompts import RESPONSE_SCHEMA_PROMPT, wrap_summary

Kind = Literal["system", "user", "raw"]

HISTORY_CHARS: Final = 1_000
"""What is shown of a message at most where it is truncated."""
EARLIER_SUMMARY: Final = "earlier_conversation"
"""Section that holds a summary whose place a new system text took, until the next summary."""
_COUNTED_KEYS: Final = frozenset({"content", "text", "reasoning", "reasoning_content"})


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The system message, or the summary of everything that is no longer there."""

    content: str
    is_compressed: bool = False
    """Whether `content` is a summary."""
    persist_sections: Mapping[str, str] = field(default_factory=dict)
    """Name -> text that no compaction touches, appended as it is: `AGENTS.md` for example."""

    @property
    def role(self) -> Role:
        return "system"

    @property
    def body(self) -> str:
        """What is sent without the persistent sections: all that a summariser gets to see."""
        text = wrap_summary(self.content) if self.is_compressed else self.content
        return _joined([text, self.persist_sections.get(EARLIER_SUMMARY, "")])

    @property
    def message(self) -> Message:
        """What compaction works on: the persistent sections are not its business."""
        return Message("system", self.body)

    def completion_param(self) -> Json:
        kept = (t for name, t in self.persist_sections.items() if name != EARLIER_SUMMARY)
        return {"role": "system", "content": _joined([self.body, *kept])}

    def to_json(self) -> Json:
        raw = {
            "content": self.content,
            "is_compressed": self.is_compressed,
            "persist_sections": dict(self.persist_sections),
        }
        return {"kind": "system", "raw": raw}

    def with_section(self, name: str, text: str) -> "SystemPrompt":
        """Return the prompt with a section written, or removed if `text` is empty."""
        sections = {**self.persist_sections, name: text}
        kept = {key: value for key, value in sections.items() if value}
        return SystemPrompt(self.content, self.is_compressed, kept)

    def summarized(self, summary: str) -> "SystemPrompt":
        """Return the prompt whose content is a summary, the persistent sections kept."""
        kept = self.with_section(EARLIER_SUMMARY, "").persist_sections
        return SystemPrompt(summary, is_compressed=True, persist_sections=kept)


@dataclass(frozen=True, slots=True)
class UserMessage:
    content: str
    images: tuple[str, ...] = ()
    """Data or http(s) URLs; see `normalize_image`."""
    response_schema: Json | None = None
    """JSON schema that the answer must match."""

    @property
    def role(self) -> Role:
        return "user"

    @property
    def message(self) -> Message:
        return Message.from_openai(self.completion_param())

    def completion_param(self) -> Json:
        text = self.content
        if self.response_schema is not None:
            schema = json.dumps(self.response_schema, ensure_ascii=False)
            text = _joined([text, RESPONSE_SCHEMA_PROMPT.format(schema=schema)])
        if not self.images:
            return {"role": "user", "content": text}
        texts = [{"type": "text", "text": text}] if text else []
        images = [{"type": "image_url", "image_url": {"url": url}} for url in self.images]
        return {"role": "user", "content": [*texts, *images]}

    def to_json(self) -> Json:
        raw = {
            "content": self.content,
            "images": list(self.images),
            "response_schema": self.response_schema,
        }
        return {"kind": "user", "raw": raw}


@dataclass(frozen=True, slots=True)
class RawOpenAIMessage:
    """A reply of the model or a tool result, kept as it came, reasoning included."""

    message: Message

    @classmethod
    def of(cls, raw: object) -> "RawOpenAIMessage":
        return cls(Message.from_openai(raw))

    @property
    def role(self) -> Role:
        return self.message.role

    @property
    def reasoning_field(self) -> str | None:
        """The field in which this server returns reasoning, or None if there is none."""
        return self.message.reasoning_field if self.message.reasoning is not None else None

    def completion_param(self) -> Json:
        return self.message.to_openai()

    def to_json(self) -> Json:
        return {"kind": "raw", "raw": self.message.to_openai()}


ConversationMessage = SystemPrompt | UserMessage | RawOpenAIMessage


def message_from_json(raw: object) -> ConversationMessage:
    """Read one stored message, of the present format or of the one before 1.3.0.

    Raises:
        MessageError: neither of them, with the field that is wrong.
    """
    if not isinstance(raw, Mapping):
        raise MessageError(f"a message must be an object, got {type(raw).__name__}")
    if "kind" not in raw:
        return message_from_openai(raw)
    kind, body = raw["kind"], raw.get("raw")
    if kind not in ("system", "user", "raw"):
        raise MessageError(f"unknown kind {kind!r}; known: system, user, raw")
    if not isinstance(body, Mapping):
        raise MessageError(f"kind {kind!r} needs an object 'raw', got {type(body).__name__}")
    if kind == "system":
        sections = _typed(body, "persist_sections", dict, {})
        return SystemPrompt(
            _typed(body, "content", str),
            _typed(body, "is_compressed", bool, False),  # noqa: FBT003 - the fallback value
            {name: _typed(sections, name, str) for name in sections},
        )
    if kind == "user":
        images = _typed(body, "images", list, [])
        schema = body.get("response_schema")
        return UserMessage(
            _typed(body, "content", str),
            tuple(normalize_image(image) for image in images),
            None if schema is None else _typed(body, "response_schema", dict),
        )
    return RawOpenAIMessage.of(body)


def message_from_openai(raw: Mapping[str, Any]) -> ConversationMessage:
    """Return the typed message whose `completion_param()` is `raw`; raw where no other is."""
    if raw.get("role") == "system" and raw.keys() == {"role", "content"}:
        if isinstance(raw["content"], str):
            return SystemPrompt(raw["content"])
    elif raw.get("role") == "user":
        parts = raw.get("content")
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        user = _user_of_parts(parts) if isinstance(parts, list) else None
        if user is not None and user.completion_param() == raw:
            return user
    return RawOpenAIMessage.of(raw)


def normalize_image(image: object) -> str:
    """Return the URL of an image: a data or http(s) URL as it is, a PIL image as PNG data.

    Raises:
        MessageError: none of these, or Pillow is not installed.
    """
    if isinstance(image, str):
        if image.lower().startswith(("data:image/", "http://", "https://")):
            return image
        raise MessageError(f"an image must be a data or http(s) URL, got {image[:40]!r}")
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise MessageError("images other than URLs need the extra: compaction-evals[images]") from (
            error
        )
    if not isinstance(image, pillow.Image):
        raise MessageError(f"an image must be a URL or a PIL image, got {type(image).__name__}")
    buffer = io.BytesIO()
    portable = image.mode in ("1", "L", "LA", "P", "RGB", "RGBA")
    (image if portable else image.convert("RGB")).save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def estimated_length(raw: object) -> int:
    """Count the characters of content, text, reasoning and reasoning_content at any depth.

    Anything else weighs nothing: image data, tool-call arguments, names, ids.
    """
    total = 0
    waiting: list[tuple[object, bool]] = [(raw, False)]
    while waiting:
        value, counted = waiting.pop()
        if isinstance(value, str):
            total += len(value) if counted else 0
        elif isinstance(value, Mapping):
            waiting.extend((item, key in _COUNTED_KEYS) for key, item in value.items())
        elif isinstance(value, list | tuple):
            waiting.extend((item, counted) for item in value)
    return total


class EstimatedLength:
    """`estimated_length` as a measure of the view's messages."""

    name = "xun/estimated_message_length"

    def count(self, message: Message) -> int:
        if message.extra == "{}" and not isinstance(message.content, tuple):
            return len(message.content or "") + len(message.reasoning or "")
        return estimated_length(message.to_openai())


def content_to_text(content: Any, *, truncate: bool = False) -> str:
    """Return the text of a message's content for display; images are named, not shown."""
    if isinstance(content, list):
        parts = [part if isinstance(part, Mapping) else {} for part in content]
        shown = (part.get("text") or f"[{part.get('type', 'part')}]" for part in parts)
        content = "\n".join(map(str, shown))
    text = content or ""
    return text[:HISTORY_CHARS] if truncate else text


def _user_of_parts(parts: list[Any]) -> UserMessage | None:
    texts: list[str] = []
    images: list[str] = []
    for part in parts:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                images.append(url)
            case _:
                return None
    return UserMessage("".join(texts), tuple(images))


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _typed(raw: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
    value = raw.get(key, default)
    if not isinstance(value, kind):
        raise MessageError(f"{key!r} must be {kind.__name__}, got {type(value).__name__}")
    return value
