"""The one flat record of a cell: every column of a results table, with its meaning."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Final, Literal

from compaction.messages import Json

ROW_VERSION: Final = 1
"""Raised when a column changes its meaning; older rows are then stale."""

Status = Literal["ok", "error", "unrecorded"]
"""`unrecorded`: a model's answer is needed that was never recorded; nothing failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One cell: one transcript under one setting. None means: not measured or not defined.

    Every `*_tokens` is by the measuring counter, calibrated to the recorded usage where there is
    any; counts are plain numbers; `reach` and every `*_fraction` lie between 0 and 1, but savings
    are below 0 where nothing was saved, and errors have no upper limit.
    """

    # What was run.
    cell_id: str
    transcript: str
    transcript_digest: str
    source: str
    format: str
    provenance: str
    cluster: str
    """The session; sub-agents and forks of one session are one observation."""
    strategy: str
    strategy_version: str
    parameters: Mapping[str, str]
    """What the user set, as written (`token_threshold: 50%`)."""
    resolved: Mapping[str, Any]
    """Every parameter with the value it had in this cell."""
    label: str
    """Strategy and set parameters in one short text; equal for equal settings."""
    is_control: bool = False
    replicate: int = 0
    project: str | None = None
    """Working folder or name, as the transcript has it; None in rows that an older program wrote
    too."""
    row_version: int = ROW_VERSION

    # How it went.
    status: Status = "ok"
    error: str | None = None
    """One line: what failed, at which request."""
    seconds: float = 0.0

    # The transcript.
    messages: int = 0
    requests: int = 0
    segments: int = 0
    calibration_slope: float | None = None
    calibration_offset_tokens: float | None = None
    calibration_error_fraction: float | None = None
    """Median absolute error on held-out requests; None where no usage was recorded."""
    fixed_tokens: float | None = None
    """As counted, in every request beside its messages: recorded tool schemas and framing."""
    estimate_per_counted_token: float | None = None
    """Of the largest input: tokens as `EstimatingCounter` has them, by counted tokens."""

    # What it saves.
    engaged: bool = False
    input_tokens_before: float | None = None
    input_tokens_after: float | None = None
    saving_fraction: float | None = None
    peak_tokens_before: float | None = None
    peak_tokens_after: float | None = None
    compactions: int = 0
    compactions_failed: int = 0
    first_failure: str | None = None
    """Why the first of them failed."""
    model_calls: int = 0
    summary_model: str | None = None
    """Who answered them, as the answers say; nothing is known of other models."""
    model_input_tokens: int | None = None
    model_output_tokens: int | None = None

    # What it costs, by the provider's rules for cached prompts, from an empty cache on.
    priced_model: str | None = None
    """As the price list or the price file names it."""
    price_basis: str | None = None
    """`given`, `file`, `recorded` (the transcript's own model) or `default`."""
    price_file_used: bool | None = None
    """None without a price file."""
    caching_rule: str | None = None
    recorded_usd: float | None = None
    """The recorded usage at the same prices, or the log's own costs if its usage does not tell what
    was cached; None without either, or if another model is priced."""
    bill_error_fraction: float | None = None
    """Of the simulated bill of those requests, without compaction; signed."""
    bill_rule_error_fraction: float | None = None
    """The same if the record of the cache is not looked at."""
    bill_shown_error_fraction: float | None = None
    """The same of `cost_before_usd`: from an empty cache on, at the prices of one model."""
    bill_lost_fraction: float | None = None
    """Of the recorded dollars: what it cost that cached prompts were lost within their lifetime."""
    bill_requests: int | None = None
    """Requests of which the log tells what they cost."""
    bill_covered_fraction: float | None = None
    """Their share of the simulated dollars of all requests."""
    counted_outputs: int | None = None
    """Requests whose answer was counted: the log has no number, or less than the answer holds."""
    cost_before_usd: float | None = None
    cost_after_usd: float | None = None
    """With the strategy's own model calls."""
    saved_usd: float | None = None
    """If nothing is fetched again."""
    saved_usd_fraction: float | None = None
    cost_before_by_rule_usd: float | None = None
    saved_by_rule_usd: float | None = None
    """Without what the log says of its cache."""
    net_saved_usd_p50: float | None = None
    """If half of what is needed and not shown is fetched again."""
    net_saved_usd_p100: float | None = None
    retrievals: int | None = None
    """How many requests it takes to fetch all of that."""
    own_calls_usd: float | None = None
    own_input_tokens: float | None = None
    """Of the strategy's own model calls: as reported, else as counted."""
    own_output_tokens: float | None = None
    cache_hit_fraction_before: float | None = None
    cache_hit_fraction: float | None = None
    cache_breaks: int | None = None
    rewritten_tokens: float | None = None
    removed_tokens: float | None = None
    """By each compaction once; a saving counts them at every request from then on."""
    break_even_requests: float | None = None
    """Median over compactions; None without any, or if that one is never repaid."""
    repaid_fraction: float | None = None
    retriggered_fraction: float | None = None
    """Of compactions, those that the next request compacts again."""
    absorbed_requests: float | None = None
    """Per 1,000 removed tokens."""
    best_trigger_tokens: float | None = None

    # What it loses: needs over long gaps; quotes, pinned, derived and reread ones over all gaps.
    reach: float | None = None
    """Headline: source, restated or recoverable; macro over requests."""
    reach_all_gaps: float | None = None
    needs: int = 0
    needs_all_gaps: int = 0
    requests_with_needs: int = 0
    visible_source: int = 0
    restated: int = 0
    mentioned: int = 0
    recoverable: int = 0
    regenerable: int = 0
    lost: int = 0
    undeclared: int = 0
    """Neither visible nor declared recoverable, in a strategy that declares nothing about it."""
    quote_needs: int = 0
    quote_kept_fraction: float | None = None
    derived_quote_needs: int = 0
    """Quotes of what the assistant itself had written."""
    derived_quote_kept_fraction: float | None = None
    pinned_needs: int = 0
    pinned_kept_fraction: float | None = None
    derived_needs: int = 0
    reread_needs: int = 0
    """Used only to repeat a call that was made before."""
    unresolvable_needs: int = 0
    """Their source lies before a recorded compaction; over all gaps, judged nowhere."""
    stale_visible: int = 0
    """Of `visible_source`: the source is an older version of a file, and no newer one is seen."""
    placebo: str | None = None
    """Where the unrelated text is from that the placebo rate was measured on."""
    placebo_fraction: float | None = None
    """Of the distinct needed references, those that this text holds too."""

    # How well it chose.
    oracle_reach: float | None = None
    """The most that keeping whole messages could reach with the same tokens at each request."""
    oracle_is_exact: bool | None = None
    """Whether some choice of messages reaches that; otherwise it is an upper bound."""
    regret: float | None = None
    """`oracle_reach` minus `reach`; below 0 where summaries or handles reach more."""
    dead_token_fraction: float | None = None
    """Of the tokens of old tool results sent whole: those that no later request needs."""

    # What a model makes of it: recorded answers, where a run was asked for them (`--probes`).
    probe_reader: str | None = None
    """The model that was asked; the numbers say nothing about other models."""
    probes: int | None = None
    probes_unrecorded: int | None = None
    """Of `probes`: not asked in all three conditions."""
    probes_not_read: int | None = None
    """Not answered right from the uncompacted history, so not counted."""
    probes_ungraded: int | None = None
    """No answers at all, or nobody could tell whether they are right."""
    probe_fault: str | None = None
    """Why the first of these was none."""
    probes_counted: int | None = None
    probe_right_fraction: float | None = None
    probe_unknown_fraction: float | None = None
    probe_wrong_fraction: float | None = None
    probe_guessed_fraction: float | None = None
    """Answered right without any context."""
    probe_effect_retained: float | None = None
    probe_replicates: int | None = None
    """How often each counted question was asked over the view, at least."""
    probe_variance_questions: float | None = None
    probe_variance_answers: float | None = None
    """Of right (1) or not (0), between questions and between replicates of one."""
    judge_pairs: int | None = None
    judge_kappa: float | None = None
    action_model: str | None = None
    actions_asked: int | None = None
    actions_unrecorded: int | None = None
    actions_unreadable: int | None = None
    """A reply was no proposal; not in `actions_asked`."""
    action_fault: str | None = None
    """Why the first of these was none."""
    action_tool_fraction: float | None = None
    action_call_fraction: float | None = None
    action_tool_aa_fraction: float | None = None
    action_call_aa_fraction: float | None = None
    """Of the same requests, those where the model repeats its own proposal (A/A)."""
    action_tool_beyond_aa: float | None = None
    action_call_beyond_aa: float | None = None
    own_seconds: float | None = None
    """Of the strategy's own model calls, as recorded or measured."""

    # What it loses: annotated key facts.
    facts: int = 0
    facts_unverifiable: int = 0
    facts_removed: int = 0
    """Judged facts whose source no longer stands whole in the view."""
    facts_kept_fraction: float | None = None
    """Headline: kept or recoverable, of `facts_removed`."""
    facts_tail_kept_fraction: float | None = None
    """Kept, of the facts whose source still stands whole."""
    facts_kept: int = 0
    facts_recoverable: int = 0
    facts_contradicted: int = 0
    facts_stale: int = 0
    facts_lost: int = 0

    # What it loses: standing instructions, open tasks, states of files; at the last requests.
    constraints: int = 0
    """Of the user, where the message that states them no longer stands whole."""
    constraints_kept_fraction: float | None = None
    obligations: int = 0
    """Open items of the last plan, where its message no longer stands whole."""
    obligations_kept_fraction: float | None = None
    obligations_ticked: int = 0
    """Open, but listed as done by a text of the strategy; over all compactions looked at."""
    files: int = 0
    files_stale_fraction: float | None = None
    files_lost_fraction: float | None = None
    cliff_round: int | None = None
    """First compaction after which under half of constraints or needs was left."""

    # What its own texts say.
    written_references: int = 0
    unsupported_fraction: float | None = None
    drifted_pairs: int = 0

    # Whether it is safe.
    violations: int = 0
    violated: Mapping[str, int] = field(default_factory=dict)
    """Rule -> how many requests broke it."""
    not_declared: tuple[str, ...] = ()
    """Promises that the strategy says nothing about, so that nothing was checked."""

    @classmethod
    def from_json(cls, raw: Json) -> "Row":
        """Read a row; columns of a newer program are ignored.

        Raises:
            TypeError: not an object, a column is missing, or a number is something else.
        """
        if not isinstance(raw, dict):
            raise TypeError(f"a row is an object, not {type(raw).__name__}")
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in raw.items() if key in known}
        if missing := [name for name in _REQUIRED if name not in values]:
            raise TypeError(f"it has no {missing[0]}, and {len(missing) - 1} more are missing")
        for name in _NUMBERS & values.keys():
            if not isinstance(values[name], int | float | None):
                raise TypeError(f"{name} is {str(values[name])[:40]!r}, not a number")
        return cls(**{**values, "not_declared": tuple(raw.get("not_declared", ()))})

    def to_json(self) -> Json:
        return asdict(self)


_REQUIRED: Final = tuple(
    item.name for item in fields(Row) if item.default is MISSING and item.default_factory is MISSING
)
_NUMBERS: Final = frozenset(
    item.name for item in fields(Row) if item.type in (int, float, int | None, float | None)
)
