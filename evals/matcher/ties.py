"""Where the values of a fact stand together in a text, and whether something there ties them to it.

A value alone says nothing: a word of the evidence must stand by it, and no other subject's name.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from evals.matcher.claims import Claim
from evals.matcher.numerals import OPEN
from evals.matcher.occurrences import Form, Span, TextIndex, occurrences
from evals.matcher.stance import is_header, segment_at
from evals.matcher.subjects import speaks_of_other
from evals.matcher.wording import (
    binding_text,
    informative,
    is_sentence,
    language_of,
    names_in,
    plain_words,
    tokens_of,
)

WINDOW_SEGMENTS = 3
WINDOW_CHARS = 400
"""All values of a fact stand within both."""


def windows_of(values: Sequence[tuple[Form, ...]], index: TextIndex) -> list[list[Span]]:
    """Find the places where all values stand together, in order; one span for each value."""
    found = [occurrences(forms, index) for forms in values]
    anchors = min(found, key=len)
    windows = []
    for anchor in anchors:
        window = [_nearest(spans, anchor) for spans in found]
        first, last = min(window), max(window)
        segments = segment_at(index.starts, last.start) - segment_at(index.starts, first.start)
        if segments < WINDOW_SEGMENTS and last.end - first.start <= WINDOW_CHARS:
            windows.append(window)
    return windows


def _nearest(spans: list[Span], anchor: Span) -> Span:
    at = bisect_left(spans, anchor)
    return min(spans[max(0, at - 1) : at + 1], key=lambda span: abs(span.start - anchor.start))


def nearby(index: TextIndex, segment: int, offset: int) -> tuple[str, int]:
    """Cut a segment around an offset, and say where the offset is in the part."""
    start, end = index.segment(segment)
    start, end = max(start, offset - WINDOW_CHARS // 2), min(end, offset + WINDOW_CHARS // 2)
    return index.canonical[start:end], offset - start


def _blank(text: str, window: list[Span], index: TextIndex) -> str:
    for span in window:
        text = text.replace(index.canonical[span.start : span.end], " ")
    return text


class Tie(NamedTuple):
    own_text: str
    """What the sentences of the values say, without bare lists."""
    blank_text: str
    """The same with the values left blank."""
    tying: str
    """Also what introduces them."""

    @property
    def terms(self) -> list[str]:
        return informative(plain_words(self.tying))


def tie_of(window: list[Span], index: TextIndex) -> Tie | None:
    """Collect what could tie the values to a fact; None if one stands in a bare list."""
    texts: list[str] = []
    segments = sorted({segment_at(index.starts, span.start) for span in window})
    for span in window:
        at = segment_at(index.starts, span.start)
        bound = binding_text(*nearby(index, at, span.start))
        if bound is None and index.headers[at] < 0:
            return None
        texts.append(bound or "")
    own_text = " , ".join(texts)
    introducing = {index.headers[at] for at in segments} | {segments[0] - 1}
    following = min(segments[-1] + 1, len(index.starts) - 1)
    if index.segment_text(segments[-1]).rstrip().endswith(";"):
        introducing |= {following} if OPEN not in index.segment_text(following) else set()
    for at in introducing - {-1}:
        text = index.segment_text(at)
        is_list = binding_text(text, 0) in (None, "")
        if is_header(text) or not is_list:
            texts.append(text)
    tying = " , ".join(texts)
    return Tie(own_text, _blank(own_text, window, index), _blank(tying, window, index))


def is_verbatim(claim: Claim, window: list[Span], index: TextIndex) -> bool:
    """Whether the values stand in the evidence itself, such as a row of numbers."""
    reach = len(claim.evidence)
    start, end = max(0, min(window).start - reach), max(window).end + reach
    return claim.says_more and claim.evidence in index.flat[start:end]


def is_tied(claim: Claim, window: list[Span], tie: Tie | None, index: TextIndex) -> bool:
    """Whether something in the window, or what introduces it, ties the values to the fact."""
    if tie is None:
        return False
    return _is_tied_by_words(claim, tie) and not any(
        is_of_other(claim, span, index) for span in window
    )


def _is_tied_by_words(claim: Claim, tie: Tie) -> bool:
    terms, own_text = tie.terms, tie.own_text
    if any(a and not a.intersection(terms) for a in claim.anchors):
        return False
    if claim.context.intersection(terms) or (not claim.context and len(tokens_of(own_text)) > 2):
        return True
    if claim.names & names_in(tie.tying):
        return True
    is_foreign = claim.language != language_of(own_text)
    return claim.is_distinctive and is_foreign and is_sentence(tie.blank_text)


def is_of_other(claim: Claim, span: Span, index: TextIndex) -> bool:
    """Whether what stands at a span is said of another subject than the fact's."""
    segment, offset = nearby(index, segment_at(index.starts, span.start), span.start)
    return speaks_of_other(claim.subjects, claim.words, segment, offset, span.end - span.start)
