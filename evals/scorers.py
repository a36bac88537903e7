"""What a family of numbers looks like: it sees every step of a cell, then gives its columns.

A new metric is one class here or in a file of its own, one line in `evals.scoring.scorers_of`, its
columns in `evals.results.Row` and their definitions in `evals.metrics`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from compaction.strategy import Strategy
from evals.extraction.statements import Statements
from evals.facts import FactSet
from evals.fidelity.fates import FateTracker
from evals.fidelity.oracle_curve import Oracle
from evals.foreign import ForeignStrategy
from evals.money.pricing import Pricing
from evals.needs import NeedSet
from evals.prepare import Prepared
from evals.probing.action_score import Actor
from evals.probing.probe_score import Reader
from evals.replay import Growth, Step


@dataclass(frozen=True)
class Material:
    """A transcript with everything that all settings share."""

    prepared: Prepared
    needs: NeedSet
    facts: FactSet
    pricing: Pricing | None = None
    """None: nothing is priced."""
    reader: Reader | None = None
    """None: no questions are asked of a model."""
    actor: Actor | None = None

    @cached_property
    def oracle(self) -> Oracle:
        return Oracle(self.prepared, self.needs)

    @cached_property
    def statements(self) -> tuple[Statements, ...]:
        """Return what must survive of each segment."""
        return tuple(map(Statements, self.prepared.segments))


@dataclass(frozen=True)
class Cell:
    """What a scorer may know before the first step."""

    material: Material
    strategy: Strategy
    show_text: bool = False
    """Write conversation text into the sidecar, not digests."""

    @property
    def is_foreign(self) -> bool:
        return isinstance(self.strategy, ForeignStrategy)

    @cached_property
    def first_messages(self) -> Mapping[int, int]:
        """Request index -> index in the transcript of the first message of its segment."""
        return {
            request.index: segment.first_message
            for segment in self.material.prepared.segments
            for request in segment.requests
        }


class Scorer(Protocol):
    """One family of numbers of one cell."""

    def see(self, step: Step, fates: FateTracker) -> None:
        """Take in one request; `fates` already knows the step's view."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """Return columns of `evals.results.Row`."""
        ...

    def sections(self) -> Mapping[str, Any]:
        """Return what the cell's sidecar holds of it: JSON by top-level key."""
        ...


@runtime_checkable
class GrowthScorer(Scorer, Protocol):
    """One that need not see every request at which a view only grew."""

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        """Take in requests in a row; `fates` already knows the view of the last one."""
        ...
