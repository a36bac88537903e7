"""Cells to rows: every transcript under every setting, one transcript in memory at a time.

A cell that fails is a row with its error and stays in the denominator. Rows are appended as they
are scored, so that whatever ends the run loses nothing that was computed.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from threading import Thread
from typing import Any, Final

from compaction.errors import CompactionError, ModelError
from compaction.extractive import ExtractiveModel
from compaction.llm import ChatModel, OpenAIChat
from compaction.strategy import Strategy
from evals.facts import find_facts
from evals.loading import Location, load
from evals.matching import MATCHER_VERSION
from evals.metrics import METRICS_VERSION
from evals.needs import find_needs
from evals.placebo import PlaceboChoice
from evals.prepare import Prepared, prepare
from evals.price_choice import PriceChoice, Priced
from evals.pricing import price_transcript
from evals.references import EXTRACTOR_VERSION
from evals.results import ROW_VERSION, Place, Row, RunFolder, cell_id_of
from evals.scorers import Material
from evals.scoring import score
from evals.settings import Setting, bind, resolved_parameters
from evals.transcripts import Transcript

DEFAULT_CELL_SECONDS: Final = 600.0


@dataclass(frozen=True)
class ModelChoice:
    """Who writes summaries: a named model behind an endpoint, or the extractive summariser."""

    name: str | None = None
    base_url: str | None = None

    def make(self) -> ChatModel:
        return OpenAIChat(self.name, self.base_url) if self.name else ExtractiveModel()

    @property
    def label(self) -> str:
        return self.name or ExtractiveModel().name


@dataclass(frozen=True)
class Plan:
    """Everything that a worker needs to know."""

    settings: tuple[Setting, ...]
    model: ModelChoice = ModelChoice()
    seed: int = 0
    cell_seconds: float = DEFAULT_CELL_SECONDS
    show_text: bool = False
    """Write the needed references themselves into the sidecars."""
    placebo: PlaceboChoice | None = None
    """Unrelated text, to count how often references match by chance; None counts nothing."""
    prices: PriceChoice = field(default_factory=PriceChoice)


Progress = Callable[[Row], None]


def run_plan(
    plan: Plan, locations: Sequence[Location], folder: RunFolder, *, jobs: int, progress: Progress
) -> None:
    """Score every cell that has no row yet; failed ones are tried again.

    `progress` is called for each row, old ones too.
    """
    if jobs <= 1 or len(locations) <= 1:
        done = folder.places()
        for location in locations:
            for row in run_transcript(plan, location, folder, done):
                progress(row)
        return
    context = get_context("spawn")
    rows: Queue[Row] = context.Queue()
    workers = min(jobs, len(locations))
    pool = ProcessPoolExecutor(workers, context, initializer=_start_worker, initargs=(rows, folder))
    try:
        pending = {pool.submit(_run_in_worker, plan, each, folder) for each in locations}
        _follow(pending, rows, progress)
    except BrokenProcessPool as error:
        text = "a worker process was ended, perhaps for lack of memory; what was scored "
        raise CompactionError(f"{text}is kept, run again with fewer --jobs") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            child.terminate()


def _follow(pending: set["Future[int]"], rows: "Queue[Row]", progress: Progress) -> None:
    """Pass rows on as they are scored, until every task has returned and all its rows came."""
    expected = 0
    while pending or expected > 0:
        with suppress(Empty):
            while True:
                progress(rows.get(timeout=0.1))
                expected -= 1
        finished = {future for future in pending if future.done()}
        pending -= finished
        expected += sum(future.result() for future in finished)


_rows_out: "Queue[Row] | None" = None
_done: Mapping[str, Place] = {}
"""What was there when the worker started; no two workers have cells in common."""


def _start_worker(rows: "Queue[Row]", folder: RunFolder) -> None:
    """Keep the way to the parent, and die at Ctrl-C without a word: the parent speaks.

    A worker must not outlive its parent either: it would write beside the run that comes next.
    """
    global _rows_out, _done
    Thread(target=_die_with_parent, daemon=True).start()
    _rows_out, _done = rows, folder.places()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_in_worker(plan: Plan, location: Location, folder: RunFolder) -> int:
    """Score a transcript, send its rows to the parent, and return how many there are."""
    count = 0
    for row in run_transcript(plan, location, folder, _done):
        if _rows_out is not None:
            _rows_out.put(row)
        count += 1
    return count


def run_transcript(
    plan: Plan, location: Location, folder: RunFolder, done: Mapping[str, Place]
) -> Iterator[Row]:
    """Yield the row of each setting on one transcript, from `done` where it is there."""
    transcript = load(location)
    priced = plan.prices.of(transcript)
    shared = _Shared(transcript, location.path, plan.placebo, priced)
    model = plan.model.make()
    for setting in plan.settings:
        yield _Cell(plan, setting, transcript, priced).run(folder, shared, model, done)


@dataclass(frozen=True)
class _Shared:
    """What the settings share, made when the first of them needs it."""

    transcript: Transcript
    file: Path
    placebo: PlaceboChoice | None
    priced: Priced

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(self.transcript)

    @cached_property
    def material(self) -> Material:
        placebo = self.placebo.of(self.transcript, self.file) if self.placebo else None
        needs = find_needs(self.prepared, placebo=placebo)
        pricing = price_transcript(self.prepared, self.priced)
        return Material(self.prepared, needs, find_facts(self.prepared), pricing)


@dataclass(frozen=True)
class _Cell:
    plan: Plan
    setting: Setting
    transcript: Transcript
    priced: Priced

    def id_of(self, strategy: Strategy | None) -> str:
        setting = self.setting
        return cell_id_of(
            {
                "transcript": self.transcript.digest,
                "place": [self.transcript.source, self.transcript.name],
                "strategy": setting.strategy,
                "version": strategy.version if strategy else None,
                "parameters": dict(setting.parameters),
                "resolved": resolved_parameters(strategy) if strategy else None,
                "model": [self.plan.model.label, self.plan.model.base_url],
                "definitions": [METRICS_VERSION, EXTRACTOR_VERSION, MATCHER_VERSION, ROW_VERSION],
                "seed": self.plan.seed,
                "show_text": self.plan.show_text,
                "placebo": self.plan.placebo.identity if self.plan.placebo else None,
                "prices": self.priced.identity,
                "replicate": 0,
            }
        )

    def run(
        self, folder: RunFolder, shared: _Shared, model: ChatModel, done: Mapping[str, Place]
    ) -> Row:
        """Return the row that is done, else score the cell and append its row."""
        strategy = None
        started = time.perf_counter()
        try:
            strategy = bind(self.setting, shared.prepared)
            before = done.get(self.id_of(strategy))
            if before is not None and before.is_ok:
                return folder.row_at(before)
            scored = score(
                shared.material,
                strategy,
                model,
                seed=self.plan.seed,
                timeout_seconds=self.plan.cell_seconds,
                show_text=self.plan.show_text,
            )
            if self.plan.model.name and _only_failures(scored.columns):
                raise ModelError(
                    f"all {scored.columns['compactions_failed']} summaries failed: "
                    f"{scored.columns['first_failure']}"
                )
        except Exception as error:  # noqa: BLE001 - a row is better than a gap
            return self.failed(folder, strategy, _describe(error))
        row = self._row(strategy, seconds=time.perf_counter() - started, **scored.columns)
        folder.write_sidecar(row.cell_id, scored.sidecar)
        folder.append(row)
        return row

    def failed(self, folder: RunFolder, strategy: Strategy | None, error: str) -> Row:
        row = self._row(
            strategy,
            status="error",
            error=error,
            messages=len(self.transcript.messages),
            requests=self.transcript.n_requests,
            segments=len(self.transcript.segments),
        )
        folder.append(row)
        return row

    def _row(self, strategy: Strategy | None, **columns: Any) -> Row:
        return Row(
            cell_id=self.id_of(strategy),
            transcript=self.transcript.name,
            transcript_digest=self.transcript.digest,
            source=self.transcript.source,
            format=self.transcript.format,
            provenance=self.transcript.provenance,
            cluster=self.transcript.cluster,
            strategy=self.setting.strategy,
            strategy_version=strategy.version if strategy else "",
            parameters=dict(self.setting.parameters),
            resolved=resolved_parameters(strategy) if strategy else {},
            label=self.setting.label,
            is_control=self.setting.is_control,
            **columns,
        )


def _only_failures(columns: Mapping[str, Any]) -> bool:
    """Whether a model was asked and never gave anything: then nothing about it was measured."""
    return bool(columns["compactions_failed"]) and not columns["model_calls"]


def _describe(error: Exception) -> str:
    if isinstance(error, CompactionError):
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def cells_of(plan: Plan, locations: Iterable[Location]) -> int:
    """Return how many rows a run will have."""
    return len(plan.settings) * sum(1 for _ in locations)
