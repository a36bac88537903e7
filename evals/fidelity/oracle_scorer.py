"""How well a strategy chose: its distance from the best choice, and what it sent in vain."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from compaction.messages import Json
from evals.fidelity.fates import FATE_CODES, FateTracker
from evals.fidelity.need_status import NeedScorer
from evals.fidelity.oracle_problem import instruction_indices
from evals.needs import LONG_GAP_REQUESTS
from evals.oracle import DECIMALS
from evals.prepare import Prepared, PreparedRequest, PreparedSegment
from evals.replay import Growth, Step
from evals.scorers import Cell


class OracleScorer:
    """Compares a cell with the best selection at its own tokens, request by request."""

    def __init__(self, cell: Cell, needs: NeedScorer) -> None:
        """Start at the first request.

        Args:
            cell: What is scored.
            needs: Of the same cell; knows its reach when all steps were seen.
        """
        self._material = cell.material
        self._needs = needs
        self._budgets: list[int] = []
        self._fates: dict[int, FateTracker] = {}
        self._instructions: dict[int, _WholeInstructions] = {}

    def see(self, step: Step, fates: FateTracker) -> None:
        segment = step.request.segment
        if segment not in self._fates:
            self._fates[segment] = fates
            self._instructions[segment] = _WholeInstructions(step.segment, self._material.prepared)
        self._add(step.request, step.tokens, fates)

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        for request, tokens in zip(growth.requests, growth.tokens, strict=True):
            self._add(request, tokens, fates)

    def _add(self, request: PreparedRequest, tokens: float, fates: FateTracker) -> None:
        """Note the size of a view by the measuring counter, without what no selection is free in.

        That is schemas and framing, and the instructions that stand whole.
        """
        prepared = self._material.prepared
        fit = prepared.segments[request.segment].calibration
        counted = round((tokens - fit.offset_tokens) / fit.slope) - prepared.fixed_tokens
        of_segment = self._instructions[request.segment]
        self._budgets.append(counted - of_segment.tokens(request.recorded.position, fates))

    def columns(self) -> dict[str, Any]:
        best = self._material.oracle.best(self._budgets)
        reach = self._needs.summary().reach
        dead = dead_token_fraction(self._material.prepared, self._last_needed(), self._fates)
        if best is None or reach is None:
            return {"dead_token_fraction": dead}
        return {
            "oracle_reach": best.reach,
            "oracle_is_exact": best.is_exact,
            "regret": round(best.reach - reach, DECIMALS) + 0.0,
            "dead_token_fraction": dead,
        }

    def sections(self) -> Json:
        points = self._material.oracle.curve
        return {
            "oracle_curve": {
                "saving_fraction": [point.saving_fraction for point in points],
                "reach": [point.reach for point in points],
            }
        }

    def _last_needed(self) -> dict[int, int]:
        """Return message index in the transcript -> the last request that needed it."""
        last: dict[int, int] = {}
        prepared = self._material.prepared
        first_messages = {
            request.index: segment.first_message
            for segment in prepared.segments
            for request in segment.requests
        }
        for request, needs in self._material.needs.by_request.items():
            for need in needs:
                for at in need.sources if need.kind != "pinned" else ():
                    last[at + first_messages[request]] = request
        return last


class _WholeInstructions:
    """The size of the instructions that stand whole in the present view of one segment."""

    def __init__(self, segment: PreparedSegment, prepared: Prepared) -> None:
        count = prepared.counter.count
        self._sizes = {
            at: count(segment.history[at]) for at in instruction_indices(segment.history)
        }
        self._coming = list(self._sizes)[::-1]
        self._first_message = segment.first_message
        self._is_whole: dict[int, bool] = {}
        self._n_changes = 0
        self._tokens = 0

    def tokens(self, n_messages: int, fates: FateTracker) -> int:
        """Return it for the view of so many messages that the fates have just taken in.

        Looks at changes alone.
        """
        while self._coming and self._coming[-1] < n_messages:
            self._set(self._coming.pop(), is_whole=True)
        for message, _, code in fates.changes[self._n_changes :]:
            if (at := message - self._first_message) in self._is_whole:
                self._set(at, is_whole=code == FATE_CODES["whole"])
        self._n_changes = len(fates.changes)
        return self._tokens

    def _set(self, at: int, *, is_whole: bool) -> None:
        if is_whole != self._is_whole.get(at, False):
            self._tokens += self._sizes[at] if is_whole else -self._sizes[at]
        self._is_whole[at] = is_whole


def dead_token_fraction(
    prepared: Prepared, last_needed: Mapping[int, int], fates: Mapping[int, FateTracker]
) -> float | None:
    """Return the share of the tokens sent of old tool results that no later request needs.

    Old: seen by more requests than a long gap has, since what has just arrived is read whether or
    not a word of it is used again. `reference/methods.md` 4.2, "dead-token share".

    Args:
        prepared: The transcript.
        last_needed: Index of a message in the transcript -> last request that it is a source for.
        fates: Segment number -> what became of its messages.

    Returns:
        None if no old tool result was sent whole.
    """
    sent = dead = 0
    for number, tracker in fates.items():
        segment = prepared.segments[number]
        changes: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for message, request, code in tracker.changes:
            changes[message].append((request, code))
        for at, arrival in segment.arrivals.items():
            message = at + segment.first_message
            tokens = prepared.counter.count(segment.history[at])
            end = segment.requests[-1].index + 1
            old_from = arrival + LONG_GAP_REQUESTS
            dead_from = max(old_from, last_needed.get(message, -1) + 1)
            for start, stop in _whole_stretches(changes.get(message, ()), arrival, end):
                sent += tokens * max(0, stop - max(start, old_from))
                dead += tokens * max(0, stop - max(start, dead_from))
    return dead / sent if sent else None


def _whole_stretches(
    changes: tuple[tuple[int, str], ...] | list[tuple[int, str]], arrival: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges of requests that had a message whole."""
    start: int | None = arrival
    for request, code in changes:
        is_whole = code == FATE_CODES["whole"]
        if start is not None and not is_whole:
            yield start, request
            start = None
        elif start is None and is_whole:
            start = request
    if start is not None:
        yield start, end
