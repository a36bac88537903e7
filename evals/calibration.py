"""Counted tokens against recorded usage: tokenizer slope and unrecorded prefix of a segment.

Logs often lack the system prompt and the tool schemas, and o200k is not every model's tokenizer.
Where usage was recorded, `usage = offset + slope x counted` is fitted and its error on requests
that the fit did not see is reported. Without usage the offset is 0 and the slope 1, and it says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import Final, NamedTuple

MIN_FIT_POINTS: Final = 6
"""Below this the slope is taken as 1 and only the prefix is estimated."""
SLOPE_RANGE: Final = (0.5, 2.5)
"""Tokenizers of current models stay within a factor of two of o200k on text and code; a fit outside
means that the log does not hold what was sent."""


class Point(NamedTuple):
    """One request: tokens counted in its recorded input, and what the provider reported."""

    counted_tokens: int
    reported_tokens: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """Turns counted tokens into what the provider would have reported."""

    slope: float = 1.0
    offset_tokens: float = 0.0
    """Unrecorded prefix: instructions and tool schemas that the log does not hold."""
    error_fraction: float | None = None
    """Median absolute error on held-out requests, relative to the report; None below two."""
    n_requests: int = 0
    """Requests with usage."""

    def size(self, counted_tokens: float) -> float:
        return self.offset_tokens + self.slope * counted_tokens


def calibrate(points: Sequence[Point]) -> Calibration:
    """Fit a segment's requests, in order.

    Every second request is held out for the error; the returned fit then uses all of them. Both
    fits have a slope or both have none, so that the error is that of the kind of fit returned.
    """
    if not points:
        return Calibration()
    fits_slope = len(points) >= MIN_FIT_POINTS
    fitted, held_out = points[0::2], points[1::2]
    trial = _fit(fitted, fits_slope=fits_slope)
    errors = [
        abs(trial.size(point.counted_tokens) - point.reported_tokens) / point.reported_tokens
        for point in held_out
        if point.reported_tokens
    ]
    fit = _fit(points, fits_slope=fits_slope)
    return Calibration(
        fit.slope, fit.offset_tokens, median(errors) if errors else None, len(points)
    )


def _fit(points: Sequence[Point], *, fits_slope: bool) -> Calibration:
    counted = [point.counted_tokens for point in points]
    reported = [point.reported_tokens for point in points]
    slope = 1.0
    if fits_slope and max(counted) > min(counted):
        slope = linear_regression(counted, reported).slope
        slope = min(max(slope, SLOPE_RANGE[0]), SLOPE_RANGE[1])
    offset = median(y - slope * x for x, y in zip(counted, reported, strict=True))
    if offset < 0:
        # A prefix cannot be negative: the whole difference is then the tokenizer's.
        ratio = sum(reported) / max(1, sum(counted))
        return Calibration(slope=min(max(ratio, SLOPE_RANGE[0]), SLOPE_RANGE[1]))
    return Calibration(slope, offset)
