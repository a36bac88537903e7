"""The table of what must hold of every compactor, and a look at a single view.

Rows that a request decides are checked by `Checker` before each request of a conversation, in a
replay and in a check, and by `check_view` for one request alone; the others by an experiment, in a
check only. `suite.check_conversation` does all.
"""

from collections.abc import Mapping
from typing import Final

from compaction.contract.checker import Checker, check_view
from compaction.contract.faults import Violation
from compaction.contract.invariant import Invariant, Needs, Severity
from compaction.contract.table_experiments import EXPERIMENT_INVARIANTS
from compaction.contract.table_replay import REPLAY_INVARIANTS
from compaction.contract.watches.watch import Before, Evidence

__all__ = [
    "INVARIANTS",
    "RULES",
    "Before",
    "Checker",
    "Evidence",
    "Invariant",
    "Needs",
    "Severity",
    "Violation",
    "check_view",
]


def _by_id(item: Invariant) -> int:
    return int(item.id.removeprefix("I"))


INVARIANTS: Final[Mapping[str, Invariant]] = {
    item.name: item for item in sorted((*REPLAY_INVARIANTS, *EXPERIMENT_INVARIANTS), key=_by_id)
}
"""Name -> invariant, in the order of the ids."""

RULES: Final[Mapping[str, str]] = {item.name: item.statement for item in REPLAY_INVARIANTS}
"""What is checked in every request of every replay -> its statement."""
