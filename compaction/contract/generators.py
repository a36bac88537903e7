"""Hypothesis generators of conversations: everything a compactor must survive, and all of it legal.

Only lengths are drawn, not text: code that shrinks looks at lengths, and random text is nearly
always shorter than a placeholder. The only file that imports hypothesis.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from hypothesis import strategies as st

from compaction.history import History
from compaction.messages import Content, Message, Messages, Part, Role, ToolCall

LENGTHS: Final = (0, 1, 7, 60, 130, 350, 2_600)
"""Characters of a generated text: below, around and above every placeholder and preview."""
_UNITS: Final = ("x", "word ", "结果", "é", "e\u0301", "😀", "👩\u200d👧", "line\n", '{"a": 1} ')
_TOOLS: Final = ("read", "search", "bash", "skill")
_INSTRUCTIONS: Final[tuple[tuple[Role, ...], ...]] = ((), ("system",), ("system", "developer"))
_PIXEL: Final = "data:image/png;base64,iVBORw0KGgo="


@st.composite
def conversations(
    draw: st.DrawFn,
    *,
    min_turns: int = 0,
    max_turns: int = 3,
    max_rounds: int = 8,
    allow_pending: bool = True,
) -> Messages:
    """Generate conversations in which every result follows its call.

    In them: no, one or two system messages; turns without and with many tool rounds; parallel
    calls answered in any order; call ids used again in later rounds; calls that are still open at
    the end; null, empty, absent, text and multi-part content with images; reasoning; texts in
    ASCII, Chinese, combining marks and emoji. Texts of more than a few
    characters differ.
    """
    writer = _Writer(draw)
    for role in draw(st.sampled_from(_INSTRUCTIONS)):
        writer.add(Message(role, writer.text()))
    for turn in range(draw(st.integers(min_turns, max(min_turns, max_turns)))):
        writer.add(Message("user", writer.content(with_media=True)))
        for _ in range(draw(st.integers(0, max_rounds))):
            writer.add_round()
        if draw(st.booleans()):
            writer.add(Message("assistant", writer.text(), reasoning=draw(_REASONING)))
        elif turn == max_turns - 1 and allow_pending and draw(st.booleans()):
            writer.add_round(pending=True)
    return tuple(writer.messages)


_REASONING: Final = st.sampled_from([None, "", "thinking about it"])


def histories(*, max_turns: int = 3, max_rounds: int = 8) -> st.SearchStrategy[History]:
    """Generate histories of such conversations."""
    return conversations(max_turns=max_turns, max_rounds=max_rounds).map(History)


def long_runs(*, min_rounds: int = 30, max_rounds: int = 120) -> st.SearchStrategy[Messages]:
    """Generate conversations of one user message and many rounds with a single short call."""
    return st.integers(min_rounds, max_rounds).map(_long_run)


def _long_run(rounds: int) -> Messages:
    messages = [Message("system", "You are an agent."), Message("user", "Do the task.")]
    for index in range(rounds):
        call = ToolCall(f"call_{index}", "read", f'{{"path":"src/file_{index}.py"}}')
        messages.append(Message("assistant", None, tool_calls=(call,)))
        messages.append(
            Message("tool", f"{index}: " + "x" * (index * 37 % 500), tool_call_id=call.call_id)
        )
    return tuple(messages)


class _Writer:
    """Appends messages and keeps their texts and call ids apart."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._written = 0
        self.messages: list[Message] = []

    def add(self, message: Message) -> None:
        self.messages.append(message)

    def text(self) -> str:
        length = self._draw(st.sampled_from(LENGTHS))
        unit = self._draw(st.sampled_from(_UNITS))
        self._written += 1
        return f"{self._written}:{unit * (length // len(unit) + 1)}"[:length]

    def content(self, *, with_media: bool = False) -> Content:
        kind = self._draw(st.sampled_from(["text", "text", "text", "parts", "media", "empty"]))
        if kind == "text":
            return self.text()
        if kind == "empty":
            return ""
        parts = (Part.of_text(self.text()), Part.of_text(self.text()))
        if kind == "media" and with_media:
            image = {"type": "image_url", "image_url": {"url": _PIXEL, "detail": "low"}}
            return (parts[0], Part.from_openai(image), parts[1])
        return parts

    def add_round(self, *, pending: bool = False) -> None:
        """Add an assistant message with calls, and all results or, if `pending`, not all."""
        calls = tuple(self._call(index) for index in range(self._draw(st.integers(1, 4))))
        empty = self._draw(st.sampled_from([None, "", "absent", "text"]))
        content = self.text() if empty == "text" else None if empty == "absent" else empty
        message = Message("assistant", content, tool_calls=calls, reasoning=self._draw(_REASONING))
        self.add(replace(message, content_given=empty != "absent"))
        answered = self._draw(st.permutations(calls))
        for call in answered[: self._draw(st.integers(0, len(calls) - 1)) if pending else None]:
            self.add(Message("tool", self.content(with_media=True), tool_call_id=call.call_id))

    def _call(self, index: int) -> ToolCall:
        reused = self._draw(st.booleans())
        call_id = f"call_{index}" if reused else f"call_{len(self.messages)}_{index}"
        arguments: Callable[[int], str] = '{{"path":"{}"}}'.format
        path = "a" * self._draw(st.sampled_from(LENGTHS[:5]))
        return ToolCall(call_id, self._draw(st.sampled_from(_TOOLS)), arguments(path))
