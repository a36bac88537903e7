"""Conversations and helpers that the tests of the three_layer system share."""

import json

from compaction.history import History
from compaction.llm import ModelReply, ScriptedChat, drive
from compaction.messages import Message, ToolCall
from compaction.store import MemoryStore
from compaction.strategy import Context, Request
from compaction.systems.three_layer import ThreeLayer
from compaction.tokens import CharCounter

SUMMARY = "## Current goal and remaining work\nPort the parser; 3 files are left."


def call(call_id, name="bash", **arguments):
    return ToolCall(call_id, name, json.dumps(arguments))


def calls(*made):
    return Message("assistant", None, tool_calls=made)


def result(call_id, text):
    return Message("tool", text, tool_call_id=call_id)


def rounds(count, *, chars, start=0, name="bash"):
    """Rounds of one call and its result of so many characters."""
    made = []
    for index in range(start, start + count):
        call_id = f"call_{index}"
        made.append(calls(call(call_id, name, path=f"src/file_{index}.py")))
        made.append(result(call_id, (f"{index}: " + "x" * chars)[:chars]))
    return made


OPENING = [Message("system", "You are an agent."), Message("user", "Port the parser.")]


class Running:
    """A compactor at work, its model scripted."""

    def __init__(self, replies=(), *, store=None, **parameters):
        self.store = MemoryStore() if store is None else store
        self.model = ScriptedChat(replies)
        self.compactor = ThreeLayer(**parameters).start(
            Context(counter=CharCounter(), store=self.store)
        )
        self.requests = 0

    def view(self, messages):
        history = messages if isinstance(messages, History) else History(messages)
        made = drive(self.compactor.steps(history, Request(self.requests)), self.model)
        self.requests += 1
        return made


def json_chars(messages):
    return len(json.dumps([item.to_openai() for item in messages], ensure_ascii=False))


def transcripts_in(store):
    """The transcripts of a store as lists of message dicts, oldest first."""
    handles = [handle for handle in store if handle.startswith("transcript-")]
    return [[json.loads(line) for line in store.get(h).splitlines()] for h in handles]


BAD_REPLIES = {
    "empty": ("", "empty"),
    "whitespace": ("  \n\t ", "empty"),
    "refused": (ModelReply("", refusal="I cannot help with that."), "refused"),
    "refused in its text": ("I'm sorry, I can't help with that.", "refused"),
    "truncated": (ModelReply(SUMMARY, finish_reason="length"), "cut off"),
    "filtered": (ModelReply("", finish_reason="content_filter"), "filtered"),
    "over-long": ("word " * 40_000, "not smaller"),
    "tool call only": (
        ModelReply("", finish_reason="tool_calls", tool_names=("bash",)),
        "tool call",
    ),
    "error text": ('{"error": {"message": "overloaded"}}', "error"),
}
