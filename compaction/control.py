"""Running tiers: one free tier over a growing view (`Stage`), several as a strategy (`Pipeline`).

What a tier does is in `tiers`, when it runs in `triggers`, what is refused in `guard`.
"""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeGuard

from compaction.history import Entries, History, Measure, View
from compaction.late_results import followed
from compaction.llm import ModelCall, ModelReply, Steps, Usage
from compaction.strategy import (
    CompactionEvent,
    Context,
    Mode,
    ModelTier,
    Promises,
    Request,
    Tier,
    Waiting,
)
from compaction.tiers.growing import Change, Pass, Resumable
from compaction.tokens import RunningTotal
from compaction.triggers import Always, Situation, Tokens, Trigger


class Stage:
    """One free tier, run again and again over a view that grows.

    Contract: `run` equals `tier.apply` entry for entry, for any sequence of views. Tiers that can
    resume do near-constant work per added entry; others are applied from `settled` on.
    """

    def __init__(self, tier: Tier) -> None:
        self.tier: Final = tier
        self._resumable: Final = tier if isinstance(tier, Resumable) else None
        self._pass: Pass | None = None
        self._input: Entries = ()
        self._output: Entries = ()
        self._agreed = 0
        """Leading entries in which the latest input and output are known to agree."""

    def run(self, view: View, context: Context) -> View:
        is_continued = view.extends(self._output)
        change = Change.between(self._input, view.entries, self._agreed if is_continued else 0)
        self._input = view.entries
        if self._resumable is None:
            start = self.tier.settled(View(view.entries[: change.same])) if change.same else 0
            rest = self.tier.apply(View(view.entries[start:], view.events), context)
            self._output = self._output[:start] + rest.entries
            return View(self._output, rest.events)
        if self._pass is None:
            self._pass = self._resumable.resume(context)
        followed = self._pass.follow(change)
        before, self._output = self._output, tuple(self._pass.output)
        self._agreed = min(followed.same, len(before)) if is_continued else 0
        events = (*view.events, *followed.events)
        return View.made_of(before, followed.same, self._output, events)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """A tier with a trigger of its own, asked when its turn has come."""

    trigger: Trigger
    tier: Tier | ModelTier


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Tiers in order, from cheap to dear, measured again after each."""

    name: str
    tiers: tuple[Tier | ModelTier | When, ...]
    version: str = "1"
    trigger: Trigger = field(default_factory=Always)
    target_tokens: int | None = None
    """Stop as soon as the view has at most so many tokens. None runs every tier."""
    mode: Mode = "rewriting"
    counter: Measure | None = None
    """Decides; None means `context.counter`."""
    anchored_on_usage: bool = False
    """Scale counts by what the provider last counted for a view."""
    declared: Promises | None = None
    """None promises nothing but the mode."""

    def __post_init__(self) -> None:
        if not self.tiers:
            raise ValueError("tiers must name at least one tier")
        if self.target_tokens is not None and self.target_tokens < 0:
            raise ValueError(f"target_tokens must be >= 0, got {self.target_tokens}")
        if self.mode == "viewing" and any(_asks(_bare(tier)) for tier in self.tiers):
            raise ValueError("a tier that asks a model needs mode='rewriting'")
        if self.declared is not None and self.declared.mode != self.mode:
            raise ValueError(f"declared.mode must be {self.mode!r}, got {self.declared.mode!r}")

    @property
    def promises(self) -> Promises:
        return self.declared or Promises(mode=self.mode)

    def start(self, context: Context) -> "PipelineCompactor":
        return PipelineCompactor(self, context)


class PipelineCompactor:
    """A `Pipeline` at work on one conversation."""

    def __init__(self, pipeline: Pipeline, context: Context) -> None:
        self._pipeline = pipeline
        self._context = replace(context, counter=pipeline.counter or context.counter)
        self._stages = [
            None if _asks(_bare(tier)) else Stage(_free(_bare(tier))) for tier in pipeline.tiers
        ]
        self._totals: dict[str, RunningTotal] = {}
        self._kept: Entries = ()
        self._seen = 0
        self._ratio = 1.0
        self._returned_size = 0
        self._last_time: float | None = None
        self._forced = False
        self._focus: str | None = None

    def force(self) -> None:
        """Compact before the next request whatever the trigger says."""
        self.request_compaction(None)

    def request_compaction(self, focus: str | None) -> None:
        """Compact as after `force`; a summary then gives `focus` most room. The latest counts."""
        self._forced, self._focus = True, focus or self._focus

    def steps(self, history: History, request: Request) -> Steps[View]:
        if self._pipeline.mode == "viewing":
            view = View.of(history)
        else:
            view = followed(View(self._kept), history, self._seen)
        idle_seconds = self._idle_seconds(request)
        situation = self._situation(view, request, idle_seconds)
        reason = self._pipeline.trigger.fires(situation) or ("manual" if self._forced else None)
        if reason is not None:
            view = yield from self._run(situation, reason)
        self._kept, self._seen = view.entries, len(history)
        self._forced, self._focus = False, None
        self._returned_size = self._total(view, self._context.counter)
        return view

    def waiting(self) -> Waiting | None:
        """Only a limit in plain tokens tells how long that is."""
        pipeline, counter = self._pipeline, self._context.counter
        is_plain = pipeline.mode == "rewriting" and not pipeline.anchored_on_usage
        if not is_plain or self._forced or not isinstance(pipeline.trigger, Tokens):
            return None
        return Waiting(counter, pipeline.trigger.trigger_tokens - self._returned_size)

    def record_usage(self, usage: Usage) -> None:
        if self._pipeline.anchored_on_usage and self._returned_size:
            self._ratio = usage.input_tokens / self._returned_size

    def recover(self, handle: str) -> str | None:
        return self._context.store.get(handle)

    def _run(self, situation: Situation, reason: str) -> Generator[ModelCall, ModelReply, View]:
        target = self._pipeline.target_tokens
        for tier, stage in zip(self._pipeline.tiers, self._stages, strict=True):
            if target is not None and situation.tokens <= target:
                break
            why = tier.trigger.fires(situation) if isinstance(tier, When) else reason
            if why is None:
                continue
            view = situation.view
            bare = _bare(tier)
            if stage is not None:
                after = stage.run(view, self._context)
            elif _asks(bare):
                after = yield from bare.steps(view, self._context, focus=self._focus)
            made = after.events[len(view.events) :]
            tokens = self._tokens(after)
            events = tuple(_measured(event, why, situation.tokens, tokens) for event in made)
            told = after.telling(view.events + events)
            situation = self._situation(told, situation.request, situation.idle_seconds)
        return situation.view

    def _situation(self, view: View, request: Request, idle_seconds: float | None) -> Situation:
        return Situation(
            view=view,
            request=request,
            tokens=self._tokens(view),
            total=lambda measure: self._total(view, measure),
            idle_seconds=idle_seconds,
            forced=self._forced,
        )

    def _tokens(self, view: View) -> int:
        return int(self._total(view, self._context.counter) * self._ratio)

    def _total(self, view: View, measure: Measure) -> int:
        running = self._totals.get(measure.name)
        if running is None:
            running = self._totals[measure.name] = RunningTotal(measure)
        return running.of(view)

    def _idle_seconds(self, request: Request) -> float | None:
        before, self._last_time = self._last_time, request.time
        return None if before is None or request.time is None else request.time - before


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def _bare(tier: Tier | ModelTier | When) -> Tier | ModelTier:
    return tier.tier if isinstance(tier, When) else tier


def _asks(tier: Tier | ModelTier) -> TypeGuard[ModelTier]:
    return callable(getattr(tier, "steps", None))


def _free(tier: Tier | ModelTier) -> Tier:
    return tier  # type: ignore[return-value]  # told apart by `_asks`


def _measured(event: CompactionEvent, why: str, before: int, after: int) -> CompactionEvent:
    return replace(event, trigger=why, tokens_before=before, tokens_after=after)
