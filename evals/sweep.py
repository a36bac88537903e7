"""Cells to rows: every transcript under every setting, one transcript in memory at a time.

Rows are appended as they are scored, so that whatever ends the run loses nothing that was computed.
What happens in one cell is in `evals.cells`.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import active_children, get_context
from multiprocessing.queues import Queue
from queue import Empty

from compaction.errors import CompactionError
from evals.cells import DEFAULT_CELL_SECONDS as DEFAULT_CELL_SECONDS
from evals.cells import Cell, Shared
from evals.cells import ModelChoice as ModelChoice
from evals.cells import Plan as Plan
from evals.loading import Location, load
from evals.probing.recordings import NO_MODEL, recordings_of
from evals.results import Place, Row, RunFolder
from evals.scoring import without_collector
from evals.workers import live_with_parent

Progress = Callable[[Row], None]


def run_plan(
    plan: Plan,
    locations: Sequence[Location],
    folder: RunFolder,
    *,
    jobs: int,
    progress: Progress,
    dask: str | None = None,
) -> None:
    """Score every cell that has no row yet; failed ones are tried again.

    `progress` is called for each row, old ones too. With `dask`, the address of a scheduler, the
    workers of its cluster score, and `jobs` says nothing.
    """
    if dask is not None:
        from evals.cluster import run_on_cluster

        run_on_cluster(plan, locations, folder, dask, progress)
        return
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
    """Keep the way to the parent."""
    global _rows_out, _done
    live_with_parent()
    _rows_out, _done = rows, folder.places()


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
    try:
        yield from _scored(plan, location, folder, done)
    finally:
        gc.unfreeze()


def _scored(
    plan: Plan, location: Location, folder: RunFolder, done: Mapping[str, Place]
) -> Iterator[Row]:
    transcript = load(location)
    priced = plan.prices.of(transcript)
    recordings = recordings_of(location.path, transcript, plan.reader)
    shared = Shared(plan, transcript, location.path, priced, recordings)
    model = plan.model.make()
    is_recorded = plan.reader is not None or recordings.model != NO_MODEL
    is_first = True
    for setting in plan.settings:
        if setting.only_where_recorded and not is_recorded:
            continue
        cell = Cell(plan, setting, transcript, priced, recordings)
        with without_collector():
            row = cell.run(folder, shared, model, done)
        if is_first:
            gc.freeze()  # what the first cell prepared for all is not walked again after each
            is_first = False
        yield row


def cells_of(plan: Plan, locations: Iterable[Location]) -> int:
    """Return how many rows a run will have."""
    return len(plan.settings) * sum(1 for _ in locations)
