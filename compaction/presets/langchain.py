"""LangChain's two middlewares: `ClearToolUsesEdit` and `SummarizationMiddleware`, version 1.5.2."""

from dataclasses import dataclass, field
from typing import ClassVar, Final

from compaction.control import Pipeline, PipelineCompactor
from compaction.presets import COUNTED_TOKENS, check_not_negative
from compaction.prompts import PlainPrompt
from compaction.strategy import Context, Promises
from compaction.tiers import ClearToolResults, Summarize
from compaction.triggers import Tokens

CHARS_PER_TOKEN: Final = 4
"""As LangChain's approximate counter has it."""
SUMMARY_TEMPLATE: Final = "Here is a summary of the conversation to date:\n\n{summary}"
SUMMARY_SECTIONS: Final = ("## SESSION INTENT", "## SUMMARY", "## ARTIFACTS", "## NEXT STEPS")


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainClearToolUses:
    """Clear old tool results in the request, not in the state, while it is above the trigger.

    Where it differs: a result that is shorter than the placeholder stays (LangChain replaces it and
    the request grows), and tokens are those of the measuring counter, not characters / 4.

    Source: langchain 1.5.2, `agents/middleware/context_editing.py`, `ClearToolUsesEdit` (trigger
    100,000, keep 3, clear_at_least 0, inputs kept).
    """

    name: ClassVar[str] = "langchain_clear_tool_uses"
    version: ClassVar[str] = "2"

    trigger_tokens: int = field(default=100_000, metadata=COUNTED_TOKENS)
    keep_last_results: int = 3
    stop_after_tokens: int | None = field(default=None, metadata=COUNTED_TOKENS)
    """`clear_at_least`: stop once so many are gained; None (there 0) clears all it may."""
    exempt_tools: frozenset[str] = frozenset()
    clear_arguments: bool = False
    placeholder: str = "[cleared]"

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens", "keep_last_results")
        self._tier()

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
        return Pipeline(
            name=self.name,
            tiers=(self._tier(),),
            trigger=Tokens(self.trigger_tokens),
            mode="viewing",
            declared=self.promises,
        ).start(context)

    def _tier(self) -> ClearToolResults:
        return ClearToolResults(
            keep_last_results=self.keep_last_results,
            stop_after_tokens=self.stop_after_tokens,
            exempt_tools=self.exempt_tools,
            clear_arguments=self.clear_arguments,
            placeholder=self.placeholder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainSummarization:
    """Replace all but the newest messages by a summary in a user message.

    Where it differs: the wording of the prompt is ours under LangChain's headings, a bad summary is
    refused, and the summariser's input is cut at 4 characters for a token, not at a user message.
    Not modelled: triggers in messages or fractions of the window, the retry after an overflow.

    Source: langchain 1.5.2, `agents/middleware/summarization.py`, `SummarizationMiddleware` (keep
    20 messages, 4,000 tokens of input). It has no default trigger; 170,000 is that of deepagents.
    """

    name: ClassVar[str] = "langchain_summarization"
    version: ClassVar[str] = "1"

    trigger_tokens: int = field(default=170_000, metadata=COUNTED_TOKENS)
    keep_tail_messages: int | None = None
    """20 unless `keep_tail_tokens` is set."""
    keep_tail_tokens: int | None = field(default=None, metadata=COUNTED_TOKENS)
    max_input_tokens: int | None = field(default=4_000, metadata=COUNTED_TOKENS)
    """`trim_tokens_to_summarize`: what is older than that is lost unread. None sends all."""

    def __post_init__(self) -> None:
        check_not_negative(self, "trigger_tokens")
        if self.max_input_tokens is not None and self.max_input_tokens < 1:
            raise ValueError(f"max_input_tokens must be >= 1, got {self.max_input_tokens}")
        if self.keep_tail_messages is None and self.keep_tail_tokens is None:
            object.__setattr__(self, "keep_tail_messages", 20)
        self._tier()

    @property
    def promises(self) -> Promises:
        return Promises(
            keeps_system=True,
            keeps_open_calls=True,
            max_model_input_chars=self._tier().max_input_chars,
        )

    def start(self, context: Context) -> PipelineCompactor:
        return Pipeline(
            name=self.name,
            tiers=(self._tier(),),
            trigger=Tokens(self.trigger_tokens),
            declared=self.promises,
        ).start(context)

    def _tier(self) -> Summarize:
        max_input = self.max_input_tokens
        return Summarize(
            keep_tail_messages=self.keep_tail_messages,
            keep_tail_tokens=self.keep_tail_tokens,
            template=SUMMARY_TEMPLATE,
            merge="reread",
            prompt=PlainPrompt(sections=SUMMARY_SECTIONS),
            max_summary_tokens=None,
            max_input_chars=None if max_input is None else CHARS_PER_TOKEN * max_input,
        )
