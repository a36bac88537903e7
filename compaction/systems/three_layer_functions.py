"""The functions that the `three_layer` seed names, over the message dicts of an agent's own loop.

They share the layers with the strategy; what the seed keeps in a global is a `CompactState`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from compaction.errors import ModelError
from compaction.guard import Guard
from compaction.history import View, whole
from compaction.late_results import without_late_results
from compaction.llm import Steps, adrive, drive
from compaction.messages import Json, Message
from compaction.systems.three_layer_dicts import (
    chat_of,
    context_of,
    dicts_of,
    originals,
    remember_originals,
    view_of,
)
from compaction.systems.three_layer_full import (
    CompactState,
    FullCompaction,
    Transcript,
)
from compaction.systems.three_layer_strategy import (
    ThreeLayer,
)

DEFAULTS: Final = ThreeLayer()


def persist_large_output(
    tool_use_id: str,
    output: str,
    state: CompactState | None = None,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> str:
    """Return an output as it goes into the conversation; large ones are written to a file.

    Call it for every output, also for the texts of blocked and denied calls. If the file cannot
    be written the output stays whole and `state.events` says why.
    """
    state = state or CompactState()
    message = Message("tool", output, tool_call_id=tool_use_id)
    made = settings.persist().apply(View((whole(message, 0),)), context_of(state))
    state.events += made.events
    (entry,) = made.entries
    if entry.origin.handle is not None:
        state.edits[entry.message.text] = entry.origin
    return entry.message.text


def micro_compact(
    messages: Sequence[Json],
    state: CompactState | None = None,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> list[Json]:
    """Return the messages with all but the latest tool results replaced by a placeholder.

    The state remembers the originals for the transcript; without one they are gone.
    """
    state = state or CompactState()
    before = view_of(messages, state)
    after = settings.micro().apply(before, context_of(state))
    state.events += after.events
    remember_originals(before, after, state)
    return dicts_of(messages, before, after)


def estimate_context_size(messages: Sequence[Json]) -> int:
    """Return the characters of the messages as JSON, calls and metadata included.

    The seed does not say what it measures. Characters, not bytes and not ASCII escapes: a Chinese
    conversation counts as long as it reads.
    """
    return len(json.dumps(list(messages), ensure_ascii=False))


def pre_api_compress(
    client: Any,
    model: str,
    messages: Sequence[Json],
    state: CompactState,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> list[Json]:
    """Return what to send: layer two always, layer three if that is still over the limit.

    `client` is an `openai.OpenAI` or any `ChatModel`, whose own name then counts.
    """
    return drive(_pre_api_steps(messages, state, settings), chat_of(client, model))


async def apre_api_compress(
    client: Any,
    model: str,
    messages: Sequence[Json],
    state: CompactState,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> list[Json]:
    """Do what `pre_api_compress` does, awaiting an `openai.AsyncOpenAI` or a `ChatModel`."""
    return await adrive(_pre_api_steps(messages, state, settings), chat_of(client, model))


def compact_history(
    client: Any,
    model: str,
    messages: Sequence[Json],
    state: CompactState,
    focus: str | None = None,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> list[Json]:
    """Return the one user message that replaces the whole history.

    The transcript is written first. If the summary fails the messages come back as they were, the
    transcript exists, and the last of `state.events` says what happened.
    """
    steps = _compact_steps(messages, state, settings, focus=focus, trigger="manual")
    return drive(steps, chat_of(client, model))


async def acompact_history(
    client: Any,
    model: str,
    messages: Sequence[Json],
    state: CompactState,
    focus: str | None = None,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> list[Json]:
    """Do what `compact_history` does, awaiting an `openai.AsyncOpenAI` or a `ChatModel`."""
    steps = _compact_steps(messages, state, settings, focus=focus, trigger="manual")
    return await adrive(steps, chat_of(client, model))


def summarize_history(
    client: Any,
    model: str,
    messages: Sequence[Json],
    focus: str | None = None,
    *,
    settings: ThreeLayer = DEFAULTS,
) -> str:
    """Return the model's summary of the messages.

    Raises:
        ModelError: the model failed, or what it returned is no summary.
    """
    tier = replace(settings.full(focus=None, recent_files=()), guard=Guard(reject_grown=False))
    state = CompactState()
    steps = tier.steps(view_of(messages, state), context_of(state), focus=focus)
    made = drive(steps, chat_of(client, model))
    summary = next((s for e in made.entries if (s := tier.summary_in(e)) is not None), None)
    if summary is None or made.events[-1].outcome != "applied":
        raise ModelError(f"no summary: {made.events[-1].reason}")
    return summary


def _pre_api_steps(
    messages: Sequence[Json], state: CompactState, settings: ThreeLayer
) -> Steps[list[Json]]:
    given = view_of(messages, state)
    legal = without_late_results(given)
    state.events += legal.events
    cleared = micro_compact(dicts_of(messages, given, legal), state, settings=settings)
    size_chars, limit = estimate_context_size(cleared), settings.context_limit_chars
    if size_chars <= limit:
        return cleared
    trigger = f"chars {size_chars} > {limit}"
    return (yield from _compact_steps(cleared, state, settings, focus=None, trigger=trigger))


def _compact_steps(
    messages: Sequence[Json],
    state: CompactState,
    settings: ThreeLayer,
    *,
    focus: str | None,
    trigger: str,
) -> Steps[list[Json]]:
    before = view_of(messages, state)
    literal = settings.literal_transcripts
    compaction = FullCompaction(
        tier=settings.full(focus=focus, recent_files=state.recent_files),
        transcript=Transcript(before.messages if literal else originals(before, state)),
        trigger=trigger,
        focus=focus,
        require_transcript=settings.require_transcript,
    )
    after = yield from compaction.steps(before, context_of(state), state)
    state.events += after.events
    if after.entries is not before.entries:
        state.originals.clear()
    return dicts_of(messages, before, after)
