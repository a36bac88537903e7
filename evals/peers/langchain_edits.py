"""LangChain's two middlewares that shrink a context, as compactors of OpenAI message dicts.

Needs the extra `peer-langchain`. LangChain holds the system prompt apart from the messages, so
leading instruction messages are kept in front. No model is asked: a function writes the summary.
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import ClearToolUsesEdit, SummarizationMiddleware
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately

from compaction.errors import MessageError
from compaction.messages import INSTRUCTION_ROLES, Json


class ClearToolUses:
    """`ClearToolUsesEdit` at every request, from the whole history each time."""

    mode = "viewing"

    def __init__(self, keep: int = 3, *, clear_tool_inputs: bool = False) -> None:
        self.promises = {
            "mode": "viewing",
            "keeps_system": True,
            "keeps_last_user": True,
            "keep_last_results": keep,
        }
        self._edit = ClearToolUsesEdit(trigger=0, keep=keep, clear_tool_inputs=clear_tool_inputs)

    def view(self, messages: list[Json]) -> list[Json]:
        def edit(given: list[BaseMessage]) -> list[BaseMessage]:
            edited: list[Any] = list(given)
            self._edit.apply(edited, count_tokens=count_tokens_approximately)
            return edited

        return _converted(messages, edit)


class Summarization:
    """`SummarizationMiddleware` over a number of messages; the kept ones are its state."""

    def __init__(self, trigger_messages: int = 8, keep_messages: int = 4) -> None:
        self.promises = {"keeps_system": True, "grows": True}
        self._middleware = SummarizationMiddleware(
            model=FakeListChatModel(responses=["not asked"]),
            trigger=("messages", trigger_messages),
            keep=("messages", keep_messages),
            summarizer=_summary,
        )

    def view(self, messages: list[Json]) -> list[Json]:
        def summarize(given: list[BaseMessage]) -> list[BaseMessage]:
            state: Any = {"messages": given}
            runtime: Any = None
            update = self._middleware.before_model(state, runtime)
            if update is None:
                return given
            return [item for item in update["messages"] if not isinstance(item, RemoveMessage)]

        return _converted(messages, summarize)


def _summary(messages: Sequence[BaseMessage]) -> str:
    return f"{len(messages)} earlier messages."


def _converted(
    messages: list[Json], change: Callable[[list[BaseMessage]], list[BaseMessage]]
) -> list[Json]:
    """Let `change` work on LangChain's messages; what it left as it was is given back as it was."""
    head = 0
    while head < len(messages) and messages[head]["role"] in INSTRUCTION_ROLES:
        head += 1
    given = convert_to_messages([_plain(raw) for raw in messages[head:]])
    for index, message in enumerate(given, head):
        message.id = str(index)
    originals = {message.id: (message, messages[int(message.id or 0)]) for message in given}
    returned = change(given) if given else given
    return [*messages[:head], *(_back(message, originals) for message in returned)]


def _plain(raw: Json) -> Json:
    """Return what LangChain reads: content that is not null.

    Raises:
        MessageError: LangChain has no such message.
    """
    if raw["role"] == "tool" and "tool_call_id" not in raw:
        raise MessageError("LangChain has no result without the id of its call")
    return {**raw, "content": raw.get("content") or ""}


def _back(message: BaseMessage, originals: dict[str | None, tuple[BaseMessage, Json]]) -> Json:
    if message.id not in originals:
        return {"role": "user", "content": message.content}
    before, raw = originals[message.id]
    if message is before:
        return raw
    changed = {**raw, "content": message.content}
    if calls := getattr(message, "tool_calls", None):
        emptied = {call["id"] for call in calls if not call["args"]}
        changed["content"] = raw.get("content")
        changed["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": "{}"}}
            if call["id"] in emptied
            else call
            for call in raw["tool_calls"]
        ]
    return changed
