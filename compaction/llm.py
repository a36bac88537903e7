"""Model calls as values, who answers them, and the two drivers that run a compactor.

Code that needs a model yields a `ModelCall` and receives a `ModelReply`; it does no I/O itself.
The only place that imports openai, and only when an `OpenAIChat` is first used.
"""

import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from compaction.errors import MessageError, ModelError
from compaction.messages import (
    REASONING_FIELDS,
    Json,
    Message,
    Messages,
    ToolCall,
    messages_to_openai,
)

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request as a provider reports them."""

    input_tokens: int
    """All input, cached or not."""
    output_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    """Of those written, what Anthropic was asked to keep for an hour."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request to a model, with what a stand-in for a model needs.

    A compactor makes them for itself and offers no tools; an agent makes them with tools.
    """

    messages: Messages
    """What is sent, prompt included."""
    purpose: str = "summary"
    subject: Messages = ()
    """The conversation that the call is about, without the prompt around it."""
    previous_summary: str | None = None
    sections: tuple[str, ...] = ()
    """Headings that the prompt asks for, in order, with their `#` marks."""
    focus: str | None = None
    max_output_tokens: int | None = None
    tools: tuple[Json, ...] = ()
    """Chat Completions tool schemas that the model may call."""
    response_schema: Json | None = None
    """A JSON schema that the reply has to match, where the endpoint can see to it."""
    seed: int | None = None
    """Tells replicates of one question apart; endpoints that sample by it repeat themselves."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back. An error is raised into the generator as `ModelError` instead."""

    text: str
    finish_reason: FinishReason = "stop"
    usage: Usage | None = None
    model: str | None = None
    seconds: float = 0.0
    refusal: str | None = None
    tool_names: tuple[str, ...] = ()
    """Tools that the model called: if it was offered none, its reply is no summary."""
    tool_calls: tuple[ToolCall, ...] = ()
    message: Message | None = None
    """The assistant message as it came, reasoning included; None if only the text is known."""

    def as_message(self) -> Message:
        """Return the assistant message to append to the conversation."""
        if self.message is not None:
            return self.message
        text = None if self.tool_calls and not self.text else self.text
        return Message("assistant", text, tool_calls=self.tool_calls)


Steps = Generator[ModelCall, ModelReply, Result]


class ChatModel(Protocol):
    """Answers model calls.

    Raises:
        ModelError: from either method, when there is no usable reply.
    """

    @property
    def name(self) -> str: ...

    def complete(self, call: ModelCall) -> ModelReply: ...

    async def acomplete(self, call: ModelCall) -> ModelReply: ...


def run_steps(steps: Generator[Asked, Answer, Result], answer: Callable[[Asked], Answer]) -> Result:
    """Run a generator to its end, answering what it yields; `ModelError` is thrown into it."""
    try:
        asked = next(steps)
        while True:
            try:
                given = answer(asked)
            except ModelError as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(given)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # typed by `steps`


async def arun_steps(
    steps: Generator[Asked, Answer, Result], answer: Callable[[Asked], Awaitable[Answer]]
) -> Result:
    """Do what `run_steps` does, awaiting the answers."""
    try:
        asked = next(steps)
        while True:
            try:
                given = await answer(asked)
            except ModelError as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(given)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # typed by `steps`


def drive(steps: Steps[Result], model: ChatModel) -> Result:
    """Run a generator to its end, letting `model` answer each call; its errors are thrown in."""
    return run_steps(steps, model.complete)


async def adrive(steps: Steps[Result], model: ChatModel) -> Result:
    """Do what `drive` does, awaiting the model."""
    return await arun_steps(steps, model.acomplete)


class NoModel:
    """Refuses every call: for strategies that promise to need none."""

    name = "none"

    def complete(self, call: ModelCall) -> ModelReply:
        raise ModelError(f"a model was asked for a {call.purpose}, but none is configured")

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


class ScriptedChat:
    """Gives prepared replies in order and remembers the calls.

    An error in the script is raised, and `ModelError` when the script is used up.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[ModelReply | str | ModelError]) -> None:
        self._replies: Iterator[ModelReply | str | ModelError] = iter(replies)
        self.calls: list[ModelCall] = []

    def complete(self, call: ModelCall) -> ModelReply:
        self.calls.append(call)
        reply = next(self._replies, None)
        if reply is None:
            raise ModelError(f"the script has no reply for call {len(self.calls)}")
        if isinstance(reply, ModelError):
            raise reply
        return ModelReply(reply, model=self.name) if isinstance(reply, str) else reply

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """Asks any OpenAI-compatible chat-completions endpoint. The key comes from the environment."""

    name: str
    """The model's name as the endpoint knows it."""
    base_url: str | None = None
    """None means what the openai package takes from `OPENAI_BASE_URL`."""
    timeout_seconds: float = 120.0
    max_retries: int = 2
    temperature: float | None = None
    """None sends no temperature, which models that reject the parameter need."""
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def using(cls, client: Any, model: str) -> "OpenAIChat":
        """Ask through an `openai.OpenAI` or `openai.AsyncOpenAI` client that the caller made."""
        kind = "async" if "Async" in type(client).__name__ else "sync"
        return cls(model, _clients={kind: client})

    def complete(self, call: ModelCall) -> ModelReply:
        from openai import OpenAI, OpenAIError

        started = time.perf_counter()
        try:
            if "sync" not in self._clients:
                self._clients["sync"] = OpenAI(**self._connection())
            completion = self._clients["sync"].chat.completions.create(**self._parameters(call))
        except OpenAIError as error:
            raise _model_error(self.name, error) from error
        return _reply(completion, time.perf_counter() - started)

    async def acomplete(self, call: ModelCall) -> ModelReply:
        from openai import AsyncOpenAI, OpenAIError

        started = time.perf_counter()
        try:
            if given := self._clients.get("async"):
                completion = await given.chat.completions.create(**self._parameters(call))
            else:
                # A client belongs to one event loop, and this object to none.
                async with AsyncOpenAI(**self._connection()) as client:
                    completion = await client.chat.completions.create(**self._parameters(call))
        except OpenAIError as error:
            raise _model_error(self.name, error) from error
        return _reply(completion, time.perf_counter() - started)

    def _connection(self) -> dict[str, Any]:
        # Local servers want no key, but the client insists on one.
        keyless = self.base_url is not None and not os.environ.get("OPENAI_API_KEY")
        return {
            "base_url": self.base_url,
            "timeout": self.timeout_seconds,
            "max_retries": self.max_retries,
            **({"api_key": "none"} if keyless else {}),
        }

    def _parameters(self, call: ModelCall) -> dict[str, Any]:
        return chat_parameters(call, model=self.name, temperature=self.temperature)


def chat_parameters(call: ModelCall, *, model: str, temperature: float | None) -> dict[str, Any]:
    """Return the body of the chat-completions request that asks for a call."""
    schema = call.response_schema
    optional = {
        "max_completion_tokens": call.max_output_tokens,
        "temperature": temperature,
        "seed": call.seed,
        "response_format": schema
        and {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    }
    return {
        "model": model,
        "messages": messages_to_openai(call.messages),
        **({"tools": list(call.tools)} if call.tools else {}),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _model_error(model: str, error: Exception) -> ModelError:
    first_line = (str(error).splitlines() or [""])[0]
    return ModelError(f"model {model!r}: {type(error).__name__}: {first_line}")


def _reply(completion: Any, seconds: float) -> ModelReply:
    """Read an openai `ChatCompletion`."""
    choice = next(iter(getattr(completion, "choices", None) or ()), None)
    if choice is None or choice.message is None:
        raise ModelError(f"the reply holds no choice with a message: {str(completion)[:200]!r}")
    reasons: dict[str, FinishReason] = {
        "stop": "stop",
        "length": "length",
        "tool_calls": "tool_calls",
        "function_call": "tool_calls",
        "content_filter": "content_filter",
    }
    usage = completion.usage
    details = getattr(usage, "prompt_tokens_details", None)
    message = _received(choice.message.model_dump(exclude_unset=True))
    return ModelReply(
        text=choice.message.content or "",
        finish_reason=reasons.get(choice.finish_reason, "other"),
        usage=usage
        and Usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            cached_input_tokens=getattr(details, "cached_tokens", None) or 0,
        ),
        model=completion.model,
        seconds=seconds,
        refusal=choice.message.refusal,
        tool_names=tuple(call.name for call in message.tool_calls),
        tool_calls=message.tool_calls,
        message=message,
    )


def _received(raw: Json) -> Message:
    """Keep of a received message what may be sent back; servers reject their own other fields."""
    sent_back = ("role", "content", "refusal", "tool_calls", *REASONING_FIELDS)
    kept = {key: raw[key] for key in sent_back if raw.get(key) is not None}
    try:
        empty = None if "tool_calls" in kept else ""
        return Message.from_openai({"role": "assistant", "content": empty, **kept})
    except MessageError as error:
        raise ModelError(f"the reply is no message: {error}") from error
