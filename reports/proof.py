"""Whether a setting is better than truncation at the same saving, by more than the luck of tries.

The same test as that of a confirmation (`reports.confirm`), on differences: a setting that usually
gains a little and seldom loses all must not pass because no session that was seen lost all.
"""

from collections.abc import Mapping
from functools import lru_cache

import pandas as pd

from evals.bounded import mean_above_p
from evals.power import minimum_detectable_effect
from evals.stats import MIN_CLUSTERS, Clustered, clustered, holm
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


def detectable(run: Run, provenance: str) -> Mapping[str, float]:
    """Return label -> smallest difference from truncation that a test of it alone would show.

    In four of five cases; of the settings of `adjusted_p`.
    """
    found = {}
    for label in adjusted_p(run, provenance):
        each = _compared(run, provenance, label)
        effect = minimum_detectable_effect(_clustered(each["reach_difference"], each))
        if effect is not None:
            found[label] = effect
    return found


def _p_of(differences: pd.Series, each: pd.DataFrame) -> float:
    """Test a gain; what one more session can lose is what truncation keeps, on average."""
    data = _clustered(differences, each)
    kept = _clustered(each["matched_reach"], each).mean
    seen = -float((data.sums / data.weights).min())
    return mean_above_p(data, 0.0, floor=-max(kept, seen))


def _clustered(values: pd.Series, each: pd.DataFrame) -> Clustered:
    return clustered(values.tolist(), each["cluster"].astype(str).tolist())


def _compared(run: Run, provenance: str, label: str) -> pd.DataFrame:
    return run.each(provenance, label).dropna(subset=["reach_difference"])
