"""Annotated key facts: whether each is still stated, in the right sense, when it is needed.

Matching is `evals.matching`. Here: which facts can be judged at all, when, and in which zone (was
the message that states it removed, or does it still stand whole?). Definitions: DESIGN section 8.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple, TypeGuard, get_args

from compaction.history import Entry
from compaction.messages import Json, Message
from evals.fact_index import FactIndex
from evals.fates import FateTracker
from evals.matching import Claim, Sighting, Verdict, combine, compile_claim
from evals.needs import held_text
from evals.prepare import Prepared, PreparedSegment
from evals.replay import Step

FactKind = Literal[
    "goal",
    "constraint",
    "decision",
    "value",
    "path",
    "identifier",
    "error",
    "preference",
    "correction",
    "open task",
]
FactVerdict = Literal["kept", "recoverable", "contradicted", "stale", "lost"]
FACT_KINDS: Final = frozenset(get_args(FactKind))


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact that can be judged."""

    id: str
    kind: FactKind
    claim: Claim
    segment: int
    stated_at: int
    """Index of the message within its segment."""
    judged_at: int
    """Request index: where it is needed, else the last request of its segment."""
    replaces: "Fact | None" = None
    """The fact that this one corrects: finding that one instead is `stale`."""


class Unverifiable(NamedTuple):
    """A fact that is not judged, and why."""

    id: str
    reason: str


@dataclass(frozen=True)
class FactSet:
    """The facts of a transcript; remembers what each message says of each."""

    facts: tuple[Fact, ...]
    unverifiable: tuple[Unverifiable, ...]
    index: FactIndex
    _said: dict[Message, dict[str, Sighting]] = field(default_factory=dict)

    def at(self, request: int) -> list[Fact]:
        return [fact for fact in self.facts if fact.judged_at == request]

    def said_in(self, messages: Iterable[Message]) -> list[dict[str, Sighting]]:
        """Return what each message states of the facts, in order; silent messages are left out."""
        return [said for message in messages if (said := self._said_by(message))]

    def _said_by(self, message: Message) -> dict[str, Sighting]:
        said = self._said.get(message)
        if said is None:
            said = self._said[message] = self.index.sightings(held_text(message))
        return said


def verdict_on(fact: Fact, said: Iterable[dict[str, Sighting]]) -> Verdict:
    """Fold what messages state of a fact."""
    return combine(sightings.get(fact.id, "lost") for sightings in said)


def find_facts(prepared: Prepared) -> FactSet:
    """Check the annotations of a transcript and prepare those that can be judged.

    A fact must be stated where it says, before it is needed, and the uncompacted input at that
    request must keep it; all others are named with the reason and never scored.
    """
    checked = _Annotations(prepared)
    facts = [fact for raw in checked.listed if (fact := checked.read(raw))]
    corrected = {
        str(raw["superseded_by"]): str(raw.get("id"))
        for raw in checked.listed
        if raw.get("superseded_by")
    }
    by_id = {fact.id: fact for fact in facts}
    found = FactSet((), (), FactIndex((fact.id, fact.claim) for fact in facts))
    said = [_said_along(found, segment) for segment in prepared.segments]
    kept = []
    for fact in facts:
        problem = _problem_uncompacted(prepared, said[fact.segment], fact)
        if problem is not None:
            checked.refuse(fact.id, problem)
        else:
            kept.append(replace(fact, replaces=by_id.get(corrected.get(fact.id, ""))))
    return replace(found, facts=tuple(kept), unverifiable=tuple(checked.refused))


@dataclass(frozen=True, slots=True)
class FactSummary:
    """Columns of a row; see `evals.results.Row`."""

    facts: int
    facts_unverifiable: int
    facts_removed: int
    facts_kept_fraction: float | None
    facts_tail_kept_fraction: float | None
    facts_kept: int
    facts_recoverable: int
    facts_contradicted: int
    facts_stale: int
    facts_lost: int


class _Judged(NamedTuple):
    fact: Fact
    verdict: FactVerdict
    is_removed: bool
    """Whether the message that states the fact no longer stands whole."""


class FactScorer:
    """Judges the facts of one cell, each at its request."""

    def __init__(self, facts: FactSet) -> None:
        self._facts = facts
        self._judged: list[_Judged] = []

    def see(self, step: Step, tracker: FateTracker) -> None:
        due = self._facts.at(step.request.index)
        said = self._facts.said_in(step.view.messages) if due else []
        for fact in due:
            is_removed = tracker.fate_of(fact.stated_at) != "whole"
            self._judged.append(_Judged(fact, self._verdict(fact, step, said), is_removed))

    def summary(self) -> FactSummary:
        count = Counter(item.verdict for item in self._judged)
        removed = [item for item in self._judged if item.is_removed]
        tail = [item for item in self._judged if not item.is_removed]
        return FactSummary(
            facts=len(self._judged),
            facts_unverifiable=len(self._facts.unverifiable),
            facts_removed=len(removed),
            facts_kept_fraction=_share(removed, ("kept", "recoverable")),
            facts_tail_kept_fraction=_share(tail, ("kept",)),
            facts_kept=count["kept"],
            facts_recoverable=count["recoverable"],
            facts_contradicted=count["contradicted"],
            facts_stale=count["stale"],
            facts_lost=count["lost"],
        )

    def details(self) -> dict[str, Any]:
        return {
            "columns": ["id", "kind", "request", "verdict", "is_removed"],
            "rows": [
                [item.fact.id, item.fact.kind, item.fact.judged_at, item.verdict, item.is_removed]
                for item in self._judged
            ],
            "unverifiable": [list(item) for item in self._facts.unverifiable],
        }

    def _verdict(self, fact: Fact, step: Step, said: list[dict[str, Sighting]]) -> FactVerdict:
        verdict = verdict_on(fact, said)
        if verdict == "kept":
            return "kept"
        if self._is_recoverable(fact, step):
            return "recoverable"
        replaced = fact.replaces
        if replaced is not None and verdict_on(replaced, said) == "kept":
            return "stale"
        return verdict

    def _is_recoverable(self, fact: Fact, step: Step) -> bool:
        entry = _entry_of(fact.stated_at, step.view.entries)
        handle = entry.origin.handle if entry is not None else None
        text = step.compactor.recover(handle) if handle is not None else None
        if text is None:
            return False
        original = step.history[fact.stated_at]
        if text == original.text:
            return verdict_on(fact, self._facts.said_in([original])) == "kept"
        return self._facts.index.sightings(text).get(fact.id) == "kept"


class _Annotations:
    """Reads annotations and collects what is wrong with them."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        facts = prepared.transcript.facts
        self.listed = [raw for raw in facts if isinstance(raw, dict)]
        self._values_of = {str(raw.get("id")): raw.get("values") for raw in reversed(self.listed)}
        self._seen: set[str] = set()
        self.refused: list[Unverifiable] = []
        if others := len(facts) - len(self.listed):
            self.refuse("facts", f"{others} of {len(facts)} are no JSON objects")

    def refuse(self, fact_id: str, reason: str) -> None:
        self.refused.append(Unverifiable(fact_id, reason))

    def read(self, raw: Json) -> Fact | None:
        fact_id = str(raw.get("id") or f"fact {len(self._seen)}")
        if fact_id in self._seen:
            self.refuse(fact_id, "the id is used twice")
            return None
        self._seen.add(fact_id)
        problem = self._problem(raw)
        if problem is not None:
            self.refuse(fact_id, problem)
            return None
        return self._fact(fact_id, raw)

    def _problem(self, raw: Json) -> str | None:
        """Return what is wrong with an annotation by itself."""
        kind = raw.get("kind")
        if not isinstance(kind, str) or kind not in FACT_KINDS:
            return f"unknown kind {kind!r}; known: {', '.join(sorted(FACT_KINDS))}"
        values = raw.get("values")
        if not _is_values(values):
            return "values must be a non-empty list of non-empty lists of non-empty texts"
        stated_at = raw.get("stated_at")
        messages = self._prepared.transcript.messages
        if not _is_index(stated_at, len(messages)):
            return f"stated_at must be in 0..{len(messages) - 1}, got {stated_at!r}"
        evidence = raw.get("evidence")
        if not isinstance(evidence, str) or not evidence.strip():
            return "evidence is missing"
        if evidence not in held_text(messages[stated_at]):
            return f"the evidence does not stand in message {stated_at}"
        needed_at = raw.get("needed_at")
        n_requests = len(self._prepared.requests)
        if needed_at is not None and not _is_index(needed_at, n_requests):
            return f"needed_at must be in 0..{n_requests - 1}, got {needed_at!r}"
        superseded_by = raw.get("superseded_by")
        if superseded_by is not None and str(superseded_by) not in self._values_of:
            return f"superseded_by names no fact: {superseded_by!r}"
        return None

    def _fact(self, fact_id: str, raw: Json) -> Fact | None:
        stated_at = raw["stated_at"]
        segment = max(
            number
            for number, item in enumerate(self._prepared.segments)
            if item.first_message <= stated_at
        )
        requests = self._prepared.segments[segment].requests
        local = stated_at - self._prepared.segments[segment].first_message
        after = [item for item in requests if item.recorded.position > local]
        if not after:
            self.refuse(fact_id, "no request follows the statement in its segment")
            return None
        needed_at = raw.get("needed_at")
        judged_at = after[-1].index if needed_at is None else needed_at
        if judged_at not in {item.index for item in after}:
            self.refuse(fact_id, f"request {judged_at} does not follow the statement")
            return None
        replacement = self._values_of.get(str(raw.get("superseded_by")))
        try:
            claim = compile_claim(
                raw["values"],
                raw["evidence"],
                superseding=[replacement] if _is_values(replacement) else [],
                question=str(raw.get("question") or ""),
                kind=raw["kind"],
            )
        except ValueError as error:
            self.refuse(fact_id, str(error))
            return None
        return Fact(fact_id, raw["kind"], claim, segment, local, judged_at)


_Said = list[tuple[int, dict[str, Sighting]]]


def _said_along(facts: FactSet, segment: PreparedSegment) -> _Said:
    """Return position and statements of each message of a segment that states something."""
    messages = segment.history.messages()
    return [(at, said) for at, message in enumerate(messages) for said in facts.said_in([message])]


def _problem_uncompacted(prepared: Prepared, said: _Said, fact: Fact) -> str | None:
    requests = prepared.segments[fact.segment].requests
    position = next(item.recorded.position for item in requests if item.index == fact.judged_at)
    verdict = verdict_on(fact, [sightings for at, sightings in said if at < position])
    if verdict == "kept":
        return None
    return f"the uncompacted input at request {fact.judged_at} has it {verdict}"


def _is_index(value: object, length: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < length


def _is_values(values: object) -> TypeGuard[list[list[str]]]:
    return (
        isinstance(values, list)
        and bool(values)
        and all(
            isinstance(forms, list)
            and bool(forms)
            and all(isinstance(form, str) and form.strip() for form in forms)
            for forms in values
        )
    )


def _entry_of(index: int, entries: Sequence[Entry]) -> Entry | None:
    return next(
        (
            entry
            for entry in entries
            if entry.origin.kind == "edited" and entry.origin.first == index
        ),
        None,
    )


def _share(judged: Sequence[_Judged], verdicts: Sequence[FactVerdict]) -> float | None:
    return fmean(item.verdict in verdicts for item in judged) if judged else None
