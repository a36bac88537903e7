"""All invariants that a request decides, checked request by request or for one request alone.

A request of a long conversation costs little more than what changed. A fault that the conversation
itself has is not held against the strategy.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Final

from compaction.contract.faults import Violation
from compaction.contract.providers import OPENAI_CHAT, Profile
from compaction.contract.table_replay import REPLAY_INVARIANTS
from compaction.contract.watches.watch import Evidence, Watches, Watching, look
from compaction.history import History, View
from compaction.strategy import Promises


class Checker:
    """Checks the views of one conversation (one segment) in order."""

    def __init__(self, promises: Promises, profile: Profile = OPENAI_CHAT) -> None:
        self._evidence = Evidence(promises=promises, profile=profile)
        self._rules: Final = _applicable(promises)
        self._watching = Watching(_watches_of(self._rules))

    def see(
        self,
        history: History,
        view: View,
        *,
        unchanged: int | None = None,
        twin: View | None = None,
        tokens_before: float | None = None,
        tokens_after: float | None = None,
        recover: Callable[[str], str | None] | None = None,
    ) -> list[Violation]:
        """Return what is broken at this request.

        `history` extends the one before. `unchanged` leading entries equal those of the view
        before, if the caller knows that. Sizes, twin and `recover` are checked if given.
        """
        evidence = replace(
            self._evidence,
            twin=twin,
            tokens_before=tokens_before,
            tokens_after=tokens_after,
            recover=recover,
        )
        found = self._watching.see(history, view, evidence, unchanged=unchanged)
        return [item for item in found if item.rule in self._rules]


def check_view(before: History, after: View, evidence: Evidence) -> list[Violation]:
    """Return what one request breaks of all invariants that a request decides.

    The same as `Invariant.check` of each of them, at the cost of one.
    """
    rules = _applicable(evidence.promises)
    found = look(_watches_of(rules), before, after, evidence)
    return [item for item in found if item.rule in rules]


def _applicable(promises: Promises) -> frozenset[str]:
    return frozenset(row.name for row in REPLAY_INVARIANTS if row.unmet(promises) is None)


def _watches_of(rules: frozenset[str]) -> Watches:
    """Return the watches of some rows, each once, behind those that they are told by."""
    rows = (row.watches for row in REPLAY_INVARIANTS if row.name in rules)
    return tuple(dict.fromkeys(chain.from_iterable(rows)))
