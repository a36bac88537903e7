"""A request to a model and what came back, as values. Who answers is `compaction.llm`."""

from dataclasses import dataclass
from typing import Literal

from compaction.messages import Json, Message, Messages, ToolCall

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]


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
    unlogged_tokens: int = 0
    """Of the input, what stands in no message that a compactor was shown: the instructions and tool
    schemas that a log lacks. A replay sets it; so may whoever knows it."""
    is_cache_logged: bool = True
    """False where a log says nothing of the cache: that nothing was read is then not known."""

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
