"""What outlives compaction after compaction: instructions, tasks, facts, file states, needs.

Looked at after the first compactions and ever more rarely after that (1, 2, 3, 4, 6, 8, 12, ...),
and at the last request of each segment. A compaction is a request at which the strategy applied a
change. Sources: reference/methods.md section 5, F5 to F8; of the facts, DESIGN section 8.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from statistics import fmean
from typing import Any, Final, Literal

from compaction.history import Entry
from compaction.messages import digest_of
from evals.extraction.message_text import held_text
from evals.extraction.references import occurs_in
from evals.extraction.statements import Statement, Statements, is_kept_in, is_ticked_in
from evals.facts import KEPT, FactSet
from evals.fidelity.annotations import Fact
from evals.fidelity.artifacts import states_of, survival_of
from evals.fidelity.fates import FateTracker
from evals.fidelity.need_status import REACHED, NeedScorer
from evals.replay import Growth, Step
from evals.scorers import Cell

CLIFF_FRACTION: Final = 0.5
"""The cliff round is the first after which less than this is left."""
Position = Literal["top", "middle", "bottom"]


@dataclass(frozen=True, slots=True)
class Round:
    """What was left after one compaction, or at the end of a segment."""

    number: int
    """Compactions of the segment so far."""
    request: int
    is_end: bool
    is_compaction: bool
    """Whether one was applied at this request; the end of a segment is looked at in any case."""
    constraints: int
    """Stated so far, and no longer standing whole where they were stated."""
    constraints_kept: int
    obligations: int
    obligations_kept: int
    obligations_ticked: tuple[str, ...]
    """Open, but listed as done by a text of the strategy; the digest of each."""
    facts: int
    """Annotated, stated so far and still to be judged, and not standing whole where stated."""
    facts_kept: int
    """Kept or recoverable."""
    files: int
    files_stale: int
    files_lost: int
    constraints_by_position: Mapping[Position, tuple[int, int]]
    """Third of the segment so far -> (constraints, kept)."""


class SurvivalScorer:
    """Looks at a view after its strategy changed it."""

    def __init__(self, cell: Cell, needs: NeedScorer) -> None:
        """Start at the first request.

        Args:
            cell: What is scored.
            needs: Of the same cell; knows what was reached when all steps were seen.
        """
        self._statements = cell.material.statements
        self._facts = cell.material.facts
        self._last = {
            segment.requests[-1].index
            for segment in cell.material.prepared.segments
            if segment.requests
        }
        self._needs = needs
        self._count: Counter[int] = Counter()
        self._rounds: list[Round] = []

    def see(self, step: Step, fates: FateTracker) -> None:
        is_end = step.request.index in self._last
        if not (step.view.events or is_end):
            return
        segment = step.request.segment
        is_compaction = any(event.outcome == "applied" for event in step.view.events)
        self._count[segment] += is_compaction
        if is_end or (is_compaction and is_looked_at(self._count[segment])):
            found = _round(
                step,
                fates,
                self._statements[segment],
                self._facts,
                self._count[segment],
                is_end=is_end,
                is_compaction=is_compaction,
            )
            self._rounds.append(found)

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        for step in growth.at(self._last):
            self.see(step, fates)

    def columns(self) -> dict[str, Any]:
        ends = [found for found in self._rounds if found.is_end]
        constraints = sum(found.constraints for found in ends)
        obligations = sum(found.obligations for found in ends)
        files = sum(found.files for found in ends)
        return {
            "constraints": constraints,
            "constraints_kept_fraction": _share(ends, "constraints_kept", constraints),
            "obligations": obligations,
            "obligations_kept_fraction": _share(ends, "obligations_kept", obligations),
            "obligations_ticked": len(
                {item for found in self._rounds for item in found.obligations_ticked}
            ),
            "files": files,
            "files_stale_fraction": _share(ends, "files_stale", files),
            "files_lost_fraction": _share(ends, "files_lost", files),
            "cliff_round": self._cliff(),
        }

    def sections(self) -> Mapping[str, Any]:
        reaches = self._reaches()
        return {
            "rounds": [
                {**asdict(found), "reach": reach}
                for found, reach in zip(self._rounds, reaches, strict=True)
            ]
        }

    def _reaches(self) -> list[float | None]:
        """Return the reach from each compaction to the next one looked at, or its segment's end.

        None without needs in between, and for an end at which nothing was compacted: its needs
        belong to the compaction before.
        """
        of_request = _reach_by_request(self._needs)
        stop = inf
        found: list[float | None] = []
        for each in reversed(self._rounds):
            if each.is_end:
                stop = each.request + 1
            window: list[float] = []
            if each.is_compaction:
                window = [of_request[at] for at in of_request if each.request <= at < stop]
                stop = each.request
            found.append(fmean(window) if window else None)
        return found[::-1]

    def _cliff(self) -> int | None:
        """Return the first compaction after which under half of constraints or needs is left.

        Of the constraints those count whose message no longer stands whole.
        """
        for found, reach in zip(self._rounds, self._reaches(), strict=True):
            if found.number == 0:
                continue
            kept = found.constraints_kept / found.constraints if found.constraints else None
            if any(value is not None and value < CLIFF_FRACTION for value in (reach, kept)):
                return found.number
        return None


def _reach_by_request(needs: NeedScorer) -> dict[int, float]:
    """Return request -> share of its needs over long gaps that was reached."""
    found: defaultdict[int, list[bool]] = defaultdict(list)
    for need, status in needs.judged:
        if need.kind == "need" and need.is_long:
            found[need.request].append(status in REACHED)
    return {request: fmean(reached) for request, reached in found.items()}


def is_looked_at(number: int) -> bool:
    """Whether the n-th compaction is one of 1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    return number in (1, 3) or number & (number - 1) == 0 or _is_three_halves(number)


def _is_three_halves(number: int) -> bool:
    third, rest = divmod(number, 3)
    return rest == 0 and third > 0 and third & (third - 1) == 0


def _round(
    step: Step,
    fates: FateTracker,
    statements: Statements,
    facts: FactSet,
    number: int,
    *,
    is_end: bool,
    is_compaction: bool,
) -> Round:
    changed = [entry for entry in step.view.entries if entry.origin.kind != "whole"]
    texts = [held_text(entry.message) for entry in changed]
    written = [held_text(entry.message) for entry in changed if entry.origin.kind == "generated"]
    n = len(step.history)
    stated = [each for each in statements.constraints if each.stated_at < n]
    gone = [each for each in stated if fates.fate_of(each.stated_at) != "whole"]
    kept = [each for each in gone if _survives(each, n, fates, texts)]
    plan = statements.plan_at(n)
    is_plan_gone = plan is not None and fates.fate_of(plan.stated_at) != "whole"
    items = plan.open_items if plan is not None and is_plan_gone else ()
    states = statements.states_before(n)
    seen = states_of(step.view.messages, statements.failed)
    named = _files_named(statements, fates, changed, n)
    asked = [fact for fact in facts.open_at(step) if fates.fate_of(fact.stated_at) != "whole"]
    files = Counter(survival_of(states, seen, written, named).values())
    return Round(
        number=number,
        request=step.request.index,
        is_end=is_end,
        is_compaction=is_compaction,
        constraints=len(gone),
        constraints_kept=len(kept),
        obligations=len(items),
        obligations_kept=sum(_is_in_any(item, texts) for item in items),
        obligations_ticked=tuple(
            digest_of(item)[:12]
            for item in items
            if any(is_ticked_in(item, text) for text in written)
        ),
        facts=len(asked),
        facts_kept=_n_kept(asked, facts, step),
        files=len(states),
        files_stale=files["stale"],
        files_lost=files["lost"],
        constraints_by_position=_by_position(gone, kept, n),
    )


def _n_kept(asked: Sequence[Fact], facts: FactSet, step: Step) -> int:
    if not asked:
        return 0
    seen = facts.seen_in(step.view)
    return sum(facts.verdict_in(fact, step, seen) in KEPT for fact in asked)


def _files_named(
    statements: Statements, fates: FateTracker, changed: Iterable[Entry], n_messages: int
) -> frozenset[str]:
    """Return the files that whole messages of the view name, or what is left of an edited one."""
    named = statements.files_named
    whole = (at for at in named if at < n_messages and fates.fate_of(at) == "whole")
    found = {path for at in whole for path in named[at]}
    for entry in changed:
        if entry.origin.kind == "edited":
            text, said = held_text(entry.message), named.get(entry.origin.first, {})
            found |= {path for path, name in said.items() if occurs_in(name, text)}
    return frozenset(found)


def _survives(each: Statement, n: int, fates: FateTracker, written: Sequence[str]) -> bool:
    repeated = any(at < n and fates.fate_of(at) == "whole" for at in each.also_at)
    return repeated or _is_in_any(each.text, written)


def _is_in_any(statement: str, written: Iterable[str]) -> bool:
    return any(is_kept_in(statement, text) for text in written)


def _by_position(
    gone: Sequence[Statement], kept: Sequence[Statement], n_messages: int
) -> dict[Position, tuple[int, int]]:
    names: tuple[Position, ...] = ("top", "middle", "bottom")
    counts = [Counter(3 * each.stated_at // n_messages for each in some) for some in (gone, kept)]
    return {
        name: (counts[0][third], counts[1][third])
        for third, name in enumerate(names)
        if counts[0][third]
    }


def _share(ends: Sequence[Round], name: str, total: int) -> float | None:
    return sum(getattr(found, name) for found in ends) / total if total else None
