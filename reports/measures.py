"""The columns that two settings are compared in, and how much worse is still not worse."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Final, Literal

from evals.results import ResultsError


@dataclass(frozen=True, slots=True)
class Measure:
    """A column that two settings are compared in."""

    name: str
    """Of `evals.results.Row`."""
    title: str
    better: Literal["higher", "lower"]
    margin: float | None
    """How much worse is still "not worse", set before the run; None: no verdict, only numbers."""
    is_fraction: bool = True
    is_share: bool = False
    """Between 0 and 1, so that a difference is between -1 and 1. A saving may be far below 0."""
    needs_engagement: bool = False
    """Counts only where both saved something: doing nothing loses nothing."""


MEASURES: Final = (
    Measure("reach", "Reach", "higher", 0.05, is_share=True, needs_engagement=True),
    Measure(
        "facts_kept_fraction", "Facts kept", "higher", 0.05, is_share=True, needs_engagement=True
    ),
    Measure(
        "quote_kept_fraction", "Quotes kept", "higher", 0.02, is_share=True, needs_engagement=True
    ),
    Measure("saving_fraction", "Saved input", "higher", 0.05),
    Measure("saved_usd_fraction", "Saved dollars", "higher", 0.05),
    Measure(
        "constraints_kept_fraction",
        "Constraints kept",
        "higher",
        0.05,
        is_share=True,
        needs_engagement=True,
    ),
    Measure(
        "probe_right_fraction", "Probes right", "higher", 0.05, is_share=True, needs_engagement=True
    ),
    Measure("violations", "Violations", "lower", 0.0, is_fraction=False),
    Measure("peak_tokens_after", "Peak tokens", "lower", None, is_fraction=False),
    Measure("model_calls", "Model calls", "lower", None, is_fraction=False),
)
"""Margins are this project's defaults: 5 points of reach, 2 of quotes, no violation more."""


def with_margins(margins: Mapping[str, float]) -> tuple[Measure, ...]:
    """Return the measures with other margins.

    Raises:
        ResultsError: a margin below 0, or so large that nothing can be worse by it, or of something
            that is not compared.
    """
    known = {measure.name: measure for measure in MEASURES}
    for name, margin in margins.items():
        if name not in known:
            raise ResultsError(f"no measure {name!r} to set a margin of; there are {list(known)}")
        if not 0 <= margin < inf:
            raise ResultsError(f"the margin of {name} must be >= 0 and finite, got {margin}")
        if known[name].is_share and margin >= 1:
            raise ResultsError(
                f"the margin of {name} must be below 1, got {margin}: {name} is a share, and five "
                f"percentage points are {name}=0.05"
            )
    return tuple(
        replace(measure, margin=margins.get(measure.name, measure.margin)) for measure in MEASURES
    )
