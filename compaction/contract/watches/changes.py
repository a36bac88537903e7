"""What changed since the request before, what it gained, and whether it was told (I11-I20)."""

from collections.abc import Iterator, Sequence

from compaction.contract.faults import Violation, violation
from compaction.contract.standing import Standing
from compaction.contract.watches.watch import Evidence
from compaction.history import View, common_prefix


class SizeWatch:
    """Compares sizes: of the view with the history, and with what would have been sent."""

    def __init__(self) -> None:
        self._before: tuple[float, float] | None = None
        """Sizes of the history and of the view at the request before."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        before, after = evidence.tokens_before, evidence.tokens_after
        if before is None or after is None:
            self._before = None
            return
        if after > before:
            yield violation("never_grows", -1, f"{after:.0f} tokens stand for {before:.0f}")
        earlier, self._before = self._before, (before, after)
        changed_at = standing.changed_at
        if earlier is None or changed_at is None:
            return
        reclaimed = earlier[1] + (before - earlier[0]) - after
        if reclaimed < max(1, evidence.promises.min_reclaim_tokens or 0):
            text = (
                f"what was sent before changes here, which makes the view {reclaimed:.0f} smaller"
            )
            position = changed_at if changed_at < len(standing.view) else -1
            yield violation("prefix_is_stable", position, text)


class TellingWatch:
    """Compares what left the view, and what of it changed, with what the events tell."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        if standing.requests == 1:
            return
        shown = standing.shown
        missing = {at for at in (*standing.moved, *standing.learned) if at not in shown}
        changed_at = standing.changed_at
        if changed_at is None and not missing:
            return
        told = [event for event in standing.view.events if event.outcome == "applied"]
        removed = sum(event.messages_removed for event in told)
        if not told:
            position, concerns = changed_at, min(missing, default=None)
            text = "what was sent before changes or goes, and no event tells of a pass"
        elif removed < len(missing):
            position, concerns = None, min(missing)
            text = f"{len(missing)} messages left the view, the events tell of {removed}"
        else:
            return
        if position is None or position >= len(standing.view):
            position = -1
        yield violation("changes_are_told", position, text, concerns=concerns)


class TwinWatch:
    """Compares with the view of a second compactor, from the first entry on that may differ."""

    def __init__(self) -> None:
        self._twin = View(())
        self._agreed = 0
        """Leading entries in which the view and its twin were equal at the request before."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterator[Violation]:
        view, twin = standing.view, evidence.twin
        if twin is None or not evidence.promises.deterministic:
            self._agreed = 0
            return
        start = min(standing.same, twin.same_as(self._twin), self._agreed)
        self._twin = twin
        equal = start + common_prefix(view.entries[start:], twin.entries[start:])
        self._agreed = equal
        if equal < max(len(view), len(twin)):
            text = "a second run of the same conversation differs here"
            yield violation("is_deterministic", equal, text)
