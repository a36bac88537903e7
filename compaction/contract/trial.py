"""A strategy driven through one conversation: what it was asked, what it answered, what it cost.

A drive is the raw material of the checks and experiments; nothing is judged here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from compaction.contract.providers import Profile
from compaction.errors import CompactionError, ModelError
from compaction.history import History, Measure, View
from compaction.llm import ChatModel, ModelCall, ModelReply, Usage, run_steps
from compaction.messages import Message, Messages, canonical_json
from compaction.store import MemoryStore
from compaction.strategy import Compactor, Context, Request, Strategy
from compaction.tokens import RunningTotal

CHARS_PER_TOKEN: Final = 4
OUTPUT_TOKENS: Final = 50
"""What each request of a drive is said to have answered."""
MAX_CALLS: Final = 64
"""Model calls of one request; whoever makes more does not end."""


MAX_REQUESTS: Final = 400
"""Requests at which a long conversation is looked at, unless the caller says which."""


Values = tuple[object, ...]
_MESSAGE_VALUES: Final = attrgetter(
    "role", "tool_call_id", "name", "reasoning", "reasoning_field", "extra", "content_given"
)
_CALL_VALUES: Final = attrgetter("call_id", "name", "arguments", "kind", "extra")
_PART_VALUES: Final = attrgetter("kind", "text", "raw")


class RequestChars:
    """Characters as a request has them: text, reasoning, calls, media at a flat size, framing.

    The framing is that of `{"role":"user","content":""}`.
    """

    name = "request_chars"
    _MEDIA: Final = 3_000
    _FRAMING: Final = 28

    def count_text(self, text: str) -> int:
        return len(text)

    def count(self, message: Message) -> int:
        size = self._FRAMING + len(message.reasoning or "")
        size += sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
        if not isinstance(message.content, tuple):
            return size + len(message.content or "")
        plain = ("text", "refusal")
        media = sum(part.kind not in plain for part in message.content)
        return size + len(message.text) + self._MEDIA * media


class TooManyCallsError(Exception):
    """A compactor went on asking its model for one and the same request."""


class Remembering:
    """Answers a call that was made before as it was answered then: drives repeat each other."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self._model = model
        self._known: dict[tuple[ModelCall, str], ModelReply] = {}

    def complete(self, call: ModelCall) -> ModelReply:
        # Tool schemas are objects, which cannot be keys.
        key = replace(call, tools=()), canonical_json(call.tools)
        if key not in self._known:
            self._known[key] = self._model.complete(call)
        return self._known[key]

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


@dataclass(frozen=True, slots=True)
class Always:
    """Answers every call alike; None fails."""

    reply: ModelReply | None
    name: str = "always"

    def complete(self, call: ModelCall) -> ModelReply:
        if self.reply is None:
            raise ModelError("the model cannot be reached")
        return self.reply

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


@dataclass
class Recorder:
    """A model that remembers what it was asked and answered since `clear`."""

    model: ChatModel
    calls: list[ModelCall] = field(default_factory=list)
    outcomes: list[ModelReply | ModelError] = field(default_factory=list)

    def answer(self, call: ModelCall) -> ModelReply:
        if len(self.calls) >= MAX_CALLS:
            raise TooManyCallsError(f"more than {MAX_CALLS} model calls for one request")
        self.calls.append(call)
        try:
            reply = self.model.complete(call)
        except ModelError as error:
            self.outcomes.append(error)
            raise
        self.outcomes.append(reply)
        return reply

    def clear(self) -> None:
        self.calls, self.outcomes = [], []


@dataclass(frozen=True, slots=True)
class Step:
    """One request."""

    number: int
    history: History
    view: View
    size: int
    """Of the view, by the counter of the trial."""
    twin: View | None
    calls: tuple[ModelCall, ...]
    outcomes: tuple[ModelReply | ModelError, ...]
    compactor: Compactor


@dataclass(frozen=True, slots=True)
class Trial:
    """A strategy, a conversation, and what is the same in all drives through it."""

    strategy: Strategy
    messages: Messages
    positions: tuple[int, ...]
    """Lengths of the history at each request, ascending."""
    model: ChatModel
    profile: Profile
    alive: Callable[[], None] = lambda: None
    """Called before and after each request: the strategy has returned so far."""
    counter: Measure = field(default_factory=RequestChars)
    history: History = field(init=False, repr=False, compare=False)
    """All of the conversation, shared by the drives."""
    given: tuple[Values, ...] = field(init=False, repr=False, compare=False)
    """What the messages held before any drive."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", History(self.messages))
        object.__setattr__(self, "given", tuple(map(values_of, self.messages)))

    def start(self) -> Compactor:
        return self.strategy.start(Context(self.counter, MemoryStore()))

    def drive(
        self,
        model: ChatModel | None = None,
        *,
        with_twin: bool = False,
        extra_tokens: int = 0,
        messages: Sequence[Message] | None = None,
        positions: Sequence[int] | None = None,
    ) -> Iterator[Step]:
        """Yield a step per request; usage is the size of the view and `extra_tokens`."""
        whole = self.history if messages is None else History(messages)
        recorder = Recorder(model or self.model)
        compactor = self.start()
        twin = self.start() if with_twin else None
        running = RunningTotal(self.counter)
        for number, length in enumerate(self.positions if positions is None else positions):
            history, request = whole.prefix(length), Request(number)
            recorder.clear()
            self.alive()
            view = run_steps(compactor.steps(history, request), recorder.answer)
            again = None
            if twin is not None:
                answer = _replayed(recorder.outcomes, recorder.model)
                again = run_steps(twin.steps(history, request), answer)
            self.alive()
            step = Step(
                number,
                history,
                view,
                running.total(view.entries),
                again,
                tuple(recorder.calls),
                tuple(recorder.outcomes),
                compactor,
            )
            yield step
            for each in (compactor, twin):
                if each is not None:
                    each.record_usage(usage_of(step.size, extra_tokens))

    def size(self, view: View) -> int:
        return sum(self.counter.count(entry.message) for entry in view.entries)


def values_of(message: Message) -> Values:
    """Return all that a message holds, down to plain text."""
    content = message.content
    parts = tuple(map(_PART_VALUES, content)) if isinstance(content, tuple) else content
    return (*_MESSAGE_VALUES(message), parts, tuple(map(_CALL_VALUES, message.tool_calls)))


def usage_of(size: int, extra_tokens: int = 0) -> Usage:
    """Return what the provider would have counted for a view of so many characters."""
    return Usage(size // CHARS_PER_TOKEN + extra_tokens, OUTPUT_TOKENS)


def _replayed(
    outcomes: Sequence[ModelReply | ModelError], model: ChatModel
) -> Callable[[ModelCall], ModelReply]:
    """Answer with what the first compactor got; the model itself answers what comes after."""
    waiting = iter(tuple(outcomes))

    def answer(call: ModelCall) -> ModelReply:
        outcome = next(waiting, None)
        if isinstance(outcome, ModelError):
            raise outcome
        return model.complete(call) if outcome is None else outcome

    return answer


def request_positions(messages: Messages) -> tuple[int, ...]:
    """Return where a model is asked: before each assistant message, and at the end.

    Of more than `MAX_REQUESTS`, that many at even distances: each costs as much as the view is
    long, so that all of them would cost the square of the conversation.
    """
    asked = [at for at, message in enumerate(messages) if at and message.role == "assistant"]
    stride = -(-len(asked) // MAX_REQUESTS) or 1
    return (*asked[::stride], len(messages))


def describe(error: BaseException) -> str:
    """Return an error in one line, with its kind unless it is one of ours."""
    text = (str(error).splitlines() or [""])[0]
    if isinstance(error, CompactionError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
