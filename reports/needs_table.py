"""Reach by kind of need and by gap: which sort of value a setting loses, and how old it was.

Read from the sidecars of a few settings, with truncation at the same saving beside each.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean
from typing import Any, Final, NamedTuple

import pandas as pd

from reports.frames import Run
from reports.league import ranked
from reports.lost import shown_label
from reports.matched import TRUNCATE, curve_of, reach_at
from reports.notes import LONG_GAP_REQUESTS
from reports.wording import MISSING, clean, count, listed, percent, plural

TITLE: Final = "Reach by kind of need and by gap"
MAX_SETTINGS: Final = 3
MAX_TRANSCRIPTS: Final = 40
"""Each takes up to three sidecars of each setting."""
REACHED: Final = frozenset({"visible_source", "restated", "recoverable"})
KINDS: Final[Mapping[str, str]] = {
    "path": "Path",
    "url": "URL",
    "uuid": "UUID",
    "hash": "Hash",
    "identifier": "Name",
    "key_value": "key=value",
    "error_line": "Error line",
}
"""Class of a need in a sidecar -> head of its column."""
LAST_OF_GAPS: Final = (LONG_GAP_REQUESTS, 10, 30)
"""The longest gap of each column, in requests; one more column is for all beyond."""
ALL: Final = f"All, gap over {LONG_GAP_REQUESTS}"
BESIDE: Final = "truncation at its saving"
COUNTS: Final = "needs (transcripts)"
DEFINITION: Final = (
    "Reach, %: mean over the requests of a transcript that have such needs, then over the "
    "transcripts that are compared with truncation (over all if none is). Gap: requests "
    "from the last message that held a value to the one that used it; 1 is a value that had just "
    f"arrived. Kinds are over gaps above {LONG_GAP_REQUESTS}; a gap of 1 to {LONG_GAP_REQUESTS} "
    "is no part of reach. Name: snake_case, camelCase or dotted. Where there are few needs a share "
    "says little."
)


class Line(NamedTuple):
    name: str
    cells: tuple[str, ...]
    is_setting: bool = False
    """Else it stands below a setting."""


@dataclass(frozen=True, slots=True)
class NeedsTable:
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


class _Group(NamedTuple):
    """Needs of one transcript that fall into one column."""

    reach: float
    truncation: float | None
    needs: int


_Groups = dict[str, _Group]
_Shares = dict[str, tuple[float, int]]
"""Column -> share that is reached, and number of needs."""


@lru_cache(maxsize=8)
def needs_table(run: Run, provenance: str) -> NeedsTable | None:
    """Return the table of one provenance; None where no sidecar tells of needs."""
    found = []
    for label in _settings(run, provenance):
        keys, n_all = _transcripts(run, provenance, label)
        of_each = [groups for key in keys if (groups := _groups(run, provenance, label, key))]
        if of_each:
            found.append((label, of_each, n_all))
    heads = [
        head for head in _columns() if any(head in each for _, some, _ in found for each in some)
    ]
    if not heads:
        return None
    lines = tuple(line for label, some, _ in found for line in _lines(label, some, heads))
    return NeedsTable(("Setting", *heads), lines, tuple(_notes(found)))


def _columns() -> Iterator[str]:
    yield ALL
    yield from KINDS.values()
    for first, last in zip((1, *(last + 1 for last in LAST_OF_GAPS)), LAST_OF_GAPS, strict=False):
        yield f"Gap {first} to {last}"
    yield f"Gap over {LAST_OF_GAPS[-1]}"


def column_of_gap(gap: int) -> str:
    """Return the head of the column that a gap belongs to."""
    first = 1
    for last in LAST_OF_GAPS:
        if gap <= last:
            return f"Gap {first} to {last}"
        first = last + 1
    return f"Gap over {LAST_OF_GAPS[-1]}"


def _settings(run: Run, provenance: str) -> list[str]:
    """Return the setting that the answer names and the best of other strategies."""
    shown = shown_label(run, provenance)
    settings = run.settings()
    if shown is None or settings.empty:
        return []
    of_block = settings[(settings["provenance"] == provenance) & ~settings["is_control"]]
    judged = ranked(of_block[(of_block["engaged"] > 0) & (of_block["reach_n"] > 0)])
    first = judged[judged["label"] == shown]
    others = judged[~judged["strategy"].isin(first["strategy"])].drop_duplicates("strategy")
    return [str(label) for label in (*first["label"], *others["label"])][:MAX_SETTINGS]


def _transcripts(run: Run, provenance: str, label: str) -> tuple[list[str], int]:
    """Return the transcripts behind the reach of the table, those with most needs, and how many."""
    each = run.each(provenance, label)
    compared = each[each["compared_reach"].notna()]
    each = compared if len(compared) else each[each["reach"].notna()]
    order = each.sort_values("needs", ascending=False, kind="stable")
    return [str(key) for key in order.index[:MAX_TRANSCRIPTS]], len(each)


def _groups(run: Run, provenance: str, label: str, key: str) -> _Groups:
    """Return what one transcript has in each column, replicates averaged."""
    rows = run.rows[run.rows["scored"] & (run.rows["provenance"] == provenance)]
    rows = rows[rows["key"] == key]
    sizes = rows[rows["strategy"] == TRUNCATE].dropna(subset=["saving_fraction", "reach"])
    cells = [
        (shares, _truncation(run, sizes, saving, shares))
        for cell_id, saving in rows.loc[rows["label"] == label, ["cell_id", "saving_fraction"]]
        .astype({"saving_fraction": float})
        .itertuples(index=False, name=None)
        if (shares := _shares(run.sidecar(str(cell_id))))
    ]
    if not cells:
        return {}
    groups = {}
    for head, (_, needs) in cells[0][0].items():
        beside = [found[head] for _, found in cells if head in found]
        truncation = fmean(beside) if len(beside) == len(cells) else None
        groups[head] = _Group(fmean(shares[head][0] for shares, _ in cells), truncation, needs)
    return groups


def _truncation(
    run: Run, sizes: pd.DataFrame, saving: float, shares: _Shares
) -> Mapping[str, float]:
    """Return the reach of truncation at a saving, in each column where it is known."""
    measured = sizes["saving_fraction"]
    ends = (measured[measured <= saving].max(), measured[measured >= saving].min())
    around = sizes[measured.isin(ends)]
    found = [
        (float(row["saving_fraction"]), _shares(run.sidecar(str(row["cell_id"]))))
        for row in around.to_dict("records")
    ]
    known: dict[str, float] = {}
    for head in shares:
        points = [(at, of_size[head][0]) for at, of_size in found if head in of_size]
        reach = reach_at(curve_of(points), saving) if len(points) == len(found) else None
        if reach is not None:
            known[head] = reach
    return known


def _shares(sidecar: Mapping[str, Any]) -> _Shares:
    """Return column -> (mean over requests of the share that is reached, needs)."""
    needs = sidecar.get("needs", {})
    by_request: defaultdict[str, defaultdict[int, list[bool]]]
    by_request = defaultdict(lambda: defaultdict(list))
    for values in needs.get("rows", ()):
        need = dict(zip(needs["columns"], values, strict=False))
        if need["kind"] == "need":
            for head in _heads_of(str(need["class"]), int(need["gap"])):
                by_request[head][need["request"]].append(need["status"] in REACHED)
    return {
        head: (fmean(map(fmean, requests.values())), sum(map(len, requests.values())))
        for head, requests in by_request.items()
    }


def _heads_of(class_name: str, gap: int) -> Iterator[str]:
    yield column_of_gap(gap)
    if gap > LONG_GAP_REQUESTS:
        yield ALL
        if class_name in KINDS:
            yield KINDS[class_name]


def _lines(label: str, of_each: Sequence[_Groups], heads: Sequence[str]) -> Iterator[Line]:
    columns = [[groups[head] for groups in of_each if head in groups] for head in heads]
    reach = tuple(_mean([group.reach for group in some]) for some in columns)
    yield Line(clean(label), reach, is_setting=True)
    beside = tuple(_mean([group.truncation for group in some]) for some in columns)
    if any(text != MISSING for text in beside):
        yield Line(BESIDE, beside)
    yield Line(
        COUNTS,
        tuple(f"{count(sum(group.needs for group in some))} ({len(some)})" for some in columns),
    )


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return percent(fmean(known)) if known and len(known) == len(values) else MISSING


def _notes(found: Sequence[tuple[str, Sequence[_Groups], int]]) -> Iterator[str]:
    yield DEFINITION
    if len(found) > 1:
        yield "The settings: the one that the answer names, and the best of other strategies."
    cut = [clean(label) for label, some, n_all in found if len(some) < n_all]
    if cut:
        largest = max(n_all for _, _, n_all in found)
        yield (
            f"{listed(cut)}: over the {MAX_TRANSCRIPTS} transcripts with the most needs, of up to "
            f"{plural(largest, 'transcript')}, so that the first column is not that of the table."
        )
