"""What one row of the table of invariants says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from compaction.contract.drives import Good, Verdict
from compaction.contract.faults import Violation
from compaction.contract.watches.watch import Evidence, Watches, look
from compaction.history import History, View
from compaction.strategy import Promises

Severity = Literal["error", "warning"]
"""`error`: a provider refuses the request, something is lost or changed that must not be, the
conversation gets stuck, or a promise is broken that was made. `warning`: it costs money, or trust
in a number that nobody promised; the conversation goes on unharmed."""
Needs = Literal["replay", "experiment"]
"""`replay`: history, view and what else is known of a request decide. `experiment`: it takes
further runs of the strategy: other replies, other conversations, a second pass, an undo."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """One promise that is kept or broken. Several may share an id: each looks at one side of it."""

    id: str
    """`I1` to `I31`."""
    name: str
    statement: str
    harm: str
    """What comes of it where it is broken: the reason for the severity."""
    severity: Severity = "error"
    field_bugs: tuple[int, ...] = ()
    """Numbers in the catalogue of field bugs that the invariants were drawn from."""
    promises: tuple[str, ...] = ()
    """Fields of `Promises` that must be set, one of those with ` or ` between; with `not ` in
    front, that must not be. `rewriting` is the mode."""
    watches: Watches = ()
    """Make what decides it request by request; the last one does, told by those before it."""
    experiment: Callable[[Good], Verdict] | None = None
    """Decides it from a drive that went well, if no watch can."""
    needs_model: bool = False
    """Decided only for a strategy that asks a model at least once."""

    def __post_init__(self) -> None:
        if bool(self.watches) == (self.experiment is not None):
            raise ValueError(f"{self.name} must have watches or an experiment, and not both")

    @property
    def needs(self) -> Needs:
        return "replay" if self.watches else "experiment"

    def check(self, before: History, after: View, evidence: Evidence) -> list[Violation]:
        """Return what one request breaks of this; nothing is kept between calls.

        Raises:
            ValueError: it takes an experiment.
        """
        if not self.watches:
            raise ValueError(f"{self.name} cannot be decided without an experiment")
        if self.unmet(evidence.promises) is not None:
            return []
        found = look(self.watches, before, after, evidence)
        return [item for item in found if item.rule == self.name]

    def unmet(self, promises: Promises) -> str | None:
        """Return why this is not applicable to a strategy that promises that, or None."""
        for need in self.promises:
            if need.startswith("not "):
                name = need.removeprefix("not ")
                if _is_set(promises, name):
                    return f"{name} is declared"
            elif not any(_is_set(promises, name) for name in need.split(" or ")):
                return f"{need} is not promised"
        return None


def _is_set(promises: Promises, name: str) -> bool:
    if name == "rewriting":
        return promises.mode == "rewriting"
    value = getattr(promises, name)
    return value is not None and value is not False and value != ()
