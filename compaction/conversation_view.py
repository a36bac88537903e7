"""Typed messages as the entries that the levels of xun work on, and the entries back as messages.

Index of a typed message and history index of its entry are the same, so an untouched message
comes back as the object it was.
"""

from collections.abc import Sequence

from compaction.conversation_messages import (
    ConversationMessage,
    RawOpenAIMessage,
    SystemPrompt,
)
from compaction.history import Entry, Origin, View, whole
from compaction.late_results import left_out
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.store import Store
from compaction.systems.xun_prompts import placeholder_handle, unwrap_summary
from compaction.tiers.clear_tool_results import ClearToolResults


def view_of(messages: Sequence[ConversationMessage], originals: Store) -> View:
    """Return the messages that are sent, the system message without its persistent sections."""
    late = late_results(messages)
    entries = (_entry(message.message, i, originals) for i, message in enumerate(messages))
    events = left_out(messages[at].message for at in late)
    return View(tuple(entry for at, entry in enumerate(entries) if at not in late), events)


def late_results(messages: Sequence[ConversationMessage]) -> tuple[int, ...]:
    """Return the indices of results that no call has any more, which a summary may have taken."""
    if not any(isinstance(message, SystemPrompt) and message.is_compressed for message in messages):
        return ()
    return orphan_results([message.message for message in messages])


def messages_of(view: View, before: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return what the messages `before` became: those that the view left alone as they were."""
    return [_typed(entry, before) for entry in view.entries]


def system_of(messages: Sequence[ConversationMessage]) -> SystemPrompt | None:
    """Return the system message, which is the first or not there at all."""
    first = messages[0] if messages else None
    return first if isinstance(first, SystemPrompt) else None


def _entry(message: Message, index: int, originals: Store) -> Entry:
    entry = whole(message, index)
    if not message.is_result:
        return entry
    handle = placeholder_handle(message.text)
    if handle is None or originals.get(handle) is None:
        return entry
    return Entry(message, Origin("edited", entry.origin.spans, ClearToolResults.name, handle))


def _typed(entry: Entry, before: Sequence[ConversationMessage]) -> ConversationMessage:
    if entry.origin.kind == "whole":
        return before[entry.origin.first]
    summary = unwrap_summary(entry.message.text)
    if entry.origin.kind == "generated" and summary is not None:
        return (system_of(before) or SystemPrompt("")).summarized(summary)
    return RawOpenAIMessage(entry.message)
