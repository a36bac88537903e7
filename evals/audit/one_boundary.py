"""One recorded compaction: what it kept, lost and invented, and what others would have.

What became of needs is `evals.audit.needs`, what was read again `evals.audit.reacquisition`, who
else was asked `evals.audit.contestants`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from compaction.errors import CompactionError
from compaction.llm import ChatModel
from compaction.strategy import Context, Request
from evals.audit.boundaries import RECORDED, Recorded, RecordedBoundary
from evals.audit.contestants import CLEARING, Place, Placed, placed
from evals.audit.needs import Asked, asked_after, best_possible, judge, statuses, step_at
from evals.audit.reacquisition_cost import reacquired_after
from evals.audit.repeating import asked_again
from evals.audit.survival import survived_in
from evals.audit.values import (
    BoundaryAudit,
    Chance,
    Clearing,
    Contestant,
    NeedCounts,
    NeedLine,
    Outcome,
)
from evals.facts import find_facts
from evals.fidelity.need_status import REACHED, Status
from evals.fidelity.placebo import Placebo, PlaceboChoice
from evals.money.price_choice import PriceChoice
from evals.money.pricing import Pricing
from evals.needs import NeedSet, find_needs
from evals.prepare import Prepared
from evals.scorers import Material
from evals.settings import Setting

HEADLINE: Final = "need"
_REACHED: Final[tuple[Status, ...]] = ("visible_source", "restated", "recoverable")
MIN_UNLOGGED_FRACTION: Final = 0.1
"""Of the reported input. Less may be the calibration's error. This project's choice."""


@dataclass(frozen=True)
class AuditPlan:
    """What is asked of every boundary."""

    settings: tuple[Setting, ...]
    model: ChatModel
    prices: PriceChoice
    show_text: bool = False
    placebos: PlaceboChoice = field(default_factory=PlaceboChoice)


class _Judged(NamedTuple):
    asked: Asked
    status: Status
    outcome: Outcome


class OneBoundary:
    """One boundary while it is audited."""

    def __init__(
        self,
        boundary: RecordedBoundary,
        prepared: Prepared,
        pricing: Pricing,
        plan: AuditPlan,
        placebo: Placebo,
    ) -> None:
        self._boundary = boundary
        self._whole = prepared
        self._pricing = pricing
        self._plan = plan
        self._needs = find_needs(boundary.prepared, placebo=placebo)
        self._asked = asked_after(self._needs, boundary.n_before)
        self._headline = [each for each in self._asked if each.need.kind == HEADLINE]
        self._material = Material(boundary.prepared, self._needs, find_facts(boundary.prepared))
        count = boundary.prepared.counter.count
        self._counted_tokens = sum(count(entry.message) for entry in boundary.sent)
        self._unlogged = self._unlogged_tokens()
        first = boundary.prepared.segments[0].requests[0]
        self._place = Place(
            prepared=boundary.prepared,
            history=boundary.history,
            request=Request(0, first.recorded.time, first.recorded.model),
            budget_tokens=self._counted_tokens + self._unlogged,
            n_new=boundary.n_new,
        )

    def audit(self, used_from_earlier: frozenset[str]) -> BoundaryAudit:
        boundary, place = self._boundary, self._place
        recorded = self._recorded()
        judged = self._judged(recorded)
        headline = [each for each in judged if each.asked.need.kind == HEADLINE]
        missing = [each.asked for each in headline if each.outcome in ("read_again", "lost")]
        first = self._whole.segments[boundary.segment].requests[0]
        return BoundaryAudit(
            number=boundary.number,
            kind=boundary.opened_by.kind,
            trigger=boundary.opened_by.trigger,
            before_request=first.index,
            requests_after=len(boundary.prepared.requests),
            history_tokens=place.history.total(boundary.prepared.counter),
            view_tokens=place.budget_tokens,
            fixed_tokens=place.fixed_tokens,
            unlogged_tokens=self._unlogged,
            is_readable=boundary.is_readable,
            needs=_counts(headline),
            needs_by_kind=_counts_by_kind(judged),
            gone_before=len(used_from_earlier - {each.need.value for each in self._asked}),
            lines=tuple(self._line(each) for each in headline),
            survived=survived_in(
                step_at(place, recorded), self._material, show_text=self._plan.show_text
            ),
            reacquired=reacquired_after(
                boundary, self._whole, self._pricing, show_text=self._plan.show_text
            ),
            contestants=(
                replace(self._standing(recorded, missing), tokens=place.budget_tokens),
                *(self._contestant(each, missing) for each in self._plan.settings),
            ),
            best_possible_fraction=(
                None
                if place.fixed_tokens > place.budget_tokens
                else best_possible(self._headline, place)
            ),
            clearing=self._clearing(missing),
            chance=_chance(self._needs),
            is_text_shown=self._plan.show_text,
        )

    def _unlogged_tokens(self) -> int:
        """Return what the provider reported for the first request beyond what the log holds of it.

        In counted tokens, by the calibration of the segment before. An encrypted summary, or files
        that an agent puts in again without a word in its log. 0 if no usage was recorded, or if it
        is no more than the calibration may be wrong.
        """
        boundary = self._boundary
        request = self._whole.segments[boundary.segment].requests[0]
        calibration = next(
            (
                segment.calibration
                for segment in reversed(self._whole.segments[: boundary.segment])
                if segment.calibration.n_requests
            ),
            None,
        )
        if request.recorded.usage is None or calibration is None:
            return 0
        reported = request.recorded.usage.input_tokens
        held = calibration.size(self._counted_tokens + self._whole.fixed_tokens)
        error = max(MIN_UNLOGGED_FRACTION, 2 * (calibration.error_fraction or 0.0))
        if reported - held <= error * reported:
            return 0
        return round((reported - held) / calibration.slope)

    def _recorded(self) -> Placed:
        strategy = Recorded(self._boundary.view)
        return Placed(
            setting=Setting(RECORDED),
            was_set={},
            view=strategy.view,
            tokens=self._counted_tokens,
            compactor=strategy.start(Context(self._place.prepared.counter)),
            promises=strategy.promises,
            is_declared=True,
        )

    def _judged(self, recorded: Placed) -> list[_Judged]:
        found = judge(self._asked, self._needs, step_at(self._place, recorded), recorded.promises)
        return [
            _Judged(each, status, self._outcome(each, status))
            for each, status in zip(self._asked, found, strict=True)
        ]

    def _outcome(self, asked: Asked, status: Status) -> Outcome:
        if status in REACHED:
            return "kept"
        if status == "mentioned":
            return "named"
        if not self._boundary.is_readable:
            return "unseen"
        if asked.is_read_again:
            return "read_again"
        return "unseen" if self._unlogged else "lost"

    def _line(self, judged: _Judged) -> NeedLine:
        need = judged.asked.need
        return NeedLine(
            name=need.value if self._plan.show_text else need.digest,
            class_name=need.class_name,
            after_requests=judged.asked.after_requests,
            outcome=judged.outcome,
        )

    def _contestant(self, setting: Setting, missing: Sequence[Asked]) -> Contestant:
        try:
            found = placed(setting, self._place, self._plan.model)
            standing = self._standing(found, missing)
            again = asked_again(found, self._place, self._plan.model)
            if again is None:
                return standing
            second = replace(self._standing(again, missing), was_set=standing.was_set)
            return replace(standing, is_repeatable=second == standing)
        except CompactionError as error:
            return Contestant(setting.label, {}, setting.is_control, error=str(error))

    def _standing(self, found: Placed, missing: Sequence[Asked]) -> Contestant:
        of_all = Counter(statuses(self._headline, self._needs, self._place, found))
        of_missing = statuses(missing, self._needs, self._place, found)
        whole = {e.origin.first for e in found.view.entries if e.origin.kind == "whole"}
        return Contestant(
            label=found.setting.label,
            was_set=found.was_set,
            is_control=found.setting.is_control,
            tokens=found.tokens,
            is_within_budget=found.tokens <= self._place.budget_tokens,
            asked=len(self._headline),
            reached=sum(of_all[status] for status in _REACHED),
            recoverable=of_all["recoverable"],
            named=of_all["mentioned"],
            lost=of_all["lost"] + of_all["regenerable"],
            undeclared=of_all["undeclared"],
            missing_reached=sum(status in REACHED for status in of_missing),
            held=sum(not whole.isdisjoint(each.places) for each in self._headline),
            is_selection=len(whole) == len(found.view.entries),
            survived=survived_in(
                step_at(self._place, found), self._material, show_text=self._plan.show_text
            ),
        )

    def _clearing(self, missing: Sequence[Asked]) -> Clearing | None:
        """Return how many results must stay so that every missing need is reached."""
        positions = self._place.history.result_positions()
        rank = {at: len(positions) - number for number, at in enumerate(positions)}
        needed = [min((rank.get(at, 0) for at in each.need.sources), default=0) for each in missing]
        if not needed:
            return None
        keep = max(needed)
        setting = Setting(CLEARING, {"keep_last_results": str(keep)})
        found = placed(setting, self._place, self._plan.model)
        reached = statuses(missing, self._needs, self._place, found)
        if not all(status in REACHED for status in reached):
            return None
        return Clearing(keep, len(positions), found.tokens)


def _chance(needs: NeedSet) -> Chance:
    """Count the different references of the needs that the unrelated text holds, by class."""
    distinct = {
        need.reference
        for found in needs.by_request.values()
        for need in found
        if need.kind == HEADLINE and need.reference is not None
    }
    asked = Counter(reference.kind for reference in distinct)
    found = {name: round(needs.placebo_by_class.get(name, 0.0) * n) for name, n in asked.items()}
    return Chance(needs.placebo or "", dict(sorted(asked.items())), dict(sorted(found.items())))


def _counts(judged: Iterable[_Judged]) -> NeedCounts:
    outcomes = Counter(each.outcome for each in judged)
    return NeedCounts(
        asked=outcomes.total(),
        kept=outcomes["kept"],
        named=outcomes["named"],
        read_again=outcomes["read_again"],
        lost=outcomes["lost"],
        unseen=outcomes["unseen"],
    )


def _counts_by_kind(judged: Sequence[_Judged]) -> dict[str, NeedCounts]:
    kinds = sorted({each.asked.need.kind for each in judged} - {HEADLINE})
    return {
        kind: _counts(each for each in judged if each.asked.need.kind == kind) for kind in kinds
    }
