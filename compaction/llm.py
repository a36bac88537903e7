"""Model calls as values, who answers them, and the two drivers that run a compactor.

Code that needs a model yields a `ModelCall` and receives a `ModelReply`; it does no I/O itself.
The only place that imports openai, and only when an `OpenAIChat` is first used.
"""

import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Protocol, TypeVar
from weakref import finalize

from compaction.errors import ModelError
from compaction.model_calls import FinishReason as FinishReason
from compaction.model_calls import ModelCall as ModelCall
from compaction.model_calls import ModelReply as ModelReply
from compaction.model_calls import Usage as Usage
from compaction.model_wire import Api, refused_parameter, reply_of, request_body
from compaction.model_wire_faults import fate_of, retry_after_seconds
from compaction.model_wire_stream import joined

REFUSING_STATUS: Final = (400, 422)
"""What endpoints answer to a parameter that they do not take."""
_ONE_CLIENT: Final = Lock()
"""Held while a client is made: threads that share a chat share its connections."""
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Result = TypeVar("Result")


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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class OpenAIChat:
    """Asks any OpenAI-compatible endpoint. The key comes from the environment.

    Connections end with `close`, or with the object itself.

    A parameter that the endpoint refuses is left out from then on (`compaction.model_wire`).
    """

    name: str
    """The model's name as the endpoint knows it."""
    base_url: str | None = None
    """None means what the openai package takes from `OPENAI_BASE_URL`."""
    timeout_seconds: float = 120.0
    max_retries: int = 2
    temperature: float | None = None
    """None sends no temperature, which models that reject the parameter need."""
    api: Api = "chat"
    """Chat Completions, which all compatible servers have, or Responses."""
    stream: bool = False
    """Let answers come in pieces, which some endpoints and proxies insist on."""
    _clients: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _refused: set[str] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def using(cls, client: Any, model: str) -> "OpenAIChat":
        """Ask through an `openai.OpenAI` or `openai.AsyncOpenAI` client that the caller made."""
        kind = "async" if "Async" in type(client).__name__ else "sync"
        return cls(model, _clients={kind: client})

    def complete(self, call: ModelCall) -> ModelReply:
        from openai import OpenAI, OpenAIError

        started = time.perf_counter()
        while True:
            body = self._body(call)
            try:
                with _ONE_CLIENT:
                    if "sync" not in self._clients:
                        made = self._clients["sync"] = OpenAI(**self._connection())
                        finalize(self, made.close)
                    client = self._clients["sync"]
                found = self._endpoint(client).create(**body)
                answer = map(_plain, found) if self.stream else _plain(found)
                return self._reply(answer, started)
            except OpenAIError as error:
                self._leave_out(body, error)
            except ValueError as error:  # the client leaves it at that
                text = f"model {self.name!r}: the answer is no JSON ({error})"
                raise ModelError(text) from error

    async def acomplete(self, call: ModelCall) -> ModelReply:
        from openai import AsyncOpenAI, OpenAIError

        started = time.perf_counter()
        while True:
            body = self._body(call)
            try:
                if given := self._clients.get("async"):
                    answer = await self._received(given, body)
                else:
                    # A client belongs to one event loop, and this object to none.
                    async with AsyncOpenAI(**self._connection()) as client:
                        answer = await self._received(client, body)
                return self._reply(answer, started)
            except OpenAIError as error:
                self._leave_out(body, error)
            except ValueError as error:  # the client leaves it at that
                text = f"model {self.name!r}: the answer is no JSON ({error})"
                raise ModelError(text) from error

    async def _received(self, client: Any, body: dict[str, Any]) -> Any:
        found = await self._endpoint(client).create(**body)
        return [_plain(piece) async for piece in found] if self.stream else _plain(found)

    def close(self) -> None:
        """Close the connections that `complete` keeps open; the next call opens new ones."""
        client = self._clients.pop("sync", None)
        if client is not None:
            client.close()

    def _endpoint(self, client: Any) -> Any:
        return client.chat.completions if self.api == "chat" else client.responses

    def _connection(self) -> dict[str, Any]:
        # Local servers want no key, but the client insists on one.
        keyless = self.base_url is not None and not os.environ.get("OPENAI_API_KEY")
        return {
            "base_url": self.base_url,
            "timeout": self.timeout_seconds,
            "max_retries": self.max_retries,
            **({"api_key": "none"} if keyless else {}),
        }

    def _body(self, call: ModelCall) -> dict[str, Any]:
        return request_body(
            call,
            model=self.name,
            temperature=self.temperature,
            api=self.api,
            refused=self._refused,
            stream=self.stream,
        )

    def _leave_out(self, body: dict[str, Any], error: Exception) -> None:
        """Note what the endpoint does not take, so that it is asked again, or give up."""
        is_refusal = getattr(error, "status_code", None) in REFUSING_STATUS
        parameter = refused_parameter(str(error), body) if is_refusal else None
        if parameter is None:
            raise _model_error(self.name, error) from error
        self._refused.add(parameter)

    def _reply(self, answer: Any, started: float) -> ModelReply:
        """Read an answer, or the pieces of a stream; nothing may be left to come after it."""
        raw = joined(answer, api=self.api) if self.stream else answer
        return reply_of(raw, api=self.api, seconds=time.perf_counter() - started)


def _plain(found: Any) -> Any:
    return found.model_dump(exclude_unset=True) if hasattr(found, "model_dump") else found


def _model_error(model: str, error: Exception) -> ModelError:
    first_line = (str(error).splitlines() or [""])[0]
    return ModelError(
        f"model {model!r}: {type(error).__name__}: {first_line}",
        fate=fate_of(error),
        retry_after_seconds=retry_after_seconds(error),
    )
