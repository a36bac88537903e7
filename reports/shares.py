"""Sizes that were given as a share of each transcript's own peak, and what they came to.

Most frameworks take one number where each transcript had a number of its own. The median stands
there then, and says beside itself that as a fixed size it was not measured.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import Any

from reports.wording import plural


@dataclass(frozen=True, slots=True)
class Share:
    """One parameter of a setting, over its transcripts."""

    given: str
    """As somebody wrote it, `50%`."""
    each: tuple[float, ...]
    """By transcript in which a model was asked anything."""

    @property
    def least(self) -> int:
        return round(min(self.each))

    @property
    def median(self) -> int:
        """Of an even number the mean of both middle values, rounded."""
        return floor(statistics.median(self.each) + 0.5)

    @property
    def most(self) -> int:
        return round(max(self.each))

    @property
    def n(self) -> int:
        return len(self.each)

    def summary(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("given", "least", "median", "most", "n")}

    @property
    def of_window(self) -> float | None:
        """The same share as a fraction; None if it is none that a window has room for."""
        number = self.given.removesuffix("%")
        fraction = round(float(number) / 100, 6) if number != self.given else 2.0
        return fraction if fraction <= 1 else None

    def measured(self, unit: str = "") -> str:
        """Say what it came to; the unit with a space behind it."""
        what = "of each transcript's own peak" if self.given.endswith("%") else "by transcript"
        return (
            f"Measured: {self.given} {what}, {self.least:,} to {self.most:,} {unit}on "
            f"{plural(self.n, 'transcript')}."
        )


class MedianSize(int):
    """The median of what a share came to, for a place that takes one number only."""

    share: Share

    def __new__(cls, share: Share) -> "MedianSize":
        made = super().__new__(cls, share.median)
        made.share = share
        return made

    def comment(self) -> Iterator[str]:
        yield self.share.measured()
        yield f"{self:,} is the median of these; as a fixed size it was not measured."


class WindowShare(float):
    """A share, for a place that takes one of the model's window."""

    share: Share
    instead: str

    def __new__(cls, share: Share, fraction: float, instead: str) -> "WindowShare":
        made = super().__new__(cls, fraction)
        made.share, made.instead = share, instead
        return made

    def comment(self) -> Iterator[str]:
        yield self.share.measured()
        yield "Here it is of the model's window: as measured only where a conversation fills it."
        yield f"In tokens: {self.instead}, the median of these; as a fixed size not measured."


def of_window(value: Any, instead: str) -> WindowShare | None:
    """Return a size as a share of the model's window.

    Args:
        value: As a form has it.
        instead: What to write for a fixed size.

    Returns:
        None if the size was given as a number.
    """
    if not isinstance(value, MedianSize) or (fraction := value.share.of_window) is None:
        return None
    return WindowShare(value.share, fraction, instead)


def with_sizes(resolved: Mapping[str, Any], shares: Mapping[str, Share]) -> dict[str, Any]:
    """Put the median, which knows what it is, in the place of every share."""
    return {**resolved, **{name: MedianSize(share) for name, share in shares.items()}}


def resolved_and_shares(
    found: Sequence[Mapping[str, Any]], parameters: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Share]]:
    """Return one value per parameter, and those that are another number on each transcript.

    Args:
        found: The resolved parameters of each transcript.
        parameters: As set; what differs between transcripts keeps that text as its value.
    """
    values, shares = dict(found[0]), {}
    for name in values:
        given = [each.get(name) for each in found]
        numbers = [item for item in given if isinstance(item, int | float)]
        if len(numbers) == len(given) and min(numbers) != max(numbers):
            values[name] = parameters.get(name, "a number of its own")
            shares[name] = Share(values[name], tuple(numbers))
    return values, shares
