"""Plain truncation at the same saving: what a strategy has to beat on each transcript.

Every run replays `truncate` at 16 sizes. Its reach at any saving is read off the line through those
points; nothing saved is everything reached. Beyond the largest saving measured there is no value.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final, NamedTuple

import pandas as pd

TRUNCATE: Final = "truncate"
EXPLANATION: Final = (
    "Truncation at the same saving: reach of keeping only the newest messages, at exactly the "
    "saving of the setting on each transcript, interpolated between the sizes that were run; a "
    "mean over the transcripts where there is one (the n of the difference)."
)


class Point(NamedTuple):
    saving: float
    reach: float


Curve = tuple[Point, ...]


def curves(rows: pd.DataFrame) -> dict[str, Curve]:
    """Return the curve of each transcript key, by rising saving, from (0, 1) on."""
    usable = rows[(rows["strategy"] == TRUNCATE) & rows["scored"]]
    usable = usable.dropna(subset=["saving_fraction", "reach"])
    return {
        str(key): curve_of(zip(group["saving_fraction"], group["reach"], strict=True))
        for key, group in usable.groupby("key", sort=False)
    }


def reach_at(curve: Curve, saving: float) -> float | None:
    """Read a curve, linearly between its points; None beyond its last one."""
    saving = max(saving, 0.0)
    at = bisect_left(curve, Point(saving, -1.0))
    if at == len(curve):
        return None
    right = curve[at]
    if right.saving == saving or at == 0:
        return right.reach
    left = curve[at - 1]
    share = (saving - left.saving) / (right.saving - left.saving)
    return left.reach + share * (right.reach - left.reach)


def matched(rows: pd.DataFrame, of_transcript: Mapping[str, Curve]) -> pd.Series:
    """Return for each row the reach of truncation at its saving; missing where there is none."""
    values = [
        reach_at(of_transcript[key], saving) if key in of_transcript and saving == saving else None
        for key, saving in zip(rows["key"], rows["saving_fraction"], strict=True)
    ]
    return pd.Series(values, index=rows.index, dtype=float)


def curve_of(sizes: Iterable[tuple[float, float]]) -> Curve:
    """Return the curve through (saving, reach) of several sizes and through (0, 1)."""
    measured = sorted(sizes)
    points = [Point(0.0, 1.0)]
    for saving, group in groupby((pair for pair in measured if pair[0] > 0), lambda pair: pair[0]):
        values = [reach for _, reach in group]
        points.append(Point(saving, sum(values) / len(values)))
    return tuple(points)
