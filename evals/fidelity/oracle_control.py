"""A control that USES THE FUTURE: no agent could do this, and it shows what a bound is worth.

It keeps what `evals.oracle` chose knowing every later request, so its replayed reach proves how
much of the bound can be had by a view that a provider would accept.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, Final

from compaction.errors import StrategyError
from compaction.history import Entry, History, View
from compaction.llm import Steps, Usage
from compaction.messages import INSTRUCTION_ROLES
from compaction.pairing import Pairing
from compaction.strategy import CompactionEvent, Compactor, Context, Promises, Request, Strategy
from evals.fidelity.oracle_curve import Oracle
from evals.fidelity.oracle_greedy import better_greedy
from evals.fidelity.oracle_problem import Selection
from evals.oracle import best_reach
from evals.prepare import Prepared, PreparedSegment

USES_THE_FUTURE: Final[Mapping[str, str]] = {
    "oracle_select": "evals.fidelity.oracle_control:OracleSelect",
}
"""Short name -> `module:Class`; controls that are run only if they are named."""


@dataclass(frozen=True, slots=True)
class OracleSelect:
    """USES THE FUTURE: keeps the groups that later requests need most, within `keep_tokens`.

    The instructions, the latest user message and what has just arrived are always
    sent, even if they alone are larger. The choice is the exact optimum where that can be found,
    else the better heuristic.
    """

    keep_tokens: int = field(default=32_000, metadata={"unit": "counted_tokens"})
    name: ClassVar[str] = "oracle_select"
    version: ClassVar[str] = "1"
    promises: ClassVar[Promises] = Promises(mode="viewing", keeps_system=True, keeps_last_user=True)

    def __post_init__(self) -> None:
        if self.keep_tokens < 0:
            raise ValueError(f"keep_tokens must be >= 0, got {self.keep_tokens}")

    def start(self, context: Context) -> Compactor:
        raise StrategyError(
            "oracle_select knows the recorded future, so it runs only where transcripts are "
            "scored: compaction-evals run --strategy oracle_select"
        )

    def knowing(self, prepared: Prepared, oracle: Oracle) -> Strategy:
        """Return the strategy that can be started on this transcript only."""
        budgets = [
            max(0, self.keep_tokens - fixed)
            for segment in prepared.segments
            for fixed in _always_sent_tokens(prepared, segment)
        ]
        return _Told(prepared, _choose(oracle.groups, budgets))


def told(strategy: Strategy, prepared: Prepared, oracle: Oracle) -> Strategy:
    """Tell a control that uses the future what it is; every other strategy is returned as is."""
    return strategy.knowing(prepared, oracle) if isinstance(strategy, OracleSelect) else strategy


def _choose(selection: Selection, budgets: list[int]) -> dict[int, int]:
    """Return message index in the transcript -> last request to which it is kept."""
    best = best_reach(selection, budgets)
    is_known = best is not None and best.is_exact
    kept = best.kept_until if best and is_known else better_greedy(selection, budgets).kept_until
    return {
        message: request
        for item, request in kept.items()
        for message in selection.items[item].messages
    }


def _always_sent_tokens(prepared: Prepared, segment: PreparedSegment) -> list[int]:
    """Return by request the size of what is sent whatever was chosen."""
    history, count = segment.history, prepared.counter.count
    sizes = [count(message) for message in history.messages()]
    until = [0, *accumulate(sizes)]
    always = [
        at for at, message in enumerate(history.messages()) if message.role in INSTRUCTION_ROLES
    ]
    found, previous = [], 0
    for request in segment.requests:
        position = request.recorded.position
        last_user = history.prefix(position).last_user_position()
        older = {at for at in always if at < previous}
        older |= {last_user} if last_user is not None and last_user < previous else set()
        found.append(until[position] - until[previous] + sum(sizes[at] for at in older))
        previous = position
    return found


@dataclass(frozen=True, slots=True)
class _Told:
    prepared: Prepared
    kept_until: Mapping[int, int]
    name: ClassVar[str] = OracleSelect.name
    version: ClassVar[str] = OracleSelect.version
    promises: ClassVar[Promises] = OracleSelect.promises

    def start(self, context: Context) -> Compactor:
        return _Chosen(self)


@dataclass(slots=True)
class _Chosen:
    """Sends what was chosen for each request of one segment."""

    plan: _Told
    _segment: PreparedSegment | None = None
    _shown: dict[int, Entry] = field(default_factory=dict)
    _pairing: Pairing = field(default_factory=Pairing)

    def steps(self, history: History, request: Request) -> Steps[View]:
        yield from ()
        segment = self._segment = self._segment or self._segment_of(history)
        index = segment.requests[request.index].index
        last_user = history.last_user_position()
        before = len(self._shown)
        self._shown = {
            at: entry
            for at, entry in self._shown.items()
            if self._is_kept(at, index) or at == last_user or _is_instruction(entry)
        }
        removed = before - len(self._shown)
        for entry in history.entries(len(self._pairing)):
            at = entry.origin.first
            self._pairing.append(entry.message)
            caller, _ = self._pairing.call_of.get(at, (None, None))
            if caller is None or caller in self._shown:
                self._shown[at] = entry
        event = CompactionEvent(OracleSelect.name, "applied", messages_removed=removed)
        return View(tuple(self._shown.values()), (event,) if removed else ())

    def _is_kept(self, at: int, request: int) -> bool:
        first = self._segment.first_message if self._segment else 0
        return self.plan.kept_until.get(first + at, -1) >= request

    def _segment_of(self, history: History) -> PreparedSegment:
        for segment in self.plan.prepared.segments:
            if segment.history.messages()[: len(history)] == history.messages():
                return segment
        raise StrategyError("oracle_select was told the future of another transcript")

    def record_usage(self, usage: Usage) -> None:
        return

    def recover(self, handle: str) -> str | None:
        return None


def _is_instruction(entry: Entry) -> bool:
    return entry.message.role in INSTRUCTION_ROLES
