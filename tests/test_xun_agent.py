"""A typed conversation compacted by command and by itself."""

import asyncio
import re
from operator import attrgetter
from pathlib import Path

import pytest

from compaction.agent_tools import extract_tool
from compaction.conversation import Conversation
from compaction.conversation_messages import RawOpenAIMessage, SystemPrompt, UserMessage
from compaction.errors import ModelError
from compaction.history import History
from compaction.llm import ModelReply, ScriptedChat, drive
from compaction.pairing import orphan_results
from compaction.strategy import Context, Request
from compaction.systems import xun
from compaction.systems.xun import (
    Agent,
    AutoCompactConfig,
    AutoCompactor,
    CompactorAbstract,
    Xun,
    run_command,
)
from compaction.systems.xun_prompts import placeholder_handle
from compaction.tokens import CharCounter
from tests.xun_cases import (
    RULES,
    SUMMARY,
    agent_of,
    agent_run,
    conversation_of,
    replies,
    sent_messages,
)


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


def test_the_tool_that_a_placeholder_names_gives_the_original_to_the_model():
    conversation = conversation_of(20)
    conversation.compact_toolcall()
    handle = placeholder_handle(conversation.messages[3].message.text)
    tool = extract_tool(conversation.compacted_toolcall_result)

    assert Xun().agent_tools == (tool.name,) == ("extract_compacted_tool_result",)
    assert tool.run(toolcall_id=handle) == "r" * 1_000


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

    assert sent_messages(conversation) == view.messages
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
        assert orphan_results(sent_messages(conversation)) == ()

    assert max(sizes) < 12_000
    assert UserMessage("do it") in conversation.messages
    assert conversation.compaction_counter.summary_rounds >= 5
    assert ModelReply("x").text == "x"


def test_every_row_of_the_table_names_symbols_and_tests_that_exist():
    _, _, table = xun.__doc__.partition("What the seed says -> symbol -> test:")
    rows = table.partition("Not here:")[0].split("\n- ")[1:]
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))

    assert len(rows) == 31
    for row in rows:
        symbols = [name for name in re.findall(r"`([\w.]+)`", row) if name != "tokens_used"]
        assert symbols
        for symbol in symbols:
            assert attrgetter(symbol)(xun) is not None
        named = re.findall(r"test_\w+", row)
        assert named
        assert [name for name in named if f"def {name}(" not in tests] == []
