"""The tables of an audit: who was asked at a boundary, and when defaults would have fired."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from evals.audit.values import BoundaryAudit, Contestant, SessionAudit
from evals.audit.words import TIER_WORDS

CONTESTANT_HEADS: Final = (
    *("at the boundary", "tokens", "reached", "by handle", "named", "gone", "of missing"),
    *("instructions", "tasks", "files lost", "nowhere before"),
)
TERMINAL_COLUMNS: Final = 7
"""Of the contestants; files have them all."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first column is a name, the others are numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    terminal_columns: int | None = None
    """So many are enough on a terminal; None: all."""


def contestants(each: BoundaryAudit) -> Grid:
    rows = [_row(one, each) for one in each.contestants]
    if each.fixed_tokens > each.view_tokens:
        rows.insert(
            1,
            (
                "instructions and what is new, alone",
                f"{each.fixed_tokens:,}{_part(each.fixed_tokens, each)}",
                *["–"] * (len(CONTESTANT_HEADS) - 2),
            ),
        )
    elif each.best_possible_fraction is not None:
        best = each.best_possible_fraction * each.needs.asked
        rows.insert(
            1,
            (
                "at most, by whole messages",
                f"{each.view_tokens:,}",
                f"{best:,.1f} of {each.needs.asked:,}",
                *[""] * (len(CONTESTANT_HEADS) - 3),
            ),
        )
    return Grid(CONTESTANT_HEADS, tuple(rows), TERMINAL_COLUMNS)


def _row(one: Contestant, each: BoundaryAudit) -> tuple[str, ...]:
    if one.error is not None or one.survived is None:
        return (one.label, "failed", *[""] * (len(CONTESTANT_HEADS) - 2))
    also = one.survived
    is_recorded = one is each.contestants[0]
    if is_recorded and not each.is_readable:
        return _not_readable(one)
    return (
        one.label,
        f"{one.tokens:,}{'' if is_recorded else _part(one.tokens, each)}",
        f"{one.reached:,} of {one.asked:,}",
        f"{one.recoverable:,}",
        f"{one.named:,}",
        _lost(one, each),
        _share(one.missing_reached, len(each.missing)),
        _share(also.constraints_kept, also.constraints),
        _share(also.tasks_kept, also.tasks),
        f"{also.files_lost:,} of {also.files:,}",
        f"{also.unsupported:,}" if also.written_references else "–",
    )


def _not_readable(one: Contestant) -> tuple[str, ...]:
    """Return the row of a recorded compaction whose summary nobody can read: it is not judged."""
    reached = f"at least {one.reached:,} of {one.asked:,}" if one.reached else "not readable"
    row = (f"{one.label}, summary not readable", f"{one.tokens:,}", reached)
    return (*row, *["–"] * (len(CONTESTANT_HEADS) - len(row)))


def _part(tokens: int, each: BoundaryAudit) -> str:
    """Return the part of the size that is used; what is over it never reads as 100 %."""
    if not each.view_tokens:
        return ""
    percent = 100 * tokens / each.view_tokens
    return f" ({max(101, round(percent)):,}%)" if percent > 100 else f" ({percent:.0f}%)"


def _lost(one: Contestant, each: BoundaryAudit) -> str:
    if one is each.contestants[0] and each.needs.unseen:
        return f"{one.lost - each.needs.unseen:,} (+{each.needs.unseen:,} unseen)"
    return f"{one.lost:,}{f' (+{one.undeclared:,} not declared)' if one.undeclared else ''}"


def fires(sessions: Sequence[SessionAudit]) -> Grid | None:
    labels = list(dict.fromkeys(fire.label for each in sessions for fire in each.first_fires))
    rows = tuple(
        (
            f"{each.transcript} ({PurePath(each.source).name})",
            f"{each.requests:,}",
            f"{each.peak_tokens:,}",
            *_fire_cells(each, labels),
        )
        for each in sessions
    )
    heads = [re.sub(r"\([^()]*50%[^()]*\)$", ", half", label) for label in labels]
    return Grid(("conversation", "requests", "largest input", *heads), rows)


def _fire_cells(session: SessionAudit, labels: Sequence[str]) -> Iterator[str]:
    found = {fire.label: fire for fire in session.first_fires}
    for label in labels:
        fire = found.get(label)
        if fire is None or fire.error is not None:
            yield "failed" if fire else "–"
        elif fire.request is None or fire.tokens is None:
            yield "never"
        else:
            does = TIER_WORDS.get(fire.tier or "", fire.tier or "")
            yield f"{fire.request:,} at {fire.tokens:,} {does}".rstrip()


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" if whole else "–"
