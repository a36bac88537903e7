"""Inspect's three compaction strategies without a model of its own: edit, trim, summary.

Left out everywhere: the warning to save to memory, clearing of memory calls, the three further
passes while still above the threshold. The threshold there is 0.9 of the model's window, 128,000
tokens where that is not known; here it is those tokens.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from compaction.control import Pipeline, PipelineCompactor
from compaction.presets import TOKENS, check_not_negative
from compaction.prompts import PlainPrompt
from compaction.strategy import Context, ModelTier, Promises, Strategy, Tier
from compaction.tiers import ClearToolResults, DropOldest, Summarize
from compaction.triggers import Tokens

TRIGGER_TOKENS: Final = 115_200
"""0.9 of 128,000."""
EDIT_PLACEHOLDER: Final = "(Tool result removed)"
SUMMARY_TEMPLATE: Final = (
    "[CONTEXT COMPACTION SUMMARY]\n\n<previous_summary>\n{summary}\n</previous_summary>\n\n"
    "Go on with the task from here."
)
SUMMARY_SECTIONS: Final = (
    "## Primary Request and Intent",
    "## Key Technical Concepts",
    "## Files and Code Sections",
    "## Errors and Fixes",
    "## Problem Solving",
    "## All User Messages",
    "## Pending Tasks",
    "## Current Work",
    "## Next Step",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectEdit:
    """Clear old tool results once the input is above the trigger; what was cleared stays so.

    Where it differs: thinking is kept (as with `keep_thinking_turns="all"`), a result that is
    shorter than the placeholder stays, results are counted as they came, not as they were called.
    Not modelled: excluded tools (they do not count there), `keep_tool_inputs=False`.

    Source: inspect-ai 0.3.285, `model/_compaction/edit.py`, `CompactionEdit` (keep 3 tool uses).
    """

    name: ClassVar[str] = "inspect_edit"
    version: ClassVar[str] = "2"

    trigger_tokens: int = field(default=TRIGGER_TOKENS, metadata=TOKENS)
    keep_last_results: int = 3

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens", "keep_last_results")

    @property
    def promises(self) -> Promises:
        return Promises(
            keeps_system=True,
            keeps_last_user=True,
            keep_last_results=self.keep_last_results,
            keeps_open_calls=True,
        )

    def start(self, context: Context) -> PipelineCompactor:
        tier = ClearToolResults(
            keep_last_results=self.keep_last_results, placeholder=EDIT_PLACEHOLDER
        )
        return _started(self, tier, self.trigger_tokens, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectTrim:
    """Drop the oldest fifth of the messages behind the first user message.

    Where it differs: an assistant message at the end is not taken away, and a batch of calls is
    dropped whole where Inspect keeps the calls whose results are left.

    Source: inspect-ai 0.3.285, `model/_compaction/trim.py` and `model/_trim.py`, `CompactionTrim`
    (preserve 0.8).
    """

    name: ClassVar[str] = "inspect_trim"
    version: ClassVar[str] = "1"

    trigger_tokens: int = field(default=TRIGGER_TOKENS, metadata=TOKENS)
    keep_tail_fraction: float = 0.8

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens")
        self._tier()

    @property
    def promises(self) -> Promises:
        return Promises(keeps_system=True, keeps_open_calls=True, idempotent=False)

    def start(self, context: Context) -> PipelineCompactor:
        return _started(self, self._tier(), self.trigger_tokens, context)

    def _tier(self) -> DropOldest:
        return DropOldest(keep_tail_fraction=self.keep_tail_fraction)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectSummary:
    """Replace all behind the first user message by a summary in a user message.

    Where it differs: the wording of prompt and frame is ours under Inspect's headings, a bad
    summary is refused, and too long an input is not shortened.

    Source: inspect-ai 0.3.285, `model/_compaction/summary.py`, `CompactionSummary`.
    """

    name: ClassVar[str] = "inspect_summary"
    version: ClassVar[str] = "1"

    trigger_tokens: int = field(default=TRIGGER_TOKENS, metadata=TOKENS)

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens")

    @property
    def promises(self) -> Promises:
        return Promises(keeps_system=True, keeps_open_calls=True, accounts_for_all=True)

    def start(self, context: Context) -> PipelineCompactor:
        tier = Summarize(
            keep_head=1,
            template=SUMMARY_TEMPLATE,
            merge="reread",
            prompt=PlainPrompt(sections=SUMMARY_SECTIONS),
            max_summary_tokens=None,
        )
        return _started(self, tier, self.trigger_tokens, context)


def _started(
    preset: Strategy, tier: Tier | ModelTier, trigger_tokens: int, context: Context
) -> PipelineCompactor:
    return Pipeline(
        name=preset.name,
        tiers=(tier,),
        trigger=Tokens(trigger_tokens),
        anchored_on_usage=True,
        declared=preset.promises,
    ).start(context)
