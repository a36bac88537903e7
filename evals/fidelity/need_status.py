"""What became of each need under a strategy: visible, restated, recoverable, mentioned or lost.

Looks again only at the entries that changed since the request before; a recoverable need is one
whose reference was found in what the compactor gave back for a handle, never assumed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final, Literal

from compaction.strategy import Promises
from evals.extraction.quotes import holds_quote
from evals.extraction.references import extract_references, matches
from evals.fidelity.fates import FateTracker
from evals.fidelity.shown import Shown
from evals.needs import Need, NeedKind, NeedSet
from evals.replay import Growth, Step

Status = Literal[
    "visible_source", "restated", "recoverable", "mentioned", "regenerable", "undeclared", "lost"
]
"""From best to worst; a need has the best that applies."""
REACHED: Final = frozenset({"visible_source", "restated", "recoverable"})


@dataclass(frozen=True, slots=True)
class NeedSummary:
    """Columns of a row; see `evals.results.Row`."""

    reach: float | None
    reach_all_gaps: float | None
    needs: int
    needs_all_gaps: int
    requests_with_needs: int
    visible_source: int
    restated: int
    mentioned: int
    recoverable: int
    regenerable: int
    lost: int
    undeclared: int
    quote_needs: int
    quote_kept_fraction: float | None
    derived_quote_needs: int
    derived_quote_kept_fraction: float | None
    pinned_needs: int
    pinned_kept_fraction: float | None
    derived_needs: int
    reread_needs: int
    unresolvable_needs: int
    stale_visible: int
    placebo: str | None
    placebo_fraction: float | None


class NeedScorer:
    """Judges the needs of one cell, request by request."""

    def __init__(
        self,
        needs: NeedSet,
        promises: Promises,
        *,
        is_declared: bool = True,
        first_messages: Mapping[int, int] | None = None,
        with_values: bool = False,
    ) -> None:
        """Start at the first request.

        Args:
            needs: Of the transcript.
            promises: Of the strategy.
            is_declared: Whether the strategy says if it is recoverable. If not, what is not visible
                is `undeclared` and not `lost`.
            first_messages: Request index -> index of the first message of its segment. If given,
                each row of `details` also names the message that brought it last.
            with_values: Put the needed text into `details`.
        """
        self._needs = needs
        self._first_messages = first_messages
        self._with_values = with_values
        self._is_declared = is_declared
        self._recoverable = promises.recoverable
        self._segment = -1
        self._shown = Shown(needs)
        self._judged: list[tuple[Need, Status]] = []
        self._stale = 0

    def see(self, step: Step, fates: FateTracker | None = None) -> None:
        """Judge the needs of a request; fates are not looked at."""
        if step.request.segment != self._segment:
            self._segment = step.request.segment
            self._shown = Shown(self._needs)
        needs = self._needs.by_request.get(step.request.index, ())
        if step.grew and not needs:
            return
        self._shown.exchange(step.view.entries, step.unchanged)
        for need in needs:
            status = self._status(need, step)
            self._judged.append((need, status))
            if status == "visible_source" and need.is_long and need.reference is not None:
                self._stale += self._shown.is_stale(need, need.reference, step.history)

    def grow(self, growth: Growth, fates: FateTracker) -> None:
        for step in growth.at(self._needs.by_request):
            self.see(step)

    @property
    def judged(self) -> Sequence[tuple[Need, Status]]:
        """Return what became of each need so far, in the order of the requests."""
        return self._judged

    def summary(self) -> NeedSummary:
        headline = [(need, status) for need, status in self._judged if need.kind == "need"]
        long = [(need, status) for need, status in headline if need.is_long]
        count = Counter(status for _, status in long)
        kinds = Counter(need.kind for need, _ in self._judged)
        pinned = [status for need, status in self._judged if need.kind == "pinned"]
        return NeedSummary(
            reach=_macro_reach(long),
            reach_all_gaps=_macro_reach(headline),
            needs=len(long),
            needs_all_gaps=len(headline),
            requests_with_needs=len({need.request for need, _ in long}),
            visible_source=count["visible_source"],
            restated=count["restated"],
            mentioned=count["mentioned"],
            recoverable=count["recoverable"],
            regenerable=count["regenerable"],
            lost=count["lost"],
            undeclared=count["undeclared"],
            quote_needs=kinds["quote"],
            quote_kept_fraction=self._quotes_kept("quote"),
            derived_quote_needs=kinds["derived_quote"],
            derived_quote_kept_fraction=self._quotes_kept("derived_quote"),
            pinned_needs=kinds["pinned"],
            pinned_kept_fraction=_share(status in {*REACHED, "mentioned"} for status in pinned),
            derived_needs=kinds["derived"],
            reread_needs=kinds["reread"],
            unresolvable_needs=len(self._needs.unresolvable),
            stale_visible=self._stale,
            placebo=self._needs.placebo,
            placebo_fraction=self._needs.placebo_fraction,
        )

    def _quotes_kept(self, kind: NeedKind) -> float | None:
        """Return the share of quotes whose bytes are in the view, over all gaps."""
        statuses = (status for need, status in self._judged if need.kind == kind)
        return _share(status in ("visible_source", "restated") for status in statuses)

    def columns(self) -> dict[str, Any]:
        return asdict(self.summary())

    def sections(self) -> dict[str, Any]:
        return {"needs": self.details()}

    def details(self) -> dict[str, Any]:
        """Return a row per need."""
        first_messages = self._first_messages
        columns = ["digest", "class", "kind", "request", "gap", "status"]
        columns += ["source"] if first_messages is not None else []
        columns += ["value"] if self._with_values else []
        rows: list[list[Any]] = []
        for need, status in self._judged:
            row = [need.digest, need.class_name, need.kind, need.request, need.gap, status]
            if first_messages is not None:
                row.append(max((*need.sources, *need.others)) + first_messages[need.request])
            row += [need.value] if self._with_values else []
            rows.append(row)
        return {
            "columns": columns,
            "rows": rows,
            "placebo_by_class": self._needs.placebo_by_class,
        }

    def _status(self, need: Need, step: Step) -> Status:
        if need.reference is None:
            return self._quote_status(need, step)
        visible = self._shown.best(need, need.reference, step.history)
        if visible in ("visible_source", "restated"):
            return visible
        if self._is_recoverable(need, step):
            return "recoverable"
        if visible is not None:
            return visible
        if self._shown.can_repeat(need, step.history):
            return "regenerable"
        return "lost" if self._is_declared else "undeclared"

    def _quote_status(self, need: Need, step: Step) -> Status:
        holders = (*need.sources, *need.others)
        if any(self._shown.is_whole(at) for at in holders):
            return "visible_source"
        edited = (self._shown.edited_text(at) for at in holders)
        if any(text is not None and holds_quote(need.value, text) for text in edited):
            return "visible_source"
        if self._shown.writes_quote(need.value):
            return "restated"
        if self._is_recoverable(need, step):
            return "recoverable"
        return "lost" if self._is_declared else "undeclared"

    def _is_recoverable(self, need: Need, step: Step) -> bool:
        """Read the store behind the handles of the sources that the view names."""
        if not self._recoverable:
            return False
        for at in need.sources:
            handle = self._shown.handle_of(at)
            text = step.compactor.recover(handle) if handle is not None else None
            if text is not None and _holds(need, text):
                return True
        return False


def _holds(need: Need, text: str) -> bool:
    if need.reference is None:
        return holds_quote(need.value, text)
    return matches(need.reference, text, extract_references(text))


def _macro_reach(judged: Iterable[tuple[Need, Status]]) -> float | None:
    """Mean over requests of the share of their needs that are reached."""
    by_request: defaultdict[int, list[bool]] = defaultdict(list)
    for need, status in judged:
        by_request[need.request].append(status in REACHED)
    return fmean(fmean(reached) for reached in by_request.values()) if by_request else None


def _share(kept: Iterable[bool]) -> float | None:
    values = list(kept)
    return fmean(values) if values else None
