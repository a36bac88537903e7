"""What a model still answers from a compacted view: recorded answers, graded, as columns of a row.

Nothing is asked here. A probe counts if the uncompacted reader answers it right; without context
it is asked as well, since what can be guessed says nothing about the view.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from compaction.messages import Messages
from evals.answers import RecordedChat
from evals.boundaries import Boundary
from evals.facts import FactSet, verdict_on
from evals.fates import FateTracker
from evals.grading import Grade, grade, judge_call, kappa, verdict_of
from evals.probes import Probe, probe_call
from evals.replay import Step

DECIDED: Final = ("right", "wrong")


@dataclass(frozen=True, slots=True)
class Answer:
    """One recorded answer with its grade."""

    text: str
    grade: Grade
    judged: bool | None
    """What the judge says of it, if it was asked."""


@dataclass
class Reader:
    """The recorded answers of one model about one transcript, at its boundary."""

    book: RecordedChat
    boundary: Boundary
    probes: tuple[Probe, ...]
    facts: FactSet
    _known: dict[Messages, list[Answer | None]] = field(default_factory=dict)

    def answers(self, view: Messages) -> list[Answer | None]:
        """Return the answer to each probe over a view; None where none was recorded."""
        if view not in self._known:
            self._known[view] = [self._answer(view, probe) for probe in self.probes]
        return self._known[view]

    @cached_property
    def uncompacted(self) -> list[Answer | None]:
        return self.answers(self.boundary.history.messages())

    @cached_property
    def without_context(self) -> list[Answer | None]:
        return self.answers(())

    def _answer(self, view: Messages, probe: Probe) -> Answer | None:
        reply = self.book.find(probe_call(view, probe.question))
        if reply is None:
            return None
        verdict = self.book.find(judge_call(probe.question, probe.answers, reply.text))
        judged = None if verdict is None else verdict_of(verdict.text)
        found = grade(reply.text, probe.answers, question=probe.question)
        return Answer(reply.text, found or _by_judge(judged, asked=verdict is not None), judged)


class ProbeScorer:
    """Reads the answers over the view at the boundary."""

    def __init__(self, reader: Reader, *, show_text: bool) -> None:
        self._reader = reader
        self._show_text = show_text
        self._view: Messages | None = None

    def see(self, step: Step, fates: FateTracker) -> None:
        if step.request.index == self._reader.boundary.request.index:
            self._view = step.view.messages

    def columns(self) -> Mapping[str, Any]:
        """Return fractions over the counting probes; None where no answer was recorded."""
        triples = self._triples()
        recorded = [triple for triple in triples if None not in triple]
        full = [_outcome(triple[0]) for triple in recorded]
        counting = [triple for triple in recorded if _outcome(triple[0]) == "right"]
        outcomes = Counter(_outcome(compacted) for _, _, compacted in counting)
        graded = [t for t in counting if _outcome(t[1]) != "ungraded" != _outcome(t[2])]
        n_graded = len(graded)
        right = _share(graded, 2, "right")
        guessed = _share(graded, 1, "right")
        pairs = _judged_pairs(answer for triple in triples for answer in triple)
        return {
            "probe_reader": self._reader.book.name,
            "probes": len(triples),
            "probes_unrecorded": len(triples) - len(recorded),
            "probes_not_read": sum(outcome != "right" for outcome in full),
            "probes_ungraded": len(counting) - n_graded,
            "probes_counted": n_graded,
            "probe_right_fraction": right,
            "probe_unknown_fraction": _share(graded, 2, "unknown"),
            "probe_wrong_fraction": _share(graded, 2, "wrong"),
            "probe_guessed_fraction": guessed,
            "probe_effect_retained": _effect(right, guessed),
            "judge_pairs": len(pairs),
            "judge_kappa": kappa(pairs),
        } | ({} if outcomes else {"probe_right_fraction": None})

    def sections(self) -> Mapping[str, Any]:
        """Return each probe with its three outcomes and what the matcher says of its fact."""
        reader = self._reader
        said = reader.facts.said_in(self._view or ())
        verdicts = {fact.id: verdict_on(fact, said) for fact in reader.facts.facts}
        return {
            "probes": [
                {
                    "fact": probe.fact_id,
                    "kind": probe.kind,
                    "uncompacted": _outcome(full),
                    "without_context": _outcome(nothing),
                    "compacted": _outcome(compacted),
                    "by": compacted.grade.by if compacted else None,
                    "fact_in_view": verdicts.get(probe.fact_id),
                    **({"answer": compacted.text} if compacted and self._show_text else {}),
                }
                for probe, (full, nothing, compacted) in zip(
                    reader.probes, self._triples(), strict=True
                )
            ]
        }

    def _triples(self) -> list[tuple[Answer | None, Answer | None, Answer | None]]:
        reader = self._reader
        view = reader.answers(self._view) if self._view is not None else [None] * len(reader.probes)
        return list(zip(reader.uncompacted, reader.without_context, view, strict=True))


def _by_judge(judged: bool | None, *, asked: bool) -> Grade:  # noqa: FBT001 - a verdict, no switch
    if judged is None:
        return Grade("ungraded", "judge" if asked else "nobody")
    return Grade("right" if judged else "wrong", "judge")


def _outcome(answer: Answer | None) -> str:
    return "unrecorded" if answer is None else answer.grade.outcome


Triples = Sequence[tuple[Answer | None, Answer | None, Answer | None]]


def _share(triples: Triples, place: int, outcome: str) -> float | None:
    if not triples:
        return None
    return sum(_outcome(triple[place]) == outcome for triple in triples) / len(triples)


def _effect(right: float | None, guessed: float | None) -> float | None:
    """Return the part of what the context is good for that is left; full context counts as 1."""
    if right is None or guessed is None or guessed == 1:
        return None
    return (right - guessed) / (1 - guessed)


def _judged_pairs(answers: Any) -> list[tuple[bool, bool]]:
    """Pair the model-free grader with the judge where both decided."""
    return [
        (answer.grade.outcome == "right", answer.judged)
        for answer in answers
        if answer is not None
        and answer.judged is not None
        and answer.grade.by != "judge"
        and answer.grade.outcome in DECIDED
    ]
