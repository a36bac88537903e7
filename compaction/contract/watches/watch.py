"""What a watch is, and what it is told of a request."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from compaction.contract.faults import Violation
from compaction.contract.providers import OPENAI_CHAT, Profile
from compaction.contract.standing import Standing
from compaction.history import History, View
from compaction.strategy import Promises


class Before(NamedTuple):
    """The request before the one that is judged."""

    history: History
    view: View
    tokens_before: float | None = None
    tokens_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a request beside its history and its view.

    Where something is None, the invariants that need it say nothing.
    """

    promises: Promises = field(default_factory=Promises)
    profile: Profile = OPENAI_CHAT
    """Whose rules `roles_stay_legal` asks for."""
    twin: View | None = None
    """What a second compactor returned that was started and fed the same."""
    tokens_before: float | None = None
    """Size of the history, in any one unit."""
    tokens_after: float | None = None
    """Size of the view."""
    recover: Callable[[str], str | None] | None = None
    """Gives the original behind a handle."""
    previous: Before | None = None
    """Needed for a look at one request alone; who follows a conversation has seen it."""


class Watch(Protocol):
    """Says what is broken at each request of one conversation, in order."""

    def see(
        self, standing: Standing, evidence: Evidence, found: Sequence[Violation]
    ) -> Iterable[Violation]:
        """Look at the next request; `found` is what the watches before this one say of it."""
        ...


Watches = tuple[Callable[[], Watch], ...]


class Watching:
    """Watches at work on one conversation, each told what those before it found."""

    def __init__(self, watches: Iterable[Callable[[], Watch]]) -> None:
        self._standing = Standing()
        self._watches = [make() for make in watches]

    def see(
        self, history: History, view: View, evidence: Evidence, *, unchanged: int | None = None
    ) -> list[Violation]:
        self._standing.move(history, view, unchanged=unchanged)
        found: list[Violation] = []
        for watch in self._watches:
            found += watch.see(self._standing, evidence, found)
        return found


def look(watches: Watches, history: History, view: View, evidence: Evidence) -> list[Violation]:
    """Let new watches see one request, after the one before it if that is known."""
    watching, before = Watching(watches), evidence.previous
    if before is not None:
        told = replace(
            evidence,
            twin=None,
            tokens_before=before.tokens_before,
            tokens_after=before.tokens_after,
            previous=None,
        )
        watching.see(before.history, before.view, told)
    return watching.see(history, view, evidence)
