"""One cell: a transcript replayed under one setting, measured into a row and a sidecar."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from compaction.llm import ChatModel
from compaction.messages import Json
from compaction.strategy import Strategy
from evals.facts import FactScorer
from evals.fidelity.fates import FATE_CODES, FateTracker
from evals.fidelity.need_status import NeedScorer
from evals.fidelity.oracle_control import told
from evals.fidelity.oracle_scorer import OracleScorer
from evals.fidelity.survival import SurvivalScorer
from evals.fidelity.written import WrittenScorer
from evals.foreign import ForeignStrategy
from evals.money.cost_score import CostScorer
from evals.probing.action_score import ActionScorer
from evals.probing.probe_score import ProbeScorer
from evals.replay import Growth, replay_parts
from evals.runs import Run, keyed
from evals.safety import SafetyScorer
from evals.scorers import Cell, GrowthScorer, Material, Scorer
from evals.sizes import SizeScorer


@dataclass(frozen=True)
class Score:
    columns: dict[str, Any]
    """Columns of `evals.results.Row`."""
    sidecar: Json


def scorers_of(cell: Cell) -> tuple[Scorer, ...]:
    """Return everything that is measured of a cell, one line a family of numbers."""
    needs = _needs(cell)
    return (
        SizeScorer(cell),
        SafetyScorer(cell),
        needs,
        FactScorer(cell.material.facts),
        OracleScorer(cell, needs),
        SurvivalScorer(cell, needs),
        WrittenScorer(cell),
        *((CostScorer(cell, pricing, needs),) if (pricing := cell.material.pricing) else ()),
        *(
            (ProbeScorer(reader, show_text=cell.show_text),)
            if (reader := cell.material.reader)
            else ()
        ),
        *((ActionScorer(actor),) if (actor := cell.material.actor) else ()),
    )


def score(
    material: Material,
    strategy: Strategy,
    model: ChatModel,
    *,
    seed: int = 0,
    timeout_seconds: float | None = None,
    show_text: bool = False,
) -> Score:
    """Replay a transcript under a strategy and measure it.

    Args:
        material: The transcript, prepared.
        strategy: Bound to the transcript.
        model: Answers the strategy's calls.
        seed: For strategies that draw.
        timeout_seconds: Longest time for the replay.
        show_text: Write the needed references themselves into the sidecar.

    Raises:
        StrategyError: the strategy failed; names the request.
    """
    with without_collector():
        run = run_of(material, strategy, model, seed=seed, timeout_seconds=timeout_seconds)
        return score_run(run, material, strategy, show_text=show_text)


def run_of(
    material: Material,
    strategy: Strategy,
    model: ChatModel,
    *,
    seed: int = 0,
    timeout_seconds: float | None = None,
) -> Run:
    """Replay a transcript under a strategy; arguments and errors as for `score`."""
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    told_strategy = told(strategy, material.prepared, material.oracle)
    parts = replay_parts(material.prepared, told_strategy, model, seed=seed, deadline=deadline)
    if isinstance(strategy, ForeignStrategy):
        return Run(parts, None)
    return keyed(parts, strategy.promises)


def score_run(run: Run, material: Material, strategy: Strategy, *, show_text: bool) -> Score:
    """Measure a run of a strategy over a transcript."""
    scorers = scorers_of(Cell(material, strategy, show_text))
    grow = [each.grow if isinstance(each, GrowthScorer) else None for each in scorers]
    trackers: dict[int, FateTracker] = {}
    for part in run.parts:
        step = part.end if isinstance(part, Growth) else part
        first_message = step.segment.first_message
        tracker = trackers.setdefault(step.request.segment, FateTracker(first_message))
        if step.grew:
            tracker.grow(step.history, step.view.entries)
        else:
            tracker.see(
                step.history, step.view.entries, step.request.index, unchanged=step.unchanged
            )
        for scorer, together in zip(scorers, grow, strict=True):
            if not isinstance(part, Growth):
                scorer.see(part, tracker)
            elif together is not None:
                together(part, tracker)
            else:
                for each in part.steps():
                    scorer.see(each, tracker)
    columns: dict[str, Any] = {}
    sidecar: Json = {
        "fate_codes": dict(FATE_CODES),
        "fates": [change for tracker in trackers.values() for change in tracker.changes],
    }
    for scorer in scorers:
        columns |= scorer.columns()
        sidecar |= scorer.sections()
    return Score(columns, sidecar)


def _needs(cell: Cell) -> NeedScorer:
    return NeedScorer(
        cell.material.needs,
        cell.strategy.promises,
        is_declared=cell.strategy.promises.recoverable or not cell.is_foreign,
        first_messages=cell.first_messages,
        with_values=cell.show_text,
    )


@contextmanager
def without_collector() -> Iterator[None]:
    """Keep the cyclic garbage collector from walking all live messages again and again.

    A replay makes no cycles; on long conversations this is an eighth of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
