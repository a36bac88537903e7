"""A key fact prepared for matching: its forms, its evidence's wording, what ties a text to it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain

from evals.matcher.numerals import CJK, CLOSE, OPEN, WORD, canonical_text
from evals.matcher.occurrences import Form, Span, TextIndex, compile_form, index_text, occurrences
from evals.matcher.stance import REACH_CHARS, Stance, denied_action, segment_at, stance_of
from evals.matcher.subjects import (
    Subjects,
    clause_at,
    code_kind,
    pattern_of,
    subjects_of,
    without_numbered,
)
from evals.matcher.wording import (
    informative,
    is_stopword,
    language_of,
    names_in,
    stem,
    tokens_of,
    with_translations,
)


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
    is_open_task: bool
    """Whether a text that calls it done takes it back."""
    is_tabular: bool
    """Whether the evidence is a row of a table, which does not say what its numbers count."""
    actions: tuple[frozenset[str], ...]
    """For each negated value what must not be done with it, if the evidence says so."""
    names: frozenset[str]
    """Paths and identifiers that the evidence puts beside its values."""
    codes: frozenset[tuple[str, str]]
    """Of the values that are codes the word before it and its pattern: `number`, `a-#`."""
    subjects: Subjects
    evidence: str
    """Lower-case, on one line."""
    says_more: bool
    """Whether the evidence is more than its values and a word."""
    words: frozenset[str]
    """All words of the evidence, lower-case."""
    has_backslash: bool
    superseding: tuple[tuple[tuple[Form, ...], ...], ...]


_QUANTITY = re.compile(f"{OPEN}[^{CLOSE}]*{CLOSE}")
NUMERAL = re.compile(rf"{OPEN}[^{CLOSE}]*{CLOSE}|(?<!{WORD})[0-9][\w.]*")
_SMALL = re.compile(rf"{OPEN}[0-9]{{1,3}}{CLOSE}")
DATE = re.compile(r"\ue000[0-9]{4}-[0-9]{2}-[0-9]{2}\ue001")


_NEGATION = re.compile(r"(?i)(?:no|not|never|without|kein\w*|ohne|niemals) +(?=\w)")


def _without_negation(forms: Sequence[str], evidence: TextIndex) -> Sequence[str]:
    """Take "advice" for "no advice" where the evidence denies it: a text may deny it otherwise."""
    bare = [_NEGATION.sub("", form.strip(), count=1) for form in forms]
    if not all(_NEGATION.match(form.strip()) for form in forms):
        return forms
    stance = _evidence_stance(tuple(map(compile_form, bare)), evidence)
    return bare if stance in ("negated", "forbidden") else forms


def _amount(quantity: str) -> Decimal | None:
    digits = quantity[1:-1].partition("|")[0]
    return None if DATE.match(quantity) else Decimal(digits)


def _with_evidence_unit(forms: Sequence[str], evidence: TextIndex) -> tuple[Form, ...]:
    """Let the bare `30` of a fact that says "30 seconds" also be found as "30 s"."""
    compiled = [compile_form(written) for written in forms]
    bare = {_amount(form.needle) for form in compiled if _QUANTITY.fullmatch(form.needle)}
    quantities = set(_QUANTITY.findall(evidence.flat))
    with_unit = (q for q in sorted(quantities) if "|" in q and _amount(q) in bare)
    return tuple(dict.fromkeys([*compiled, *(Form(q, ()) for q in with_unit)]))


def _keys(forms: tuple[Form, ...], evidence: TextIndex) -> tuple[str, ...]:
    spans = [s for s in occurrences(forms, evidence) if evidence.flat[s.start] == OPEN]
    if not spans:
        return ()
    start, end = spans[0]
    before = informative(without_numbered(evidence.flat[max(0, start - 40) : start]))
    after = informative(evidence.flat[end : end + 20])
    if before:
        return tuple(before[-3:] if re.match(f"[{CJK}]", before[-1]) else before[-1:])
    return tuple(after[:1])


def code_at(span: Span, index: TextIndex) -> tuple[str, str] | None:
    """Return the word before a code ("seat 14C") and the pattern of the code."""
    pattern = pattern_of(index.flat[span.start : span.end])
    before = informative(index.flat[max(0, span.start - 40) : span.start])
    return (before[-1], pattern) if pattern and before else None


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


def _action(forms: tuple[Form, ...], evidence: TextIndex) -> frozenset[str]:
    spans = occurrences(forms, evidence)
    if not spans:
        return frozenset()
    left, _, right = _around(spans[0], evidence)
    action = denied_action(left, right)
    return with_translations([action], action) if action else frozenset()


def _subjects(evidence: TextIndex, spans: Sequence[Span]) -> Subjects:
    """Find whom the value is said of: named in its clause, and no sibling of the value."""
    if not spans:
        return subjects_of(evidence.canonical)
    blank = evidence.canonical
    for span in spans:
        blank = f"{blank[: span.start]}{' ' * (span.end - span.start)}{blank[span.end :]}"
    kinds = {code_kind(evidence.canonical[span.start : span.end]) for span in spans}
    found = subjects_of(clause_at(blank, spans[0].start))
    return replace(found, numbered=frozenset(n for n in found.numbered if n[0] not in kinds))


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
    tolerates_negation = kind in ("error", "open task")
    if not tolerates_negation:
        values = [_without_negation(forms, index) for forms in values]
    compiled = tuple(_with_evidence_unit(forms, index) for forms in values)
    needles = [form for forms in compiled for form in forms]
    spans = sorted(chain.from_iterable(occurrences(forms, index) for forms in compiled))
    own = _without(index.canonical, spans)
    # Where the evidence is the value itself, nothing else can be asked to stand beside it.
    text = f"{own} {canonical_text(question)}" if informative(own) else own
    context = with_translations(informative(text), text)
    is_exact = any(form.exact for form in needles)
    return Claim(
        values=compiled,
        stances=tuple(_evidence_stance(forms, index) for forms in compiled),
        context=context,
        counted=tuple(_counted(forms, index) for forms in compiled),
        anchors=tuple(_anchors(forms, index) for forms in compiled),
        keys=tuple(_keys(forms, index) for forms in compiled),
        language=language_of(evidence),
        is_distinctive=any(f.exact or "|" in f.needle or DATE.search(f.needle) for f in needles),
        tolerates_negation=tolerates_negation,
        is_open_task=kind == "open task" or "[ ]" in evidence,
        is_tabular=index.canonical.lstrip().startswith("|"),
        actions=tuple(_action(forms, index) for forms in compiled),
        # A path beside another path ties nothing: any listing of the two would do.
        names=frozenset() if is_exact else names_in(own),
        codes=frozenset(filter(None, (code_at(span, index) for span in spans))),
        subjects=_subjects(index, spans),
        evidence=index.flat.strip(),
        says_more=len(tokens_of(own)) > 1,
        words=frozenset(re.findall(r"[^\W_]+", index.flat)),
        has_backslash=any("\\" in form.needle for form in needles),
        superseding=tuple(
            tuple(tuple(map(compile_form, forms)) for forms in replacement)
            for replacement in superseding
        ),
    )


def _around(span: Span, index: TextIndex) -> tuple[str, str, str]:
    """Return what stands before, at and behind a span within its sentence."""
    start, _ = index.segment(segment_at(index.starts, span.start))
    _, end = index.segment(segment_at(index.starts, span.end - 1))
    return (
        index.flat[max(start, span.start - REACH_CHARS) : span.start],
        index.flat[span.start : span.end],
        index.flat[span.end : min(end, span.end + REACH_CHARS)],
    )


def stance_at(span: Span, index: TextIndex) -> Stance:
    at = segment_at(index.starts, span.start)
    header = index.headers[at]
    return stance_of(
        *_around(span, index),
        header=index.segment_text(header).lower() if header >= 0 else "",
        following=index.segment_text(at + 1).lower() if at + 1 < len(index.starts) else "",
    )


def _evidence_stance(forms: tuple[Form, ...], evidence: TextIndex) -> Stance:
    spans = occurrences(forms, evidence)
    return stance_at(spans[0], evidence) if spans else "asserted"
