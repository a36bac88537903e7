"""One check of the system xun that found the conversation over its threshold."""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from compaction.history import View
from compaction.llm import Steps
from compaction.strategy import Context
from compaction.systems.xun_levels import (
    COMPACTED,
    SUMMARIZE_FAILED,
    ViewMemory,
    XunState,
    condense_steps,
    reclaim,
)

if TYPE_CHECKING:
    from compaction.systems.xun_strategy import Xun


class Checked(NamedTuple):
    """The outcome of one check: what to send and what to remember."""

    view: View
    state: XunState


class Check:
    """Collects results, summarises if that is not enough, and again with halved keeps."""

    def __init__(
        self,
        settings: "Xun",
        state: XunState,
        context: Context,
        view: View,
        fixed_chars: int,
        memory: ViewMemory,
    ) -> None:
        self._settings = settings
        self._state = state
        self._context = context
        self._view = view
        self._fixed_chars = fixed_chars
        self._memory = memory
        self._total_before = state.total_tokens or 0
        self._chars = self._chars_before = self._measured()

    def steps(self) -> Steps[Checked]:
        keep_results = self._settings.toolcall_keep_max
        keep_messages = self._settings.summary_keep_max
        for attempt in range(self._settings.max_retries + 1):
            reclaimed = self._reclaim(keep_results)
            if attempt == 0 and reclaimed:
                counter = self._state.counter
                counter = replace(counter, tool_rounds=counter.tool_rounds + 1)
                self._state = replace(self._state, counter=counter)
            if not self._escalates(is_first=attempt == 0):
                break
            if not (yield from self._summarize(keep_messages)):
                break
            keep_results, keep_messages = halved(keep_results), halved(keep_messages)
        if not self._is_over(self._settings.escalation_ratio):
            self._state = replace(self._state, total_tokens=None)
        return Checked(self._view, self._state)

    def _reclaim(self, keep_max: int) -> bool:
        before = self._estimate()
        result = reclaim(
            self._view,
            keep_max,
            self._context,
            literal_ids=self._settings.literal_ids,
            memory=self._memory,
        )
        self._take(result.view, before)
        return result.outcome.reclaimed_count > 0

    def _summarize(self, keep_recent: int) -> Steps[bool]:
        """Return whether another pass is allowed and needed."""
        settings = self._settings
        before = self._estimate()
        result = yield from condense_steps(
            self._view, keep_recent, self._context, settings.options()
        )
        self._take(result.view, before)
        if result.outcome.status == SUMMARIZE_FAILED:
            return False
        if result.outcome.status == COMPACTED:
            self._state = self._state.after_summary()
            if settings.literal_total_reset:
                return False
        ratio = 1.0 if settings.literal_retry_limit else settings.escalation_ratio
        return self._is_over(ratio)

    def _escalates(self, *, is_first: bool) -> bool:
        rounds = self._state.counter.tool_rounds + self._settings.literal_last_round
        by_rounds = is_first and rounds > self._settings.escalation_rounds
        return by_rounds or self._is_over(self._settings.escalation_ratio)

    def _is_over(self, ratio: float) -> bool:
        limit = self._settings.token_threshold * ratio
        size = self._chars if self._settings.literal_length_limit else self._estimate()
        return size >= limit

    def _estimate(self) -> float:
        """Scale the reported total by the share of the estimated length that is still there."""
        share = self._chars / self._chars_before if self._chars_before else 1.0
        return self._total_before * share

    def _measured(self) -> int:
        return self._memory.length.total(self._view.entries) + self._fixed_chars

    def _take(self, view: View, before: float) -> None:
        """Go on with `view`, whose new events get the numbers and the cause of this check."""
        known = len(self._view.events)
        self._view = view
        self._chars = self._measured()
        trigger = f"tokens {self._total_before} > {self._settings.token_threshold}"
        events = tuple(
            replace(
                event,
                trigger=trigger,
                tokens_before=round(before),
                tokens_after=round(self._estimate()),
            )
            for event in view.events[known:]
        )
        self._view = View(view.entries, view.events[:known] + events)


def halved(keep: int) -> int:
    """Return half of `keep`, rounded down, but at least 1 of anything that was kept."""
    return min(keep, max(1, keep // 2))
