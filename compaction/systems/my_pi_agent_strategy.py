"""The recipe of my_pi_agent: parameters with the seed's defaults, and the tiers they stand for."""

from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from compaction.guard import Guard
from compaction.session_entries import SUMMARY_PREFIX
from compaction.strategy import Context, Promises
from compaction.systems.my_pi_agent_pipeline import PiCompactor
from compaction.systems.my_pi_agent_prompts import Extraction, PiPrompt
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tiers.offload_large_results import OffloadLargeResults
from compaction.tiers.snip_middle import SnipMiddle
from compaction.tiers.summarize import Summarize

DEFAULT_BUDGET_TOKENS: Final = 128_000
"""The seed names no budget and is off without one; this is the window of gpt-4o."""
MICRO_PLACEHOLDER: Final = "[Earlier tool result compacted]"
OFFLOAD_MAX_CHARS: Final = 20_000
OFFLOAD_TEMPLATE: Final = """\
<persisted-output handle="{handle}">
Output too large ({chars} characters). Full output: {path}
Preview (first {preview_chars} characters):
{preview}
</persisted-output>"""
"""Marker, path and preview, as the seed asks; its own wording was lost from the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MyPiAgent:
    """Views from the whole history each time, after a summary from what it does not cover.

    The parameters from `bounded_footprint` on choose between readings of the seed: the default is
    sound, the other value does what the printed code does.
    """

    name: ClassVar[str] = "my_pi_agent"
    version: ClassVar[str] = "2"

    context_budget: int | None = field(
        default=DEFAULT_BUDGET_TOKENS, metadata={"unit": "tokens", "share_of": "peak"}
    )
    """None switches everything off, as in the seed."""
    trigger_fraction: float = 0.8
    """Summarize if the free view is estimated above this part of the budget."""
    keep_recent_tokens: int | None = field(default=None, metadata={"unit": "tokens"})
    """What the tail keeps at least; None is a quarter of the budget."""
    max_messages: int = 50
    keep_head: int = 3
    micro_keep_recent: int = 5
    micro_min_chars: int = 200
    offload_max_chars: int | None = OFFLOAD_MAX_CHARS
    """None switches L3 off."""
    preview_chars: int = 2_000
    max_summary_tokens: int | None = field(default=None, metadata={"unit": "tokens"})
    """Sent with the summary call; the seed sends no limit."""
    keep_last_user: bool = False
    """Also keep the latest user message where L1 or the summary would take it; not in the seed."""
    bounded_footprint: bool = True
    """List only the latest files, with one character of paths per token of the tail; the seed
    lists all, which outgrows what a long run can save."""
    cut: Literal["before_user", "after_user"] = "before_user"
    """Whether the tail begins with a user message, or as printed just behind one, be it worth a
    summary or not."""
    summary_input: Literal["new", "all"] = "new"
    """Summarize what the previous summary does not cover, or everything again, untreated."""
    retained_tail: Literal["treated", "raw"] = "treated"
    """Whether L3 and L2 also work on the tail that was retained at the summary."""
    on_failure: Literal["free_view", "history"] = "free_view"
    """What is sent if there is no summary."""
    anchor: Literal["sent", "free"] = "sent"
    """Which view's characters the usage is divided by if there was a summary."""
    extraction: Extraction = "sound"
    literal_handles: bool = False
    """Handles are bare call ids, and L2 drops them: an offloaded result may be lost or mixed up."""

    def __post_init__(self) -> None:
        for parameter in ("context_budget", "keep_recent_tokens", "max_summary_tokens"):
            value = getattr(self, parameter)
            if value is not None and value < 0:
                raise ValueError(f"{parameter} must be >= 0, got {value}")
        if not 0 < self.trigger_fraction <= 1:
            raise ValueError(f"trigger_fraction must be in (0, 1], got {self.trigger_fraction}")
        self.snip_tier(), self.micro_tier(), self.offload_tier(), self.summarize_tier()

    @property
    def promises(self) -> Promises:
        return Promises(
            mode="viewing",
            keeps_system=True,
            keeps_last_user=self.keep_last_user or self.context_budget is None,
            recoverable=not self.literal_handles,
            keeps_open_calls=True,
            grows=self.cut == "after_user" or self._exchanges_short_texts,
        )

    @property
    def _exchanges_short_texts(self) -> bool:
        """Whether what takes a result's place may have more tokens in fewer characters."""
        offloads = self.offload_max_chars is not None and self.offload_max_chars < 1_000
        return offloads or self.micro_min_chars < 100

    @property
    def trigger_tokens(self) -> int | None:
        """The estimate above which a summary is made; None if the system is off."""
        if self.context_budget is None:
            return None
        return int(self.context_budget * self.trigger_fraction)

    @property
    def tail_tokens(self) -> int:
        if self.keep_recent_tokens is not None:
            return self.keep_recent_tokens
        return (self.context_budget or 0) // 4

    def start(self, context: Context) -> PiCompactor:
        return PiCompactor(self, context)

    def offload_tier(self) -> OffloadLargeResults | None:
        """Return L3."""
        if self.offload_max_chars is None:
            return None
        return OffloadLargeResults(
            max_chars=self.offload_max_chars,
            preview_chars=self.preview_chars,
            literal_handles=self.literal_handles,
            template=OFFLOAD_TEMPLATE,
        )

    def snip_tier(self) -> SnipMiddle:
        """Return L1."""
        return SnipMiddle(max_messages=self.max_messages, keep_head=self.keep_head)

    def micro_tier(self) -> ClearToolResults:
        """Return L2."""
        return ClearToolResults(
            keep_last_results=self.micro_keep_recent,
            min_chars=self.micro_min_chars,
            placeholder=MICRO_PLACEHOLDER,
            keep_handle=not self.literal_handles,
        )

    def summarize_tier(self) -> Summarize:
        """Return L4."""
        return Summarize(
            prompt=PiPrompt(extraction=self.extraction),
            template=SUMMARY_PREFIX + "{summary}",
            max_summary_tokens=self.max_summary_tokens,
            guard=Guard(reject_grown=False),
        )
