"""The columns that two settings are compared in, and how much worse is still not worse."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
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
    lacks: str
    """What a transcript lacks that has no value."""
    is_fraction: bool = True
    is_share: bool = False
    """Between 0 and 1, so that a difference is between -1 and 1. A saving may be far below 0."""
    saved_of: tuple[str, str] | None = None
    """Columns without and with compaction: the measure is what all transcripts together save, of
    what they take without compaction. None: a mean over transcripts."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a row: what the measure is worked out from."""
        return self.saved_of or (self.name,)


def _share(name: str, title: str, margin: float, lacks: str) -> Measure:
    return Measure(name, title, "higher", margin, lacks, is_share=True)


MEASURES: Final = (
    _share("reach", "Reach", 0.05, "no needs over long gaps"),
    _share("facts_kept_fraction", "Facts kept", 0.05, "no annotated facts"),
    _share("quote_kept_fraction", "Quotes kept", 0.02, "nothing was quoted"),
    Measure(
        "saving_fraction",
        "Saved input",
        "higher",
        0.05,
        "no input tokens",
        saved_of=("input_tokens_before", "input_tokens_after"),
    ),
    Measure(
        "saved_usd_fraction",
        "Saved dollars",
        "higher",
        0.05,
        "no price",
        saved_of=("cost_before_usd", "cost_after_usd"),
    ),
    _share("constraints_kept_fraction", "Constraints kept", 0.05, "no instruction left the view"),
    _share("probe_right_fraction", "Probes right", 0.05, "no answer of a model was counted"),
    Measure("violations", "Mean violations", "lower", None, "not counted", is_fraction=False),
    Measure("peak_tokens_after", "Mean peak", "lower", None, "no peak", is_fraction=False),
    Measure("model_calls", "Mean model calls", "lower", None, "not counted", is_fraction=False),
)
"""Margins are this project's defaults: 5 points, 2 of quotes. Violations have none, because any
new one fails a comparison."""


_NAMES: Final = tuple(measure.name for measure in MEASURES)


def measure_named(name: str) -> Measure:
    """Return a measure.

    Raises:
        ResultsError: there is none of that name; names the nearest one.
    """
    if name in _NAMES:
        return MEASURES[_NAMES.index(name)]
    near = get_close_matches(name, _NAMES, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ResultsError(f"no measure {name!r}{hint}; there are {', '.join(_NAMES)}")


def with_margins(margins: Mapping[str, float]) -> tuple[Measure, ...]:
    """Return the measures with other margins.

    Raises:
        ResultsError: a margin below 0, or so large that nothing can be worse by it, or of something
            that is not compared.
    """
    for name, margin in margins.items():
        try:
            measure = measure_named(name)
        except ResultsError as error:
            raise ResultsError(f"a margin of {name}: {error}") from None
        if not 0 <= margin < inf:
            raise ResultsError(f"the margin of {name} must be >= 0 and finite, got {margin}")
        if measure.is_share and margin >= 1:
            raise ResultsError(
                f"the margin of {name} must be below 1, got {margin}: {name} is a share, and five "
                f"percentage points are {name}=0.05"
            )
    return tuple(
        replace(measure, margin=margins.get(measure.name, measure.margin)) for measure in MEASURES
    )
