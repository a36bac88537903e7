"""One of the two settings that are compared: its transcripts, and what it kept of each.

A league table leaves out what a setting did nothing on. Here that would hide every loss of the
other side, so a side counts with what it kept as measured: all, if it did nothing. That holds
where neither did anything too: a setting counts the same whatever it is compared with, so
differences add up (where rows tell: see `_UNTOLD`).
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import pandas as pd

from reports.frames import Run
from reports.measures import MEASURES, Measure

_WHOLE: Final[Mapping[str, Callable[[pd.DataFrame], pd.Series]]] = {
    "facts_kept_fraction": lambda each: (each["facts"] > 0) & (each["facts_removed"] == 0),
    "constraints_kept_fraction": lambda each: each["constraints"] == 0,
    # Of the probes that would count, none does: the view was still the whole history.
    "probe_right_fraction": lambda each: (
        (each["probes_counted"] == 0)
        & (
            each["probes_unrecorded"] + each["probes_not_read"] + each["probes_ungraded"]
            < each["probes"]
        )
    ),
}
"""Measures that are shares of what left the view -> where nothing of it did, so nothing is lost.
Reach and quotes need no such rule: they are measured over all, moved or not."""
_UNTOLD: Final = "constraints_kept_fraction"
"""A row does not tell whether there are any where none left its view, but that of the other side
does if some left there."""
IDENTITY: Final = "identity"
_COUNTS: Final = (
    "violations",
    "facts",
    "facts_removed",
    "constraints",
    "probes",
    "probes_counted",
    "probes_unrecorded",
    "probes_not_read",
    "probes_ungraded",
)


class Side(NamedTuple):
    """A run, and the setting of it that is compared."""

    run: Run
    label: str

    @property
    def keeps_all(self) -> bool:
        """Whether this is the control that never compacts."""
        rows = self.run.rows
        return bool((rows.loc[rows["label"] == self.label, "strategy"] == IDENTITY).all())

    def tried(self, provenance: str) -> Mapping[str, bool]:
        """Return transcript key -> whether every replicate was scored."""
        scored = self._rows(provenance).groupby("key", sort=False)["scored"].all()
        return {str(key): bool(ok) for key, ok in scored.items()}

    def each(self, provenance: str) -> pd.DataFrame:
        """Return a row per scored transcript, by `key`: means over replicates, all as measured."""
        rows = self._rows(provenance)
        grouped = rows[rows["scored"]].groupby("key", sort=False)
        columns = dict.fromkeys((*_COUNTS, *(name for each in MEASURES for name in each.columns)))
        found = grouped[list(columns)].mean()
        found["cluster"] = grouped["cluster"].first().astype(str)
        found["engaged"] = grouped["engaged"].all().astype(bool)
        return found

    def only(self, other: "Side", provenance: str) -> list[str]:
        """Return the transcripts that were tried here and not there."""
        there = other.tried(provenance)
        return [self.run.names[key] for key in self.tried(provenance) if key not in there]

    def _rows(self, provenance: str) -> pd.DataFrame:
        rows = self.run.rows
        return rows[(rows["provenance"] == provenance) & (rows["label"] == self.label)]


def values_of(measure: Measure, ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return a measure of `baseline` and `candidate` by transcript; NaN where a side has none.

    A saving is worked out from its totals, which are what is added up. A side of which nothing left
    the view has kept all.
    """
    first, second = (_value(measure, each) for each in (ours, theirs))
    is_whole = _WHOLE.get(measure.name)
    if is_whole is None:
        return pd.DataFrame({"baseline": first, "candidate": second})
    is_there = first.notna() | second.notna() | (measure.name != _UNTOLD)
    return pd.DataFrame(
        {
            "baseline": first.mask(first.isna() & is_there & is_whole(ours), 1.0),
            "candidate": second.mask(second.isna() & is_there & is_whole(theirs), 1.0),
        }
    )


def _value(measure: Measure, each: pd.DataFrame) -> pd.Series:
    if measure.saved_of is None:
        return each[measure.name]
    before, after = (each[name] for name in measure.saved_of)
    return (1 - after / before).where(before > 0)
