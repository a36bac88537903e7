"""One request of one cell: what the model would have seen, beside what had been said.

The cell is replayed up to the request, so that texts which the strategy wrote are the real ones.
"""

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from compaction.errors import TranscriptError
from compaction.history import Entries, History
from compaction.llm import ChatModel
from compaction.strategy import CompactionEvent, Strategy
from evals.extraction.message_text import held_text
from evals.extraction.references import lines_with
from evals.fidelity.fates import Fate
from evals.fidelity.need_status import REACHED, NeedScorer, Status
from evals.fidelity.need_values import Need
from evals.foreign import ForeignStrategy
from evals.needs import NeedSet
from evals.prepare import Prepared
from evals.replay import Step, replay

EXPLAIN_SECONDS: Final = 600.0
"""Longest time for the replay."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A message of the history, or a text of the strategy, and what stands for it in the view."""

    index: int | None
    """In the transcript; None for a text that the strategy wrote."""
    role: str
    fate: Fate | str
    """`whole`, `edited`, `summarised`, `gone`, or `written`."""
    tokens_before: int
    tokens_after: int
    before: str
    """Empty for a written text."""
    after: str
    """Empty where nothing stands for the message; equal to `before` where it is whole."""
    stands_for: str = ""
    """Of a written text: the messages that it replaces, as `3-17`."""


@dataclass(frozen=True, slots=True)
class NeedLine:
    """A need of the request, and what would have kept it."""

    class_name: str
    kind: str
    value: str
    status: Status
    gap: int
    source: int | None
    """Index in the transcript of the message that brought it last."""
    source_line: str
    keep_last_results: int | None
    """Smallest number of newest tool results that holds a source; None if no source is one."""
    keep_last_tokens: int | None
    """Size of the newest messages from a source on."""

    @property
    def is_missing(self) -> bool:
        return self.status not in REACHED


@dataclass(frozen=True, slots=True)
class Explanation:
    transcript: str
    label: str
    request: int
    tokens_before: float
    tokens_after: float
    pairs: tuple[Pair, ...]
    needs: tuple[NeedLine, ...]
    events: tuple[tuple[int, CompactionEvent], ...]
    """(request, what was done for it), up to and including this one."""
    missing_at: tuple[tuple[int, int], ...]
    """(request, needs over long gaps that were not reached), up to this request."""


def explain(
    prepared: Prepared,
    needs: NeedSet,
    strategy: Strategy,
    model: ChatModel,
    *,
    label: str,
    request: int | None = None,
    seed: int = 0,
    note: Callable[[str], None] = lambda name: None,
) -> Explanation:
    """Replay a cell up to a request and show both sides of it.

    Args:
        prepared: The transcript.
        needs: Of the transcript.
        strategy: Bound to the transcript.
        model: Answers the strategy's calls.
        label: Name of the setting.
        request: Index of the request; None is the first one at which a need was not reached, else
            the last one.
        seed: As in the run.
        note: Called before each request is looked at.

    Raises:
        TranscriptError: the transcript has no such request.
        StrategyError: the strategy failed.
    """
    n_requests = len(prepared.requests)
    if not 0 <= (request or 0) < n_requests:
        last = f"its requests are 0 to {n_requests - 1}" if n_requests else "it has no request"
        name = prepared.transcript.name
        raise TranscriptError(f"{name} has no request {request}; {last}")
    promises = strategy.promises
    is_declared = promises.recoverable or not isinstance(strategy, ForeignStrategy)
    scorer = NeedScorer(needs, promises, is_declared=is_declared)
    events: list[tuple[int, CompactionEvent]] = []
    deadline = time.monotonic() + EXPLAIN_SECONDS
    missing: list[tuple[int, int]] = []
    step: Step | None = None
    for step in replay(prepared, strategy, model, seed=seed, deadline=deadline):
        note(f"request {step.request.index}")
        before = len(scorer.judged)
        scorer.see(step)
        events.extend((step.request.index, event) for event in step.view.events)
        new = sum(map(_is_missing, scorer.judged[before:]))
        if new:
            missing.append((step.request.index, new))
        if step.request.index == request or (request is None and new):
            break
    if step is None:
        raise TranscriptError(f"{prepared.transcript.name} has no request to explain")
    return Explanation(
        transcript=prepared.transcript.name,
        label=label,
        request=step.request.index,
        tokens_before=step.request.tokens,
        tokens_after=step.tokens,
        pairs=tuple(_pairs(step, prepared)),
        needs=tuple(_need_lines(step, prepared, scorer)),
        events=tuple(events),
        missing_at=tuple(missing),
    )


def _is_missing(judged: tuple[Need, Status]) -> bool:
    need, status = judged
    return need.kind == "need" and need.is_long and status not in REACHED


def _pairs(step: Step, prepared: Prepared) -> Iterator[Pair]:
    """Yield both sides in the order of the view; what is not in it stands where it stood."""
    history, first = step.history, step.segment.first_message
    shown = _covered(step.view.entries)
    position = 0
    for entry in step.view.entries:
        start = entry.origin.spans[0][0] if entry.origin.spans else position
        yield from _absent(history, prepared, first, range(position, start), shown)
        position = max(position, start)
        text, tokens = held_text(entry.message), prepared.counter.count(entry.message)
        if entry.origin.kind == "generated":
            yield Pair(
                None,
                entry.message.role,
                "written",
                0,
                tokens,
                "",
                text,
                _spans_text(entry.origin.spans, first),
            )
            continue
        original = history[entry.origin.first]
        yield Pair(
            entry.origin.first + first,
            original.role,
            entry.origin.kind,
            prepared.counter.count(original),
            tokens,
            held_text(original),
            text,
        )
        position = max(position, entry.origin.first + 1)
    yield from _absent(history, prepared, first, range(position, len(history)), shown)


def _absent(
    history: History, prepared: Prepared, first: int, indices: range, shown: dict[int, Fate]
) -> Iterator[Pair]:
    for index in indices:
        fate = shown.get(index, "gone")
        if fate in ("whole", "edited"):
            continue
        message = history[index]
        tokens = prepared.counter.count(message)
        yield Pair(index + first, message.role, fate, tokens, 0, held_text(message), "")


def _covered(entries: Entries) -> dict[int, Fate]:
    """Return history index -> fate, for every message that the view stands for."""
    fates: dict[int, Fate] = {}
    for entry in entries:
        for start, stop in entry.origin.spans:
            kind: Fate = "summarised" if entry.origin.kind == "generated" else entry.origin.kind
            for index in range(start, stop):
                if kind != "summarised" or index not in fates:
                    fates[index] = kind
    return fates


def _spans_text(spans: Sequence[tuple[int, int]], first: int) -> str:
    return ", ".join(
        f"{start + first}" if stop == start + 1 else f"{start + first}-{stop + first - 1}"
        for start, stop in spans
    )


def _need_lines(step: Step, prepared: Prepared, scorer: NeedScorer) -> Iterator[NeedLine]:
    results = step.history.result_positions()
    for need, status in scorer.judged:
        if need.request != step.request.index:
            continue
        source = max((*need.sources, *need.others), default=None)
        newest = max(need.sources, default=None)
        yield NeedLine(
            class_name=need.class_name,
            kind=need.kind,
            value=need.value,
            status=status,
            gap=need.gap,
            source=None if source is None else source + step.segment.first_message,
            source_line=_line_of(need, held_text(step.history[source]))
            if source is not None
            else "",
            keep_last_results=_results_from(newest, results, len(step.history)),
            keep_last_tokens=None if newest is None else _tokens_from(newest, step, prepared),
        )


def _results_from(newest: int | None, results: Sequence[int], n_messages: int) -> int | None:
    present = [at for at in results if at < n_messages]
    if newest is None or newest not in present:
        return None
    return len(present) - bisect_left(present, newest)


def _tokens_from(newest: int, step: Step, prepared: Prepared) -> int:
    return sum(prepared.counter.count(step.history[at]) for at in range(newest, len(step.history)))


def _line_of(need: Need, text: str) -> str:
    if need.reference is None:
        return need.value.strip().split("\n", 1)[0]
    lines = lines_with(need.reference.value, text)
    return lines[0].strip() if lines else ""
