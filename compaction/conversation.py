"""The typed conversation of an agent, with the manual commands of the system xun.

It owns its messages, its token figure and the originals of collected tool results. When to compact
by itself is decided in `compaction.systems.xun`; both run the same two levels.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import is_not
from pathlib import Path
from typing import Any, Final, Protocol

from compaction.atomic import write_atomically
from compaction.conversation_archive import Archive, loads_archive, read_text
from compaction.conversation_messages import (
    EARLIER_SUMMARY,
    ConversationMessage,
    RawOpenAIMessage,
    SystemPrompt,
    UserMessage,
    content_to_text,
    estimated_length,
    message_from_openai,
    normalize_image,
)
from compaction.conversation_view import late_results, messages_of, system_of, view_of
from compaction.errors import ModelError, TranscriptError
from compaction.history import View
from compaction.llm import ModelCall, ModelReply, Steps, run_steps
from compaction.messages import Json, Message
from compaction.store import MemoryStore
from compaction.strategy import Context
from compaction.systems.xun_levels import (
    COMPACTED,
    SUMMARIZE_FAILED,
    CompactionCounter,
    SummaryCompactResult,
    SummaryOptions,
    ToolCallCompactResult,
    XunState,
    condense_steps,
    reclaim,
)
from compaction.systems.xun_prompts import wrap_summary
from compaction.tokens import CharCounter

CHANGED_MEANWHILE: Final = "messages were taken back while the summary was written"

Summarizer = Callable[[list[ConversationMessage]], str | None]
"""Gets the batch to summarise, the system message first; None means: give up."""


class ToolResult(Protocol):
    def value_str(self) -> str: ...


class Conversation:
    """Messages in order, the system prompt first if there is one."""

    content_to_text = staticmethod(content_to_text)

    def __init__(self, messages: Iterable[ConversationMessage] = ()) -> None:
        self.messages: list[ConversationMessage] = list(messages)
        self.total_tokens: int | None = None
        """Of the last reply; None until one was reported since the last compaction."""
        self.compaction_counter = CompactionCounter()
        self._originals = MemoryStore()

    def completion_params(self) -> list[Json]:
        late = late_results(self.messages)
        return [m.completion_param() for at, m in enumerate(self.messages) if at not in late]

    def estimated_message_length(self) -> int:
        """Count the characters of content and reasoning in all that is sent."""
        return estimated_length(self.completion_params())

    def set_system_message_content(
        self, content: str, *, is_compressed: bool = False, keep_summary: bool = True
    ) -> None:
        """Replace the body of the system message or insert one; its sections stay.

        Args:
            content: The new body.
            is_compressed: Whether `content` is a summary.
            keep_summary: Keep a summary that stands there now, as a section until the next
                summary. False is the literal reading: the history in it is gone, with a warning.
        """
        prompt = system_of(self.messages) or SystemPrompt("")
        sections = prompt.persist_sections
        if prompt.is_compressed and not is_compressed:
            if keep_summary:
                earlier = wrap_summary(prompt.content)
                sections = prompt.with_section(EARLIER_SUMMARY, earlier).persist_sections
            else:
                warnings.warn("the new system message replaces a summary", stacklevel=2)
        self._set_system(SystemPrompt(content, is_compressed, sections))

    def set_persistent_section(self, name: str, content: str) -> None:
        """Write a section that survives every compaction; empty content removes it."""
        if system_of(self.messages) is None and not content:
            return
        self._set_system((system_of(self.messages) or SystemPrompt("")).with_section(name, content))

    def add_user_message(self, content: str, images: Sequence[object] | None = None) -> None:
        """Append a user message; images are data or http(s) URLs or PIL images."""
        urls = tuple(normalize_image(image) for image in images or ())
        self.messages.append(UserMessage(content, urls))

    def set_response_schema(self, schema: Any) -> None:
        """Attach a JSON schema, or the one of a pydantic model, to the last message.

        Raises:
            ValueError: the last message is not a user's.
        """
        if not self.messages or not isinstance(self.messages[-1], UserMessage):
            raise ValueError("a response schema needs a user message at the end")
        as_dict = schema if isinstance(schema, dict) else schema.model_json_schema()
        self.messages[-1] = replace(self.messages[-1], response_schema=as_dict)

    def add_agent_message(self, message: Any) -> None:
        """Append the assistant message that a model returned, as a dict or an openai object."""
        if not isinstance(message, Mapping):
            message = {"content": None, **message.model_dump(exclude_none=True)}
        kept = {key: value for key, value in message.items() if (key, value) != ("tool_calls", [])}
        self.messages.append(RawOpenAIMessage.of({"role": "assistant", **kept}))

    def add_tool_result(self, tool_call_id: str, content: ToolResult | str) -> None:
        """Append the result of a call; one that cannot be put into text becomes an error text."""
        try:
            text = content if isinstance(content, str) else content.value_str()
        except (TypeError, ValueError, AttributeError, LookupError, RuntimeError) as error:
            text = f"[Error] Failed to serialize the tool result: {type(error).__name__}: {error}"
        message = Message("tool", text, tool_call_id=tool_call_id)
        self.messages.append(RawOpenAIMessage(message))

    def pop_last_message_if_user(self) -> ConversationMessage | None:
        """Take back the last message if it is a user's, as when a request was cancelled."""
        if self.messages and self.messages[-1].role == "user":
            return self.messages.pop()
        return None

    def pop_from_last_user_message(self, *, inclusive: bool = True) -> list[ConversationMessage]:
        """Take back all from the last user message on, itself included or not; in order."""
        users = [i for i, message in enumerate(self.messages) if message.role == "user"]
        if not users:
            return []
        start = users[-1] if inclusive else users[-1] + 1
        popped = self.messages[start:]
        del self.messages[start:]
        return popped

    def clear(self) -> None:
        """Forget everything but the system message."""
        prompt = system_of(self.messages)
        self.messages[:] = [prompt] if prompt else []
        self.state = XunState()
        self._originals = MemoryStore()

    def compact_toolcall(
        self, keep_max: int = 12, *, literal_ids: bool = False
    ) -> ToolCallCompactResult:
        """Replace all but the last `keep_max` tool results by placeholders, where shorter."""
        reclaimed = reclaim(
            self.view(),
            keep_max,
            self.context(),
            literal_ids=literal_ids,
            fixed_chars=self.fixed_chars,
        )
        self.commit(reclaimed.view, tuple(self.messages))
        return reclaimed.outcome

    def compacted_toolcall_result(self, tool_call_id: str) -> str | None:
        """Return the original that a placeholder names.

        A bare tool-call id is understood where only one original was collected under it.
        """
        exact = self._originals.get(tool_call_id)
        named = [name for name in self._originals if name.rsplit(".", 2)[0] == tool_call_id]
        if exact is not None or len(named) != 1:
            return exact
        return self._originals.get(named[0])

    def compact(
        self,
        summarize: Summarizer,
        keep_recent: int = 16,
        options: SummaryOptions | None = None,
    ) -> SummaryCompactResult:
        """Put a summary in the place of all but the last messages; all or nothing.

        Whatever `summarize` raises counts as a failure to summarise.
        """

        def answer(call: ModelCall) -> ModelReply:
            batch = [message_from_openai(m.to_openai()) for m in call.messages[:-1]]
            try:
                summary = summarize(batch)
            except Exception as error:
                raise ModelError(f"{type(error).__name__}: {error}") from error
            if summary is None:
                raise ModelError("the summariser gave up")
            return ModelReply(summary)

        return run_steps(self.compact_steps(keep_recent, options), answer)

    def compact_steps(
        self, keep_recent: int = 16, options: SummaryOptions | None = None
    ) -> Steps[SummaryCompactResult]:
        """Do what `compact` does, asking for the summary by a `ModelCall`."""
        before = tuple(self.messages)
        condensed = yield from condense_steps(
            self.view(), keep_recent, self.context(), options or SummaryOptions()
        )
        if condensed.outcome.status == COMPACTED:
            if not self.commit(condensed.view, before):
                return SummaryCompactResult(SUMMARIZE_FAILED, CHANGED_MEANWHILE)
            self.state = self.state.after_summary()
        return condensed.outcome

    @property
    def state(self) -> XunState:
        """Token figure and counter together, as a check of `Xun` reads and returns them."""
        return XunState(self.total_tokens, self.compaction_counter)

    @state.setter
    def state(self, state: XunState) -> None:
        self.total_tokens, self.compaction_counter = state.total_tokens, state.counter

    @property
    def fixed_chars(self) -> int:
        """Length of the persistent sections, which are sent but not in the view."""
        prompt = system_of(self.messages)
        return len(prompt.completion_param()["content"]) - len(prompt.body) if prompt else 0

    def context(self) -> Context:
        return Context(CharCounter(), self._originals)

    def view(self) -> View:
        return view_of(self.messages, self._originals)

    def commit(self, view: View, before: Sequence[ConversationMessage]) -> bool:
        """Put what a compaction made of the messages `before` in their place.

        Messages added since stay behind them. If others are gone or exchanged, nothing is done
        and the answer is False.
        """
        since = self.messages[len(before) :]
        if len(self.messages) < len(before) or any(map(is_not, before, self.messages)):
            return False
        self.messages[:] = [*messages_of(view, before), *since]
        return True

    def _set_system(self, prompt: SystemPrompt) -> None:
        self.messages[: 1 if system_of(self.messages) else 0] = [prompt]

    def to_history(self, *, truncate: bool = False) -> list[dict[str, str]]:
        """Return `{role, content}` records for display."""
        return [
            {
                "role": param["role"],
                "content": content_to_text(param.get("content"), truncate=truncate),
            }
            for param in (message.completion_param() for message in self.messages)
        ]

    def dumps(self) -> str:
        originals = {name: self._originals.get(name) or "" for name in self._originals}
        return Archive(
            tuple(self.messages), self.total_tokens, self.compaction_counter, originals
        ).dumps()

    def dump(self, path: str | Path) -> None:
        """Write the archive, replacing the file completely or not at all."""
        write_atomically(Path(path), self.dumps().encode("utf-8", "surrogatepass"))

    @classmethod
    def loads(cls, text: str) -> "Conversation":
        """Read an archive of any version.

        Raises:
            TranscriptError: not an archive, with the place that is wrong.
        """
        archive = loads_archive(text)
        conversation = cls(archive.messages)
        conversation.state = XunState(archive.total_tokens, archive.counter)
        for handle, original in archive.originals.items():
            conversation._originals.put(handle, original)
        return conversation

    @classmethod
    def load(cls, path: str | Path) -> "Conversation":
        """Read an archive file, which stays as it is whatever is wrong with it."""
        try:
            return cls.loads(read_text(Path(path)))
        except TranscriptError as error:
            raise TranscriptError(f"{path}: {error}") from error
