"""How each framework writes a setting down: one function per form, from parameters to text.

Sources are named in each; `tests/peers` constructs the objects with the libraries themselves.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from reports.configuration_text import Form, Resolved, call, python
from reports.shares import WindowShare, of_window

ALWAYS: Final = "The trigger is as low as it can be: the setting compacts before every request."
OWN_PLACEHOLDER: Final = "The text in place of a cleared result is the framework's own."


def anthropic(resolved: Resolved) -> Form | None:
    """Write `context_management` of the Messages API.

    Source: https://platform.claude.com/docs/en/build-with-claude/context-editing
    """
    keep, trigger = resolved.get("keep_last_results"), resolved.get("trigger_tokens")
    if keep is None:
        return None
    edit: dict[str, Any] = {"type": "clear_tool_uses_20250919"}
    # Without a size: from the first tool use on that would not be kept.
    edit["trigger"] = (
        {"type": "tool_uses", "value": keep}
        if trigger is None
        else {"type": "input_tokens", "value": trigger}
    )
    edit["keep"] = {"type": "tool_uses", "value": keep}
    if resolved.get("min_reclaim_tokens"):
        edit["clear_at_least"] = {"type": "input_tokens", "value": resolved["min_reclaim_tokens"]}
    if resolved.get("exempt_tools"):
        edit["exclude_tools"] = sorted(resolved["exempt_tools"])
    edit["clear_tool_inputs"] = bool(resolved.get("clear_arguments"))
    text = json.dumps({"context_management": {"edits": [edit]}}, indent=2)
    notes = [
        "Send the beta header context-management-2025-06-27.",
        OWN_PLACEHOLDER,
    ]
    if trigger is None:
        notes.append("Without trigger_tokens the trigger is the number of tool uses kept.")
    return Form("Anthropic Messages API", "json", text, tuple(notes))


def langchain_clear(resolved: Resolved) -> Form | None:
    """Write `ContextEditingMiddleware`. Source: langchain 1.5.2."""
    if resolved.get("keep_last_results") is None:
        return None
    arguments = {
        "trigger": resolved.get("trigger_tokens") or 0,
        "clear_at_least": resolved.get("stop_after_tokens") or 0,
        "keep": resolved["keep_last_results"],
        "clear_tool_inputs": bool(resolved.get("clear_arguments")),
        "exclude_tools": tuple(sorted(resolved.get("exempt_tools") or ())),
        "placeholder": resolved.get("placeholder", "[cleared]"),
    }
    text = python(
        "from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware",
        "middleware = [ContextEditingMiddleware(edits=[edit])]",
        before=call("edit", "ClearToolUsesEdit", arguments),
    )
    notes = [
        "It counts characters / 4, without the system prompt, unless a token_counter is given."
    ]
    if "{" in str(arguments["placeholder"]):
        notes.append("Handles in the placeholder mean nothing there.")
    return Form("LangChain", "python", text, (*notes, *_always(resolved)))


def langchain_summary(resolved: Resolved) -> Form | None:
    """Write `SummarizationMiddleware`. Source: langchain 1.5.2."""
    if not (resolved.get("keep_tail_messages") or resolved.get("keep_tail_tokens")):
        return None
    kind = "messages" if resolved.get("keep_tail_messages") else "tokens"
    trigger = resolved.get("trigger_tokens")
    arguments = {
        "trigger": ("messages", 1) if trigger is None else ("tokens", trigger or 1),
        "keep": (kind, resolved[f"keep_tail_{kind}"]),
        "trim_tokens_to_summarize": resolved.get("max_input_tokens"),
    }
    text = python(
        "from langchain.agents.middleware import SummarizationMiddleware",
        "middleware = [summarization]",
        before=call("summarization", "SummarizationMiddleware", arguments, "model=model"),
    )
    notes = ["`model` is who writes the summary; the prompt is LangChain's own."]
    if kind == "tokens":
        notes.append("Of what it keeps it counts characters / 4 (for Claude / 3.3).")
    return Form("LangChain", "python", text, (*notes, *_always(resolved)))


def inspect_edit(resolved: Resolved) -> Form | None:
    """Write `CompactionEdit`. Source: inspect-ai 0.3.285."""
    if resolved.get("keep_last_results") is None:
        return None
    arguments = {
        "threshold": _threshold(resolved),
        "keep_tool_uses": resolved["keep_last_results"],
        "keep_thinking_turns": "all",
    }
    notes = ("Thinking is kept, as it was here; Inspect's default keeps the last turn's.",)
    return _inspect("CompactionEdit", arguments, (*notes, OWN_PLACEHOLDER, *_always(resolved)))


def inspect_trim(resolved: Resolved) -> Form | None:
    """Write `CompactionTrim`. Source: inspect-ai 0.3.285."""
    if resolved.get("keep_tail_fraction") is None:
        return None
    arguments = {"threshold": _threshold(resolved), "preserve": resolved["keep_tail_fraction"]}
    return _inspect("CompactionTrim", arguments, _always(resolved))


def inspect_summary(resolved: Resolved) -> Form | None:
    """Write `CompactionSummary`. Source: inspect-ai 0.3.285."""
    notes = ("The prompt is Inspect's own.", *_always(resolved))
    return _inspect("CompactionSummary", {"threshold": _threshold(resolved)}, notes)


def pydantic_ai_clear(resolved: Resolved) -> Form | None:
    """Write `ClearToolResults`. Source: pydantic-ai-harness 0.62.0."""
    if resolved.get("keep_last_results") is None:
        return None
    arguments = {
        **_pydantic_triggers(resolved),
        "keep_pairs": resolved["keep_last_results"],
        "placeholder": resolved.get("placeholder", "[tool result cleared]"),
        "exclude_tools": frozenset(resolved.get("exempt_tools") or ()),
        "clear_tool_inputs": bool(resolved.get("clear_arguments")),
        "min_clear_tokens": resolved.get("min_reclaim_tokens") or None,
    }
    return _pydantic_ai("ClearToolResults", arguments, _always(resolved))


def pydantic_ai_window(resolved: Resolved) -> Form | None:
    """Write `SlidingWindowCompaction`. Source: pydantic-ai-harness 0.62.0."""
    if resolved.get("keep_tail_messages") is None and resolved.get("keep_tail_tokens") is None:
        return None
    notes = _pydantic_notes(resolved)
    if resolved.get("border") == "later":
        notes = (*notes, "A border within a group of calls moves before it there, so more is kept.")
    return _pydantic_ai("SlidingWindowCompaction", _pydantic_tail(resolved), notes)


def pydantic_ai_summary(resolved: Resolved) -> Form | None:
    """Write `SummarizingCompaction`. Source: pydantic-ai-harness 0.62.0."""
    if resolved.get("keep_tail_messages") is None and resolved.get("keep_tail_tokens") is None:
        return None
    notes = ("The prompt is the harness' own.", *_pydantic_notes(resolved))
    return _pydantic_ai("SummarizingCompaction", _pydantic_tail(resolved), notes)


def _threshold(resolved: Resolved) -> int | WindowShare:
    """Return tokens; Inspect takes a float of at most 1 as a share of the window."""
    tokens = max(resolved.get("trigger_tokens") or 0, 2)
    share = of_window(tokens, f"threshold={tokens!r}")
    return tokens if share is None else share


def _pydantic_triggers(resolved: Resolved) -> dict[str, Any]:
    messages, tokens = resolved.get("trigger_messages"), resolved.get("trigger_tokens")
    if messages is None and tokens is None:
        return {"max_messages": 1}
    named = {"max_messages": messages, "max_tokens": tokens}
    found: dict[str, Any] = {
        name: max(value, 1) for name, value in named.items() if value is not None
    }
    if (share := of_window(tokens, f"max_tokens={tokens!r}")) is not None:
        del found["max_tokens"]
        found["max_fraction"] = share
    return found


def _pydantic_tail(resolved: Resolved) -> dict[str, Any]:
    tail = (
        {"keep_tokens": resolved["keep_tail_tokens"]}
        if resolved.get("keep_tail_messages") is None
        else {"keep_messages": resolved["keep_tail_messages"]}
    )
    first = bool(resolved.get("keep_first_user", resolved.get("keep_head", 0) > 0))
    return {**_pydantic_triggers(resolved), **tail, "preserve_first_user_message": first}


def _pydantic_notes(resolved: Resolved) -> tuple[str, ...]:
    counted = "It counts requests and responses; all results of a batch are one request there."
    return (
        (counted, *_always(resolved))
        if resolved.get("keep_tail_messages") is not None
        else (_always(resolved))
    )


def _always(resolved: Resolved) -> tuple[str, ...]:
    has_trigger = any(
        resolved.get(name) is not None for name in ("trigger_tokens", "trigger_messages")
    )
    return () if has_trigger else (ALWAYS,)


def _inspect(name: str, arguments: Resolved, notes: Sequence[str]) -> Form:
    text = python(
        f"from inspect_ai.model import {name}", "", before=call("compaction", name, arguments)
    )
    memory = "memory=True, Inspect's default, also warns the model and clears memory calls."
    return Form("Inspect", "python", text, (*notes, memory))


def _pydantic_ai(name: str, arguments: Resolved, notes: Sequence[str]) -> Form:
    text = python(
        f"from pydantic_ai_harness.compaction import {name}",
        "capabilities = [compaction]",
        before=call("compaction", name, arguments),
    )
    return Form("pydantic-ai-harness", "python", text, tuple(notes))
