"""What a model's summaries kept beside the extractive stand-in's, on the same transcripts.

The stand-in copies lines. Where both wrote of the same messages, the table says how far its numbers
may be taken for a model's.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import pandas as pd

from reports.aggregates import saving_of
from reports.faults import EXTRACTIVE
from reports.frames import Run
from reports.wording import MISSING, clean, count, percent

TITLE: Final = "A model's summaries beside extractive ones"
HEADS: Final = (
    "Setting",
    "Model",
    "n, failed",
    "Saved, %",
    "Reach, %",
    "Facts kept, %",
    "Unsupported, %",
    "Own seconds",
)
NOTE: Final = (
    "Each number: the model's / the extractive summariser's of the same strategy, over the n "
    "transcripts on which both engaged; seconds are the model's, summed. Failed: transcripts on "
    "which a summary of the model's came to nothing; they are in the numbers only where the "
    "setting engaged all the same. Few transcripts, one model: no claim about others."
)
_WRITER: Final = frozenset({"by", "prompt", "replicate"})
"""Parameters that say who writes a summary, and not of what."""
_MEANS: Final = ("reach", "facts_kept_fraction", "unsupported_fraction")


class Summaries(NamedTuple):
    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`."""


def summaries(run: Run) -> Summaries | None:
    """Return a row for each setting that a model wrote for and that has an extractive twin."""
    rows = run.rows[run.rows["scored"] & run.rows["summary_model"].notna()]
    extractive = rows["summary_model"] == EXTRACTIVE
    twins = {
        (each["provenance"], each["strategy"], _place(each["parameters"])): str(each["label"])
        for each in rows[extractive].drop_duplicates(["provenance", "label"]).to_dict("records")
    }
    found = []
    for (provenance, label), group in rows[~extractive].groupby(
        ["provenance", "label"], sort=False
    ):
        first = group.iloc[0]
        twin = twins.get((provenance, first["strategy"], _place(first["parameters"])))
        if twin is not None:
            theirs = run.each(str(provenance), twin)
            found.append(_row(str(label), group, run.each(str(provenance), str(label)), theirs))
    return Summaries(tuple(found)) if found else None


def _place(parameters: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what says where and how much is summarised."""
    return tuple(sorted((k, v) for k, v in parameters.items() if k not in _WRITER))


def _row(
    label: str, group: pd.DataFrame, ours: pd.DataFrame, theirs: pd.DataFrame
) -> tuple[str, ...]:
    keys = ours.index[ours["engaged"]].intersection(theirs.index[theirs["engaged"]])
    failed = int((group.groupby("key")["compactions_failed"].max() > 0).sum())
    sides = (ours.loc[keys], theirs.loc[keys])
    seconds = group.loc[group["key"].isin(keys), "own_seconds"].sum()
    return (
        clean(label),
        clean(", ".join(sorted(set(group["summary_model"])))),
        f"{len(keys)}, {failed}",
        _both(*(saving_of(each) if len(each) else None for each in sides)),
        *(_both(*(_mean(each[name]) for each in sides)) for name in _MEANS),
        count(seconds) if len(keys) else MISSING,
    )


def _mean(values: "pd.Series[float]") -> float | None:
    known = values.dropna()
    return float(known.mean()) if len(known) else None


def _both(ours: float | None, theirs: float | None) -> str:
    return f"{percent(ours)} / {percent(theirs)}"
