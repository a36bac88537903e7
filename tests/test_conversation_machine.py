"""A conversation under any sequence of its methods, stored and loaded in between."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from compaction.conversation import Conversation
from compaction.llm import ModelReply, ScriptedChat
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.systems.xun import (
    NOTHING_TO_CONDENSE,
    Agent,
    AutoCompactConfig,
    AutoCompactor,
    compact_conversation,
)
from compaction.systems.xun_prompts import placeholder_handle

LENGTHS = st.sampled_from([0, 1, 60, 150, 400, 3_000])
RULES = "# Rules {0}"
GOOD, BAD = "## overview\nok", ""


class ConversationMachine(RuleBasedStateMachine):
    """Knows all results that were ever added."""

    def __init__(self):
        super().__init__()
        self.agent = Agent(ScriptedChat(()), compactor=AutoCompactor(2, 3, 1, 1))
        self.agent.auto_compact = AutoCompactConfig(token_threshold=1_000)
        self.conversation.set_persistent_section("AGENTS.md", RULES)
        self.results = set()
        self.texts = 0

    @property
    def conversation(self):
        return self.agent.conversation

    def text(self, length):
        self.texts += 1
        return (f"{self.texts}:" + "x" * length)[: max(length, 8)]

    def answer_next(self, text):
        self.agent.model = ScriptedChat([ModelReply(text)] * 3)

    @rule(length=LENGTHS)
    def user_speaks(self, length):
        self.conversation.add_user_message(self.text(length))

    @rule(lengths=st.lists(LENGTHS, min_size=1, max_size=3), is_id_new=st.booleans())
    def tools_run(self, lengths, is_id_new):
        prefix = self.texts if is_id_new else "same"
        ids = [f"{prefix}_{at}" for at in range(len(lengths))]
        calls = [
            {"id": id_, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for id_ in ids
        ]
        self.conversation.add_agent_message({"role": "assistant", "tool_calls": calls})
        for id_, length in zip(ids, lengths, strict=True):
            result = self.text(length)
            self.results.add(result)
            self.conversation.add_tool_result(id_, result)

    @rule(length=LENGTHS)
    def model_answers(self, length):
        self.conversation.add_agent_message({"role": "assistant", "content": self.text(length)})

    @rule(keep_max=st.integers(0, 4))
    def results_are_collected(self, keep_max):
        before = self.conversation.estimated_message_length()

        result = self.conversation.compact_toolcall(keep_max)

        after = self.conversation.estimated_message_length()
        assert abs(before * (1 - result.reclaimed_fraction) - after) < 1e-6
        assert (after < before) == (result.reclaimed_count > 0)

    @rule(keep_recent=st.integers(0, 5), text=st.sampled_from([GOOD, BAD]))
    def a_summary_is_asked_for(self, keep_recent, text):
        self.answer_next(text)
        before, rounds = self.conversation.dumps(), self.conversation.compaction_counter

        result = compact_conversation(self.agent, keep_recent)

        if result.status == "COMPACTED":
            assert self.conversation.messages[0].content == GOOD
            assert self.conversation.total_tokens is None
            assert self.conversation.compaction_counter.summary_rounds == rounds.summary_rounds + 1
        else:
            assert self.conversation.dumps() == before
            assert bool(self.agent.model.calls) == (result.status != NOTHING_TO_CONDENSE)

    @rule(total_tokens=st.integers(0, 4_000), text=st.sampled_from([GOOD, BAD]))
    def the_next_call_is_prepared(self, total_tokens, text):
        self.answer_next(text)
        self.conversation.total_tokens = total_tokens

        events = self.agent.before_call()

        assert total_tokens > 1_000 or events == ()
        assert len(self.agent.model.calls) <= 2

    @rule(inclusive=st.booleans())
    def the_last_turn_is_taken_back(self, inclusive):
        before = list(self.conversation.messages)

        popped = self.conversation.pop_from_last_user_message(inclusive=inclusive)

        assert self.conversation.messages + popped == before

    @rule()
    def the_system_text_is_set(self):
        self.agent.system(self.text(60))

    @rule()
    def the_process_is_restarted(self):
        self.agent.conversation = Conversation.loads(self.conversation.dumps())

    @precondition(lambda self: self.texts > 20)
    @rule()
    def everything_is_cleared(self):
        self.conversation.clear()

    @invariant()
    def no_result_stands_alone(self):
        assert orphan_results([message.message for message in self.conversation.messages]) == ()

    @invariant()
    def what_is_sent_begins_with_the_system_message_and_its_sections(self):
        first, *others = self.conversation.completion_params()
        assert first["role"] == "system"
        assert first["content"].endswith(RULES)
        assert all(param["role"] != "system" for param in others)

    @invariant()
    def every_placeholder_gives_back_a_result_that_was_added(self):
        for message in self.conversation.messages:
            if message.role == "tool":
                text = message.completion_param()["content"]
                handle = placeholder_handle(text)
                if handle is not None:
                    text = self.conversation.compacted_toolcall_result(handle)
                assert text in self.results

    @invariant()
    def what_is_sent_can_be_read_as_messages(self):
        for param in self.conversation.completion_params():
            assert Message.from_openai(param).to_openai() == param


TestConversation = ConversationMachine.TestCase
TestConversation.settings = settings(stateful_step_count=25)
