"""The compactor of my_pi_agent: the free layers, then one summary if the view is still over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from compaction.history import Entries, Entry, History, View
from compaction.late_results import LATE_RESULTS
from compaction.llm import Steps, Usage
from compaction.messages import Messages
from compaction.strategy import CompactionEvent, Context, Request
from compaction.systems.my_pi_agent_cut import find_cut, find_cut_as_printed
from compaction.systems.my_pi_agent_laid import Laid, LeftOut
from compaction.systems.my_pi_agent_layers import (
    FreeLayers,
    RecordChars,
    SummaryCache,
    leading_instructions,
)
from compaction.systems.my_pi_agent_prompts import PROMPT_CHARS
from compaction.tiers.file_ledger import FileLedger, Footprint, split_footprint
from compaction.tiers.split import Split
from compaction.tiers.summarize import Summarize
from compaction.tokens import RunningTotal, total_of

if TYPE_CHECKING:
    from compaction.systems.my_pi_agent_strategy import MyPiAgent

CHARS_PER_TOKEN: Final = 4
"""What the seed takes for a token as long as no usage is known."""
NOTHING_TO_CONDENSE: Final = "nothing to condense that is worth a summary"


@dataclass(frozen=True, slots=True)
class CompactionInfo:
    """What one summary amounts to: for the event, for the cache entry, for the books."""

    tokens_before: int
    """Estimate of the view that was over."""
    tokens_after: int
    """Estimate of the retained tail alone, as the seed defines it."""
    summarized_count: int
    """Messages that the summary stands for, instructions left out."""
    summary: str
    covered_count: int
    """Index of the retained tail: messages in front of it, instructions included."""
    retained_tail: Messages
    summary_usage: Usage | None
    summary_model: str | None


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """What an agent tells its listeners of a summary that was made."""

    tokens_before: int
    tokens_after: int
    summarized_count: int

    @classmethod
    def of(cls, info: CompactionInfo) -> "ContextCompacted":
        return cls(info.tokens_before, info.tokens_after, info.summarized_count)


class _Now(NamedTuple):
    history: History
    offloaded: Sequence[Entry]
    """All of the history after L3."""
    laid: Laid
    """What would be sent without a summary."""

    @property
    def view(self) -> View:
        return self.laid.view


class _Cut(NamedTuple):
    first: int
    """Where the messages begin that the model is shown."""
    at: int
    """Where the retained tail begins."""


class PiCompactor:
    """Views from the free layers, or from the latest summary and what came after it."""

    def __init__(self, settings: "MyPiAgent", context: Context) -> None:
        self.pending_compaction: CompactionInfo | None = None
        """Set by the call that made a summary, until the next one."""
        self.cache: SummaryCache | None = None
        self._settings = settings
        self._context = context
        self._layers = FreeLayers(settings, context)
        self._measure = RecordChars()
        self._running = RunningTotal(self._measure)
        self._last_view_chars = 0
        self.ratio: float | None = None
        """Tokens per character of the last view whose usage is known."""
        self._unlogged_tokens = 0
        """Sent with every view and not in its characters; see `Usage`."""
        self._gainless_chars = 0
        """Of the part whose summary gained nothing; the next try waits for twice as much."""
        self._requested: tuple[str | None] | None = None
        self._restored = False

    def steps(self, history: History, request: Request) -> Steps[View]:
        del request
        requested, self._requested = self._requested, None
        if requested is None:
            return self.prepare(history)
        return self.prepare(history, manual=True, focus=requested[0])

    def request_compaction(self, focus: str | None = None) -> None:
        """Make a summary at the next request whatever the estimate says."""
        self._requested = (focus,)

    def record_usage(self, usage: Usage) -> None:
        if usage.input_tokens and self._last_view_chars:
            self._unlogged_tokens = min(usage.unlogged_tokens, usage.input_tokens - 1)
            shown_tokens = usage.input_tokens - self._unlogged_tokens
            self.ratio = shown_tokens / self._last_view_chars

    def _sent_tokens(self, chars: int) -> int:
        """Estimate the input of a request from the characters of its view."""
        return self._unlogged_tokens + tokens_of(chars, self.ratio)

    def restore(self, cache: SummaryCache) -> None:
        """Go on from a summary made before; whoever made it has told of what it stands for."""
        self.cache = cache
        self._restored = True

    def recover(self, handle: str) -> str | None:
        return self._context.store.get(handle)

    def prepare(
        self, history: History, *, manual: bool = False, focus: str | None = None
    ) -> Steps[View]:
        """Return the view to send; `manual` asks for a summary whatever the estimate says."""
        self.pending_compaction = None
        limit_tokens = self._settings.trigger_tokens
        if limit_tokens is None:
            return View.of(history)
        offloaded = self._layers.offloaded(history)
        laid = self._layers.lay(history, self.cache)
        if self._restored:
            self._restored = False
            self._layers.take_summary_as_told(laid)
        self._last_view_chars = self._running.total(laid.view.entries)
        tokens = self._sent_tokens(self._last_view_chars)
        if tokens <= limit_tokens and not manual:
            return self._layers.sent(laid)
        event = CompactionEvent(
            Summarize.name,
            "skipped",
            trigger="manual" if manual else f"tokens {tokens} > {limit_tokens}",
            tokens_before=tokens,
        )
        result = yield from self._summarize(_Now(history, offloaded, laid), event, focus)
        if self._settings.anchor == "sent":
            self._last_view_chars = self._running.total(result.entries)
        return result

    def _summarize(self, now: _Now, event: CompactionEvent, focus: str | None) -> Steps[View]:
        history, offloaded, _ = now
        manual = event.trigger == "manual"
        cut = self._find_cut(history, offloaded, event.tokens_before or 0, manual=manual)
        if cut is None:
            return self._gave_up(now, replace(event, reason=NOTHING_TO_CONDENSE))
        subject = self._subject(history, offloaded, cut)
        tier = self._settings.summarize_tier()
        condensed = yield from tier.steps(
            View(subject), self._context, split=Split((), subject, ()), focus=focus
        )
        told = condensed.events[-1]
        event = replace(
            event, outcome=told.outcome, reason=told.reason, model_calls=told.model_calls
        )
        text = tier.summary_in(condensed.entries[0])
        if told.outcome != "applied" or text is None:
            return self._gave_up(now, event)
        files = self._files(history, cut).render()
        return self._commit(now, event, cut, f"{text}\n\n{files}" if files else text)

    def _find_cut(
        self, history: History, offloaded: Sequence[Entry], tokens_before: int, *, manual: bool
    ) -> _Cut | None:
        """Return what to condense, or None if that is less than a summary costs.

        A summary costs its prompt and the previous summary, which is read and written again; above
        the whole budget there is no room to wait for more, and only the prompt counts.
        """
        settings, limit_tokens = self._settings, self._settings.trigger_tokens or 0
        system = leading_instructions(offloaded)
        again = settings.summary_input == "all" or self.cache is None
        first = system if again or self.cache is None else self.cache.covered
        if settings.cut == "after_user":
            printed = find_cut_as_printed(history.messages(), settings.tail_tokens)
            return None if printed is None or printed <= first else _Cut(first, printed)
        sizes = [self._measure.count(entry.message) for entry in offloaded[first:]]
        sums = [0, *accumulate(sizes)]
        front_chars = total_of(self._measure, (entry.message for entry in offloaded[:system]))
        cost_chars = PROMPT_CHARS
        if self.cache and tokens_before <= (settings.context_budget or 0):
            cost_chars += len(self.cache.summary)

        def suits(at: int) -> bool:
            tail_chars = sums[-1] - sums[at - first]
            return self._sent_tokens(front_chars + tail_chars) <= limit_tokens

        def worthwhile(at: int) -> bool:
            return manual or sums[at - first] > max(cost_chars, 2 * self._gainless_chars)

        found = find_cut(
            history.messages(),
            sizes,
            first,
            tail_size=settings.tail_tokens / (self.ratio or 1 / CHARS_PER_TOKEN),
            suits=suits,
            worthwhile=worthwhile,
        )
        return None if found is None else _Cut(first, found)

    def _subject(self, history: History, offloaded: Sequence[Entry], cut: _Cut) -> Entries:
        """Return what the model is to read, the previous summary first.

        The messages as L3 leaves them; if that does not fit under the trigger, after L2 and L1.
        """
        previous = (self.cache.entry(cut.first),) if self.cache else ()
        if self._settings.summary_input == "all":
            return (*previous, *history.entries()[cut.first : cut.at])
        view = View(tuple(offloaded[cut.first : cut.at]))
        previous_chars = len(self.cache.summary) if self.cache else 0
        for tier in (self._settings.micro_tier(), self._settings.snip_tier()):
            chars = PROMPT_CHARS + previous_chars + total_of(self._measure, view.messages)
            if tokens_of(chars, self.ratio) <= (self._settings.trigger_tokens or 0):
                break
            view = tier.apply(view, self._context)
        return (*previous, *view.entries)

    def _files(self, history: History, cut: _Cut) -> Footprint:
        """Return what the previous summary lists, and the files of the newly condensed calls."""
        before = split_footprint(self.cache.summary)[1] if self.cache else Footprint()
        files = before.followed_by(FileLedger().gather(history.messages()[cut.first : cut.at]))
        return (
            files.latest(self._settings.tail_tokens) if self._settings.bounded_footprint else files
        )

    def _commit(self, now: _Now, event: CompactionEvent, cut: _Cut, summary: str) -> View:
        tail = now.history.messages(cut.at)
        cache = SummaryCache(summary, cut.at, len(tail))
        after = self._layers.lay(now.history, cache)
        condensed = now.offloaded[cut.first : cut.at]
        self._gainless_chars = 0
        if not self._is_smaller(now, after.view):
            self._gainless_chars = total_of(self._measure, (one.message for one in condensed))
            reason = "the view with the summary is not smaller than the one without"
            return self._gave_up(now, replace(event, outcome="failed", reason=reason))
        self.cache = cache
        (call,) = event.model_calls
        self.pending_compaction = CompactionInfo(
            tokens_before=event.tokens_before or 0,
            tokens_after=self._sent_tokens(total_of(self._measure, tail)),
            summarized_count=cut.at - leading_instructions(now.offloaded),
            summary=summary,
            covered_count=cut.at,
            retained_tail=tail,
            summary_usage=call.usage,
            summary_model=call.model,
        )
        applied = replace(
            event,
            tokens_after=self._sent_tokens(self._running.total(after.view.entries)),
            messages_removed=cut.at - cut.first,
        )
        late = (told for told in after.view.events if told.tier == LATE_RESULTS)
        view = View(after.view.entries, (*now.view.events, *late))
        sent = self._layers.sent(after._replace(view=view), told=applied.messages_removed)
        return sent.with_events(applied)

    def _is_smaller(self, now: _Now, after: View) -> bool:
        """Whether a summary gains anything; a raw tail may undo what L2 gained."""
        if self._settings.cut == "after_user":
            return True
        raw = self._settings.retained_tail == "raw"
        before = now.history.messages() if raw else now.view.messages
        counter = self._context.counter
        return total_of(counter, after.messages) < total_of(counter, before)

    def _gave_up(self, now: _Now, event: CompactionEvent) -> View:
        """Return the free view, or as printed the whole history; nothing is committed."""
        laid = now.laid
        if self._settings.on_failure == "history":
            laid = Laid(View(now.history.entries(), now.view.events), LeftOut())
        return self._layers.sent(laid).with_events(event)


def tokens_of(chars: int, ratio: float | None) -> int:
    """Estimate tokens from characters: a quarter of them until a usage has set the ratio."""
    return max(1, chars // CHARS_PER_TOKEN if ratio is None else int(chars * ratio))
