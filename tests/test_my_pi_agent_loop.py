"""The loop of the my_pi_agent document: a session file, the bridge, and a kill at any line."""

from pathlib import Path

from compaction.llm import ModelCall, ModelReply, Usage
from compaction.messages import Message, ToolCall
from compaction.pairing import pair
from compaction.session import Session
from compaction.systems.my_pi_agent import (
    ContextCompacted,
    ContextManager,
    ContextSessionBridge,
    MyPiAgent,
)
from tests.pi_cases import GOOD_REPLY

ROUNDS = 24
SETTINGS = MyPiAgent(max_messages=10**9, micro_min_chars=1_000)


class Model:
    """Answers by how much of the conversation there is, so that a restart changes nothing."""

    name = "m"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, call: ModelCall) -> ModelReply:
        self.asked.append("".join(message.digest for message in call.messages))
        return ModelReply(GOOD_REPLY, usage=Usage(900, 100), model="m")

    async def acomplete(self, call: ModelCall) -> ModelReply:
        return self.complete(call)

    def next_step(self, rounds: int) -> Message:
        if rounds == ROUNDS:
            return Message("assistant", "Done.")
        calls = (ToolCall(f"a{rounds}", "read", "{}"), ToolCall(f"b{rounds}", "read", "{}"))
        return Message("assistant", f"Reading {rounds}.", tool_calls=calls)


def run(path: Path, model: Model) -> tuple[list[ContextCompacted], list[str]]:
    """Go on with the session until it is done; return what was told and what went wrong."""
    session = Session.open(path, sync=False)
    bridge = ContextSessionBridge(session)
    context = ContextManager(budget=1_500, llm=model, settings=SETTINGS)
    bridge.restore_cache(context)
    told: list[ContextCompacted] = []
    faults: list[str] = []
    if not any(message.role == "user" for message in session.get_full_history_messages()):
        session.append(Message("user", "Read them all."))
    for _, call in pair(session.get_full_history_messages()).open_calls:
        session.append(Message("tool", call.call_id + "x" * 300, tool_call_id=call.call_id))
    while True:
        history = session.get_full_history_messages()
        view = context.prepare(history)
        faults += [event.reason for event in context.events if event.outcome == "failed"]
        faults += ["orphan"] * len(pair(view).orphans)
        bridge.write_compaction(context)
        if context.pending_compaction is not None:
            told.append(ContextCompacted.of(context.pending_compaction))
        reply = model.next_step(sum(message.role == "assistant" for message in history))
        context.record_usage({"prompt_tokens": sum(len(m.text) for m in view) // 3})
        session.append(reply)
        if not reply.tool_calls:
            return told, faults
        for call in reply.tool_calls:
            session.append(Message("tool", call.call_id + "x" * 300, tool_call_id=call.call_id))


def test_a_loop_killed_at_any_line_goes_on_without_paying_for_a_written_summary(
    tmp_path: Path,
) -> None:
    whole, model = tmp_path / "whole.jsonl", Model()
    told, faults = run(whole, model)
    lines = whole.read_bytes().splitlines(keepends=True)
    history = Session.load(whole).get_full_history_messages()

    for count in range(1, len(lines)):
        path, again = tmp_path / f"{count}.jsonl", Model()
        torn = lines[count][: len(lines[count]) // 2]
        path.write_bytes(b"".join(lines[:count]) + torn)
        _, restarted_faults = run(path, again)
        written = sum(b'"type": "compaction"' in line for line in lines[:count])

        assert restarted_faults == [], count
        assert Session.load(path).get_full_history_messages() == history, count
        assert set(model.asked[:written]).isdisjoint(again.asked), count
    assert faults == []
    assert len(told) == len(model.asked) > 2
