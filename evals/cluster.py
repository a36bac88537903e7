"""A run on a Dask cluster: its workers score transcripts, this process alone writes the run folder.

The workers need this package, the user's own code, and the transcripts under the same paths. A
transcript is kept when all its settings are scored, not setting by setting. Python does one thing
at a time, so start workers with `dask worker --nthreads 1`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from compaction.errors import CompactionError
from compaction.messages import Json
from evals.cells import Plan
from evals.loading import Location
from evals.results import Place, Row, RunFolder
from evals.sweep import Progress, run_transcript

CONNECT_SECONDS = 10.0


class Collected(RunFolder):
    """In place of the run folder on a worker: holds what was scored, and what was there before."""

    def __init__(self, known: Sequence[Row]) -> None:
        self.held = list(known)
        self.sidecars: dict[str, Json] = {}

    def append(self, row: Row) -> Place:
        self.held.append(row)
        return Place(len(self.held) - 1, row.status == "ok")

    def row_at(self, place: Place) -> Row:
        return self.held[place.offset_bytes]

    def write_sidecar(self, cell_id: str, content: Json) -> None:
        self.sidecars[cell_id] = content

    def copy_sidecar(self, cell_id: str, new_id: str) -> None:
        self.sidecars[new_id] = self.sidecars[cell_id]


class Scored(NamedTuple):
    """What came of a transcript under all settings."""

    rows: list[Row]
    new: list[Row]
    sidecars: Mapping[str, Json]


def score(plan: Plan, location: Location, known: Sequence[Row]) -> Scored:
    """Score a transcript where nothing can be written; runs on a worker."""
    folder = Collected(known)
    done = {row.cell_id: Place(at, is_ok=True) for at, row in enumerate(known)}
    rows = list(run_transcript(plan, location, folder, done))
    return Scored(rows, folder.held[len(known) :], folder.sidecars)


def run_on_cluster(
    plan: Plan, locations: Sequence[Location], folder: RunFolder, address: str, progress: Progress
) -> None:
    """Score every cell that has no row yet on the workers of a scheduler.

    Raises:
        CompactionError: no Dask, no scheduler at the address, or a worker failed; says what to do.
    """
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise CompactionError("--dask: pip install 'compaction-evals[dask]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        text = f"--dask: no scheduler answers at {address}; start one with `dask scheduler`"
        raise CompactionError(text) from error
    with client:
        known = [row for row in folder.rows() if row.status == "ok"]
        futures = [
            client.submit(score, plan, each, _about(each, known), pure=False) for each in locations
        ]
        try:
            for future in as_completed(futures):
                _write(folder, future.result(), progress)
                future.release()
        except CompactionError:
            raise
        except Exception as error:
            raise CompactionError(
                f"--dask: a worker failed ({type(error).__name__}: {error}); what was scored is "
                "kept, run again"
            ) from error
        finally:
            client.cancel(futures)


def _about(location: Location, rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a transcript; one too few is only scored again."""
    places = (str(location.path), "datasets/")
    return [
        row for row in rows if row.transcript == location.name and row.source.startswith(places)
    ]


def _write(folder: RunFolder, scored: Any, progress: Progress) -> None:
    for row in scored.new:
        if row.cell_id in scored.sidecars:
            folder.write_sidecar(row.cell_id, scored.sidecars[row.cell_id])
        folder.append(row)
    for row in scored.rows:
        progress(row)
