"""Context editing of the Anthropic API: `clear_tool_uses_20250919`, which the server applies."""

from dataclasses import dataclass, field
from typing import ClassVar

from compaction.control import Pipeline, PipelineCompactor
from compaction.presets import COUNTED_TOKENS, check_not_negative
from compaction.strategy import Context, Promises
from compaction.tiers import ClearToolResults
from compaction.triggers import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicClearToolUses:
    """Clear old tool results before each request once the whole prompt is above the trigger.

    The client sends the whole history each time, so the view is made anew from it. Not known, and
    ours here: the server's placeholder, and how it counts the tokens that it would clear. Sizes are
    those of the measuring counter, without tool schemas: what the provider counted was a cleared
    prompt, and says nothing of the history's size. Not modelled: a trigger in tool uses, a list of
    tools whose inputs are cleared.

    Source: https://platform.claude.com/docs/en/build-with-claude/context-editing, beta
    context-management-2025-06-27 (trigger 100,000 input tokens, keep 3, no least amount, inputs
    kept).
    """

    name: ClassVar[str] = "anthropic_clear_tool_uses"
    version: ClassVar[str] = "2"

    trigger_tokens: int = field(default=100_000, metadata=COUNTED_TOKENS)
    keep_last_results: int = 3
    min_reclaim_tokens: int = field(default=0, metadata=COUNTED_TOKENS)
    """`clear_at_least`: nothing is cleared unless so many tokens are gained."""
    exempt_tools: frozenset[str] = frozenset()
    clear_arguments: bool = False

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens", "keep_last_results", "min_reclaim_tokens")

    @property
    def promises(self) -> Promises:
        return Promises(
            mode="viewing",
            keeps_system=True,
            keeps_last_user=True,
            keep_last_results=self.keep_last_results,
            keeps_open_calls=True,
        )

    def start(self, context: Context) -> PipelineCompactor:
        tier = ClearToolResults(
            keep_last_results=self.keep_last_results,
            min_reclaim_tokens=self.min_reclaim_tokens,
            exempt_tools=self.exempt_tools,
            clear_arguments=self.clear_arguments,
        )
        return Pipeline(
            name=self.name,
            tiers=(tier,),
            trigger=Tokens(self.trigger_tokens),
            mode="viewing",
            declared=self.promises,
        ).start(context)
