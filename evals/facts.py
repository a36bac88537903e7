"""Annotated key facts: whether each is still stated, in the right sense, when it is needed.

Matching is `evals.matcher.matching`. Here: which facts can be judged at all, when, and in which
zone (was the message that states it removed, or does it still stand whole?).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from compaction.history import Entry, View
from compaction.messages import Message
from evals.extraction.message_text import held_text
from evals.fidelity.annotations import Annotations, Fact, Unverifiable
from evals.fidelity.fates import FateTracker
from evals.matcher.fact_index import FactIndex
from evals.matcher.matching import Sighting, Verdict, combine
from evals.prepare import Prepared, PreparedSegment
from evals.replay import Growth, Step

FactVerdict = Literal["kept", "recoverable", "contradicted", "stale", "lost"]
KEPT: Final[tuple[FactVerdict, ...]] = ("kept", "recoverable")
"""What the headline counts, of the facts whose source was removed."""


class Seen(NamedTuple):
    """What a view shows of all facts."""

    said: Sequence[dict[str, Sighting]]
    """By its messages, those that state something."""
    edited: Mapping[int, Entry]
    """History index -> the first entry that shows this message edited."""


@dataclass(frozen=True)
class FactSet:
    """The facts of a transcript; remembers what each message says of each."""

    facts: tuple[Fact, ...]
    unverifiable: tuple[Unverifiable, ...]
    index: FactIndex
    _said: dict[Message, dict[str, Sighting]] = field(default_factory=dict)

    @cached_property
    def due(self) -> Mapping[int, list[Fact]]:
        """Return the facts by the request at which they are judged."""
        found: defaultdict[int, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            found[fact.judged_at].append(fact)
        return found

    def open_at(self, step: Step) -> list[Fact]:
        """Return the facts of a segment that were stated and are still to be judged, and that the
        uncompacted input of the step keeps.
        """
        segment, request, n = step.request.segment, step.request.index, len(step.history)
        facts = [
            fact
            for fact in self.facts
            if fact.segment == segment and fact.stated_at < n and request <= fact.judged_at
        ]
        said = self.said_in(step.history.messages()) if facts else []
        return [fact for fact in facts if verdict_on(fact, said) == "kept"]

    def seen_in(self, view: View) -> Seen:
        """Read a view, to ask for several facts."""
        edited: dict[int, Entry] = {}
        for entry in view.entries:
            if entry.origin.kind == "edited":
                edited.setdefault(entry.origin.first, entry)
        return Seen(self.said_in(view.messages), edited)

    def verdict_in(self, fact: Fact, step: Step, seen: Seen) -> FactVerdict:
        """Say what the view of a step, in which so much was seen, keeps of a fact."""
        said = seen.said
        verdict = verdict_on(fact, said)
        if verdict == "kept":
            return "kept"
        if self._is_recoverable(fact, step, seen.edited.get(fact.stated_at)):
            return "recoverable"
        replaced = fact.replaces
        if replaced is not None and verdict_on(replaced, said) == "kept":
            return "stale"
        return verdict

    def _is_recoverable(self, fact: Fact, step: Step, entry: Entry | None) -> bool:
        handle = entry.origin.handle if entry is not None else None
        text = step.compactor.recover(handle) if handle is not None else None
        if text is None:
            return False
        original = step.history[fact.stated_at]
        if text == original.text:
            return verdict_on(fact, self.said_in([original])) == "kept"
        return self.index.sightings(text).get(fact.id) == "kept"

    def said_in(self, messages: Iterable[Message]) -> list[dict[str, Sighting]]:
        """Return what each message states of the facts, in order; silent messages are left out."""
        known, found = self._said, []
        for message in messages:
            said = known.get(message)
            if said is None:
                said = known[message] = self.index.sightings(held_text(message))
            if said:
                found.append(said)
        return found


def verdict_on(fact: Fact, said: Iterable[dict[str, Sighting]]) -> Verdict:
    """Fold what messages state of a fact."""
    return combine(sightings.get(fact.id, "lost") for sightings in said)


def find_facts(prepared: Prepared) -> FactSet:
    """Check the annotations of a transcript and prepare those that can be judged.

    A fact must be stated where it says, before it is needed, and the uncompacted input at that
    request must keep it; all others are named with the reason and never scored.
    """
    checked = Annotations(prepared)
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
        due = self._facts.due.get(step.request.index, ())
        if not due:
            return
        seen = self._facts.seen_in(step.view)
        for fact in due:
            is_removed = tracker.fate_of(fact.stated_at) != "whole"
            self._judged.append(_Judged(fact, self._facts.verdict_in(fact, step, seen), is_removed))

    def grow(self, growth: Growth, tracker: FateTracker) -> None:
        for step in growth.at(self._facts.due):
            self.see(step, tracker)

    def summary(self) -> FactSummary:
        count = Counter(item.verdict for item in self._judged)
        removed = [item for item in self._judged if item.is_removed]
        tail = [item for item in self._judged if not item.is_removed]
        return FactSummary(
            facts=len(self._judged),
            facts_unverifiable=len(self._facts.unverifiable),
            facts_removed=len(removed),
            facts_kept_fraction=_share(removed, KEPT),
            facts_tail_kept_fraction=_share(tail, ("kept",)),
            facts_kept=count["kept"],
            facts_recoverable=count["recoverable"],
            facts_contradicted=count["contradicted"],
            facts_stale=count["stale"],
            facts_lost=count["lost"],
        )

    def columns(self) -> dict[str, Any]:
        return asdict(self.summary())

    def sections(self) -> dict[str, Any]:
        return {"facts": self.details()}

    def details(self) -> dict[str, Any]:
        return {
            "columns": ["id", "kind", "request", "verdict", "is_removed"],
            "rows": [
                [item.fact.id, item.fact.kind, item.fact.judged_at, item.verdict, item.is_removed]
                for item in self._judged
            ],
            "unverifiable": [list(item) for item in self._facts.unverifiable],
        }


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


def _share(judged: Sequence[_Judged], verdicts: Sequence[FactVerdict]) -> float | None:
    return fmean(item.verdict in verdicts for item in judged) if judged else None
