"""Replaces old tool results by a placeholder. Free, but a prompt cache ends at the first one."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from compaction.errors import StoreError
from compaction.history import Entry, Origin, View
from compaction.strategy import CompactionEvent, Context
from compaction.tiers.growing import Change, Followed, FoundResult, Pass, ResultIndex, applied
from compaction.tiers.results import (
    handle_for,
    is_error,
    original_text,
    rewritten,
    with_cleared_arguments,
)

CLEARED_PLACEHOLDER: Final = "[Earlier tool result cleared. Run the tool again if it is needed.]"
RECOVERABLE_PLACEHOLDER: Final = "[Earlier tool result cleared. Full text: {handle}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearToolResults:
    """Clear the results that no rule protects, oldest first.

    At least one of `keep_last_results`, `protect_tokens` and `protect_last_turns` is given; a
    result is protected if any of them protects it. Promise: protected and exempt results are
    unchanged, and a result is replaced only by something with fewer characters and fewer tokens.
    With `{handle}` in the placeholder every cleared result can be read back.
    """

    name: ClassVar[str] = "ClearToolResults"

    keep_last_results: int | None = None
    protect_tokens: int | None = None
    """The newest results that together have at most so many tokens by `context.counter`."""
    protect_last_turns: int | None = None
    """Results in the last turns; a turn is a user message and all up to the next one."""
    min_chars: int = 0
    """Only results with more characters than this."""
    min_reclaim_tokens: int = 0
    """All or nothing: clear only if so many tokens are gained together."""
    stop_after_tokens: int | None = None
    """Stop once so many tokens are gained. None clears everything that is not protected."""
    exempt_tools: frozenset[str] = frozenset()
    keep_errors: bool = False
    """Keep results marked `is_error` or `status: error`, or whose first word is an error's."""
    clear_arguments: bool = False
    """Also replace the arguments of cleared calls by `{}`; these are not put into the store."""
    placeholder: str = CLEARED_PLACEHOLDER
    literal_handles: bool = False
    """The handle is the bare call id: as the seeds have it, wrong where a log reuses ids."""
    keep_handle: bool = True
    """A result that has a handle already still names it when cleared."""
    handle_note: str = " [Full text: {handle}]"
    """Appended for `keep_handle` if the placeholder itself names no handle."""

    def __post_init__(self) -> None:
        rules = ("keep_last_results", "protect_tokens", "protect_last_turns")
        if all(getattr(self, rule) is None for rule in rules):
            raise ValueError(f"one of {', '.join(rules)} must be set")
        for parameter in (*rules, "min_chars", "min_reclaim_tokens"):
            value = getattr(self, parameter)
            if value is not None and value < 0:
                raise ValueError(f"{parameter} must be >= 0, got {value}")
        if self.stop_after_tokens is not None and self.stop_after_tokens < 1:
            raise ValueError(f"stop_after_tokens must be >= 1, got {self.stop_after_tokens}")
        if self.keep_handle and "{handle}" not in self.handle_note:
            raise ValueError(f"handle_note must name the {{handle}}, got {self.handle_note!r}")

    @property
    def gains_matter(self) -> bool:
        return self.min_reclaim_tokens > 0 or self.stop_after_tokens is not None

    @property
    def recoverable(self) -> bool:
        """Whether the placeholder names a handle."""
        return "{handle}" in self.placeholder

    def apply(self, view: View, context: Context) -> View:
        return applied(self.resume(context), view)

    def settled(self, view: View) -> int:
        if self.gains_matter or self.protect_tokens is not None:
            return 0
        index = ResultIndex()
        index.follow(Change(0, view.entries))
        kept = index.results[self.unprotected(index, [0]) :]
        first = kept[0].position if kept else len(view)
        if not self.clear_arguments:
            return first
        callers = [found.caller for found in kept if found.caller >= 0]
        return min([first, *callers, *index.open_positions()])

    def resume(self, context: Context) -> Pass:
        return _Clearing(self, context)

    def unprotected(self, index: ResultIndex, sizes_tokens: list[int]) -> int:
        """Return how many leading results no rule protects; `sizes_tokens` are running sums."""
        limits = []
        if self.keep_last_results is not None:
            limits.append(max(0, len(index.results) - self.keep_last_results))
        if self.protect_tokens is not None:
            limits.append(bisect_left(sizes_tokens, sizes_tokens[-1] - self.protect_tokens))
        if self.protect_last_turns == 0:
            limits.append(len(index.results))
        elif self.protect_last_turns is not None:
            enough = len(index.users) >= self.protect_last_turns
            start = index.users[-self.protect_last_turns] if enough else 0
            limits.append(index.results_before(start))
        return min(limits)

    def to_clear(self, gains_tokens: list[int]) -> int:
        """Return how many of the planned results to clear; `gains_tokens` are running sums."""
        planned = len(gains_tokens) - 1
        if self.stop_after_tokens is not None:
            planned = min(planned, bisect_left(gains_tokens, self.stop_after_tokens))
        return planned if gains_tokens[planned] >= self.min_reclaim_tokens else 0

    def may_clear(self, entry: Entry, found: FoundResult) -> bool:
        """Whether an unprotected result may be cleared at all."""
        return not (
            entry.origin.kind == "generated"
            or entry.origin.by == self.name
            or found.tool in self.exempt_tools
            or len(original_text(entry.message)) <= self.min_chars
            or (self.keep_errors and is_error(entry.message))
        )

    def cleared(self, entry: Entry, occurrence: int) -> Entry:
        """Return the entry with the placeholder in it."""
        handle = entry.origin.handle if self.keep_handle or self.recoverable else None
        text = self.placeholder
        if self.recoverable and handle is None:
            handle = handle_for(entry.message, occurrence, literal=self.literal_handles)
        elif handle is not None and not self.recoverable:
            text += self.handle_note
        message = rewritten(entry.message, text.replace("{handle}", handle or ""))
        return Entry(message, Origin("edited", entry.origin.spans, self.name, handle))


class _Planned(NamedTuple):
    found: FoundResult
    before: Entry
    after: Entry | None
    """None if the result stays."""


class _Clearing:
    """`ClearToolResults` at work on one growing view."""

    def __init__(self, tier: ClearToolResults, context: Context) -> None:
        self._tier = tier
        self._context = context
        self._index = ResultIndex()
        self.output: list[Entry] = []
        self._same = 0
        self._sizes_tokens = [0]
        self._plan: list[_Planned] = []
        self._gains_tokens = [0]
        self._cleared_calls: dict[int, set[int]] = {}
        self._cleared = 0
        self._known: dict[tuple[Entry, int], Entry] = {}
        """Entry and occurrence -> the entry with the placeholder."""
        self._done: set[int] = set()
        """Object ids of the known ones that were put into the view before."""
        self._new_handles: list[str] = []
        self._new_edits = 0
        self._failures: list[str] = []

    def follow(self, change: Change) -> Followed:
        same = self._same = change.same
        self._index.follow(change)
        self.output[same:] = change.added
        self._measure(same)
        self._new_handles, self._new_edits, self._failures = [], 0, []
        pending_before = len(self._plan) - self._cleared
        self._plan_until(self._tier.unprotected(self._index, self._sizes_tokens), same)
        wanted = self._tier.to_clear(self._gains_tokens)
        while self._cleared > wanted:
            self._cleared -= 1
            self._restore(self._plan[self._cleared], same)
        while self._cleared < wanted:
            self._clear(self._plan[self._cleared])
            self._cleared += 1
        return Followed(self._same, tuple(self._events(pending_before)))

    def _write(self, position: int, entry: Entry) -> None:
        self.output[position] = entry
        self._same = min(self._same, position)

    def _measure(self, same: int) -> None:
        """Keep running sums of the sizes of results, if a rule asks for them."""
        if self._tier.protect_tokens is None:
            return
        del self._sizes_tokens[self._index.results_before(same) + 1 :]
        for found in self._index.results[len(self._sizes_tokens) - 1 :]:
            size = self._context.counter.count(self._index.entries[found.position].message)
            self._sizes_tokens.append(self._sizes_tokens[-1] + size)

    def _plan_until(self, limit: int, same: int) -> None:
        """Plan exactly the first `limit` results, those planned before `same` being settled."""
        valid = min(limit, self._index.results_before(same))
        while len(self._plan) > valid:
            planned = self._plan.pop()
            self._gains_tokens.pop()
            if self._cleared > len(self._plan):
                self._cleared -= 1
                self._restore(planned, same)
        for found in self._index.results[len(self._plan) : limit]:
            planned = self._planned(found)
            gain = self._gain_tokens(planned) if self._tier.gains_matter else 0
            self._plan.append(planned)
            self._gains_tokens.append(self._gains_tokens[-1] + gain)

    def _planned(self, found: FoundResult) -> _Planned:
        entry = self._index.entries[found.position]
        if not self._tier.may_clear(entry, found):
            return _Planned(found, entry, None)
        key = (entry, found.occurrence)
        after = self._known.get(key)
        if after is None:
            after = self._known[key] = self._tier.cleared(entry, found.occurrence)
        return _Planned(found, entry, after if self._is_smaller(after, entry) else None)

    def _is_smaller(self, after: Entry, before: Entry) -> bool:
        """Whether a placeholder is less by any measure: else it would break a cache for nothing."""
        count = self._context.counter.count
        return len(after.message.text) < len(original_text(before.message)) and (
            count(after.message) < count(before.message)
        )

    def _gain_tokens(self, planned: _Planned) -> int:
        if planned.after is None:
            return 0
        count = self._context.counter.count
        gain = count(planned.before.message) - count(planned.after.message)
        if self._tier.clear_arguments and planned.found.caller >= 0:
            caller = self._index.entries[planned.found.caller].message
            gain += count(caller) - count(
                with_cleared_arguments(caller, {planned.found.call_index})
            )
        return max(0, gain)

    def _clear(self, planned: _Planned) -> None:
        found, before, after = planned
        if after is None:
            return
        if id(after) not in self._done:
            if after.origin.handle is not None and before.origin.handle is None:
                try:
                    original = original_text(before.message)
                    self._context.store.put(after.origin.handle, original)
                except StoreError as error:
                    self._failures.append(str(error))
                    return
                self._new_handles.append(after.origin.handle)
            self._done.add(id(after))
            self._new_edits += 1
        self._write(found.position, after)
        if self._tier.clear_arguments and found.caller >= 0:
            self._cleared_calls.setdefault(found.caller, set()).add(found.call_index)
            self._write_caller(found.caller)

    def _restore(self, planned: _Planned, same: int) -> None:
        """Take a clearing back; what stands at `same` or later is as it was given already."""
        found = planned.found
        if found.position < same:
            self._write(found.position, self._index.entries[found.position])
        if calls := self._cleared_calls.get(found.caller):
            calls.discard(found.call_index)
            if not calls:
                del self._cleared_calls[found.caller]
            if found.caller < same:
                self._write_caller(found.caller)

    def _write_caller(self, position: int) -> None:
        entry = self._index.entries[position]
        calls = self._cleared_calls.get(position, set())
        message = with_cleared_arguments(entry.message, calls)
        untouched = message is entry.message
        self._write(position, entry if untouched else entry.edited(message, self._tier.name))

    def _events(self, pending_before: int) -> list[CompactionEvent]:
        name = self._tier.name
        events = [CompactionEvent(name, "failed", reason=reason) for reason in self._failures]
        if self._new_edits:
            handles = tuple(self._new_handles)
            events.append(
                CompactionEvent(name, "applied", messages_edited=self._new_edits, handles=handles)
            )
        pending = len(self._plan) - self._cleared
        gain = self._gains_tokens[-1]
        if not self._cleared and gain and pending > pending_before:
            reason = f"would gain {gain} tokens, needs {self._tier.min_reclaim_tokens}"
            events.append(CompactionEvent(name, "skipped", reason=reason))
        return events
