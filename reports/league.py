"""The league table: which rows, in which order, and the lines below it.

One block per provenance. Terminal, Markdown and page show the same blocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.columns import Column, Line, table_of
from reports.frames import Run
from reports.matched import TRUNCATE
from reports.notes import notes_of
from reports.scope import scope
from reports.wording import clean, plural

MAX_TRUNCATE_LINES: Final = 3
"""More sizes of `truncate` than this are summarised in one line below the table."""


@dataclass(frozen=True, slots=True)
class Block:
    """The settings on the transcripts of one provenance; never pooled with another."""

    provenance: str
    title: str
    n_transcripts: int
    n_with_needs: int
    """Transcripts with any need over a long gap."""
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    """Strategies, best first, then controls."""
    notes: tuple[str, ...]


def blocks(run: Run) -> tuple[Block, ...]:
    return tuple(_block(run, provenance) for provenance in run.provenances)


def ranked(settings: pd.DataFrame) -> pd.DataFrame:
    """Sort settings, controls after strategies.

    First those that engaged on half of the transcripts with needs or more, last those that never
    engaged; in each group by reach, then by saving.
    """
    if settings.empty:
        return settings
    order = settings.assign(
        _idle=settings["engaged"] == 0,
        _rare=2 * settings["reach_n"] < settings["with_needs"],
        _reach=settings["reach_mean"].astype(float).round(9),
        _saving=settings["saving_ratio"].astype(float).round(9),
    )
    return order.sort_values(
        ["is_control", "_idle", "_rare", "_reach", "_saving", "reach_n", "label"],
        ascending=[True, True, True, False, False, False, True],
        kind="stable",
    ).drop(columns=["_idle", "_rare", "_reach", "_saving"])


def ranked_lines(settings: pd.DataFrame) -> list[Mapping[str, Any]]:
    """Return the rows of `settings()` in the order of the table."""
    found = ranked(settings).to_dict("records")
    return [{str(key): value for key, value in line.items()} for line in found]


def _block(run: Run, provenance: str) -> Block:
    settings = run.settings()
    settings = settings[settings["provenance"] == provenance]
    rows = run.rows[run.rows["provenance"] == provenance]
    sizes = settings["strategy"] == TRUNCATE
    n_sizes = int(sizes.sum())
    lines = ranked_lines(settings if n_sizes <= MAX_TRUNCATE_LINES else settings[~sizes])
    columns, shown = table_of(lines)
    n, n_sessions = rows["key"].nunique(), rows["session"].nunique()
    about = scope(run, provenance)
    return Block(
        provenance,
        f"{clean(provenance).capitalize()}: {plural(n, 'transcript')} "
        f"in {plural(n_sessions, 'session')}",
        n,
        rows.loc[rows["needs"] > 0, "key"].nunique(),
        columns,
        shown,
        (
            *notes_of(
                rows,
                lines,
                n_sizes if n_sizes > MAX_TRUNCATE_LINES else 0,
                clusters_are=run.clusters_are,
            ),
            *([] if about is None else [about]),
        ),
    )
