"""Two settings side by side, on the transcripts that both can be judged on."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from reports.aggregates import saving_of
from reports.frames import Run

SIMILAR_SAVING: Final = 0.05
"""Settings whose savings differ by less save about as much."""


class Pair(NamedTuple):
    """Saving and reach of two settings over the same `n` transcripts."""

    n: int
    saving: float
    reach: float
    other_saving: float
    other_reach: float

    @property
    def is_beaten(self) -> bool:
        """Whether the other one is at least as good in both, and better in one."""
        ours, others = (self.saving, self.reach), (self.other_saving, self.other_reach)
        return others != ours and others[0] >= ours[0] and others[1] >= ours[1]


def side_by_side(run: Run, provenance: str, label: str, other: str) -> Pair | None:
    """Compare where both engaged and there are needs; None if that is nowhere."""
    ours, others = run.each(provenance, label), run.each(provenance, other)
    keys = ours.index[ours["reach"].notna()].intersection(others.index[others["reach"].notna()])
    if keys.empty:
        return None
    ours, others = ours.loc[keys], others.loc[keys]
    saving, other_saving = saving_of(ours), saving_of(others)
    if saving is None or other_saving is None:
        return None
    return Pair(
        len(keys), saving, float(ours["reach"].mean()), other_saving, float(others["reach"].mean())
    )


def beaten_by(
    run: Run, provenance: str, line: Mapping[str, Any], others: Iterable[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], Pair] | None:
    """Return the first of some settings that beats one in both saving and reach, if any."""
    for other in others:
        pair = side_by_side(run, provenance, line["label"], other["label"])
        if pair is not None and pair.is_beaten:
            return other, pair
    return None


def beats_all_as_thrifty(
    run: Run, provenance: str, control: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]
) -> int:
    """Return how many strategies save about as much as a control or more, if it outreaches all.

    Returns:
        0 if there is none, or one of them reaches as much as the control.
    """
    pairs = [side_by_side(run, provenance, control["label"], line["label"]) for line in lines]
    rivals = [
        pair
        for pair in pairs
        if pair is not None and pair.other_saving > pair.saving - SIMILAR_SAVING
    ]
    return len(rivals) if all(pair.reach > pair.other_reach for pair in rivals) else 0
