"""The rows of the table that take further runs of the strategy."""

from typing import Final

from compaction.contract.experiments.inputs import every_input_is_answered, input_is_not_changed
from compaction.contract.experiments.passes import (
    a_second_pass_changes_nothing,
    parameters_are_monotone,
    passes_come_to_rest,
    undo_restores,
)
from compaction.contract.experiments.replies import (
    bad_summaries_are_refused,
    failures_commit_nothing,
    later_messages_survive,
)
from compaction.contract.experiments.sizes import (
    counts_are_faithful,
    counts_share_one_basis,
    target_is_met_or_missed_aloud,
)
from compaction.contract.experiments.tags import closing_tags_cannot_be_forged
from compaction.contract.experiments.told import (
    nothing_is_lost_unseen,
    summariser_is_isolated,
    summary_requests_fit,
)
from compaction.contract.invariant import Invariant

EXPERIMENT_INVARIANTS: Final = (
    Invariant(
        id="I10",
        name="nothing_is_lost_unseen",
        statement="What left the view was read by the model that summarised it or can be "
        "recovered, if promised; over any number of passes.",
        harm="part of the conversation is gone, and nobody can know",
        field_bugs=(28, 29, 30, 31, 32),
        promises=("accounts_for_all",),
        experiment=nothing_is_lost_unseen,
    ),
    Invariant(
        id="I12",
        name="target_is_met_or_missed_aloud",
        statement="A pass ends at or below the promised target, or an event says that it did not.",
        harm="the next request is over the window, and nobody was warned",
        field_bugs=(44, 70),
        promises=("target_tokens",),
        experiment=target_is_met_or_missed_aloud,
    ),
    Invariant(
        id="I13",
        name="passes_come_to_rest",
        statement="Without new messages, passes end after a few, whatever the provider counts.",
        harm="the agent compacts forever",
        field_bugs=(14, 29, 45, 46, 47, 48, 49, 69),
        experiment=passes_come_to_rest,
    ),
    Invariant(
        id="I14",
        name="bad_summaries_are_refused",
        statement="An empty, blank, refused, truncated or error reply, or one of tool calls only, "
        "is never committed as a summary.",
        harm="the conversation is replaced by garbage",
        field_bugs=(32, 33, 34, 35, 36, 37, 38, 68),
        experiment=bad_summaries_are_refused,
        needs_model=True,
    ),
    Invariant(
        id="I15",
        name="failures_commit_nothing",
        statement="A model call that fails removes nothing from the view that a free pass, told "
        "by an event, has not removed; and an event says `failed` or `skipped`.",
        harm="the conversation is gone, and there is no summary",
        field_bugs=(33, 39, 40, 70),
        experiment=failures_commit_nothing,
        needs_model=True,
    ),
    Invariant(
        id="I16",
        name="a_second_pass_changes_nothing",
        statement="Asked again for the same request with nothing new, the view stays as it is.",
        harm="placeholders and summaries stack, and each retry loses more",
        field_bugs=(22, 24),
        promises=("idempotent",),
        experiment=a_second_pass_changes_nothing,
    ),
    Invariant(
        id="I17",
        name="counts_are_faithful",
        statement="Sizes in events, before and after, are within the promised fraction of the "
        "measured ones: for ASCII, Chinese, emoji, JSON, images, reasoning and long calls alike.",
        harm="triggers come late, and the request is over the window",
        field_bugs=(41, 46, 50, 51, 52, 53, 54),
        promises=("counts_within_fraction",),
        experiment=counts_are_faithful,
    ),
    Invariant(
        id="I18",
        name="counts_share_one_basis",
        statement="Within one pass each event starts from the size that the event before it ended "
        "with.",
        harm="savings that reports add up are not those that were made",
        severity="warning",
        field_bugs=(50, 52, 55),
        experiment=counts_share_one_basis,
    ),
    Invariant(
        id="I22",
        name="every_input_is_answered",
        statement="Any conversation, damaged ones too, gives a view or a `CompactionError`.",
        harm="the agent crashes on a log that something else has damaged",
        field_bugs=(11,),
        experiment=every_input_is_answered,
    ),
    Invariant(
        id="I23",
        name="undo_restores",
        statement="Taking a pass back restores what was sent before it, if promised.",
        harm="a step back finds messages deleted",
        field_bugs=(61,),
        promises=("undoable",),
        experiment=undo_restores,
    ),
    Invariant(
        id="I24",
        name="later_messages_survive",
        statement="Messages that arrive while a summary is written are in the next view, in their "
        "order.",
        harm="what the user said meanwhile is lost",
        field_bugs=(62,),
        experiment=later_messages_survive,
        needs_model=True,
    ),
    Invariant(
        id="I25",
        name="summary_requests_fit",
        statement="What the strategy asks its model has at most the promised number of characters.",
        harm="a conversation that is over the window can never be compacted",
        field_bugs=(63, 64),
        promises=("max_model_input_chars",),
        experiment=summary_requests_fit,
        needs_model=True,
    ),
    Invariant(
        id="I26",
        name="summariser_is_isolated",
        statement="The strategy offers its model no tools, and its request is one a provider "
        "accepts.",
        harm="the summary call is refused, or calls a tool",
        field_bugs=(65, 66),
        experiment=summariser_is_isolated,
        needs_model=True,
    ),
    Invariant(
        id="I27",
        name="closing_tags_cannot_be_forged",
        statement="A tag that a strategy closes around text of the conversation, in a view or in "
        "what it asks its model, is not closed by the same tag in that text.",
        harm="what a tool returned stands outside of the quotation, as if the strategy had said it",
        field_bugs=(68,),
        experiment=closing_tags_cannot_be_forged,
    ),
    Invariant(
        id="I28",
        name="input_is_not_changed",
        statement="The messages that were given are the same afterwards.",
        harm="the record of the conversation is damaged",
        experiment=input_is_not_changed,
    ),
    Invariant(
        id="I31",
        name="parameters_are_monotone",
        statement="A larger value of a parameter named in `monotone_parameters` keeps at least as "
        "much.",
        harm="a sweep over the parameter says nothing about values between",
        promises=("monotone_parameters",),
        experiment=parameters_are_monotone,
    ),
)
