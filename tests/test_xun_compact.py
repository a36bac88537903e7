"""A typed conversation compacted by hand, by command, and by itself."""

import asyncio

import pytest

from compaction.conversation import Conversation
from compaction.conversation_messages import RawOpenAIMessage, SystemPrompt, UserMessage
from compaction.errors import ModelError
from compaction.history import History
from compaction.llm import ModelReply, ScriptedChat, drive
from compaction.pairing import orphan_results
from compaction.strategy import Context, Request
from compaction.systems.xun import (
    Agent,
    AutoCompactConfig,
    AutoCompactor,
    CompactorAbstract,
    Xun,
    compact_conversation,
    run_command,
)
from compaction.tokens import CharCounter
from tests.xun_cases import BAD_REPLIES, SUMMARY, agent_run, replies

RULES = "# Rules\nNever push."


def conversation_of(rounds, result_chars=1_000, user_messages=1):
    """The typed form of `agent_run`, with a persistent section."""
    conversation = Conversation([SystemPrompt("s" * 100, persist_sections={"AGENTS.md": RULES})])
    for message in agent_run(rounds, result_chars)[1:]:
        if message.role == "user":
            conversation.add_user_message(message.text)
        else:
            conversation.messages.append(RawOpenAIMessage(message))
    return conversation


def agent_of(conversation, *texts, threshold=10_000, **fields):
    return Agent(
        replies(*texts),
        conversation,
        AutoCompactor(**fields),
        AutoCompactConfig(token_threshold=threshold),
    )


def messages_of(conversation):
    return tuple(message.message for message in conversation.messages)


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


def test_the_commands_do_what_they_say():
    agent = agent_of(conversation_of(20), SUMMARY)

    assert run_command(agent, "/compact toolcall").reclaimed_count == 8
    assert agent.model.calls == []
    assert run_command(agent, "/compact").status == "COMPACTED"
    assert [m.role for m in run_command(agent, "/retry")] == ["assistant", "tool"] * 8
    assert run_command(agent, " /revise ") == [UserMessage("u" * 100)]
    assert run_command(agent, "/compact everything") is None
    assert run_command(agent, "hello") is None
    assert [m.role for m in agent.conversation.messages] == ["system"]


def test_the_automatic_compactor_uses_its_fields_and_the_config():
    agent = agent_of(conversation_of(20), threshold=500, toolcall_keep_max=3)
    agent.conversation.total_tokens = 501

    events = agent.before_call()

    assert [event.messages_edited for event in events] == [17]
    assert agent.conversation.compaction_counter.tool_rounds == 1
    assert agent.conversation.total_tokens is None
    settings = AutoCompactor().settings(AutoCompactConfig())
    assert settings == Xun()


def test_the_automatic_compactor_can_be_switched_off():
    agent = agent_of(conversation_of(20))
    agent.auto_compact = AutoCompactConfig(enabled=False, token_threshold=1)
    agent.conversation.total_tokens = 2

    assert agent.before_call() == ()


@pytest.mark.parametrize("total_tokens", [9_000, 10_001, 50_000, 400_000])
def test_conversation_and_strategy_come_to_the_same_messages(total_tokens):
    conversation = conversation_of(30)
    conversation.set_persistent_section("AGENTS.md", "")
    conversation.total_tokens = total_tokens
    agent = agent_of(conversation, *[SUMMARY] * 3)
    compactor = Xun(token_threshold=10_000).start(Context(CharCounter()))
    compactor.state = conversation.state

    agent.before_call()
    history = History(agent_run(30))
    view = drive(compactor.steps(history, Request(0)), ScriptedChat([SUMMARY] * 3))

    assert messages_of(conversation) == view.messages
    assert conversation.state == compactor.state


def test_sections_that_stay_make_the_estimate_larger():
    small, large = conversation_of(20), conversation_of(20)
    large.set_persistent_section("AGENTS.md", "# " * 200_000)
    outcomes = []
    for conversation in (small, large):
        conversation.total_tokens = 10_001
        agent = agent_of(conversation, *[SUMMARY] * 3, max_retries=0)
        outcomes.append([event.tier for event in agent.before_call()])

    assert outcomes == [["ClearToolResults"], ["ClearToolResults", "Summarize"]]


def test_a_failing_model_leaves_what_the_cheap_level_made():
    agent = agent_of(conversation_of(20), ModelError("model 'm': down"))
    agent.conversation.total_tokens = 90_000

    events = agent.before_call()

    assert [event.outcome for event in events] == ["applied", "failed"]
    assert len(agent.conversation.messages) == 42
    assert agent.conversation.compaction_counter.summary_rounds == 0
    assert agent.conversation.total_tokens == 90_000


def test_the_asynchronous_compactor_does_the_same():
    agent = agent_of(conversation_of(20, 100), SUMMARY)
    agent.conversation.total_tokens = 10_001

    asyncio.run(AutoCompactor().aauto_compact(agent))

    assert agent.conversation.messages[0].is_compressed


class DropAnswers(CompactorAbstract):
    def auto_compact(self, agent):
        agent.conversation.clear()
        return ()


def test_a_custom_compactor_inherits_and_implements_one_method():
    agent = Agent(replies(), conversation_of(3), DropAnswers())

    agent.before_call()

    assert len(agent.conversation.messages) == 1
    with pytest.raises(TypeError, match="auto_compact"):
        type("Empty", (CompactorAbstract,), {})()


def test_project_instructions_follow_the_file(tmp_path):
    agent = Agent(replies())
    (tmp_path / "AGENTS.md").write_text(RULES, "utf-8")

    agent.system("You are X.")
    agent.sync_project_instructions(tmp_path)
    with_rules = agent.conversation.completion_params()
    (tmp_path / "AGENTS.md").unlink()
    agent.sync_project_instructions(tmp_path)

    assert with_rules[0]["content"] == f"You are X.\n\n{RULES}"
    assert agent.conversation.messages == [SystemPrompt("You are X.")]


def test_a_hundred_rounds_after_one_order_compact_by_themselves():
    agent = agent_of(Conversation([SystemPrompt("s")]), *[SUMMARY] * 99)
    conversation = agent.conversation
    conversation.add_user_message("do it")
    sizes = []
    for message in agent_run(100)[2:]:
        if message.role == "assistant":
            agent.before_call()
            conversation.total_tokens = conversation.estimated_message_length()
            sizes.append(conversation.total_tokens)
        conversation.messages.append(RawOpenAIMessage(message))
        assert orphan_results(messages_of(conversation)) == ()

    assert max(sizes) < 12_000
    assert UserMessage("do it") in conversation.messages
    assert conversation.compaction_counter.summary_rounds >= 5
    assert ModelReply("x").text == "x"
