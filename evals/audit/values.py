"""What an audit found, as plain values: one session, one recorded compaction, one contestant.

Counts unless a name says otherwise. Tokens are counted by the measuring counter, so that a recorded
view and the strategies beside it are comparable; those of re-acquisition are what the provider
would have reported, because they are priced.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evals.audit.reacquisition import Kind
from evals.audit.would_fire import FirstFire

Outcome = Literal["kept", "named", "read_again", "lost", "unseen"]
"""Of a need under the recorded compaction. Kept: in what was sent after it, with its line or
restated. Named: only mentioned there. Read again: neither, but brought once more before it was
used. Lost: neither, and used although nothing that was sent held it. Unseen: nobody can say: the
summary cannot be read, or more was sent than the log holds, and it was not read again."""


@dataclass(frozen=True, slots=True)
class NeedLine:
    """One need and what became of it."""

    name: str
    """The reference itself if text is shown, else its digest."""
    class_name: str
    after_requests: int
    """Requests from the boundary to its first use, that one included."""
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class NeedCounts:
    """Needs of one kind by outcome, which add up; what is not kept, named or unseen was gone."""

    asked: int = 0
    kept: int = 0
    named: int = 0
    read_again: int = 0
    lost: int = 0
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Reacquired:
    """What forgetting cost: see `evals.audit.reacquisition`. Lower is better."""

    calls: int
    by_kind: Mapping[Kind, int]
    tokens: float
    """Of the lines that were known, as the provider would have counted them."""
    usd: float
    """Whole requests that did nothing else (prompt read from the cache, answer, results), and what
    the others wrote and got for it. That results are sent again later is not in it."""
    requests: int
    """Requests with at least one such call."""
    requests_only: int
    """Requests all of whose calls were such."""
    names: tuple[str, ...] = ()
    """The subjects if text is shown."""


@dataclass(frozen=True, slots=True)
class Survived:
    """What else a view still holds; see `evals.fidelity.survival` and `evals.fidelity.written`."""

    constraints: int
    constraints_kept: int
    tasks: int
    tasks_kept: int
    tasks_ticked: int
    files: int
    files_stale: int
    files_lost: int
    written_references: int
    unsupported: int
    """References of written texts that stand nowhere before the boundary: invented."""
    drifted: int
    """Of these, key=value pairs whose key has other values only."""
    invented: tuple[tuple[str, str], ...] = ()
    """(name or digest, class) of the unsupported ones."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A strategy at the boundary."""

    label: str
    was_set: Mapping[str, str]
    is_control: bool
    tokens: int = 0
    is_within_budget: bool = True
    asked: int = 0
    reached: int = 0
    """With their line, restated, or verified in the store."""
    recoverable: int = 0
    """Of these, only in the store: each costs a request to get back."""
    named: int = 0
    lost: int = 0
    undeclared: int = 0
    """Not visible, and the strategy does not say whether it can be read back."""
    missing_reached: int = 0
    """Of the needs that the recorded compaction had neither kept nor named."""
    held: int = 0
    """Needs that a message sent unchanged had brought or names, by its place alone."""
    is_selection: bool = False
    """Whether all that is sent are messages of the history, unchanged."""
    is_repeatable: bool | None = None
    """Whether it sent and reached the same when asked once more; None: not asked again."""
    survived: Survived | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Chance:
    """Different references of the needs, and how many an unrelated text of equal size holds."""

    source: str
    """Where that text is from."""
    asked: Mapping[str, int]
    """By class."""
    found: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Clearing:
    """The fewest newest tool results to keep whole so that nothing that was missing is missing."""

    keep_last_results: int
    results: int
    """Of the history."""
    tokens: int


@dataclass(frozen=True, slots=True)
class BoundaryAudit:
    """One recorded compaction."""

    number: int
    kind: Literal["full", "micro"]
    trigger: str | None
    before_request: int
    """The first request after it, counted from 0 in the transcript, as everywhere."""
    requests_after: int
    """Until the next boundary or the end."""
    history_tokens: int
    view_tokens: int
    """What the first request after it was sent, counted, and what the log does not hold of it: the
    budget of the contestants."""
    fixed_tokens: int
    """Of these, instructions and what came after the boundary: sent in any case."""
    unlogged_tokens: int
    """Sent, as the provider reported, and not in the log."""
    is_readable: bool
    """False if the log has no text of the summary."""
    needs: NeedCounts
    needs_by_kind: Mapping[str, NeedCounts]
    """Kinds that do not count in the headline: pinned, derived, quote, derived_quote."""
    gone_before: int
    """Needs whose origin lies before an earlier boundary: nobody could have kept them here."""
    lines: tuple[NeedLine, ...]
    survived: Survived
    reacquired: Reacquired
    contestants: tuple[Contestant, ...]
    best_possible_fraction: float | None
    """Share of the needs that whole messages of this size can reach: an upper bound."""
    clearing: Clearing | None
    chance: Chance | None = None
    is_text_shown: bool = False
    """Whether names are references themselves and not digests."""

    @property
    def missing(self) -> tuple[NeedLine, ...]:
        """Return the needs that were gone: neither kept nor named, as far as can be judged."""
        return tuple(line for line in self.lines if line.outcome in ("read_again", "lost"))


@dataclass(frozen=True, slots=True)
class Unused:
    """A recorded compaction about which nothing can be asked."""

    segment: int
    kind: str
    tokens_before: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SessionAudit:
    """One transcript."""

    transcript: str
    source: str
    format: str
    requests: int
    peak_tokens: int
    """Largest input, as the provider would have counted it."""
    priced_model: str
    price_file_used: bool | None = None
    """None without a price file."""
    counted_outputs: int = 0
    """Requests whose answer was counted: the log has no number, or less than the answer holds."""
    boundaries: tuple[BoundaryAudit, ...] = ()
    unused: tuple[Unused, ...] = ()
    first_fires: tuple[FirstFire, ...] = ()
    """Of the default strategies, if nothing was compacted."""
    error: str | None = None
    session: str | None = None
    """The agent's own name for it: several files may be of one session."""

    @property
    def identity(self) -> str:
        return self.session or f"{self.source}#{self.transcript}"

    @property
    def conversation(self) -> tuple[str, str]:
        """Name it: a session may have several, of agents below its first and of rewinds."""
        return (self.identity, self.transcript)

    @property
    def is_compacted(self) -> bool:
        return bool(self.boundaries or self.unused)


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything."""

    sessions: tuple[SessionAudit, ...]
    show_text: bool
    refused: tuple[str, ...] = ()
    passed_over: int = 0
    noted: tuple[str, ...] = ()
    command: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
