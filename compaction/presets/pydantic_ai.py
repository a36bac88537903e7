"""Three capabilities of pydantic-ai-harness 0.62.0: clearing, sliding window, summary.

The harness wants a trigger from the user; the defaults here are those of its own examples. Its
messages are requests and responses, of which one holds all results of a batch; ours are single
results, so that the same number keeps less.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from compaction.control import Pipeline, PipelineCompactor
from compaction.presets import COUNTED_TOKENS, TOKENS, check_not_negative
from compaction.prompts import PlainPrompt
from compaction.strategy import Context, ModelTier, Promises, Strategy, Tier
from compaction.tiers import ClearToolResults, DropOldest, Summarize
from compaction.triggers import AnyOf, Count, Tokens, Trigger

CLEARED_PLACEHOLDER: Final = "[tool result cleared]"
SUMMARY_TEMPLATE: Final = "Summary of previous conversation:\n\n{summary}"
SUMMARY_SECTIONS: Final = (
    "## Intent",
    "## Key decisions",
    "## Artifacts",
    "## Current state",
    "## Next steps",
    "## Open questions",
)
MAX_RESULT_CHARS: Final = 500
"""Of each tool result in the summariser's input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAiClearToolResults:
    """Clear old tool results once the input is above the trigger; what was cleared stays so.

    Where it differs: a result that is shorter than the placeholder stays.

    Source: pydantic-ai-harness 0.62.0, `compaction/_clear_tool_results.py`, `ClearToolResults`
    (keep_pairs 3).
    """

    name: ClassVar[str] = "pydantic_ai_clear_tool_results"
    version: ClassVar[str] = "2"

    trigger_tokens: int = field(default=100_000, metadata=TOKENS)
    keep_last_results: int = 3
    min_reclaim_tokens: int = field(default=0, metadata=COUNTED_TOKENS)
    exempt_tools: frozenset[str] = frozenset()
    clear_arguments: bool = False
    placeholder: str = CLEARED_PLACEHOLDER

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens", "keep_last_results", "min_reclaim_tokens")

    @property
    def promises(self) -> Promises:
        return Promises(
            keeps_system=True,
            keeps_last_user=True,
            keep_last_results=self.keep_last_results,
            keeps_open_calls=True,
            min_reclaim_tokens=self.min_reclaim_tokens or None,
        )

    def start(self, context: Context) -> PipelineCompactor:
        tier = ClearToolResults(
            keep_last_results=self.keep_last_results,
            min_reclaim_tokens=self.min_reclaim_tokens,
            exempt_tools=self.exempt_tools,
            clear_arguments=self.clear_arguments,
            placeholder=self.placeholder,
        )
        return _started(self, tier, Tokens(self.trigger_tokens), context)


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAiSlidingWindow:
    """Drop the oldest messages above a number of messages or tokens.

    Source: pydantic-ai-harness 0.62.0, `compaction/_sliding_window_compaction.py`,
    `SlidingWindowCompaction` (keep_messages 40, the first user message stays).
    """

    name: ClassVar[str] = "pydantic_ai_sliding_window"
    version: ClassVar[str] = "1"

    trigger_messages: int | None = 80
    trigger_tokens: int | None = field(default=None, metadata=TOKENS)
    keep_tail_messages: int | None = None
    """40 unless `keep_tail_tokens` is set."""
    keep_tail_tokens: int | None = field(default=None, metadata=COUNTED_TOKENS)
    keep_first_user: bool = True

    def __post_init__(self) -> None:
        _check_triggers(self, 40)
        self._tier()

    @property
    def promises(self) -> Promises:
        return Promises(keeps_system=True, keeps_open_calls=True)

    def start(self, context: Context) -> PipelineCompactor:
        trigger = _any_of(self.trigger_messages, self.trigger_tokens)
        return _started(self, self._tier(), trigger, context)

    def _tier(self) -> DropOldest:
        return DropOldest(
            keep_tail_messages=self.keep_tail_messages,
            keep_tail_tokens=self.keep_tail_tokens,
            keep_first_user=self.keep_first_user,
            border="earlier",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PydanticAiSummarization:
    """Replace all between the first user message and the newest messages by a system summary.

    Where it differs: the wording of the prompt is ours under the harness' headings, and every
    message of the summariser's input is clipped at 500 characters, there only tool results.

    Source: pydantic-ai-harness 0.62.0, `compaction/_summarizing_compaction.py`,
    `SummarizingCompaction` (keep_messages 20, the first user message stays, incremental).
    """

    name: ClassVar[str] = "pydantic_ai_summarization"
    version: ClassVar[str] = "1"

    trigger_messages: int | None = 60
    trigger_tokens: int | None = field(default=None, metadata=TOKENS)
    keep_tail_messages: int | None = None
    """20 unless `keep_tail_tokens` is set."""
    keep_tail_tokens: int | None = field(default=None, metadata=COUNTED_TOKENS)
    keep_first_user: bool = True

    def __post_init__(self) -> None:
        _check_triggers(self, 20)
        self._tier()

    @property
    def promises(self) -> Promises:
        return Promises(keeps_system=True, keeps_open_calls=True, raises_roles=True)

    def start(self, context: Context) -> PipelineCompactor:
        trigger = _any_of(self.trigger_messages, self.trigger_tokens)
        return _started(self, self._tier(), trigger, context)

    def _tier(self) -> Summarize:
        return Summarize(
            keep_head=1 if self.keep_first_user else 0,
            keep_tail_messages=self.keep_tail_messages,
            keep_tail_tokens=self.keep_tail_tokens,
            role="system",
            template=SUMMARY_TEMPLATE,
            prompt=PlainPrompt(sections=SUMMARY_SECTIONS, max_message_chars=MAX_RESULT_CHARS),
            max_summary_tokens=None,
        )


def _check_triggers(preset: PydanticAiSlidingWindow | PydanticAiSummarization, keep: int) -> None:
    if preset.trigger_messages is None and preset.trigger_tokens is None:
        raise ValueError("one of trigger_messages and trigger_tokens must be set")
    check_not_negative(preset, "trigger_messages", "trigger_tokens")
    if preset.keep_tail_messages is None and preset.keep_tail_tokens is None:
        object.__setattr__(preset, "keep_tail_messages", keep)


def _any_of(messages: int | None, tokens: int | None) -> Trigger:
    by_count = () if messages is None else (Count(messages),)
    by_size = () if tokens is None else (Tokens(tokens),)
    return AnyOf((*by_count, *by_size))


def _started(
    preset: Strategy, tier: Tier | ModelTier, trigger: Trigger, context: Context
) -> PipelineCompactor:
    return Pipeline(
        name=preset.name,
        tiers=(tier,),
        trigger=trigger,
        anchored_on_usage=True,
        declared=preset.promises,
    ).start(context)
