"""Annotated key facts as they are written, checked one by one before anything is scored."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeGuard, get_args

from compaction.messages import Json
from evals.extraction.message_text import held_text
from evals.matcher.matching import Claim, compile_claim
from evals.prepare import Prepared
from evals.probing.annotated_answers import problem_of_answers

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


class Annotations:
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
        return problem_of_answers(raw.get("answers"), values, evidence)

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
