"""Between the dicts of an agent's own loop and the entries that the three layers work on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compaction.history import Entry, Origin, View, whole
from compaction.llm import ChatModel, OpenAIChat
from compaction.messages import Json, Message, Messages
from compaction.strategy import Context
from compaction.systems.three_layer_full import CompactState
from compaction.systems.three_layer_prompts import SUMMARY_HEADER
from compaction.tokens import JsonCharCounter


def view_of(messages: Sequence[Json], state: CompactState) -> View:
    """Return the messages as entries; what the layers wrote before is known by its text."""
    entries = []
    for index, raw in enumerate(messages):
        entry = whole(Message.from_openai(raw), index)
        text = entry.message.text
        if entry.message.role == "user" and text.startswith(SUMMARY_HEADER):
            entry = Entry(entry.message, replace(entry.origin, kind="generated"))
        elif entry.message.is_result and (edit := state.edits.get(text)):
            entry = Entry(entry.message, Origin("edited", entry.origin.spans, edit.by, edit.handle))
        entries.append(entry)
    return View(tuple(entries))


def remember_originals(before: View, after: View, state: CompactState) -> None:
    """Keep what layer two took out, for the next transcript."""
    for key, old, new in zip(result_keys(before), before.entries, after.entries, strict=True):
        if key is not None and new is not old:
            state.originals[key] = _unpersisted(old, state)
            state.edits[new.message.text] = new.origin


def originals(view: View, state: CompactState) -> Messages:
    """Return the messages as they were before layers one and two."""
    return tuple(
        entry.message
        if key is None or entry.origin.kind != "edited"
        else state.originals.get(key) or _unpersisted(entry, state)
        for key, entry in zip(result_keys(view), view.entries, strict=True)
    )


def result_keys(view: View) -> list[tuple[str, int] | None]:
    """Return for each entry its call id and how many earlier results have it; None if no result."""
    seen: dict[str, int] = {}
    keys: list[tuple[str, int] | None] = []
    for entry in view.entries:
        call_id = entry.message.tool_call_id or ""
        if entry.message.is_result:
            seen[call_id] = seen.get(call_id, -1) + 1
        keys.append((call_id, seen[call_id]) if entry.message.is_result else None)
    return keys


def dicts_of(messages: Sequence[Json], before: View, after: View) -> list[Json]:
    """Return a view as dicts: the caller's own objects where nothing was changed."""
    given = {id(entry): raw for entry, raw in zip(before.entries, messages, strict=True)}
    return [given.get(id(entry)) or entry.message.to_openai() for entry in after.entries]


def context_of(state: CompactState) -> Context:
    return Context(counter=JsonCharCounter(), store=state.results)


def chat_of(client: Any, model: str) -> ChatModel:
    """Return a client of the openai package as a `ChatModel`, and a `ChatModel` as it is."""
    if callable(getattr(client, "acomplete", None)):
        chat: ChatModel = client
        return chat
    return OpenAIChat.using(client, model)


def _unpersisted(entry: Entry, state: CompactState) -> Message:
    handle = entry.origin.handle
    text = state.results.get(handle) if handle is not None else None
    return entry.message if text is None else entry.message.with_text(text)
