"""Whether a setting is better than truncation at the same saving, by more than the luck of tries.

The same test as that of a confirmation (`reports.confirm`), on differences: a setting that usually
gains a little and seldom loses all must not pass because no session that was seen lost all.
"""

from collections.abc import Mapping
from functools import lru_cache

import pandas as pd

from evals.bounded import mean_above_p
from evals.power import bounded_detectable_gain
from evals.stats import MIN_CLUSTERS, Clustered, clustered, holm
from reports.confirm import ALPHA
from reports.frames import Run


@lru_cache(maxsize=4)
def adjusted_p(run: Run, provenance: str) -> Mapping[str, float]:
    """Return label -> one-sided p of "no gain over truncation", adjusted (Holm) for all of them.

    Settings that were compared on at least `MIN_CLUSTERS` sessions, those with faults too: each
    was a try. Controls are none.
    """
    rows = run.rows[(run.rows["provenance"] == provenance) & ~run.rows["is_control"]]
    compared = {str(label): _compared(run, provenance, str(label)) for label in set(rows["label"])}
    return holm(
        {
            label: _p_of(each["reach_difference"], each)
            for label, each in compared.items()
            if each["cluster"].nunique() >= MIN_CLUSTERS
        }
    )


def best_p(run: Run, provenance: str, label: str) -> float:
    """Return the p that a setting would have which lost nothing where this one was compared."""
    each = _compared(run, provenance, label)
    return _p_of(1.0 - each["matched_reach"], each)


@lru_cache(maxsize=4)
def detectable(run: Run, provenance: str) -> Mapping[str, float | None]:
    """Return label -> smallest difference from truncation that a test of it alone would show.

    In four of five cases, given how it scatters; of the settings of `adjusted_p`. None if no
    difference would that truncation leaves room for.
    """
    return {
        label: _detectable(_compared(run, provenance, label))
        for label in adjusted_p(run, provenance)
    }


def _detectable(each: pd.DataFrame) -> float | None:
    data = _clustered(each["reach_difference"], each)
    lossless = 1.0 - each["matched_reach"]
    if _p_of(lossless, each) > ALPHA:
        return None
    return bounded_detectable_gain(
        data,
        floor=_floor(data, each),
        ceiling=_clustered(lossless, each).mean,
        alpha=ALPHA,
    )


def _p_of(differences: pd.Series, each: pd.DataFrame) -> float:
    data = _clustered(differences, each)
    return mean_above_p(data, 0.0, floor=_floor(data, each))


def _floor(data: Clustered, each: pd.DataFrame) -> float:
    """Return what one more session can lose: what truncation keeps on average, or what was seen."""
    kept = _clustered(each["matched_reach"], each).mean
    return -max(kept, -float((data.sums / data.weights).min()))


def _clustered(values: pd.Series, each: pd.DataFrame) -> Clustered:
    return clustered(values.tolist(), each["cluster"].astype(str).tolist())


def _compared(run: Run, provenance: str, label: str) -> pd.DataFrame:
    return run.each(provenance, label).dropna(subset=["reach_difference"])
