"""What the invariants say about installed compactors of others; README.md tells it in words.

Run in an environment of their own, because each brings half a hundred packages. The conversations
are the shrunk ones that `compaction-evals check` printed.
"""

from importlib.util import find_spec

import pytest

from compaction.contract.search import Plan, search
from compaction.contract.suite import check_conversation
from compaction.contract.targets import Target
from compaction.messages import Message, ToolCall

pytestmark = pytest.mark.filterwarnings("ignore")


def needs(module):
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


inspect_ai = needs("inspect_ai")
langchain = needs("langchain")
openai_agents = needs("agents")

WITHOUT_INPUTS = "evals.peers.inspect_edit:EditWithoutInputs"
EDIT = "evals.peers.inspect_edit:Edit"
CLEAR = "evals.peers.langchain_edits:ClearToolUses"
SUMMARIZE = "evals.peers.langchain_edits:Summarization"
TRIM = "evals.peers.openai_agents_trimmer:Trimmer"


def asks(*ids):
    return Message("assistant", None, tool_calls=tuple(ToolCall(id, "read", "{}") for id in ids))


def answers(*ids):
    return tuple(Message("tool", "x" * 200, tool_call_id=id) for id in ids)


def broken(spec, messages, **parameters):
    strategy = Target(spec).with_parameters({key: str(value) for key, value in parameters.items()})
    return check_conversation(strategy, messages).broken


@inspect_ai
def test_inspect_loses_a_user_message_and_orphans_a_result_when_results_are_out_of_order():
    messages = (asks("a", "b", "c"), *answers("b", "c", "a"), Message("user", "Stop at once."))

    assert {"last_user_is_kept", "calls_stay_paired"} <= broken(
        WITHOUT_INPUTS, messages, keep_tool_uses=1
    )


@inspect_ai
def test_inspect_loses_nothing_when_the_same_results_are_in_order():
    messages = (asks("a", "b", "c"), *answers("a", "b", "c"), Message("user", "Stop at once."))

    found = broken(WITHOUT_INPUTS, messages, keep_tool_uses=1)

    assert not found & {"last_user_is_kept", "calls_stay_paired", "every_input_is_answered"}


@inspect_ai
def test_inspect_raises_an_index_error_when_results_are_out_of_order_at_the_end():
    messages = (asks("a", "b", "c"), *answers("b", "c", "a"))
    strategy = Target(WITHOUT_INPUTS).with_parameters({"keep_tool_uses": "1"})

    findings = check_conversation(strategy, messages).violations

    assert [item.invariant for item in findings] == ["every_input_is_answered"]
    assert "IndexError" in findings[0].violation.explanation


@inspect_ai
def test_inspect_splits_a_batch_of_parallel_calls():
    messages = (asks("a", "b"), *answers("a", "b"))

    assert "batches_stay_whole" in broken(WITHOUT_INPUTS, messages, keep_tool_uses=1)


@inspect_ai
def test_check_finds_the_lost_message_of_inspect_itself_and_shrinks_it():
    outcome = search(Target(WITHOUT_INPUTS, {"keep_tool_uses": "1"}), Plan(seed=2))

    lost = outcome.broken["last_user_is_kept"]
    assert len(lost.messages) <= 8
    assert "calls_stay_paired" in outcome.broken


@inspect_ai
def test_inspect_with_inputs_breaks_only_what_a_placeholder_longer_than_the_result_breaks():
    outcome = search(Target(EDIT), Plan(examples=60))

    assert set(outcome.broken) == {"never_grows", "prefix_is_stable"}
    assert all(
        any(len(message.text) < 22 for message in found.messages if message.is_result)
        for found in outcome.broken.values()
    )


@langchain
def test_langchain_clears_results_shorter_than_its_placeholder():
    short = (asks("a", "b"), *(Message("tool", "", tool_call_id=id) for id in "ab"))
    long = (asks("a", "b"), *answers("a", "b"))

    assert broken(CLEAR, short, keep=1) == {"never_grows"}
    assert broken(CLEAR, long, keep=1) == frozenset()


@langchain
def test_langchain_clearing_breaks_nothing_else():
    outcome = search(Target(CLEAR), Plan(examples=60))

    assert outcome.has_acted
    assert set(outcome.broken) <= {"never_grows"}


@langchain
def test_langchain_summarises_its_own_summary_when_one_batch_reaches_the_trigger():
    messages = (
        asks("a"),
        *answers("a"),
        asks("b", "c", "d"),
        *answers("b", "d", "c"),
        asks("e", "f"),
        *answers("e", "f"),
    )

    assert broken(SUMMARIZE, messages) == {"a_second_pass_changes_nothing"}
    assert broken(SUMMARIZE, messages, trigger_messages=12) == frozenset()


@openai_agents
def test_the_trimmer_of_openai_agents_breaks_nothing():
    outcome = search(Target(TRIM), Plan(examples=60))

    assert outcome.has_acted
    assert set(outcome.broken) == set()
