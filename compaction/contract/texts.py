"""The same conversation in other kinds of text, and a counter that tells them apart.

A tokenizer is not asked: the counter only has the order of its sizes, so that an estimate which is
blind to a kind of text is far off.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from compaction.contract.trial import RequestChars
from compaction.messages import Message, Part

_CHINESE: Final = "\u7ed3\u679c"
_EMOJI: Final = "\U0001f600"
_JSON: Final = '{"a": 1}, '
_IMAGE: Final = Part.from_openai(
    {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0K" * 5_000}}
)
_REASONING: Final = "Let me think about it. " * 100


class RequestBytes(RequestChars):
    """Bytes of UTF-8 for text, and for all else what `RequestChars` counts.

    Four are a token: as in o200k a Chinese character is most of one, an emoji a whole one. Media
    have a flat size, whatever their base64.
    """

    name = "request_bytes"

    def count_text(self, text: str) -> int:
        return len(text.encode("utf-8", "surrogatepass"))

    def count(self, message: Message) -> int:
        extra = self.count_text(message.text) - len(message.text)
        reasoning = message.reasoning or ""
        return super().count(message) + extra + self.count_text(reasoning) - len(reasoning)


def _of(unit: str) -> Callable[[Message], Message]:
    def change(message: Message) -> Message:
        text = message.text
        repeated = (unit * (len(text) // len(unit) + 1))[: len(text)]
        return message.with_text(repeated) if message.content is not None else message

    return change


def _with_image(message: Message) -> Message:
    if message.role != "user":
        return message
    return replace(message, content=(*message.parts, _IMAGE), content_given=True)


def _with_reasoning(message: Message) -> Message:
    return replace(message, reasoning=_REASONING) if message.role == "assistant" else message


def _with_long_calls(message: Message) -> Message:
    calls = tuple(
        replace(call, arguments=f'{{"text": "{"x" * 2_000}"}}') for call in message.tool_calls
    )
    return replace(message, tool_calls=calls)


KINDS_OF_TEXT: Final[Mapping[str, Callable[[Message], Message]]] = {
    "as it is": lambda message: message,
    "in Chinese": _of(_CHINESE),
    "in emoji": _of(_EMOJI),
    "in JSON": _of(_JSON),
    "with images": _with_image,
    "with reasoning": _with_reasoning,
    "with long calls": _with_long_calls,
}
"""Kind -> what it makes of a message; no text changes its length in characters."""
