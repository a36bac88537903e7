"""Conversations and replies that several tests of my_pi_agent use."""

from collections.abc import Iterable
from dataclasses import dataclass

from compaction.errors import ModelError
from compaction.history import History, View
from compaction.llm import ChatModel, ModelReply, ScriptedChat, drive
from compaction.messages import Message, ToolCall
from compaction.store import MemoryStore, Store
from compaction.strategy import Context, Request
from compaction.systems.my_pi_agent import MyPiAgent, PiCompactor
from compaction.tokens import CharCounter

SUMMARY = "## Goal\nFix the login.\n\n## Next Steps\nRun the tests."
GOOD_REPLY = f"<analysis>what happened</analysis>\n<summary>\n{SUMMARY}\n</summary>"


def system() -> Message:
    return Message("system", "You are a careful engineer.")


def tool_round(number: int, *, chars: int = 300, tool: str = "read") -> list[Message]:
    """One call and its result; all texts differ."""
    call = ToolCall(f"c{number}", tool, f'{{"path": "src/f{number}.py"}}')
    result = f"{number}: " + "x" * chars
    return [
        Message("assistant", f"Step {number}.", tool_calls=(call,)),
        Message("tool", result, tool_call_id=call.call_id),
    ]


def one_order(rounds: int, *, chars: int = 300) -> list[Message]:
    """The usual agent log: one user message and nothing but tool rounds."""
    messages = [system(), Message("user", "Fix the login in src/auth.py.")]
    for number in range(rounds):
        messages += tool_round(number, chars=chars)
    return messages


def chat(turns: int, *, rounds: int = 2, chars: int = 300) -> list[Message]:
    """Turns of a question, tool rounds and an answer."""
    messages = [system()]
    for turn in range(turns):
        messages.append(Message("user", f"Question {turn}?"))
        for number in range(turn * rounds, (turn + 1) * rounds):
            messages += tool_round(number, chars=chars)
        messages.append(Message("assistant", f"Answer {turn}."))
    return messages


@dataclass(slots=True)
class Run:
    """A compactor with its model, asked for one view after the other."""

    compactor: PiCompactor
    model: ChatModel
    store: Store

    def view(self, messages: Iterable[Message]) -> View:
        return drive(self.compactor.steps(History(messages), Request(0)), self.model)


def start(
    settings: MyPiAgent,
    replies: Iterable[ModelReply | str | ModelError] = (),
    *,
    store: Store | None = None,
) -> Run:
    kept = store if store is not None else MemoryStore()
    context = Context(counter=CharCounter(), store=kept)
    return Run(settings.start(context), ScriptedChat(replies), kept)
