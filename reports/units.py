"""Sizes in the unit of a framework: what a number that was measured here is called there.

Sizes of a strategy are often in counted tokens of messages. A provider counts system prompt and
tool schemas too, which most logs lack, with another tokenizer; other libraries guess from
characters. Each transcript has its own factor, so one size becomes as many numbers, of which the
median is printed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from reports.shares import MedianSize, Share
from reports.wording import plural

Unit = Literal["prompt", "part", "quarters"]
"""How a framework counts: the provider's input tokens of a whole prompt, those of some messages,
or characters / 4."""
_COUNTS: Final[Mapping[Unit, str]] = {
    "prompt": "the provider's input tokens, system prompt and tool schemas included",
    "part": "the provider's tokens",
    "quarters": "characters / 4",
}


class UnknownScaleError(ValueError):
    """No transcript says how a size is called in a unit."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How others count what the measuring counter counts, on one transcript."""

    slope: float | None
    """Provider's tokens per counted token; None if no usage was recorded."""
    offset_tokens: float | None
    """Provider's tokens that the log does not hold."""
    fixed_tokens: float | None
    """Counted in every request beside its messages."""
    estimate_per_token: float | None
    """Characters / 4, as LangChain estimates tokens, by counted token."""

    def size(self, counted_tokens: float, unit: Unit) -> float | None:
        """Return a size of messages in another unit, None if that is not known."""
        if unit == "quarters":
            return _times(self.estimate_per_token, counted_tokens)
        if unit == "part":
            return _times(self.slope, counted_tokens)
        if self.offset_tokens is None or self.fixed_tokens is None:
            return None
        whole = _times(self.slope, counted_tokens + self.fixed_tokens)
        return None if whole is None else self.offset_tokens + whole


class ConvertedSize(int):
    """The median of what a size comes to in a framework's unit."""

    share: Share
    """In that unit."""
    counted: Share
    n_transcripts: int
    unit: Unit

    def __new__(
        cls, share: Share, counted: Share, n_transcripts: int, unit: Unit
    ) -> "ConvertedSize":
        made = super().__new__(cls, share.median)
        made.share, made.counted, made.n_transcripts, made.unit = (
            share,
            counted,
            n_transcripts,
            unit,
        )
        return made

    def comment(self) -> Iterator[str]:
        yield _measured(self.counted)
        share = self.share
        of = f" on {share.n:,} of {plural(self.n_transcripts, 'transcript')}"
        where = of if share.n < self.n_transcripts else ""
        name = f"In {_COUNTS[self.unit]}"
        if share.least == share.most:
            yield f"{name}, that is {self:,}{where}."
            return
        yield f"{name}, that is {share.least:,} to {share.most:,}{where}."
        yield f"{self:,} is the median of these; as a fixed size it was not measured."


def in_units(
    resolved: Mapping[str, Any],
    units: Mapping[str, Unit],
    scales: Sequence[Scale],
) -> dict[str, Any]:
    """Put what a size comes to in a framework's unit in its place.

    Args:
        resolved: Parameter -> value; what was a share as `MedianSize`.
        units: How the framework counts, of each parameter that is in counted tokens of messages.
        scales: Of each transcript, in the order of `Share.each`.

    Raises:
        UnknownScaleError: a size is not known there, in one sentence.
    """
    found = dict(resolved)
    for name, unit in units.items():
        # Neither None nor 0, which is always, has a unit.
        if value := resolved.get(name):
            found[name] = _converted(name, value, unit, scales)
    return found


def _converted(name: str, value: int, unit: Unit, scales: Sequence[Scale]) -> ConvertedSize:
    is_share = isinstance(value, MedianSize)
    counted = value.share if isinstance(value, MedianSize) else Share(f"{value:,}", (value,))
    each = counted.each if is_share else (value,) * len(scales)
    sizes = [scale.size(size, unit) for scale, size in zip(scales, each, strict=True)]
    known = tuple(size for size in sizes if size is not None)
    if not known:
        recorded = "its size in characters" if unit == "quarters" else "token usage"
        raise UnknownScaleError(
            f"It counts {_COUNTS[unit]}; {name} was measured in counted tokens of messages "
            f"({value:,}{', the median' if is_share else ''}), and no transcript here records "
            f"{recorded} to convert them by."
        )
    return ConvertedSize(Share(counted.given, known), counted, len(scales), unit)


def _measured(counted: Share) -> str:
    if counted.n == 1 and not counted.given.endswith("%"):
        return f"Measured: {counted.given} counted tokens of messages."
    return counted.measured("counted tokens of messages ")


def _times(factor: float | None, value: float) -> float | None:
    return None if factor is None else factor * value
