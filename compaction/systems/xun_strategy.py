"""The system xun: old tool results are collected first, a summary follows if that is not enough.

Here are its parameters and when it checks; a check that finds too much is in `xun_check`, what the
two levels do in `xun_levels`, the typed conversation with its
manual commands in `compaction.conversation` and `xun_compact`.
"""

from dataclasses import dataclass, field, replace
from math import inf
from typing import ClassVar, Final

from compaction.history import History, View
from compaction.late_results import followed
from compaction.llm import Steps, Usage
from compaction.strategy import Compactor, Context, Promises, Request, Waiting
from compaction.systems.xun_check import Check, Checked
from compaction.systems.xun_levels import (
    COMPACTED,
    SummaryOptions,
    ViewMemory,
    XunState,
    condense_steps,
)
from compaction.systems.xun_prompts import EXTRACT_TOOL, MAX_SUMMARY_TOKENS

ESCALATION_RATIO: Final = 0.95
"""An estimate must be below this share of the threshold to count as progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Xun:
    """Automatic compaction as xun does it, with the seed's defaults."""

    name: ClassVar[str] = "xun"
    version: ClassVar[str] = "2"
    escalation_ratio: ClassVar[float] = ESCALATION_RATIO
    agent_tools: ClassVar[tuple[str, ...]] = (EXTRACT_TOOL,)
    """Tools that the placeholders speak of."""

    token_threshold: int = field(default=192_000, metadata={"unit": "tokens"})
    """A check above this compacts; exactly at it does nothing."""
    enabled: bool = True
    toolcall_keep_max: int = 12
    """The latest tool results stay, so many."""
    summary_keep_max: int = 16
    """The latest messages stay when the rest is summarised, so many or whole groups more."""
    escalation_rounds: int = 2
    """After so many cheap rounds in a row the next one summarises as well."""
    max_retries: int = 2
    """Further passes if a summary was not enough, each with halved keeps (at least 1)."""
    max_summary_tokens: int = MAX_SUMMARY_TOKENS
    keep_system_prompt: bool = False
    """Send the summary beside the system prompt; the seed puts it in its place."""
    reset_rounds_below_threshold: bool = True
    """A check that is not over breaks the row of cheap rounds."""
    literal_last_round: bool = False
    """The `escalation_rounds`-th cheap round summarises itself."""
    literal_last_user: bool = False
    """Lengthen the tail back to the last user message instead of pulling only that one into it."""
    literal_total_reset: bool = False
    """After a summary `total_tokens` is None, so nothing is over and `max_retries` never acts."""
    literal_retry_limit: bool = False
    """A summary is enough below the threshold itself, not below 95 % of it."""
    literal_length_limit: bool = False
    """Compare the estimated characters themselves with the limit in tokens."""
    literal_ids: bool = False
    """Name originals by tool-call id alone; where a server reuses ids, the first one is found."""
    literal_batch: bool = False
    """Summarise without the system message, so that a second summary forgets the first."""

    def __post_init__(self) -> None:
        for name in ("token_threshold", "summary_keep_max", "max_summary_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        for name in ("toolcall_keep_max", "escalation_rounds", "max_retries"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be >= 0, got {getattr(self, name)}")

    @property
    def promises(self) -> Promises:
        """Results are promised in no number: a summary's tail may hold none at all."""
        return Promises(
            mode="rewriting",
            keeps_system=self.keep_system_prompt,
            keeps_last_user=True,
            recoverable=not self.literal_ids,
            keeps_open_calls=True,
            accounts_for_all=not self.literal_batch,
            grows=True,
            raises_roles=True,
        )

    def start(self, context: Context) -> Compactor:
        return XunCompactor(self, context)

    def options(self) -> SummaryOptions:
        return SummaryOptions(
            max_summary_tokens=self.max_summary_tokens,
            keep_system_prompt=self.keep_system_prompt,
            literal_last_user=self.literal_last_user,
            literal_batch=self.literal_batch,
        )

    def summary_steps(
        self, view: View, state: XunState, context: Context, focus: str = ""
    ) -> Steps[Checked]:
        """Run the second level alone, whatever the size of the view."""
        result = yield from condense_steps(
            view, self.summary_keep_max, context, self.options(), focus or None
        )
        summarized = result.outcome.status == COMPACTED
        return Checked(result.view, state.after_summary() if summarized else state)

    def check_steps(
        self,
        view: View,
        state: XunState,
        context: Context,
        *,
        fixed_chars: int = 0,
        memory: ViewMemory | None = None,
    ) -> Steps[Checked]:
        """Compact `view` if the last reply was too large: the flow chart of the seed.

        Args:
            view: What would be sent.
            state: What the check before returned, with the total reported since.
            context: Its store gets the originals of collected results.
            fixed_chars: Length that is sent but not in the view, such as persistent sections.
            memory: Of the view before, so that only what is new is looked at.
        """
        if not self.enabled or state.total_tokens is None:
            return Checked(view, state)
        if state.total_tokens <= self.token_threshold:
            if self.reset_rounds_below_threshold and state.counter.tool_rounds:
                state = replace(state, counter=replace(state.counter, tool_rounds=0))
            return Checked(view, state)
        return (
            yield from Check(
                self, state, context, view, fixed_chars, memory or ViewMemory()
            ).steps()
        )


class XunCompactor:
    """`Xun` started for one conversation: keeps its own entries and appends what is new."""

    def __init__(self, strategy: Xun, context: Context) -> None:
        self._strategy = strategy
        self._context = context
        self._view = View(())
        self._covered = 0
        self._memory = ViewMemory()
        self._requested: str | None = None
        self.state = XunState()

    def request_compaction(self, focus: str | None = None) -> None:
        """Have the next view summarised whatever its size, as `/compact` does."""
        self._requested = focus or ""

    def steps(self, history: History, request: Request) -> Steps[View]:
        view = followed(self._view, history, self._covered)
        strategy, context = self._strategy, self._context
        if self._requested is None:
            checked = yield from strategy.check_steps(
                view, self.state, context, memory=self._memory
            )
        else:
            checked = yield from strategy.summary_steps(view, self.state, context, self._requested)
        self._requested = None
        self._view = View(checked.view.entries)
        self._covered, self.state = len(history), checked.state
        return checked.view

    def waiting(self) -> Waiting | None:
        """Return None where the next check is forced or has a row of cheap rounds to break."""
        strategy = self._strategy
        breaks_row = strategy.reset_rounds_below_threshold and self.state.counter.tool_rounds
        if self._requested is not None or breaks_row:
            return None
        return Waiting(max_usage_tokens=strategy.token_threshold if strategy.enabled else inf)

    def record_usage(self, usage: Usage) -> None:
        self.state = XunState(usage.total_tokens, self.state.counter)

    def recover(self, handle: str) -> str | None:
        return self._context.store.get(handle)
