"""Conversations and a driver for the tests of xun: sizes are set, so thresholds are exact."""

from compaction.conversation import Conversation
from compaction.conversation_messages import RawOpenAIMessage, SystemPrompt
from compaction.errors import ModelError
from compaction.history import History
from compaction.llm import ModelReply, NoModel, ScriptedChat, Usage, drive
from compaction.messages import Message, ToolCall
from compaction.strategy import Context, Request
from compaction.systems.xun import Agent, AutoCompactConfig, AutoCompactor, Xun
from compaction.systems.xun_prompts import PLACEHOLDER
from compaction.tokens import CharCounter

RULES = "# Rules\nNever push."
SUMMARY = "## overview\nThe task goes well."
PLACEHOLDER_CHARS = len(PLACEHOLDER) - len("{handle}") + len("c0.0.0123456789")
"""Of a result whose call id has two characters."""

BAD_REPLIES = {
    "empty": ("", "the summary is empty"),
    "whitespace": (" \n\t ", "the summary is empty"),
    "refused": (ModelReply("", refusal="no"), "the model refused"),
    "refused in text": ("I'm sorry, I can't help with that.", "refused in its text"),
    "filtered": (ModelReply("## over", finish_reason="content_filter"), "filtered"),
    "truncated": (ModelReply("## overview", finish_reason="length"), "cut off"),
    "over-long": ("## overview\n" + "word " * 9_000, "not smaller"),
    "tool call only": (
        ModelReply("", finish_reason="tool_calls", tool_names=("read",)),
        "tool call",
    ),
    "error text": ("Error: 429 Too Many Requests", "text of an error"),
    "raises": (ModelError("model 'm': connection refused"), "connection refused"),
    "times out": (ModelError("model 'm': APITimeoutError: timed out"), "timed out"),
}
"""Replies that are no summary, each with a part of the reason that is given."""


def tool_round(index, result, call_id=None):
    """An assistant message without text, and the one result of its call."""
    call = ToolCall(call_id or f"c{index}", "read", "{}")
    return [
        Message("assistant", None, tool_calls=(call,)),
        Message("tool", result, tool_call_id=call.call_id),
    ]


def agent_run(rounds, result_chars=1_000):
    """System and user message of 100 characters each, then rounds of `result_chars` each."""
    messages = [Message("system", "s" * 100), Message("user", "u" * 100)]
    for index in range(rounds):
        messages += tool_round(index, "r" * result_chars)
    return messages


class Run:
    """One conversation under `Xun`; usage is what the test says it is."""

    def __init__(self, messages=(), model=None, **parameters):
        self.history = History(messages)
        self.model = model or NoModel()
        self.compactor = Xun(**parameters).start(Context(CharCounter()))
        self.requests = 0

    def add(self, *messages):
        self.history = self.history.extended(messages)

    def view(self, total_tokens=None):
        """Return the view of the next request, the last reply having had `total_tokens`."""
        if total_tokens is not None:
            self.compactor.record_usage(Usage(total_tokens, 0))
        steps = self.compactor.steps(self.history, Request(self.requests))
        self.requests += 1
        return drive(steps, self.model)

    @property
    def counter(self):
        return self.compactor.state.counter


def replies(*texts):
    return ScriptedChat(texts)


def outcomes(view):
    return [(event.tier, event.outcome) for event in view.events]


def conversation_of(rounds, result_chars=1_000):
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


def sent_messages(conversation):
    return tuple(message.message for message in conversation.messages)
