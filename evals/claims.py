"""A key fact prepared for matching: its forms, its evidence's wording, what ties a text to it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from evals.numerals import CJK, CLOSE, OPEN, WORD, canonical_text
from evals.occurrences import Form, Span, TextIndex, compile_form, index_text, occurrences
from evals.stance import REACH_CHARS, Stance, segment_at, stance_of
from evals.wording import informative, is_stopword, language_of, stem, with_translations


@dataclass(frozen=True, slots=True)
class Claim:
    """A key fact prepared for matching (`compile_claim`)."""

    values: tuple[tuple[Form, ...], ...]
    stances: tuple[Stance, ...]
    """How the evidence puts each value: a constraint's values are negated there."""
    context: frozenset[str]
    anchors: tuple[frozenset[str], ...]
    """For each value that is a small bare number, the terms of which one must stand by it."""
    counted: tuple[str, ...]
    """For each value that is a bare number, what it counts in the evidence, or empty."""
    keys: tuple[tuple[str, ...], ...]
    """For each value that is a quantity, the terms beside which another quantity contradicts."""
    language: str
    is_distinctive: bool
    """Whether some value identifies itself: a path, identifier, date or number with unit."""
    tolerates_negation: bool
    has_backslash: bool
    superseding: tuple[tuple[tuple[Form, ...], ...], ...]


_QUANTITY = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}")
NUMERAL = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|(?<!{WORD})[0-9][\w.]*")
_SMALL = re.compile(rf"{OPEN}[0-9]{{1,3}}{CLOSE}")
DATE = re.compile(r"\ue000[0-9]{4}-[0-9]{2}-[0-9]{2}\ue001")


def _with_evidence_unit(forms: Sequence[str], evidence: TextIndex) -> tuple[Form, ...]:
    """Let the bare `30` of a fact that says "30 seconds" also be found as "30 s"."""
    compiled = [compile_form(written) for written in forms]
    bare = {form.needle[1:-1] for form in compiled if _QUANTITY.fullmatch(form.needle)}
    quantities = set(_QUANTITY.findall(evidence.flat))
    with_unit = (q for q in sorted(quantities) if q[1:].partition("|")[0] in bare)
    return tuple(dict.fromkeys([*compiled, *(Form(q, ()) for q in with_unit)]))


def _keys(forms: tuple[Form, ...], evidence: TextIndex) -> tuple[str, ...]:
    spans = [s for s in occurrences(forms, evidence) if evidence.flat[s.start] == OPEN]
    if not spans:
        return ()
    start, end = spans[0]
    before = informative(evidence.flat[max(0, start - 40) : start])
    after = informative(evidence.flat[end : end + 20])
    if before:
        return tuple(before[-3:] if re.match(f"[{CJK}]", before[-1]) else before[-1:])
    return tuple(after[:1])


def counted_after(index: TextIndex, end: int) -> str:
    """Find what a number that ends here counts ("42 tests"); empty if no noun follows."""
    word = re.match(r" ([^\W\d_]+)", index.flat[end : end + 30])
    return stem(word[1]) if word and not is_stopword(word[1]) else ""


def _counted(forms: tuple[Form, ...], evidence: TextIndex) -> str:
    spans = occurrences(forms, evidence)
    bare = spans and evidence.flat[spans[0].start] == OPEN
    return counted_after(evidence, spans[0].end) if bare else ""


def _anchors(forms: tuple[Form, ...], evidence: TextIndex) -> frozenset[str]:
    spans = occurrences(forms, evidence)
    if not spans or not _SMALL.fullmatch(evidence.flat[spans[0].start : spans[0].end]):
        return frozenset()
    start, end = spans[0]
    before = informative(evidence.flat[max(0, start - 40) : start])[-2:]
    after = informative(evidence.flat[end : end + 40])[:2]
    return with_translations(before + after, evidence.flat)


def _without(text: str, spans: Sequence[Span]) -> str:
    for span in reversed(spans):
        text = f"{text[: span.start]} {text[span.end :]}"
    return text


def compile_claim(
    values: Sequence[Sequence[str]],
    evidence: str,
    *,
    superseding: Sequence[Sequence[Sequence[str]]] = (),
    question: str = "",
    kind: str = "",
) -> Claim:
    """Prepare a fact.

    Args:
        values: All required; each a list of accepted forms.
        evidence: The sentence that states the fact, verbatim.
        superseding: The `values` of each fact that replaces this one.
        question: Adds words that may tie a value to the fact.
        kind: `error` and `open task` may be put in the negative ("not fixed") and are kept.
    """
    if not values or not all(any(canonical_text(f).strip() for f in v) for v in values):
        raise ValueError(f"values must hold at least one non-empty form each, got {values!r}")
    index = index_text(evidence, json_strings=False)
    compiled = tuple(_with_evidence_unit(forms, index) for forms in values)
    needles = [form for forms in compiled for form in forms]
    spans = sorted(chain.from_iterable(occurrences(forms, index) for forms in compiled))
    own = _without(index.canonical, spans)
    # Where the evidence is the value itself, nothing else can be asked to stand beside it.
    text = f"{own} {canonical_text(question)}" if informative(own) else own
    return Claim(
        values=compiled,
        stances=tuple(_evidence_stance(forms, index) for forms in compiled),
        context=with_translations(informative(text), text),
        counted=tuple(_counted(forms, index) for forms in compiled),
        anchors=tuple(_anchors(forms, index) for forms in compiled),
        keys=tuple(_keys(forms, index) for forms in compiled),
        language=language_of(evidence),
        is_distinctive=any(f.exact or "|" in f.needle or DATE.search(f.needle) for f in needles),
        tolerates_negation=kind in ("error", "open task"),
        has_backslash=any("\\" in form.needle for form in needles),
        superseding=tuple(
            tuple(tuple(map(compile_form, forms)) for forms in replacement)
            for replacement in superseding
        ),
    )


def stance_at(span: Span, index: TextIndex) -> Stance:
    at = segment_at(index.starts, span.start)
    start, _ = index.segment(at)
    _, end = index.segment(segment_at(index.starts, span.end - 1))
    header = index.headers[at]
    return stance_of(
        index.flat[max(start, span.start - REACH_CHARS) : span.start],
        index.flat[span.start : span.end],
        index.flat[span.end : min(end, span.end + REACH_CHARS)],
        header=index.segment_text(header).lower() if header >= 0 else "",
        following=index.segment_text(at + 1).lower() if at + 1 < len(index.starts) else "",
    )


def _evidence_stance(forms: tuple[Form, ...], evidence: TextIndex) -> Stance:
    spans = occurrences(forms, evidence)
    return stance_at(spans[0], evidence) if spans else "asserted"
