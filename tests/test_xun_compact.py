"""A typed conversation compacted by hand: collecting, summarising, and what must not happen."""

import pytest

from compaction.conversation import Conversation
from compaction.conversation_messages import SystemPrompt, UserMessage
from compaction.systems.xun import (
    compact_conversation,
)
from tests.xun_cases import (
    BAD_REPLIES,
    RULES,
    SUMMARY,
    agent_of,
    conversation_of,
)


def test_collecting_replaces_in_place_and_reports_the_share_that_is_gone():
    conversation = conversation_of(20)
    before = conversation.estimated_message_length()

    result = conversation.compact_toolcall(keep_max=12)

    after = conversation.estimated_message_length()
    assert result.reclaimed_count == 8
    assert result.reclaimed_fraction == pytest.approx((before - after) / before)
    assert conversation.messages[0].persist_sections == {"AGENTS.md": RULES}
    assert conversation.compacted_toolcall_result("c0") == "r" * 1_000
    assert conversation.compacted_toolcall_result("c8") is None


@pytest.mark.parametrize(("keep_max", "count"), [(0, 5), (1, 4), (5, 0), (99, 0)])
def test_keeping_none_collects_all(keep_max, count):
    assert conversation_of(5).compact_toolcall(keep_max).reclaimed_count == count


def test_a_placeholder_is_never_collected_itself():
    conversation = conversation_of(11)
    conversation.compact_toolcall(keep_max=0)
    before = list(conversation.messages)
    del conversation.messages[2:4]

    again = conversation.compact_toolcall(keep_max=0, literal_ids=True)

    assert again.reclaimed_count == 0
    assert conversation.messages == before[:2] + before[4:]


HOSTILE_IDS = ["../../x", "a/b", "CON", "", "x" * 5_000, "].", "{handle}", "\x00", "ü", "same"]


def test_hostile_and_reused_ids_give_back_their_own_originals():
    conversation = Conversation()
    ids = [*HOSTILE_IDS, *HOSTILE_IDS]
    for number, call_id in enumerate(ids):
        call = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        conversation.add_agent_message({"role": "assistant", "content": "", "tool_calls": [call]})
        conversation.add_tool_result(call_id, f"{number} " * 9_000)

    conversation.compact_toolcall(keep_max=0)

    loaded = Conversation.loads(conversation.dumps())
    for number in range(len(ids)):
        text = conversation.messages[2 * number + 1].message.text
        handle = text.removeprefix("[Compacted, ID: ").partition(". If this content")[0]
        assert conversation.compacted_toolcall_result(handle) == f"{number} " * 9_000
        assert loaded.compacted_toolcall_result(handle) == f"{number} " * 9_000
    assert conversation.compacted_toolcall_result("same") is None


def test_a_summary_goes_into_the_system_prompt_and_counts_as_a_round():
    conversation = conversation_of(20, 100)
    conversation.total_tokens = 9
    tail = conversation.messages[-16:]

    result = conversation.compact(lambda batch: SUMMARY, 16)

    assert (result.status, result.summarized_count) == ("COMPACTED", 25)
    assert conversation.messages == [
        SystemPrompt(SUMMARY, True, {"AGENTS.md": RULES}),
        UserMessage("u" * 100),
        *tail,
    ]
    assert conversation.completion_params()[0]["content"].endswith(RULES)
    assert conversation.total_tokens is None
    assert conversation.compaction_counter.summary_rounds == 1


def test_the_summariser_sees_the_system_message_without_its_sections_and_the_batch():
    conversation = conversation_of(20, 100)
    expected = [SystemPrompt("s" * 100), *conversation.messages[2:-16]]
    seen = []

    conversation.compact(lambda batch: seen.extend(batch), 16)

    assert seen == expected


def failing_with(error):
    def summarize(batch):
        raise error

    return summarize


@pytest.mark.parametrize(
    ("summarize", "reason"),
    [
        (lambda batch: None, "gave up"),
        (lambda batch: " \n", "empty"),
        (failing_with(TimeoutError("too late")), "TimeoutError: too late"),
        (failing_with(KeyError("raw")), "KeyError"),
    ],
)
def test_a_summariser_that_fails_leaves_the_conversation_as_it_is(summarize, reason):
    conversation = conversation_of(20, 100)
    conversation.total_tokens = 9
    before = conversation.dumps()

    result = conversation.compact(summarize, 16)

    assert result.status == "SUMMARIZE_FAILED"
    assert reason in result.reason
    assert conversation.dumps() == before


@pytest.mark.parametrize("case", BAD_REPLIES)
def test_a_bad_reply_leaves_the_conversation_as_it_is(case):
    reply, reason = BAD_REPLIES[case]
    conversation = conversation_of(20, 100)
    before = conversation.dumps()

    result = compact_conversation(agent_of(conversation, reply))

    assert result.status == "SUMMARIZE_FAILED"
    assert reason in result.reason
    assert conversation.dumps() == before


@pytest.mark.parametrize("rounds", [0, 1, 8])
def test_nothing_to_condense_costs_no_call(rounds):
    agent = agent_of(conversation_of(rounds))
    before = agent.conversation.dumps()

    result = compact_conversation(agent)

    assert result.status == "NOTHING_TO_CONDENSE"
    assert agent.conversation.dumps() == before
    assert agent.model.calls == []


def test_what_no_summary_can_make_smaller_is_nothing_to_condense_and_costs_no_call():
    conversation = Conversation()
    conversation.add_user_message("Go.")
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for i in range(100)
    ]
    conversation.add_agent_message({"role": "assistant", "content": None, "tool_calls": calls})
    for call in calls:
        conversation.add_tool_result(call["id"], "x" * 1_000)
    conversation.add_user_message("And?")
    agent = agent_of(conversation)

    result = compact_conversation(agent)

    assert result.status == "NOTHING_TO_CONDENSE"
    assert agent.model.calls == []


def test_a_summary_alone_is_nothing_to_condense():
    agent = agent_of(conversation_of(20, 100), SUMMARY)

    statuses = [compact_conversation(agent).status for _ in range(2)]

    assert statuses == ["COMPACTED", "NOTHING_TO_CONDENSE"]


def test_messages_added_while_the_summary_is_written_stay_behind_it():
    conversation = conversation_of(20, 100)

    def summarize(batch):
        conversation.add_user_message("one more thing")
        return SUMMARY

    assert conversation.compact(summarize).status == "COMPACTED"
    assert conversation.messages[-1] == UserMessage("one more thing")
    assert len(conversation.messages) == 1 + 1 + 16 + 1


def test_messages_taken_back_while_the_summary_is_written_stop_it():
    conversation = conversation_of(20, 100)

    def summarize(batch):
        conversation.clear()
        return SUMMARY

    result = conversation.compact(summarize)

    assert result.status == "SUMMARIZE_FAILED"
    assert "taken back" in result.reason
    assert len(conversation.messages) == 1
    assert not conversation.messages[0].is_compressed
