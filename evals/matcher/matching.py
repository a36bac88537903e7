"""Decide from text alone whether a view still states a key fact.

Value-safe: token boundaries, the identity of number, unit and date, and the polarity of the
sentence decide, not similarity. All values of a fact must stand within three consecutive segments
(sentences, list entries or lines) together with a word that ties them to the fact's evidence.

Per message: `index_text` once, `judge_message` per claim, both pure and cacheable by digest;
`combine` folds the sightings of a view's messages in order. Recovery from a store is not decided
here: apply the same functions to the stored text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from evals.matcher.claims import (
    DATE,
    NUMERAL,
    Claim,
    code_at,
    compile_claim,
    counted_after,
    stance_at,
)
from evals.matcher.numerals import OPEN, WORD
from evals.matcher.occurrences import Form, Span, TextIndex, holds_value, index_text
from evals.matcher.stance import Stance, is_done, segment_at
from evals.matcher.subjects import codes_in, names_own, without_numbered
from evals.matcher.ties import (
    WINDOW_CHARS,
    Tie,
    is_of_other,
    is_tied,
    is_verbatim,
    nearby,
    tie_of,
    windows_of,
)
from evals.matcher.wording import binding_text, informative

__all__ = [
    "MATCHER_VERSION",
    "Claim",
    "Sighting",
    "Verdict",
    "combine",
    "compile_claim",
    "holds_value",
    "index_text",
    "judge_message",
    "judge_text",
]

MATCHER_VERSION = "2"
"""Part of every cache key and row: any change of a verdict changes it."""

MAX_WINDOWS = 300
"""How many places of one message are judged for a fact: bounds the time on repetitive text."""
KEY_CHARS = 40
"""How far behind a key word another quantity contradicts the fact's."""

Verdict = Literal["kept", "contradicted", "stale", "lost"]
Sighting = Literal["kept", "revoked", "contradicted", "stale", "lost"]
"""What one message says of a fact; `revoked` takes earlier statements back, `contradicted` not."""


_NAMED_BEFORE = re.compile(
    r"([^\W\d]+)(?:[\s:=(#'\"]|\b(?:is|are|was|be|to|at|of|on|by|for|the|up|most|only|set|now)\b)*$"
)


def _agrees(found: Stance, stated: Stance) -> bool:
    """Whether a text puts a value as the evidence does: a rule revoked is not a rule stated."""
    negative = ("negated", "forbidden")
    if stated == "withdrawn":
        return found in (*negative, "withdrawn")
    if stated == "revoked":
        return found in (*negative, "withdrawn", "revoked")
    return found in negative if stated in negative else found == stated


def _counts_other(claim: Claim, position: int, span: Span, index: TextIndex) -> bool:
    """Whether a bare number counts something that the fact does not speak of ("42 tests")."""
    written = index.flat[span.start : span.end]
    counted = counted_after(index, span.end)
    if not written.startswith(OPEN) or "|" in written or DATE.match(written) or not counted:
        return False
    before = _NAMED_BEFORE.search(index.flat[max(0, span.start - 40) : span.start])
    named = informative(before[1]) if before else []
    own = claim.counted[position]
    if claim.is_tabular and not own:
        return False
    allowed = {own, *claim.keys[position]} if own else claim.context
    return not allowed.intersection([counted, *named])


def _sighting(claim: Claim, window: list[Span], index: TextIndex) -> Sighting:
    tie = tie_of(window, index)
    if not is_verbatim(claim, window, index):
        if any(_counts_other(claim, i, span, index) for i, span in enumerate(window)):
            return "lost"
        if not is_tied(claim, window, tie, index):
            return "lost"
    if claim.is_open_task and any(_is_done(span, index) for span in window):
        return "revoked"
    stances = [stance_at(span, index) for span in window]
    if claim.tolerates_negation:
        stances = ["asserted" if stance == "negated" else stance for stance in stances]
    if all(map(_agrees, stances, claim.stances)):
        return "kept"
    if "asked" in stances or _is_mentioned(claim, stances, tie):
        return "lost"
    if any(_stands_near(values, window, index) for values in claim.superseding):
        return "stale"
    explicit = {"forbidden", "revoked", "withdrawn", "replaced"}
    return "revoked" if explicit.intersection(stances) else "contradicted"


def _is_mentioned(claim: Claim, stances: list[Stance], tie: Tie | None) -> bool:
    """Whether what must not be touched is only spoken of, without what is forbidden."""
    return any(
        stance == "asserted" and action and not action.intersection(tie.terms if tie else ())
        for stance, action in zip(stances, claim.actions, strict=True)
    )


def _is_done(span: Span, index: TextIndex) -> bool:
    at = segment_at(index.starts, span.start)
    header = index.headers[at]
    return is_done(
        index.segment_text(at).lower(), index.segment_text(header).lower() if header >= 0 else ""
    )


def _stands_near(values: Sequence[tuple[Form, ...]], window: list[Span], index: TextIndex) -> bool:
    first, last = min(window).start - WINDOW_CHARS, max(window).end + WINDOW_CHARS
    return any(first <= span.start <= last for w in windows_of(values, index) for span in w)


def _drifts(claim: Claim, index: TextIndex) -> bool:
    """Whether another quantity stands where the fact has its own."""
    for forms, keys in zip(claim.values, claim.keys, strict=True):
        own = {form.needle for form in forms}
        others = [other for other in claim.values if other is not forms]
        for key in keys:
            places = re.finditer(rf"(?<!{WORD}){re.escape(key)}", index.flat)
            for found in islice(places, MAX_WINDOWS):
                if _is_part_of_other_key(found.start(), key, claim, index):
                    continue
                other = _other_quantity(found.start(), own, index)
                if other and is_of_other(claim, other, index):
                    continue
                if other and (not others or any(_stands_near([o], [other], index) for o in others)):
                    return True
    return False


_STATES = re.compile(r"[:=]|\b(?:is|are|was|of|to|at|ist|beträgt|auf)\b|[为是]")
"""What makes a number without a unit the value of the word before it: "nights 6" is a count."""


def _is_part_of_other_key(start: int, key: str, claim: Claim, index: TextIndex) -> bool:
    """Whether a key word ends a dotted name that the evidence has not: `http.port`."""
    owner = _OWNER.search(index.flat[max(0, start - KEY_CHARS) : start])
    return owner is not None and f"{owner[0]}{key}" not in claim.evidence


_OWNER = re.compile(r"[\w-]+\.$")


def _other_quantity(key_start: int, own: set[str], index: TextIndex) -> Span | None:
    """Find the quantity put beside a key word, if it is stated and not one of the fact's."""
    _, end = index.segment(segment_at(index.starts, key_start))
    numeral = NUMERAL.search(
        without_numbered(index.flat), key_start, min(end, key_start + KEY_CHARS)
    )
    if numeral is None or numeral[0] in own:
        return None
    between = index.flat[key_start : numeral.start()]
    if re.search("[,;]", between):
        return None
    has_unit = any("|" in needle for needle in own)
    if has_unit and "|" not in numeral[0] and not _STATES.search(between):
        return None
    if binding_text(*nearby(index, segment_at(index.starts, key_start), numeral.start())) is None:
        return None
    if any(DATE.match(needle) for needle in own) != bool(DATE.match(numeral[0])):
        return None
    span = Span(*numeral.span())
    return span if stance_at(span, index) == "asserted" else None


def _has_other_code(claim: Claim, index: TextIndex) -> bool:
    """Whether the fact's subject has another code of the same pattern as the fact's own."""
    if not claim.codes or not claim.subjects.names:
        return False
    for code in islice(codes_in(index.canonical), MAX_WINDOWS):
        span = Span(*code.span())
        if code_at(span, index) not in claim.codes or code[0].lower() in claim.evidence:
            continue
        segment, _ = nearby(index, segment_at(index.starts, span.start), span.start)
        if (
            names_own(claim.subjects, segment)
            and stance_at(span, index) == "asserted"
            and is_tied(claim, [span], tie_of([span], index), index)
        ):
            return True
    return False


def _replacement(claim: Claim, window: list[Span], index: TextIndex) -> Sighting:
    stated = all(stance_at(span, index) == "asserted" for span in window)
    return "stale" if stated and is_tied(claim, window, tie_of(window, index), index) else "lost"


def _sightings_backwards(claim: Claim, index: TextIndex) -> Iterator[Sighting]:
    """Judge the windows of the fact and of what supersedes it, the last in the text first."""
    placed = [(window, _sighting) for window in windows_of(claim.values, index)]
    for values in claim.superseding:
        placed += [(window, _replacement) for window in windows_of(values, index)]
    placed.sort(key=lambda place: max(place[0]).end, reverse=True)
    for window, judge in placed[:MAX_WINDOWS]:
        yield judge(claim, window, index)


def judge_message(claim: Claim, index: TextIndex) -> Sighting:
    """Say what one message states of a fact; cacheable by (message digest, fact, version)."""
    sighting = _last_word(_sightings_backwards(claim, index))
    if sighting == "lost" and (_drifts(claim, index) or _has_other_code(claim, index)):
        return "contradicted"
    if sighting == "lost" and "\\" in index.source and claim.has_backslash and index.is_unescaped:
        return judge_message(claim, index_text(index.source, json_strings=False))
    return sighting


def _last_word(latest_first: Iterable[Sighting]) -> Sighting:
    otherwise: Sighting = "lost"
    for sighting in latest_first:
        if sighting in ("kept", "revoked", "stale"):
            return sighting
        otherwise = sighting if sighting == "contradicted" else otherwise
    return otherwise


def combine(sightings: Iterable[Sighting]) -> Verdict:
    """Fold what the messages of a view say, in order, into one verdict.

    The last message that states, revokes or supersedes the fact decides; another value
    for the same key only counts where nothing does.
    """
    last = _last_word(reversed(list(sightings)))
    return "contradicted" if last == "revoked" else last


def judge_text(
    values: Sequence[Sequence[str]],
    evidence: str,
    texts: Sequence[str],
    *,
    superseding: Sequence[Sequence[Sequence[str]]] = (),
    question: str = "",
    kind: str = "",
) -> Verdict:
    """Judge one fact against the texts of a view; for many facts use the functions above."""
    claim = compile_claim(values, evidence, superseding=superseding, question=question, kind=kind)
    return combine(judge_message(claim, index_text(text)) for text in texts)
