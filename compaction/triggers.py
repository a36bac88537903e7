"""When to compact. A trigger looks at a `Situation` and says why it fires, or nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from compaction.errors import StrategyError
from compaction.history import Measure, View
from compaction.messages import Message
from compaction.strategy import Request
from compaction.tokens import CharCounter

CountKind = Literal["messages", "results", "turns"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a trigger may look at."""

    view: View
    request: Request
    tokens: int
    """Of the view, by the deciding counter, anchored on usage if the strategy does that."""
    total: Callable[[Measure], int]
    """The view's size by another measure, kept as a running total."""
    idle_seconds: float | None = None
    """Time since the request before; None where the log has no times."""
    forced: bool = False
    """Somebody asked for a compaction."""


class Trigger(Protocol):
    def fires(self, situation: Situation) -> str | None:
        """Return why it fires, for the event, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Always:
    """Fires before every request."""

    def fires(self, situation: Situation) -> str | None:
        return "always"


@dataclass(frozen=True, slots=True)
class Manual:
    """Fires when a compaction was asked for."""

    def fires(self, situation: Situation) -> str | None:
        return "manual" if situation.forced else None


@dataclass(frozen=True, slots=True)
class Tokens:
    """Fires above so many tokens."""

    trigger_tokens: int

    def __post_init__(self) -> None:
        _at_least("trigger_tokens", self.trigger_tokens, 0)

    def fires(self, situation: Situation) -> str | None:
        return _above("tokens", situation.tokens, self.trigger_tokens)


@dataclass(frozen=True, slots=True)
class Share:
    """Fires above a fraction of the model's window.

    Raises:
        StrategyError: when asked, if the request does not know its window.
    """

    trigger_fraction: float

    def __post_init__(self) -> None:
        if not 0 < self.trigger_fraction <= 1:
            raise ValueError(f"trigger_fraction must be in (0, 1], got {self.trigger_fraction}")

    def fires(self, situation: Situation) -> str | None:
        limit = int(self.trigger_fraction * _window_tokens(situation, "Share"))
        return _above("tokens", situation.tokens, limit)


@dataclass(frozen=True, slots=True)
class Reserve:
    """Fires when fewer than so many tokens of the model's window are left.

    Raises:
        StrategyError: when asked, if the request does not know its window.
    """

    reserve_tokens: int

    def __post_init__(self) -> None:
        _at_least("reserve_tokens", self.reserve_tokens, 0)

    def fires(self, situation: Situation) -> str | None:
        limit = max(0, _window_tokens(situation, "Reserve") - self.reserve_tokens)
        return _above("tokens", situation.tokens, limit)


@dataclass(frozen=True, slots=True)
class Count:
    """Fires above so many messages, tool results or turns in the view."""

    max_count: int
    kind: CountKind = "messages"

    def __post_init__(self) -> None:
        _at_least("max_count", self.max_count, 0)

    def fires(self, situation: Situation) -> str | None:
        return _above(self.kind, situation.total(_Occurrences(self.kind)), self.max_count)


@dataclass(frozen=True, slots=True)
class Chars:
    """Fires above so many characters of text, reasoning and calls, or by another measure."""

    max_chars: int
    measure: Measure = field(default_factory=CharCounter)

    def __post_init__(self) -> None:
        _at_least("max_chars", self.max_chars, 0)

    def fires(self, situation: Situation) -> str | None:
        return _above(self.measure.name, situation.total(self.measure), self.max_chars)


@dataclass(frozen=True, slots=True)
class Idle:
    """Fires when the conversation has rested, so that no prompt cache is left to lose."""

    min_seconds: float

    def __post_init__(self) -> None:
        _at_least("min_seconds", self.min_seconds, 0)

    def fires(self, situation: Situation) -> str | None:
        idle = situation.idle_seconds
        if idle is None or idle < self.min_seconds:
            return None
        return f"idle {idle:g} s >= {self.min_seconds:g} s"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Fires for the first of several reasons."""

    triggers: tuple[Trigger, ...]

    def fires(self, situation: Situation) -> str | None:
        reasons = (trigger.fires(situation) for trigger in self.triggers)
        return next((reason for reason in reasons if reason is not None), None)


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """Measures a message as 1 if it is of a kind, else 0."""

    kind: CountKind

    @property
    def name(self) -> str:
        return f"count of {self.kind}"

    def count(self, message: Message) -> int:
        if self.kind == "results":
            return int(message.is_result)
        return int(self.kind == "messages" or message.role == "user")


def _above(what: str, value: int, limit: int) -> str | None:
    return f"{what} {value} > {limit}" if value > limit else None


def _window_tokens(situation: Situation, trigger: str) -> int:
    window = situation.request.window_tokens
    if window is None:
        raise StrategyError(f"trigger {trigger} needs the model's window; set window_tokens")
    return window


def _at_least(parameter: str, value: float, limit: float) -> None:
    if value < limit:
        raise ValueError(f"{parameter} must be >= {limit}, got {value}")
