"""Hypothesis generators of conversations: everything a compactor must survive.

Legal ones, damaged ones by the name of the damage, series of usage, and what a model may answer
when it is asked for a summary. Only lengths are drawn, not text: code that shrinks looks at
lengths, and random text is nearly always shorter than a placeholder. What is damaged how is in
`mutations`; the only files that import hypothesis are this one and `machine`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from compaction.contract.mutations import MUTATIONS
from compaction.errors import ModelError
from compaction.history import History
from compaction.llm import ModelReply, Usage
from compaction.messages import (
    Content,
    Json,
    Message,
    Messages,
    Part,
    Role,
    ToolCall,
    canonical_json,
    messages_to_openai,
)

LENGTHS: Final = (0, 1, 7, 60, 130, 350, 2_600)
"""Characters of a generated text: below, around and above every placeholder and preview."""
SIGNATURE: Final = canonical_json(
    {"reasoning_details": [{"type": "reasoning.text", "text": "why", "signature": "c2lnbmVk"}]}
)
"""Signed reasoning as OpenAI-compatible servers hand it on, in the fields of `Message.extra`."""
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
    the end; null, empty, absent, text and multi-part content with images; reasoning with and
    without signatures; texts in ASCII, Chinese, combining marks and emoji. Texts of more than a
    few characters differ.

    Args:
        draw: Given by Hypothesis.
        min_turns: Fewest user messages.
        max_turns: Most user messages.
        max_rounds: Most assistant messages with calls in one turn.
        allow_pending: Whether the last calls may lack some or all of their results.
    """
    writer = _Writer(draw)
    for role in draw(st.sampled_from(_INSTRUCTIONS)):
        writer.add(Message(role, writer.text()))
    turns = draw(st.integers(min_turns, max(min_turns, max_turns)))
    for turn in range(turns):
        writer.add(Message("user", writer.content(with_media=True)))
        for _ in range(draw(st.integers(0, max_rounds))):
            writer.add_round()
        if draw(st.booleans()):
            writer.add_answer()
        elif turn == turns - 1 and allow_pending and draw(st.booleans()):
            writer.add_round(pending=True)
    return tuple(writer.messages)


@st.composite
def tool_groups(
    draw: st.DrawFn, *, first: int = 0, max_calls: int = 4, pending: bool = False
) -> Messages:
    """Generate an assistant message with calls and its results, in any order.

    Args:
        draw: Given by Hypothesis.
        first: How many messages stand before it; most call ids are made from this number.
        max_calls: Most parallel calls.
        pending: Leave out at least one result.
    """
    writer = _Writer(draw, first=first)
    writer.add_round(pending=pending, max_calls=max_calls)
    return tuple(writer.messages)


def histories(*, max_turns: int = 3, max_rounds: int = 8) -> st.SearchStrategy[History]:
    """Generate histories of such conversations."""
    return conversations(max_turns=max_turns, max_rounds=max_rounds).map(History)


def long_runs(*, min_rounds: int = 30, max_rounds: int = 120) -> st.SearchStrategy[Messages]:
    """Generate conversations of one user message and many rounds with a single short call."""
    return st.integers(min_rounds, max_rounds).map(_long_run)


@dataclass(frozen=True, slots=True)
class Malformed:
    """A conversation with one fault put into it."""

    mutation: str
    """A name of `compaction.contract.mutations.MUTATIONS`."""
    messages: tuple[Json, ...]
    """OpenAI message dicts, because some faults cannot be held by a `Message`."""


@st.composite
def malformed_conversations(
    draw: st.DrawFn, *, mutations: Collection[str] = tuple(MUTATIONS), max_turns: int = 2
) -> Malformed:
    """Generate legal conversations with one fault each, by the name of the fault.

    Args:
        draw: Given by Hypothesis.
        mutations: Names of `MUTATIONS` to choose from.
        max_turns: Most user messages.
    """
    name = draw(st.sampled_from(sorted(mutations)))
    before = messages_to_openai(
        draw(conversations(min_turns=1, max_turns=max_turns, allow_pending=False))
    )
    at = draw(st.integers(0, max(0, len(before) - 1)))
    damaged = MUTATIONS[name].apply(before, at)
    assume(damaged is not None)
    return Malformed(name, tuple(damaged or ()))


@st.composite
def usage_series(
    draw: st.DrawFn, *, min_size: int = 1, max_size: int = 12, max_step_tokens: int = 20_000
) -> tuple[Usage | None, ...]:
    """Generate what a provider reports request by request; None where it reported nothing.

    Input grows from request to request, falls to a part after a compaction now and then, and is
    sometimes the zero that some servers report. Cached input is at most all input.
    """
    series: list[Usage | None] = []
    size = draw(st.integers(0, max_step_tokens))
    for _ in range(draw(st.integers(min_size, max_size))):
        kind = draw(st.sampled_from(["grows", "grows", "grows", "falls", "zero", "absent"]))
        size = size // 4 if kind == "falls" else size + draw(st.integers(0, max_step_tokens))
        reported = 0 if kind == "zero" else size
        usage = Usage(
            reported,
            draw(st.integers(0, 4_000)),
            cached_input_tokens=draw(st.sampled_from([0, reported // 2, reported])),
        )
        series.append(None if kind == "absent" else usage)
    return tuple(series)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model gives back when it is asked for a summary, by the name of what is wrong."""

    fault: str
    """`good`, or one of `SUMMARISER_FAULTS`."""
    answer: ModelReply | ModelError
    """As `ScriptedChat` takes it: an error is raised."""


SUMMARISER_FAULTS: Final[dict[str, ModelReply | ModelError]] = {
    "empty": ModelReply(""),
    "whitespace": ModelReply(" \n\t "),
    "refusal": ModelReply("", refusal="I cannot help with that."),
    "truncated": ModelReply("## Goal\nMend the", finish_reason="length"),
    "too_long": ModelReply("more and more words " * 5_000),
    "tool_call_only": ModelReply("", finish_reason="tool_calls", tool_names=("read",)),
    "error_text": ModelReply("Error: context_length_exceeded: the input is too long."),
    "filtered": ModelReply("", finish_reason="content_filter"),
    "raises": ModelError("the model did not answer in 120 s"),
}
"""Fault -> a reply with it."""


def summariser_replies(
    *, faults: Collection[str] = tuple(SUMMARISER_FAULTS), include_good: bool = True
) -> st.SearchStrategy[Reply]:
    """Generate replies to a summary call: good ones, and ones with a named fault."""
    good = st.sampled_from(LENGTHS[3:6]).map(
        lambda length: Reply("good", ModelReply(("## Goal\n" + "kept fact " * 40)[:length]))
    )
    bad = st.sampled_from(sorted(faults)).map(lambda name: Reply(name, SUMMARISER_FAULTS[name]))
    return st.one_of(good, bad) if include_good else bad


def visit_examples(
    generator: st.SearchStrategy[Any],
    visit: Callable[[Any], None],
    *,
    examples: int,
    random_seed: int,
) -> None:
    """Call `visit` with generated values, the same ones for the same seed.

    Nothing is shrunk and nothing is stored. What `visit` raises ends it; to end it early without
    a word of Hypothesis about it, raise a `BaseException` that is no `Exception`.
    """

    @seed(random_seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(generator)
    def visiting(value: Any) -> None:
        visit(value)

    visiting()


_REASONING: Final = st.sampled_from([None, "", "thinking about it", "signed"])


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

    def __init__(self, draw: st.DrawFn, *, first: int = 0) -> None:
        self._draw = draw
        self._written = self._first = first
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

    def add_answer(self) -> None:
        """Add an assistant message without calls."""
        self.add(self._reasoned(Message("assistant", self.text())))

    def add_round(self, *, pending: bool = False, max_calls: int = 4) -> None:
        """Add an assistant message with calls, and all results or, if `pending`, not all."""
        calls = tuple(self._call(at) for at in range(self._draw(st.integers(1, max_calls))))
        empty = self._draw(st.sampled_from([None, "", "absent", "text"]))
        content = self.text() if empty == "text" else None if empty == "absent" else empty
        message = self._reasoned(Message("assistant", content, tool_calls=calls))
        self.add(replace(message, content_given=empty != "absent"))
        answered = self._draw(st.permutations(calls))
        for call in answered[: self._draw(st.integers(0, len(calls) - 1)) if pending else None]:
            self.add(Message("tool", self.content(with_media=True), tool_call_id=call.call_id))

    def _reasoned(self, message: Message) -> Message:
        reasoning = self._draw(_REASONING)
        if reasoning == "signed":
            return replace(message, reasoning="why", extra=SIGNATURE)
        return replace(message, reasoning=reasoning)

    def _call(self, index: int) -> ToolCall:
        reused = self._draw(st.booleans())
        number = self._first + len(self.messages)
        call_id = f"call_{index}" if reused else f"call_{number}_{index}"
        arguments: Callable[[int], str] = '{{"path":"{}"}}'.format
        path = "a" * self._draw(st.sampled_from(LENGTHS[:5]))
        return ToolCall(call_id, self._draw(st.sampled_from(_TOOLS)), arguments(path))
