"""What a model still answers from a compacted view: recorded answers, graded, as columns of a row.

Nothing is asked here. A probe counts if the uncompacted reader answers it right; without context
it is asked as well, since what can be guessed says nothing about the view.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from statistics import fmean
from typing import Any, Final

from compaction.llm import ModelReply
from compaction.messages import Messages, digest_of
from evals.facts import FactSet, verdict_on
from evals.fidelity.fates import FateTracker
from evals.probes import Probe, probe_call
from evals.probing.agreement import kappa
from evals.probing.answers import RecordedChat
from evals.probing.boundaries import Boundary
from evals.probing.fact_status import FactStatus, status_of
from evals.probing.grading import Grade, fault_of, grade, judge_call, verdict_of
from evals.probing.replicates import components
from evals.replay import Step

DECIDED: Final = ("right", "wrong")
UNCOMPACTED: Final = "uncompacted"
WITHOUT: Final = "without context"
COMPACTED: Final = "over the view"


@dataclass(frozen=True, slots=True)
class Answer:
    """One recorded answer with its grade."""

    text: str
    grade: Grade
    judged: bool | None
    """What the judge says of it, if it was asked."""
    fault: str | None = None
    """Why it is ungraded: it is no answer, or nobody could tell whether it is right."""


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

    def failures(self, view: Messages | None) -> list[tuple[str, str, str]]:
        """Return fact, condition and reason for what was asked in vain, over a view."""
        full = self.boundary.history.messages()
        views = [(UNCOMPACTED, full), (WITHOUT, ()), *([] if view is None else [(COMPACTED, view)])]
        return [
            (probe.fact_id, where, reason)
            for where, seen in views
            for probe, answers in zip(self.probes, self.answers(seen), strict=True)
            if not answers
            and (reason := self.book.failure_of(probe_call(seen, probe.question))) is not None
        ]

    def _replicates(self, view: Messages, probe: Probe) -> Iterator[Answer]:
        for replicate in count():
            reply = self.book.find(probe_call(view, probe.question, replicate=replicate))
            if reply is None:
                return
            yield self._graded(probe, reply)

    def _graded(self, probe: Probe, reply: ModelReply) -> Answer:
        fault = fault_of(reply)
        if fault is not None:
            return Answer(reply.text, Grade("ungraded", "nobody"), None, fault)
        asking = judge_call(probe.question, probe.answers, reply.text)
        verdict = self.book.find(asking)
        judged = None if verdict is None else verdict_of(verdict.text)
        found = grade(reply.text, probe.answers, question=probe.question)
        if found is None and judged is None:
            return _undecided(reply.text, verdict, self.book.failure_of(asking))
        return Answer(reply.text, found or _by_judge(is_right=bool(judged)), judged)


class ProbeScorer:
    """Reads the answers over the view at the boundary."""

    def __init__(self, reader: Reader, *, show_text: bool) -> None:
        self._reader = reader
        self._show_text = show_text
        self._view: Messages | None = None
        self._statuses: dict[str, FactStatus] = {}

    def see(self, step: Step, fates: FateTracker) -> None:
        reader = self._reader
        if step.request.index != reader.boundary.request.index:
            return
        self._view = step.view.messages
        if any(reader.answers(self._view)):
            asked = {probe.fact_id for probe in reader.probes}
            known = (fact for fact in reader.facts.facts if fact.id in asked)
            self._statuses = {fact.id: status_of(fact, step) for fact in known}

    def columns(self) -> Mapping[str, Any]:
        """Return fractions over the counting probes.

        None where no answer was recorded, and where the view is the whole history: there is
        nothing to find out about a strategy that did nothing yet.
        """
        asked = self._asked()
        places = Counter(map(_place, asked))
        counted = [one for one in asked if self._counts(one)]
        right, unknown, wrong = (
            _share(counted, outcome) for outcome in ("right", "unknown", "wrong")
        )
        guessed = _mean([_outcome(nothing) == "right" for _, nothing, _ in counted])
        pairs = [(grader, judge) for *_, grader, judge in self._judged()]
        spread = components([[_is_right(answer) for answer in found] for _, _, found in counted])
        return {
            "probe_reader": self._reader.book.name,
            "probes": len(asked),
            "probes_unrecorded": places["unrecorded"],
            "probes_not_read": places["not read"],
            "probes_ungraded": places["ungraded"],
            "probe_fault": next(self._faults(), None),
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
        """Return each probe with its outcomes, and how its fact stands in the view.

        That is said twice: the status of its values, as of a need, and the matcher's verdict.
        """
        reader = self._reader
        view = self._view or ()
        said = reader.facts.said_in(view)
        verdicts = {fact.id: verdict_on(fact, said) for fact in reader.facts.facts}
        return {
            "probe_view": digest_of("".join(each.digest for each in view)),
            "probes": [
                {
                    "fact": probe.fact_id,
                    "kind": probe.kind,
                    "uncompacted": _outcome(one[0]),
                    "without_context": _outcome(one[1]),
                    "compacted": [_outcome(answer) for answer in one[2]],
                    "by": [answer.grade.by for answer in one[2]],
                    "is_counted": self._counts(one),
                    "status": self._statuses.get(probe.fact_id),
                    "fact_in_view": verdicts.get(probe.fact_id),
                    **({"answers": [answer.text for answer in one[2]]} if self._show_text else {}),
                }
                for probe, one in zip(reader.probes, self._asked(), strict=True)
            ],
            "probe_faults": list(self._faults()),
            "judged": [list(pair) for pair in self._judged()],
        }

    @property
    def _is_whole(self) -> bool:
        return self._view == self._reader.boundary.history.messages()

    def _asked(self) -> list[Asked]:
        return self._reader.asked(self._view)

    def _counts(self, one: Asked) -> bool:
        return not self._is_whole and _place(one) == "read"

    def _faults(self) -> Iterator[str]:
        """Yield which answers are no answers or could not be graded, and why."""
        for fact_id, where, answer in self._answers():
            if answer.fault is not None:
                yield f"{fact_id} {where}: {answer.fault}"
        for fact_id, where, reason in self._reader.failures(self._view):
            yield f"{fact_id} {where}: {reason}"

    def _judged(self) -> Iterator[tuple[str, str, bool, bool]]:
        """Yield fact, condition, and what the model-free grader and the judge say, both decided."""
        for fact_id, where, answer in self._answers():
            is_graded = answer.grade.by != "judge" and answer.grade.outcome in DECIDED
            if is_graded and answer.judged is not None:
                yield fact_id, where, _is_right(answer), answer.judged

    def _answers(self) -> Iterator[tuple[str, str, Answer]]:
        for probe, (full, nothing, found) in zip(self._reader.probes, self._asked(), strict=True):
            over_view = () if self._is_whole else found
            places = [(UNCOMPACTED, full), (WITHOUT, nothing)]
            places += [(COMPACTED, answer) for answer in over_view]
            for where, answer in places:
                if answer is not None:
                    yield probe.fact_id, where, answer


def _by_judge(*, is_right: bool) -> Grade:
    return Grade("right" if is_right else "wrong", "judge")


def _undecided(text: str, verdict: ModelReply | None, failure: str | None) -> Answer:
    if verdict is None:
        reason = "no judge was asked" if failure is None else f"the judge: {failure}"
        return Answer(text, Grade("ungraded", "nobody"), None, reason)
    reason = fault_of(verdict) or "neither yes nor no"
    return Answer(text, Grade("ungraded", "judge"), None, f"the judge's word: {reason}")


def _first(answers: Sequence[Answer]) -> Answer | None:
    return answers[0] if answers else None


def _outcome(answer: Answer | None) -> str:
    return "unrecorded" if answer is None else answer.grade.outcome


def _is_right(answer: Answer) -> bool:
    return answer.grade.outcome == "right"


def _place(asked: Asked) -> str:
    """Say whether a probe counts (`read`), or else why not."""
    full, nothing, found = asked
    if not (full and nothing and found):
        return "unrecorded"
    if _outcome(full) in ("unknown", "wrong"):
        return "not read"
    return "ungraded" if "ungraded" in map(_outcome, (full, nothing, *found)) else "read"


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
