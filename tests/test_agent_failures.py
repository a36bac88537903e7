"""What fails in the middle of a run leaves the agent where a restarted process would be."""

import pytest

from compaction.agent import AGENT_PURPOSE, Agent
from compaction.agent_events import ContextCompacted
from compaction.agent_journal import FileJournal, MemoryJournal
from compaction.agent_settings import AgentSettings
from compaction.agent_tools import Tool
from compaction.errors import SessionError
from compaction.llm import ModelReply, Usage
from compaction.messages import ToolCall
from compaction.systems.my_pi_agent import MyPiAgent
from compaction.systems.three_layer import ThreeLayer
from compaction.systems.xun import Xun

STRATEGIES = {
    "xun": Xun(token_threshold=500, summary_keep_max=2, toolcall_keep_max=30),
    "my_pi_agent": MyPiAgent(context_budget=1_000, micro_min_chars=1_000),
    "three_layer": ThreeLayer(context_limit_chars=2_000),
}
every_system = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
READ = Tool(
    name="read",
    description="",
    run=lambda: "x" * 400,
    parameters={"type": "object", "properties": {}},
)


class Model:
    """Calls the tool seven times and answers; its summaries may fail as `fault` says, once."""

    name = "m"

    def __init__(self, fault=None):
        self.fault = fault
        self.summaries = 0
        self.seen = []

    def complete(self, call):
        usage = Usage(sum(len(message.text) for message in call.messages) // 3, 5)
        if call.purpose != AGENT_PURPOSE:
            self.summaries += 1
            fault, self.fault = self.fault, None
            if fault is not None:
                raise fault
            return ModelReply("<summary>short</summary>", usage=usage)
        self.seen.append(call.messages)
        if len(self.seen) % 8 == 0:
            return ModelReply("Done.", usage=usage)
        call_id = f"c{len(self.seen)}"
        return ModelReply("", tool_calls=(ToolCall(call_id, "read", "{}"),), usage=usage)


class FailingJournal(MemoryJournal):
    """Refuses one record, as a full disk does until something was deleted."""

    def __init__(self, refuse):
        super().__init__()
        self.left = refuse

    def append(self, record):
        self.left -= 1
        if self.left == 0:
            raise SessionError("no space left")
        super().append(record)


def agent(strategy, journal, model, *, listen=None, prompt=None):
    heard = {"listen": listen} if listen else {}
    settings = AgentSettings(tools=[READ], system_prompt=prompt, **heard)
    return Agent(model, strategy, settings=settings, journal=journal)


def next_requests(strategy, journal, working):
    """What the agent and a restarted one would send next, the agent first."""
    sent = []
    records = MemoryJournal()
    for _, record in journal.records():
        records.append(record)
    for one in (working, agent(strategy, records, Model())):
        model = one._model = one._summarizer = Model()
        one.run("And then?")
        sent.append(model.seen)
    return sent


@pytest.mark.parametrize(
    "fault", [KeyboardInterrupt, TimeoutError], ids=lambda fault: fault.__name__
)
@every_system
def test_a_summary_that_was_interrupted_is_asked_for_again_and_can_be_resumed(strategy, fault):
    journal, model, events = MemoryJournal(), Model(fault), []
    working = agent(strategy, journal, model, listen=events.append)

    with pytest.raises(fault):
        working.run("Go. " * 50)
    answer = working.run()
    resumed = agent(strategy, journal, Model())

    assert answer == "Done."
    applied = [e for e in events if isinstance(e, ContextCompacted) and e.event.model_calls]
    assert len(applied) == model.summaries - 1
    assert resumed.history.messages() == working.history.messages()
    assert resumed.run("More.") == "Done."


@every_system
def test_after_any_record_that_could_not_be_written_agent_and_journal_say_the_same(strategy):
    for refused in range(3, 40):
        journal = FailingJournal(refused)
        working = agent(strategy, journal, Model())
        for prompt in ("Go. " * 50, None, "More.", None):
            try:
                working.run(prompt)
                working.compact("the last file")
            except SessionError:
                continue
        working.run()

        here, restarted = next_requests(strategy, journal, working)

        assert here == restarted, refused


def test_a_session_killed_before_its_system_prompt_was_written_still_gets_it(tmp_path):
    path = tmp_path / "s.jsonl"
    agent(ThreeLayer(), FileJournal(path), Model(), prompt="You read files.")
    header, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header)

    resumed = agent(ThreeLayer(), FileJournal(path), Model(), prompt="You read files.")
    again = agent(ThreeLayer(), FileJournal(path), Model(), prompt="You write files.")

    assert [message.text for message in resumed.history.messages()] == ["You read files."]
    assert again.history.messages() == resumed.history.messages()
