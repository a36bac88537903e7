"""What a model still answers from a compacted view: recorded answers, graded, as columns of a row.

Nothing is asked here. A probe counts if the uncompacted reader answers it right; without context
it is asked as well, since what can be guessed says nothing about the view.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from statistics import fmean
from typing import Any, Final

from compaction.messages import Messages
from evals.answers import RecordedChat
from evals.boundaries import Boundary
from evals.facts import FactSet, verdict_on
from evals.fates import FateTracker
from evals.grading import Grade, grade, judge_call, kappa, verdict_of
from evals.probes import Probe, probe_call
from evals.replay import Step
from evals.replicates import components

DECIDED: Final = ("right", "wrong")


@dataclass(frozen=True, slots=True)
class Answer:
    """One recorded answer with its grade."""

    text: str
    grade: Grade
    judged: bool | None
    """What the judge says of it, if it was asked."""


Asked = tuple[Answer | None, Answer | None, tuple[Answer, ...]]
"""One probe: uncompacted, without context, and over the view as often as it was asked."""


@dataclass
class Reader:
    """The recorded answers of one model about one transcript, at its boundary."""

    book: RecordedChat
    boundary: Boundary
    probes: tuple[Probe, ...]
    facts: FactSet
    _known: dict[Messages, list[tuple[Answer, ...]]] = field(default_factory=dict)

    def answers(self, view: Messages) -> list[tuple[Answer, ...]]:
        """Return the answers to each probe over a view, replicates in order; none recorded: ()."""
        if view not in self._known:
            self._known[view] = [tuple(self._replicates(view, probe)) for probe in self.probes]
        return self._known[view]

    def asked(self, view: Messages | None) -> list[Asked]:
        """Return each probe in its three conditions."""
        compacted = [()] * len(self.probes) if view is None else self.answers(view)
        return [
            (full, nothing, found)
            for full, nothing, found in zip(
                self._uncompacted, self._without_context, compacted, strict=True
            )
        ]

    @cached_property
    def _uncompacted(self) -> list[Answer | None]:
        return list(map(_first, self.answers(self.boundary.history.messages())))

    @cached_property
    def _without_context(self) -> list[Answer | None]:
        return list(map(_first, self.answers(())))

    def _replicates(self, view: Messages, probe: Probe) -> Iterator[Answer]:
        for replicate in count():
            reply = self.book.find(probe_call(view, probe.question, replicate=replicate))
            if reply is None:
                return
            verdict = self.book.find(judge_call(probe.question, probe.answers, reply.text))
            judged = None if verdict is None else verdict_of(verdict.text)
            found = grade(reply.text, probe.answers, question=probe.question)
            by_judge = _by_judge(judged, was_asked=verdict is not None)
            yield Answer(reply.text, found or by_judge, judged)


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
        """Return fractions over the counting probes.

        None where no answer was recorded, and where the view is the whole history: there is
        nothing to find out about a strategy that did nothing yet.
        """
        asked = self._reader.asked(self._view)
        recorded = [one for one in asked if one[0] and one[1] and one[2]]
        read = [one for one in recorded if _outcome(one[0]) == "right"]
        is_whole = self._view == self._reader.boundary.history.messages()
        counted = [] if is_whole else [one for one in read if _is_graded(one)]
        right, unknown, wrong = (
            _share(counted, outcome) for outcome in ("right", "unknown", "wrong")
        )
        guessed = _mean([_outcome(nothing) == "right" for _, nothing, _ in counted])
        pairs = _judged_pairs(asked)
        spread = components([[_is_right(answer) for answer in found] for _, _, found in counted])
        return {
            "probe_reader": self._reader.book.name,
            "probes": len(asked),
            "probes_unrecorded": len(asked) - len(recorded),
            "probes_not_read": len(recorded) - len(read),
            "probes_ungraded": sum(not _is_graded(one) for one in read),
            "probes_counted": len(counted),
            "probe_replicates": min((len(found) for _, _, found in counted), default=None),
            "probe_right_fraction": right,
            "probe_unknown_fraction": unknown,
            "probe_wrong_fraction": wrong,
            "probe_guessed_fraction": guessed,
            "probe_effect_retained": _effect(right, guessed),
            "probe_variance_questions": spread and spread.between,
            "probe_variance_answers": spread and spread.within,
            "judge_pairs": len(pairs),
            "judge_kappa": kappa(pairs),
        }

    def sections(self) -> Mapping[str, Any]:
        """Return each probe with its outcomes and what the matcher says of its fact in the view."""
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
                    "compacted": [_outcome(answer) for answer in found],
                    "by": [answer.grade.by for answer in found],
                    "fact_in_view": verdicts.get(probe.fact_id),
                    **({"answers": [answer.text for answer in found]} if self._show_text else {}),
                }
                for probe, (full, nothing, found) in zip(
                    reader.probes, reader.asked(self._view), strict=True
                )
            ]
        }


def _by_judge(judged: bool | None, *, was_asked: bool) -> Grade:  # noqa: FBT001 - a verdict
    if judged is None:
        return Grade("ungraded", "judge" if was_asked else "nobody")
    return Grade("right" if judged else "wrong", "judge")


def _first(answers: Sequence[Answer]) -> Answer | None:
    return answers[0] if answers else None


def _outcome(answer: Answer | None) -> str:
    return "unrecorded" if answer is None else answer.grade.outcome


def _is_right(answer: Answer) -> bool:
    return answer.grade.outcome == "right"


def _is_graded(asked: Asked) -> bool:
    _, nothing, found = asked
    return "ungraded" not in map(_outcome, (nothing, *found))


def _share(counted: Sequence[Asked], outcome: str) -> float | None:
    """Return the mean over probes of the share of their replicates with an outcome."""
    return _mean(
        [fmean(answer.grade.outcome == outcome for answer in found) for _, _, found in counted]
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _effect(right: float | None, guessed: float | None) -> float | None:
    """Return the part of what the context is good for that is left; full context counts as 1."""
    if right is None or guessed is None or guessed == 1:
        return None
    return (right - guessed) / (1 - guessed)


def _judged_pairs(asked: Iterable[Asked]) -> list[tuple[bool, bool]]:
    """Pair the model-free grader with the judge where both decided."""
    return [
        (_is_right(answer), answer.judged)
        for full, nothing, found in asked
        for answer in (full, nothing, *found)
        if answer is not None
        and answer.judged is not None
        and answer.grade.by != "judge"
        and answer.grade.outcome in DECIDED
    ]
