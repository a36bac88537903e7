"""The two levels of xun as functions of a view: collecting old tool results, and the summary.

`Xun` and `Conversation` both run these; when they run is decided in `compaction.systems.xun`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from compaction.control import Stage
from compaction.conversation_messages import EstimatedLength
from compaction.history import View
from compaction.llm import Steps
from compaction.messages import INSTRUCTION_ROLES
from compaction.strategy import CompactionEvent, Context, Outcome
from compaction.systems.xun_prompts import (
    COMPACTED_SYSTEM_PROMPT,
    MAX_SUMMARY_TOKENS,
    PLACEHOLDER,
    XunSummaryPrompt,
)
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.summarize import Summarize
from compaction.tokens import RunningTotal

COMPACTED: Final = "COMPACTED"
NOTHING_TO_CONDENSE: Final = "NOTHING_TO_CONDENSE"
SUMMARIZE_FAILED: Final = "SUMMARIZE_FAILED"
SummaryStatus = Literal["COMPACTED", "NOTHING_TO_CONDENSE", "SUMMARIZE_FAILED"]
_STATUS: Final[Mapping[Outcome, SummaryStatus]] = {
    "applied": COMPACTED,
    "skipped": NOTHING_TO_CONDENSE,
    "failed": SUMMARIZE_FAILED,
}


@dataclass(frozen=True, slots=True)
class CompactionCounter:
    """How often a conversation was compacted."""

    tool_rounds: int = 0
    """Cheap rounds in a row since the last summary."""
    summary_rounds: int = 0


@dataclass(frozen=True, slots=True)
class XunState:
    """What is remembered from check to check."""

    total_tokens: int | None = None
    """Of the last reply; None until one was reported since the last compaction."""
    counter: CompactionCounter = field(default_factory=CompactionCounter)

    def after_summary(self) -> "XunState":
        return XunState(None, CompactionCounter(0, self.counter.summary_rounds + 1))


class ToolCallCompactResult(NamedTuple):
    """What the first level did."""

    reclaimed_count: int
    """Tool results replaced by a placeholder."""
    reclaimed_fraction: float
    """Share of the estimated length that is gone, 0 to 1."""


class SummaryCompactResult(NamedTuple):
    """What the second level did; unless the status is COMPACTED, nothing changed."""

    status: SummaryStatus
    reason: str = ""
    """Why not, in one line."""
    summarized_count: int = 0
    """Messages that the summary took the place of, the system message included."""


class Reclaimed(NamedTuple):
    view: View
    outcome: ToolCallCompactResult


class Condensed(NamedTuple):
    view: View
    outcome: SummaryCompactResult


class ViewMemory:
    """What is known of the view of the check before."""

    def __init__(self) -> None:
        self.length: Final = RunningTotal(EstimatedLength())
        self._stage: Stage | None = None

    def stage(self, tier: ClearToolResults) -> Stage:
        """Return the latest stage if it is of this tier, else a new one."""
        if self._stage is None or self._stage.tier != tier:
            self._stage = Stage(tier)
        return self._stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How the second level works; the names are those of `Xun`."""

    max_summary_tokens: int = MAX_SUMMARY_TOKENS
    keep_system_prompt: bool = False
    literal_last_user: bool = False
    literal_batch: bool = False


def reclaim(
    view: View,
    keep_max: int,
    context: Context,
    *,
    literal_ids: bool = False,
    fixed_chars: int = 0,
    memory: ViewMemory | None = None,
) -> Reclaimed:
    """Collect all tool results but the last `keep_max`: the first level.

    Args:
        view: Results that were collected before count among the kept ones.
        keep_max: 0 collects all.
        context: Its store gets the originals.
        literal_ids: Name originals by tool-call id alone.
        fixed_chars: Length that is sent but not in the view.
        memory: Of the view before, so that only what is new is looked at.
    """
    memory = memory or ViewMemory()
    measured = memory.length
    tier = ClearToolResults(
        keep_last_results=keep_max, placeholder=PLACEHOLDER, literal_handles=literal_ids
    )
    cleared = memory.stage(tier).run(view, context)
    count = sum(event.messages_edited for event in cleared.events[len(view.events) :])
    before = measured.total(view.entries) + fixed_chars
    after = measured.total(cleared.entries) + fixed_chars
    return Reclaimed(
        cleared, ToolCallCompactResult(count, (before - after) / before if before else 0.0)
    )


def condense_steps(
    view: View,
    keep_recent: int,
    context: Context,
    options: SummaryOptions,
    focus: str | None = None,
) -> Steps[Condensed]:
    """Summarise all but the last `keep_recent` messages into the system message: the second level.

    The tail grows to whole groups; the last user message is pulled into it. A system message or an
    earlier summary alone is nothing to condense.
    """
    tier = Summarize(
        keep_tail_messages=max(keep_recent, _since_last_user(view, options)),
        hoist_last_user=True,
        place="after_head" if options.keep_system_prompt else "system",
        role="system",
        template=COMPACTED_SYSTEM_PROMPT,
        merge="reread",
        prompt=XunSummaryPrompt(include_system=not options.literal_batch),
        max_summary_tokens=options.max_summary_tokens,
    )
    split = tier.split(view, context.counter)
    if split is None or all(e.message.role in INSTRUCTION_ROLES for e in split.subject):
        event = CompactionEvent(tier.name, "skipped", reason="nothing to condense")
        outcome = SummaryCompactResult(NOTHING_TO_CONDENSE, event.reason)
        return Condensed(view.with_events(event), outcome)
    condensed = yield from tier.steps(view, context, split=split, focus=focus)
    event = condensed.events[-1]
    outcome = SummaryCompactResult(_STATUS[event.outcome], event.reason, event.messages_removed)
    return Condensed(condensed, outcome)


def _since_last_user(view: View, options: SummaryOptions) -> int:
    """Return how many messages the tail must have to reach back to the last user message."""
    if not options.literal_last_user:
        return 0
    roles = (entry.message.role for entry in reversed(view.entries))
    return next((at for at, role in enumerate(roles, 1) if role == "user"), 0)
