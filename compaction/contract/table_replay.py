"""The rows of the table that a request decides: history, view, and what else is known of it."""

from typing import Final

from compaction.contract.invariant import Invariant
from compaction.contract.watches.calls import CallWatch
from compaction.contract.watches.changes import SizeWatch, TellingWatch, TwinWatch
from compaction.contract.watches.content import ContentWatch, PointerWatch
from compaction.contract.watches.kept import HandleWatch, KeptWatch
from compaction.contract.watches.pairs import PairWatch
from compaction.contract.watches.provider import ProviderWatch

REPLAY_INVARIANTS: Final = (
    Invariant(
        id="I1",
        name="calls_stay_paired",
        statement="Every result in the view follows its call, and every call that was answered has "
        "its results in the view.",
        harm="the provider answers with status 400, at this request and at all that follow",
        field_bugs=(1, 2, 3, 4, 6, 8, 17),
        watches=(PairWatch,),
    ),
    Invariant(
        id="I1",
        name="results_stay_adjacent",
        statement="Nothing stands between a call and its results that did not before.",
        harm="the provider answers with status 400",
        field_bugs=(1, 2, 3),
        watches=(PairWatch,),
    ),
    Invariant(
        id="I2",
        name="batches_stay_whole",
        statement="The calls of one assistant message and all their results are kept, replaced or "
        "dropped together.",
        harm="the model is shown a message that it did not write",
        field_bugs=(5, 7, 9, 10),
        watches=(PairWatch,),
    ),
    Invariant(
        id="I3",
        name="nothing_stands_twice",
        statement="No message of the history is in the view twice.",
        harm="a request is carried out twice, an id is refused as a duplicate",
        field_bugs=(18,),
        watches=(PairWatch,),
    ),
    Invariant(
        id="I3",
        name="ids_stay_unique",
        statement="No call id is made or answered more often in the view than in the history.",
        harm="the provider answers with status 400",
        field_bugs=(18,),
        watches=(CallWatch,),
    ),
    Invariant(
        id="I4",
        name="open_calls_survive",
        statement="A call at the end that is not answered yet is in the view unchanged, if "
        "promised.",
        harm="the answer, when it comes, has no call",
        field_bugs=(12, 13),
        promises=("keeps_open_calls",),
        watches=(CallWatch,),
    ),
    Invariant(
        id="I5",
        name="roles_stay_legal",
        statement="The request made from the view breaks no rule of the provider about the order "
        "of roles, ids, empty content and calls that the request made from the history keeps.",
        harm="the provider answers with status 400",
        field_bugs=(67,),
        watches=(PairWatch, CallWatch, ProviderWatch),
    ),
    Invariant(
        id="I6",
        name="content_stays_legal",
        statement="Calls are in assistant messages, arguments stay valid JSON, media is intact or "
        "gone, and no cut splits a character.",
        harm="the provider answers with status 400, or the model is shown half a thing",
        field_bugs=(65,),
        watches=(ContentWatch,),
    ),
    Invariant(
        id="I7",
        name="reasoning_stays_intact",
        statement="Reasoning is kept byte for byte with its signature or removed, and kept as long "
        "as its tool loop is not finished.",
        harm="the provider refuses the signature",
        field_bugs=(15, 16),
        watches=(ContentWatch,),
    ),
    Invariant(
        id="I8",
        name="system_is_kept",
        statement="Leading instruction messages are unchanged at the front, if promised.",
        harm="rules of the project are forgotten",
        field_bugs=(19, 20, 21, 23, 25, 69),
        promises=("keeps_system",),
        watches=(KeptWatch,),
    ),
    Invariant(
        id="I9",
        name="last_user_is_kept",
        statement="The latest user message is in the view unchanged, if promised.",
        harm="the order that is being carried out is forgotten",
        field_bugs=(26, 27),
        promises=("keeps_last_user",),
        watches=(KeptWatch,),
    ),
    Invariant(
        id="I11",
        name="never_grows",
        statement="The view has no more tokens than the history it stands for.",
        harm="a pass makes worse what it is there for; in the field up to an overflow",
        field_bugs=(41, 42, 43, 44),
        promises=("not grows",),
        watches=(SizeWatch,),
    ),
    Invariant(
        id="I15",
        name="changes_are_told",
        statement="What was sent before changes or goes only at a request whose events tell of an "
        "applied pass, and no more messages go than they tell of; views that are made anew each "
        "time included.",
        harm="reports and users are told of less than was done",
        severity="warning",
        field_bugs=(33, 70),
        watches=(TellingWatch,),
    ),
    Invariant(
        id="I19",
        name="prefix_is_stable",
        statement="What was sent before changes only where that makes the view smaller, by at "
        "least `min_reclaim_tokens` if that is promised. Of a view that is made anew each time "
        "this holds only if it is, because such a view may bring back what it left out: that it "
        "changes nothing between its passes is `changes_are_told`.",
        harm="what was cached is paid again, and little or nothing is saved for it",
        severity="warning",
        field_bugs=(56, 57, 58),
        promises=("not grows", "rewriting or min_reclaim_tokens"),
        watches=(SizeWatch,),
    ),
    Invariant(
        id="I20",
        name="is_deterministic",
        statement="A second compactor that was fed the same returns the same view.",
        harm="no measurement can be repeated, and a resumed conversation has lost its cache",
        field_bugs=(57,),
        promises=("deterministic",),
        watches=(TwinWatch,),
    ),
    Invariant(
        id="I21",
        name="pointers_resolve",
        statement="An edited message points to no result that is neither visible nor recoverable.",
        harm="the model is referred to what nobody has",
        field_bugs=(59, 60),
        watches=(PointerWatch,),
    ),
    Invariant(
        id="I24",
        name="order_is_kept",
        statement="Messages of the history stand in the order of the history.",
        harm="an answer stands before its question",
        watches=(PairWatch,),
    ),
    Invariant(
        id="I27",
        name="roles_are_never_raised",
        statement="No message changes its role, and text of the conversation becomes no "
        "instruction.",
        harm="what a tool returned is obeyed",
        field_bugs=(68,),
        promises=("not raises_roles",),
        watches=(ContentWatch,),
    ),
    Invariant(
        id="I27",
        name="quotations_stay_closed",
        statement="A tag that an edit opens around text of a message is not closed by that text.",
        harm="what a tool returned stands outside of the quotation, as if the strategy had said it",
        field_bugs=(68,),
        watches=(ContentWatch,),
    ),
    Invariant(
        id="I29",
        name="handles_resolve",
        statement="Every handle that a view names gives back the original, if promised.",
        harm="what was to be recoverable is lost",
        promises=("recoverable",),
        watches=(HandleWatch,),
    ),
    Invariant(
        id="I30",
        name="last_results_are_kept",
        statement="The promised number of latest tool results is in the view unchanged.",
        harm="what has just been read is read again",
        promises=("keep_last_results",),
        watches=(KeptWatch,),
    ),
)
