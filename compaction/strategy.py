"""The contracts between whoever runs a conversation and whoever compacts it.

A `Strategy` is an immutable recipe; `start` makes a `Compactor` for one conversation, which turns
the history into the view before each request. Neither does I/O: see `compaction.llm`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import inf
from typing import Any, Literal, Protocol, runtime_checkable

from compaction.history import History, Measure, View
from compaction.llm import ModelCall, ModelReply, Steps, Usage
from compaction.messages import Json
from compaction.store import MemoryStore, Store

Mode = Literal["rewriting", "viewing"]
"""`rewriting` keeps what it produced and appends to it; `viewing` recomputes from the history."""
Outcome = Literal["applied", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Promises:
    """What a strategy says of every view it returns. None or False means: not promised."""

    mode: Mode = "rewriting"
    keeps_system: bool = False
    """Instruction messages of the history stand unchanged at the front of the view."""
    keeps_last_user: bool = False
    """The latest user message of the history is in the view, unchanged."""
    keep_last_results: int | None = None
    """So many of the latest tool results are in the view, unchanged."""
    recoverable: bool = False
    """Every handle that a view names gives back the original."""
    deterministic: bool = True
    """The same history and the same model replies give the same views."""
    grows: bool = False
    """A view may have more tokens than the history it stands for."""
    keeps_open_calls: bool = False
    """Calls at the end of the history that are not answered yet are in the view, unchanged."""
    accounts_for_all: bool = False
    """Whatever leaves the view was read by the model that summarised it, or has a handle."""
    idempotent: bool = True
    """Asked again for the same request, it returns the same view."""
    raises_roles: bool = False
    """A summary of the conversation may stand in an instruction message."""
    undoable: bool = False
    """The compactor has `undo() -> View`, which returns what was sent before its last pass."""
    min_reclaim_tokens: int | None = None
    """What was sent before changes only if the view becomes smaller by at least this."""
    target_tokens: int | None = None
    """A pass ends at or below this, by the context's counter, or its event says why not."""
    max_model_input_chars: int | None = None
    """Upper limit of the text of each model call."""
    counts_within_fraction: float | None = None
    """How far the sizes in events may be from those of the context's counter."""
    monotone_parameters: tuple[str, ...] = ()
    """Parameters of which a larger value keeps at least as much of every view."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is known when the view for a model call is asked for."""

    index: int
    """Counts the conversation's model calls from 0."""
    time: float | None = None
    """Unix seconds, or None where the log has no times."""
    model: str | None = None
    window_tokens: int | None = None
    tools: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What a compactor is given once, at the start of its conversation."""

    counter: Measure
    """For strategies that have no counter of their own."""
    store: Store = field(default_factory=MemoryStore)
    """Belongs to this conversation alone."""
    seed: int = 0
    deadline: float | None = None
    """`time.monotonic()` value after which the result is not waited for."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One model call that a compactor made."""

    purpose: str
    usage: Usage | None
    model: str | None
    seconds: float

    @classmethod
    def of(cls, call: ModelCall, reply: ModelReply) -> "CallRecord":
        return cls(call.purpose, reply.usage, reply.model, reply.seconds)


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """One thing a compactor did, or tried to do, while it made a view.

    Tokens are by the strategy's deciding counter, in its unit.
    """

    tier: str
    outcome: Outcome
    trigger: str = ""
    """Why the tier ran: `tokens 1200 > 1000`, `manual`, `always`."""
    reason: str = ""
    """Why it was skipped or failed; empty when it was applied."""
    tokens_before: int | None = None
    tokens_after: int | None = None
    messages_edited: int = 0
    messages_removed: int = 0
    handles: tuple[str, ...] = ()
    """Handles created, in the order of the view."""
    model_calls: tuple[CallRecord, ...] = ()


class Compactor(Protocol):
    """A strategy started for one conversation."""

    def steps(self, history: History, request: Request) -> Steps[View]:
        """Yield model calls if any are needed and return the view for this request.

        `history` is at least as long as at the call before. `ModelError` may be thrown in at a
        yield; the view returned then is what the free tiers made, with an event that says so.
        """
        ...

    def record_usage(self, usage: Usage) -> None:
        """Learn what the provider counted for the view just returned."""
        ...

    def recover(self, handle: str) -> str | None:
        """Return the original text behind a handle named in a view, or None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long views do nothing but grow: each is the one before and what was said since.

    There is no event and no model call until the first request that a limit is broken for, or that
    brings a result of a call from before this was said.
    """

    said: Measure | None = None
    max_said: int = 0
    """Largest size, by `said`, of what is said from now on. Without a measure there is no limit."""
    max_usage_tokens: float = inf
    """Largest total that may be recorded for the request before."""


@runtime_checkable
class Patient(Protocol):
    """A compactor that knows how long it waits, and need not be asked as long as it does.

    Of the usage in between it need not be told more than the latest.
    """

    def waiting(self) -> Waiting | None:
        """Return None if it does not know, or if it may do something at the next request."""
        ...


class Strategy(Protocol):
    """An immutable recipe. Its parameters are the fields of the dataclass that implements it."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def promises(self) -> Promises: ...

    def start(self, context: Context) -> Compactor: ...


class Tier(Protocol):
    """How to shrink: one pure pass over a view, applied unconditionally.

    `settled(view)` is the number of leading entries whose outcome stays the same however many
    entries follow. A tier whose settled part is edited entry by entry can then be applied to the
    rest alone, which makes a growing conversation cheap; 0 is always right.
    """

    @property
    def name(self) -> str: ...

    def apply(self, view: View, context: Context) -> View: ...

    def settled(self, view: View) -> int: ...


class ModelTier(Protocol):
    """A tier that needs a model."""

    @property
    def name(self) -> str: ...

    def steps(self, view: View, context: Context, *, focus: str | None = None) -> Steps[View]:
        """Return the view after at most one model call; `focus` is what to give most room to."""
        ...


def parameters_of(strategy: object) -> Mapping[str, Any]:
    """Return parameter name -> value; a strategy that is no dataclass has none."""
    if not is_dataclass(strategy) or isinstance(strategy, type):
        return {}
    return {item.name: getattr(strategy, item.name) for item in fields(strategy)}
