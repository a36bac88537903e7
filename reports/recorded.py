"""The compactions that the transcripts of a run hold themselves: where, and how much went.

Read from one cell of each transcript. What was lost by them is the business of `audit`, which reads
the logs; a replay begins anew behind each.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from reports.frames import Run
from reports.wording import MISSING, clean, count, percent, plural

HEADS: Final = (
    "Transcript",
    "Compaction",
    "Before request",
    "Tokens before",
    "Tokens after",
    "Left, %",
    "Requests after it",
)
MAX_ROWS: Final = 60


class RecordedTable(NamedTuple):
    note: str
    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`."""


def recorded_compactions(run: Run) -> RecordedTable:
    """Return a row per recorded compaction, and a sentence about all of them."""
    cells = run.rows[run.rows["scored"] & (run.rows["segments"] > 1)].drop_duplicates("key")
    if cells.empty:
        return RecordedTable("None of the transcripts had been compacted when it was recorded.", ())
    rows = [row for cell in cells.to_dict("records") for row in _rows(run, cell)]
    note = (
        f"{plural(len(cells), 'transcript')} had been compacted when recorded, "
        f"{plural(len(rows), 'time')} in all; they are replayed stretch by "
        "stretch. Requests are counted from 0, as `explain` does."
    )
    gone = cells["unresolvable_needs"].sum()
    if gone:
        note += (
            f" {plural(int(gone), 'reference')} used afterwards came from before such a compaction "
            "and nothing in a replay can have kept them: `compaction-evals audit` says what became "
            "of those."
        )
    if any(row[-1] == "0" for row in rows):
        note += f" {MISSING}: no request followed it."
    if len(rows) > MAX_ROWS:
        note += f" The first {MAX_ROWS} are shown."
    return RecordedTable(note, tuple(rows[:MAX_ROWS]))


def _rows(run: Run, cell: Mapping[Any, Any]) -> Iterator[tuple[str, ...]]:
    requests = run.sidecar(str(cell["cell_id"])).get("requests", {})
    tokens, segments = requests.get("before", []), requests.get("segment", [])
    n_segments = max(len(requests.get("first_message", [])), *(at + 1 for at in segments), 1)
    for number in range(1, n_segments):
        first, end = bisect_left(segments, number), bisect_left(segments, number + 1)
        before = tokens[first - 1] if first else None
        # Nothing was asked between it and the next one, or the end.
        after = tokens[first] if first < end else None
        yield (
            clean(cell["transcript"]),
            str(number),
            MISSING if after is None else count(first),
            count(before),
            count(after),
            percent(after / before) if before and after is not None else MISSING,
            count(end - first),
        )
