"""The lines below a table: what it is about, and what a reader would otherwise read into it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from reports.faults import EXTRACTIVE
from reports.intervals import Estimate
from reports.matched import curves, reach_at
from reports.wording import clean, listed, percent, plural

LONG_GAP_REQUESTS: Final = 3
"""The headline counts needs over longer gaps. Source: DESIGN section 8."""
MAX_WRITTEN: Final = 6
"""Settings that a line names whose summaries a model wrote."""
SHOWN_SAVINGS: Final = (0.25, 0.5, 0.75)
_RESULTS: Final = ("key", "status", "input_tokens_after", "reach", "needs", "lost", "compactions")
"""Settings that agree in these on every transcript gave the same result."""


def notes_of(
    rows: pd.DataFrame,
    lines: Sequence[Mapping[str, Any]],
    n_sizes: int,
    *,
    clusters_are: str = "session",
) -> tuple[str, ...]:
    """Return the lines below the table of a block.

    Args:
        rows: Cells of the block.
        lines: Rows of `settings()` that the table shows.
        n_sizes: Sizes of truncation that the table does not show.
        clusters_are: What statistics draw as a whole.
    """
    return (
        *_needs(rows, lines),
        *(_truncation(rows, n_sizes) if n_sizes else ()),
        *_same_results(rows),
        *_not_declared(rows),
        *_few_clusters(rows, clusters_are),
        *_writers(rows),
    )


def _writers(rows: pd.DataFrame) -> Iterator[str]:
    """Yield which models wrote summaries, and of which settings."""
    written = rows[rows["summary_model"].notna() & (rows["summary_model"] != EXTRACTIVE)]
    for model, group in written.groupby("summary_model", sort=True):
        labels = listed([clean(label) for label in group["label"].unique()], MAX_WRITTEN)
        yield (
            f"Summaries of {labels} were written by {clean(model)}. They say nothing about other "
            "models."
        )


def _needs(rows: pd.DataFrame, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows["scored"].any():
        return
    n, with_needs = rows["key"].nunique(), rows.loc[rows["needs"] > 0, "key"].nunique()
    gaps = f"(more than {LONG_GAP_REQUESTS} requests)"
    if n == 1:
        text = f"The transcript has {'needs' if with_needs else 'no need'} over long gaps {gaps}"
    else:
        have = "has" if with_needs == 1 else "have"
        text = f"{with_needs:,} of {n:,} transcripts {have} needs over long gaps {gaps}"
    if not with_needs:
        yield f"{text}, so nothing can be said of reach."
        return
    if n > 1:
        text += (
            ". Saved is over all that were scored, dollars over those with a price, reach, a mean, "
            "over those with needs where the setting engaged (n); needs are counted together"
        )
    if n > 1 and any(line["is_compared"] for line in lines):
        text += (
            ". Against truncation: over those of them where it was measured at the setting's saving"
        )
    yield f"{text}."


def _truncation(rows: pd.DataFrame, n_sizes: int) -> Iterator[str]:
    """Yield the reach of truncation at several savings, all over the same transcripts."""
    of_transcript = list(curves(rows).values())
    for n_savings in range(len(SHOWN_SAVINGS), 0, -1):
        savings = SHOWN_SAVINGS[:n_savings]
        readings = [[reach_at(curve, saving) for saving in savings] for curve in of_transcript]
        complete = [[value for value in values if value is not None] for values in readings]
        complete = [values for values in complete if len(values) == n_savings]
        if not complete:
            continue
        parts = [
            f"{percent(sum(values) / len(values))} at {percent(saving, 0)} % saved"
            for saving, values in zip(savings, zip(*complete, strict=True), strict=True)
        ]
        text = f"truncate, {n_sizes} sizes: reach, %: {', '.join(parts)}"
        yield (
            f"{text}; over the {plural(len(complete), 'transcript')} on which all of these were "
            "measured. The column of a setting is at its own saving and over its own transcripts."
        )
        return


def _same_results(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a line for settings of one strategy that differ in name only."""
    groups: defaultdict[tuple[str, int], list[Mapping[str, str]]] = defaultdict(list)
    of_strategies = rows[~rows["is_control"] & (rows["replicate"] == 0)]
    for _, group in of_strategies.groupby("label", sort=False):
        result = group.sort_values("key")[list(_RESULTS)].round(6)
        digest = int(pd.util.hash_pandas_object(result, index=False).sum())
        first = group.iloc[0]
        if first["status"] == "ok":
            groups[first["strategy"], digest].append(first["parameters"])
    for (strategy, _), settings in groups.items():
        if len(settings) > 1:
            yield (
                f"{clean(strategy)}: the same result with {_differing(settings)}: "
                "it made no difference here."
            )


def _differing(settings: Sequence[Mapping[str, str]]) -> str:
    names = sorted({name for setting in settings for name in setting})
    varied = [name for name in names if len({setting.get(name) for setting in settings}) > 1]
    return "; ".join(
        f"{clean(name, 40)} "
        + listed([clean(setting.get(name, "default"), 40) for setting in settings])
        for name in varied
    )


def _not_declared(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a line per strategy: its settings are the same code."""
    silent = rows[rows["not_declared"].map(len) > 0]
    for strategy, group in silent.groupby("strategy", sort=False):
        names = sorted({clean(name, 40) for names in group["not_declared"] for name in names})
        yield f"{clean(strategy)}: not declared, so not checked: {listed(names)}."


def _few_clusters(rows: pd.DataFrame, noun: str) -> Iterator[str]:
    n_clusters = rows["cluster"].astype(str).nunique()
    if not Estimate(n_clusters=n_clusters).allows_claims:
        yield (
            f"n too small for claims about other conversations: {plural(n_clusters, noun)}; "
            "ranges are those of the transcripts, no intervals are given."
        )
