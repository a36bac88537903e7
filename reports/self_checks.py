"""Whether the instrument measured what it must: contestants whose result is known beforehand."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pandas as pd

from reports.frames import Run
from reports.wording import clean, percent, plural

MAX_SALAD_REACH: Final = 0.05
"""A list of all references must not score. This project's definition."""
MAX_PLACEBO: Final = 0.02
"""Chance matches above this make reach too high. reference/methods.md 4.3."""
TOLERANCE: Final = 1e-9


class SelfCheck(NamedTuple):
    """One line: what has to be, what was, and whether that is so."""

    provenance: str
    expected: str
    found: str
    is_met: bool


def self_checks(run: Run) -> tuple[SelfCheck, ...]:
    """Return the checks of every provenance whose controls were run."""
    found = []
    for provenance in run.provenances:
        rows = run.rows[(run.rows["provenance"] == provenance) & run.rows["scored"]]
        for expected, text, is_met in _checks(rows):
            found.append(SelfCheck(clean(provenance), expected, text, is_met))
    return tuple(found)


def _checks(rows: pd.DataFrame) -> Iterator[tuple[str, str, bool]]:
    identity = rows[rows["strategy"] == "identity"]
    if len(identity):
        most = identity["saving_fraction"].abs().max()
        yield "identity saves nothing", f"at most {percent(most, 3)} %", bool(most <= TOLERANCE)
        reaches = identity["reach"].dropna()
        if len(reaches):
            least = float(reaches.min())
            yield "identity reaches everything", _least(least), least >= 1 - TOLERANCE
        costs = (identity["cost_after_usd"] - identity["cost_before_usd"]).abs().dropna()
        if len(costs):
            text = f"differs by at most {costs.max():.6f} USD"
            yield "identity costs what no compaction costs", text, bool(costs.max() <= 1e-6)
    for name, limit in (("salad", MAX_SALAD_REACH), ("drop_all", MAX_SALAD_REACH)):
        reaches = rows.loc[rows["strategy"] == name, "reach"].dropna()
        if len(reaches):
            mean = float(reaches.mean())
            expected = f"{name} reaches at most {percent(limit, 0)} %"
            yield expected, f"{percent(mean)} % on average", mean <= limit
    placebo = rows.groupby("key")["placebo_fraction"].mean().dropna()
    if len(placebo):
        text = f"{percent(placebo.mean(), 2)} % over {plural(len(placebo), 'transcript')}"
        expected = f"unrelated text meets at most {percent(MAX_PLACEBO, 0)} % of needs"
        yield expected, text, bool(placebo.mean() <= MAX_PLACEBO)


def _least(reach: float) -> str:
    return f"at least {percent(reach)} %"
