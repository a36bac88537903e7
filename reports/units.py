"""Sizes in the unit of a framework: what a number that was measured here is called there.

Sizes of a strategy are often in counted tokens of messages. A provider counts system prompt and
tool schemas too, which most logs lack, with another tokenizer; other libraries guess from
characters. Each transcript has its own factor, so one size becomes as many numbers, of which the
median is printed. Converted back, that median is again as many sizes: no single one measures it,
but the least and the largest of them bracket it.
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

    def counted(self, size: float, unit: Unit) -> float | None:
        """Return what a size in another unit is in counted tokens of messages.

        Returns:
            0 where a request is as large without any message; None if it is not known.
        """
        factor = self.estimate_per_token if unit == "quarters" else self.slope
        if factor is None or factor <= 0:
            return None
        if unit != "prompt":
            return size / factor
        if self.offset_tokens is None or self.fixed_tokens is None:
            return None
        return max(0.0, (size - self.offset_tokens) / factor - self.fixed_tokens)


class ConvertedSize(int):
    """The median of what a size comes to in a framework's unit."""

    share: Share
    """In that unit."""
    counted: Share
    back: Share
    """The median in counted tokens again."""
    n_transcripts: int
    unit: Unit
    measured: tuple[int, ...]
    """Fixed sizes of the same run in the place of this one, in counted tokens."""

    def __new__(
        cls,
        share: Share,
        counted: Share,
        back: Share,
        n_transcripts: int,
        unit: Unit,
        measured: Sequence[int] = (),
    ) -> "ConvertedSize":
        made = super().__new__(cls, share.median)
        made.share, made.counted, made.back = share, counted, back
        made.n_transcripts, made.unit, made.measured = n_transcripts, unit, tuple(measured)
        return made

    @property
    def ends(self) -> tuple[int, ...]:
        """The least and the largest of what it is in counted tokens, once if they are the same."""
        return tuple(sorted({self.back.least, self.back.most}))

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
        if len(self.ends) == 1:
            known = "it was" if self.ends[0] in self.measured else "it was not"
            yield f"{self:,} is the median of these; as a fixed size {known} measured."
            return
        least, most = self.ends
        yield (
            f"{self:,} is the median of these. By each transcript's own fit it is from {least:,} "
            f"to {most:,} tokens as counted here, so no size measures it; {self._both_ends()}"
        )

    def _both_ends(self) -> str:
        least, most = self.ends
        below = max((size for size in self.measured if size <= least), default=None)
        above = min((size for size in self.measured if size >= most), default=None)
        if below is None or above is None:
            return "this run did not measure both ends."
        if (below, above) == (least, most):
            return "this run measured both ends."
        return f"this run measured sizes beyond both ends, {below:,} and {above:,}."


def in_units(
    resolved: Mapping[str, Any],
    units: Mapping[str, Unit],
    scales: Sequence[Scale],
    measured: Mapping[str, Sequence[int]],
) -> dict[str, Any]:
    """Put what a size comes to in a framework's unit in its place.

    Args:
        resolved: Parameter -> value; what was a share as `MedianSize`.
        units: How the framework counts, of each parameter that is in counted tokens of messages.
        scales: Of each transcript, in the order of `Share.each`.
        measured: Fixed sizes of the same run, of each parameter.

    Raises:
        UnknownScaleError: a size is not known there, in one sentence.
    """
    found = dict(resolved)
    for name, unit in units.items():
        # Neither None nor 0, which is always, has a unit.
        if value := resolved.get(name):
            found[name] = _converted(name, value, unit, scales, measured.get(name, ()))
    return found


def _converted(
    name: str, value: int, unit: Unit, scales: Sequence[Scale], measured: Sequence[int]
) -> ConvertedSize:
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
    share = Share(counted.given, known)
    again = [scale.counted(share.median, unit) for scale in scales]
    back = Share(counted.given, tuple(size for size in again if size is not None) or counted.each)
    return ConvertedSize(share, counted, back, len(scales), unit, measured)


def _measured(counted: Share) -> str:
    if counted.n == 1 and not counted.given.endswith("%"):
        return f"Measured: {counted.given} counted tokens of messages."
    return counted.measured("counted tokens of messages ")


def _times(factor: float | None, value: float) -> float | None:
    return None if factor is None else factor * value
