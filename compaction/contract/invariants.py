"""The table of what must hold of every compactor: names, statements, and what each needs.

Nothing is checked here. The `view` invariants are looked at before each request (`checker`,
`request_checks`), the `run` invariants by an experiment on the whole conversation (`experiments`);
`suite.check_conversation` does both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from compaction.contract.checker import Checker
from compaction.contract.faults import Violation
from compaction.strategy import Promises

__all__ = ["INVARIANTS", "RULES", "Checker", "Invariant", "Violation", "unmet_need"]

Severity = Literal["error", "warning"]
Kind = Literal["view", "run"]


@dataclass(frozen=True, slots=True)
class Invariant:
    """One promise that is kept or broken. Several may share an id: each looks at one side of it."""

    id: str
    """`I1` to `I31`."""
    name: str
    statement: str
    field_bugs: tuple[int, ...] = ()
    """Numbers in the catalogue of field bugs that the invariants were drawn from."""
    needs: tuple[str, ...] = ()
    """Fields of `Promises` that must be set; with `not ` in front, that must not be."""
    kind: Kind = "view"
    severity: Severity = "error"
    needs_model: bool = False
    """Decided only for a strategy that asks a model at least once."""


_TABLE: Final = (
    Invariant(
        "I1",
        "calls_stay_paired",
        "Every result in the view follows its call, and every call that was answered has its "
        "results in the view.",
        (1, 2, 3, 4, 6, 8, 17),
    ),
    Invariant(
        "I1",
        "results_stay_adjacent",
        "Nothing stands between a call and its results that did not before.",
        (1, 2, 3),
    ),
    Invariant(
        "I2",
        "batches_stay_whole",
        "The calls of one assistant message and all their results are kept, replaced or dropped "
        "together.",
        (5, 7, 9, 10),
    ),
    Invariant(
        "I3", "nothing_stands_twice", "No message of the history is in the view twice.", (18,)
    ),
    Invariant(
        "I3",
        "ids_stay_unique",
        "No call id is made or answered more often in the view than in the history.",
        (18,),
    ),
    Invariant(
        "I4",
        "open_calls_survive",
        "A call at the end that is not answered yet is in the view unchanged, if promised.",
        (12, 13),
        ("keeps_open_calls",),
    ),
    Invariant(
        "I5",
        "roles_stay_legal",
        "The request made from the view breaks no rule of the provider about the order of roles, "
        "ids, empty content and calls that the request made from the history keeps.",
        (67,),
    ),
    Invariant(
        "I6",
        "content_stays_legal",
        "Calls are in assistant messages, arguments stay valid JSON, media is intact or gone, and "
        "no cut splits a character.",
        (65,),
    ),
    Invariant(
        "I7",
        "reasoning_stays_intact",
        "Reasoning is kept byte for byte with its signature or removed, and kept as long as its "
        "tool loop is not finished.",
        (15, 16),
    ),
    Invariant(
        "I8",
        "system_is_kept",
        "Leading instruction messages are unchanged at the front, if promised.",
        (19, 20, 21, 23, 25, 69),
        ("keeps_system",),
    ),
    Invariant(
        "I9",
        "last_user_is_kept",
        "The latest user message is in the view unchanged, if promised.",
        (26, 27),
        ("keeps_last_user",),
    ),
    Invariant(
        "I10",
        "nothing_is_lost_unseen",
        "What left the view was read by the model that summarised it or can be recovered, if "
        "promised; over any number of passes.",
        (28, 29, 30, 31, 32),
        ("accounts_for_all",),
        "run",
    ),
    Invariant(
        "I11",
        "never_grows",
        "The view has no more tokens than the history it stands for.",
        (41, 42, 43, 44),
        ("not grows",),
    ),
    Invariant(
        "I12",
        "target_is_met_or_missed_aloud",
        "A pass ends at or below the promised target, or an event says that it did not.",
        (44, 70),
        ("target_tokens",),
        "run",
    ),
    Invariant(
        "I13",
        "passes_come_to_rest",
        "Without new messages, passes end after a few, whatever the provider counts.",
        (14, 29, 45, 46, 47, 48, 49, 69),
        (),
        "run",
    ),
    Invariant(
        "I14",
        "bad_summaries_are_refused",
        "An empty, blank, refused, truncated or error reply, or one of tool calls only, is never "
        "committed as a summary.",
        (32, 33, 34, 35, 36, 37, 38, 68),
        (),
        "run",
        needs_model=True,
    ),
    Invariant(
        "I15",
        "failures_commit_nothing",
        "A model call that fails removes nothing from the view, and an event says `failed` or "
        "`skipped`.",
        (33, 39, 40, 70),
        (),
        "run",
        needs_model=True,
    ),
    Invariant(
        "I16",
        "a_second_pass_changes_nothing",
        "Asked again for the same request with nothing new, the view stays as it is.",
        (22, 24),
        ("idempotent",),
        "run",
    ),
    Invariant(
        "I17",
        "counts_are_faithful",
        "Sizes in events are within the promised fraction of the measured ones.",
        (41, 46, 50, 51, 52, 53, 54),
        ("counts_within_fraction",),
        "run",
    ),
    Invariant(
        "I18",
        "counts_share_one_basis",
        "Within one pass each event starts from the size that the event before it ended with.",
        (50, 52, 55),
        (),
        "run",
    ),
    Invariant(
        "I19",
        "prefix_is_stable",
        "What was sent before changes only where that makes the view smaller, and by at least "
        "`min_reclaim_tokens` if promised; views that are made anew each time only if promised.",
        (56, 57, 58),
        ("not grows",),
    ),
    Invariant(
        "I20",
        "is_deterministic",
        "A second compactor that was fed the same returns the same view.",
        (57,),
        ("deterministic",),
    ),
    Invariant(
        "I21",
        "pointers_resolve",
        "An edited message points to no result that is neither visible nor recoverable.",
        (59, 60),
    ),
    Invariant(
        "I22",
        "every_input_is_answered",
        "Any conversation, damaged ones too, gives a view or a `CompactionError`.",
        (11,),
        (),
        "run",
    ),
    Invariant(
        "I23",
        "undo_restores",
        "Taking a pass back restores what was sent before it, if promised.",
        (61,),
        ("undoable",),
        "run",
    ),
    Invariant("I24", "order_is_kept", "Messages of the history stand in the order of the history."),
    Invariant(
        "I24",
        "later_messages_survive",
        "Messages that arrive while a summary is written are in the next view, in their order.",
        (62,),
        (),
        "run",
        needs_model=True,
    ),
    Invariant(
        "I25",
        "summary_requests_fit",
        "What the strategy asks its model has at most the promised number of characters.",
        (63, 64),
        ("max_model_input_chars",),
        "run",
        needs_model=True,
    ),
    Invariant(
        "I26",
        "summariser_is_isolated",
        "The strategy offers its model no tools, and its request is one a provider accepts.",
        (65, 66),
        (),
        "run",
        needs_model=True,
    ),
    Invariant(
        "I27",
        "roles_are_never_raised",
        "No message changes its role, and text of the conversation becomes no instruction.",
        (68,),
        ("not raises_roles",),
    ),
    Invariant(
        "I28",
        "input_is_not_changed",
        "The messages that were given are the same afterwards.",
        (),
        (),
        "run",
    ),
    Invariant(
        "I29",
        "handles_resolve",
        "Every handle that a view names gives back the original, if promised.",
        (),
        ("recoverable",),
    ),
    Invariant(
        "I30",
        "last_results_are_kept",
        "The promised number of latest tool results is in the view unchanged.",
        (),
        ("keep_last_results",),
    ),
    Invariant(
        "I31",
        "parameters_are_monotone",
        "A larger value of a parameter named in `monotone_parameters` keeps at least as much.",
        (),
        ("monotone_parameters",),
        "run",
    ),
)

INVARIANTS: Final[Mapping[str, Invariant]] = {item.name: item for item in _TABLE}
"""Name -> invariant, in the order of the ids."""

_IN_REPLAY: Final = (
    "calls_stay_paired",
    "batches_stay_whole",
    "results_stay_adjacent",
    "order_is_kept",
    "nothing_stands_twice",
    "system_is_kept",
    "last_user_is_kept",
    "last_results_are_kept",
    "handles_resolve",
    "never_grows",
    "is_deterministic",
)

RULES: Final[Mapping[str, str]] = {name: INVARIANTS[name].statement for name in _IN_REPLAY}
"""What `Checker` alone looks at, in every request of every replay -> its statement."""


def unmet_need(invariant: Invariant, promises: Promises) -> str | None:
    """Return why an invariant is not applicable to a strategy that promises this, or None."""
    for need in invariant.needs:
        name = need.removeprefix("not ")
        value = getattr(promises, name)
        is_set = value is not None and value is not False and value != ()
        if need == name and not is_set:
            return f"{name} is not promised"
        if need != name and is_set:
            return f"{name} is declared"
    is_made_anew = promises.mode == "viewing" and promises.min_reclaim_tokens is None
    if invariant.name == "prefix_is_stable" and is_made_anew:
        return "views are made anew each time, and min_reclaim_tokens is not promised"
    return None
