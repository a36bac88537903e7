import asyncio
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from compaction.agent import INTERRUPTED, Agent
from compaction.agent_events import (
    ContextCompacted,
    ReplyReceived,
    RequestSent,
    RunFinished,
    SessionResumed,
    ToolFinished,
)
from compaction.agent_journal import FileJournal, MemoryJournal
from compaction.agent_settings import AgentSettings
from compaction.agent_tools import Toolbox, parsed_arguments, read_persisted_output
from compaction.control import Pipeline
from compaction.errors import ModelError, SessionError, StrategyError
from compaction.llm import ModelReply, ScriptedChat, Usage
from compaction.messages import Message, ToolCall
from compaction.pairing import pair
from compaction.registry import make_strategy
from compaction.strategy import Promises
from compaction.systems.three_layer import ThreeLayer
from compaction.tiers.clear_tool_results import ClearToolResults
from compaction.tokens import CharCounter
from evals.recording.scripted_endpoint import Fault, Reply, serve_script
from tests.agent_cases import STRATEGY, SUMMARY, is_summary_request, make_agent, tool, wants

READ = [wants(("read_file", {"path": f"f{index}.py"})) for index in range(4)]
COMPACTING = [READ[0], READ[1], Reply(SUMMARY), READ[2], Reply("All read.")]
"""The second read brings the view over the limit, so the third answer is to a summary call."""


def run_in_own_process(base_url, folder, *prompt):
    command = [sys.executable, "-m", "tests.agent_cases", base_url, str(folder), *prompt]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def scripted(replies, **parameters):
    """An agent in memory whose model and summarizer are scripts."""
    events = []
    settings = AgentSettings(
        tools=parameters.pop("tools", ()),
        counter=CharCounter(),
        listen=events.append,
        summarizer=ScriptedChat(parameters.pop("summaries", [])),
        max_requests=parameters.pop("max_requests", 20),
    )
    journal = parameters.pop("journal", None)
    strategy = parameters.pop("strategy", None) or ThreeLayer(**parameters)
    return Agent(ScriptedChat(replies), strategy, settings=settings, journal=journal), events


def asks(*calls):
    made = tuple(ToolCall(f"id_{name}", name, json.dumps(given)) for name, given in calls)
    return ModelReply("", finish_reason="tool_calls", tool_calls=made)


def test_a_real_loop_compacts_and_finishes(tmp_path):
    events = []
    with serve_script(COMPACTING) as endpoint:
        agent = make_agent(endpoint.base_url, tmp_path, listen=events.append)
        answer = agent.run("Read the files.")

    assert answer == "All read."
    assert [is_summary_request(body) for body in endpoint.requests] == [
        False,
        False,
        True,
        False,
        False,
    ]
    after = endpoint.requests[3]["messages"]
    assert [message["role"] for message in after] == ["user"]
    assert SUMMARY in after[0]["content"]
    assert "f0.py" in after[0]["content"]
    (compacted,) = [e.event for e in of(ContextCompacted, events) if e.event.model_calls]
    assert compacted.outcome == "applied"
    assert compacted.model_calls[0].usage.input_tokens > 1_000
    assert [event.request for event in of(RequestSent, events)] == [0, 1, 2, 3]
    assert len(of(ToolFinished, events)) == 3
    assert of(RunFinished, events) == [RunFinished("All read.", 4)]
    assert of(ReplyReceived, events)[0].usage.output_tokens > 0


def test_the_tools_of_the_strategy_are_offered_and_no_others(tmp_path):
    with serve_script([Reply("Hello.")]) as endpoint:
        make_agent(endpoint.base_url, tmp_path).run("Hi.")

    names = [item["function"]["name"] for item in endpoint.requests[0]["tools"]]
    assert names == ["read_file", "die", "read_persisted_output", "compact"]


def test_the_asynchronous_loop_sends_the_same_requests(tmp_path):
    async def read_slowly(path):
        await asyncio.sleep(0)
        return path

    both = []
    script = [wants(("read_slowly", {"path": "a"})), *COMPACTING]
    with serve_script(script) as endpoint:
        slow = tool("read_slowly", lambda path: path, "path")
        make_agent(endpoint.base_url, tmp_path / "sync", tools=[slow]).run("Read.")
        both.append(endpoint.requests)
    with serve_script(script) as endpoint:
        slow = tool("read_slowly", read_slowly, "path")
        agent = make_agent(endpoint.base_url, tmp_path / "async", tools=[slow])
        answer = asyncio.run(agent.arun("Read."))
        both.append(endpoint.requests)

    assert answer == "All read."
    assert both[0] == both[1]


@pytest.mark.slow
def test_a_killed_process_goes_on_without_paying_for_the_summary_again(tmp_path):
    script = [*COMPACTING[:3], wants(("read_file", {"path": "f2.py"}), ("die", {}))]
    script.append(Reply("All read."))
    with serve_script(script) as endpoint:
        killed = run_in_own_process(endpoint.base_url, tmp_path, "Read the files.")
        resumed = run_in_own_process(endpoint.base_url, tmp_path)

    assert killed.returncode == -9, killed.stderr
    assert (resumed.returncode, resumed.stdout) == (0, "All read."), resumed.stderr
    assert sum(map(is_summary_request, endpoint.requests)) == 1
    first_after_kill = endpoint.requests[4]["messages"]
    assert SUMMARY in first_after_kill[0]["content"]
    assert [message["role"] for message in first_after_kill] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert first_after_kill[2]["content"].startswith("f2.py")
    assert first_after_kill[3]["content"] == INTERRUPTED


def test_a_summary_that_was_paid_for_survives_a_failed_request(tmp_path):
    script = [*COMPACTING[:3], Fault("status"), *COMPACTING[3:]]
    events = []
    with serve_script(script) as endpoint:
        with pytest.raises(ModelError, match="scripted fault"):
            make_agent(endpoint.base_url, tmp_path).run("Read the files.")
        agent = make_agent(endpoint.base_url, tmp_path, listen=events.append)
        answer = agent.run()

    assert answer == "All read."
    assert sum(map(is_summary_request, endpoint.requests)) == 1
    assert endpoint.requests[4]["messages"] == endpoint.requests[3]["messages"]
    assert of(SessionResumed, events) == [SessionResumed(6, 2, 1)]
    assert (tmp_path / "s.jsonl").read_text("utf-8").count('"type": "view"') == 4


def test_a_failed_request_can_be_tried_again_in_the_same_process(tmp_path):
    script = [READ[0], Fault("cut_off"), *COMPACTING[1:]]
    with serve_script(script) as endpoint:
        agent = make_agent(endpoint.base_url, tmp_path)
        with pytest.raises(ModelError):
            agent.run("Read the files.")
        answer = agent.run()
        again = make_agent(endpoint.base_url, tmp_path)

        assert answer == "All read."
        assert again.run() == "All read."
    assert len(endpoint.requests) == 6
    assert again.history.messages() == agent.history.messages()


@pytest.mark.slow
def test_a_session_goes_on_with_a_new_prompt_after_every_possible_kill(tmp_path):
    with serve_script(COMPACTING) as endpoint:
        make_agent(endpoint.base_url, tmp_path / "whole").run("Read the files.")
    lines = (tmp_path / "whole" / "s.jsonl").read_bytes().splitlines(keepends=True)

    for count in range(1, len(lines)):
        folder = tmp_path / str(count)
        folder.mkdir()
        torn = lines[count][: len(lines[count]) // 2]
        (folder / "s.jsonl").write_bytes(b"".join(lines[:count]) + torn)
        has_summary = any(b'"type": "reply"' in line for line in lines[:count])
        replies = [Reply(SUMMARY), Reply("Done.")] if not has_summary else [Reply("Done.")]
        with serve_script([*replies, Reply("Done.")]) as endpoint:
            agent = make_agent(endpoint.base_url, folder)
            agent.run("Now report.")

        paid = sum(map(is_summary_request, endpoint.requests))
        assert paid == 0 or not has_summary, count
        for body in endpoint.requests:
            shown = tuple(map(Message.from_openai, body["messages"]))
            assert not pair(shown).orphans
            assert not pair(shown).open_calls


def test_a_resumed_session_has_the_outputs_that_were_persisted(tmp_path):
    big = wants(("read_file", {"path": "big.py"}))
    with serve_script([big, Fault("status")]) as endpoint, pytest.raises(ModelError):
        make_agent(endpoint.base_url, tmp_path).run("Read it.")
    shown = endpoint.requests[1]["messages"][-1]["content"]
    handle = shown.split('"')[1]

    reading = wants(("read_persisted_output", {"handle": handle, "offset_chars": 3_990}))
    with serve_script([reading, Reply("Ends in t.")]) as endpoint:
        make_agent(endpoint.base_url, tmp_path).run()

    result = endpoint.requests[1]["messages"][-1]["content"]
    assert shown.startswith("<persisted-output")
    assert result == f"[characters 3990 to 4008 of 4008]\n{'t' * 18}"


def test_the_compact_tool_compacts_after_the_whole_batch(tmp_path):
    script = [
        READ[0],
        wants(("compact", {"focus": "f1"}), ("read_file", {"path": "f1.py"})),
        Reply(SUMMARY),
        Reply("Done."),
    ]
    strategy = replace(STRATEGY, context_limit_chars=50_000)
    with serve_script(script) as endpoint:
        make_agent(endpoint.base_url, tmp_path, strategy=strategy).run("Read the files.")

    asked, after = (body["messages"] for body in endpoint.requests[2:])
    assert "Compacting conversation..." in asked[1]["content"]
    assert "f1.py: ttt" in asked[1]["content"]
    assert [message["role"] for message in after] == ["user"]
    assert "Focus for the work to come: f1" in after[0]["content"]


def test_a_host_may_ask_for_a_compaction_and_a_resumed_session_repeats_it():
    journal = MemoryJournal()
    agent, _ = scripted(["First.", "Second."], summaries=["- s"], journal=journal)
    agent.run("x" * 900)
    agent.compact("the x")
    agent.run("And now?")

    resumed, _ = scripted(["Third."], journal=journal)
    resumed.run("And then?")

    (last,) = resumed._model.calls
    assert [message.role for message in last.messages] == ["user", "assistant", "user"]
    assert "Focus for the work to come: the x" in last.messages[0].text


def test_a_compaction_that_was_asked_for_survives_a_kill():
    journal = MemoryJournal()
    agent, _ = scripted(["First."], journal=journal)
    agent.run("x" * 900)
    agent.compact("the x")

    resumed, events = scripted(["Second."], summaries=["- s"], journal=journal)
    resumed.run("And now?")

    assert [item.event.trigger for item in of(ContextCompacted, events)] == ["manual"]
    assert "Focus for the work to come: the x" in resumed._model.calls[0].messages[0].text


def test_a_strategy_that_cannot_be_told_to_compact_says_so():
    class Fixed:
        name, version, promises = "fixed", "1", Promises()

        def start(self, context):
            return self

        def recover(self, handle):
            return None

    agent, _ = scripted([], strategy=Fixed())

    with pytest.raises(StrategyError, match="cannot be told to compact"):
        agent.compact()


def test_a_recoverable_strategy_offers_extraction_and_the_original_comes_back():
    strategy = Pipeline(
        name="clearing",
        tiers=(ClearToolResults(keep_last_results=0, placeholder="[ID: {handle}]"),),
        declared=Promises(recoverable=True),
    )
    long_output = tool("say", lambda: "secret " * 50)
    agent, events = scripted(
        [asks(("say", {})), asks(("extract_compacted_tool_result", {"toolcall_id": "?"})), "Done."],
        strategy=strategy,
        tools=[long_output],
    )
    agent.run("Say it.")
    shown = agent._model.calls[1].messages[-1].text
    handle = shown.removeprefix("[ID: ").removesuffix("]")

    agent._model._replies = iter(
        [asks(("extract_compacted_tool_result", {"toolcall_id": handle})), "Done."]
    )
    agent.run("Extract it.")

    outcomes = [event.outcome for event in of(ToolFinished, events)]
    assert outcomes[1].text == "error: nothing is stored under '?'; run the tool again"
    assert outcomes[1].is_error
    assert outcomes[2].text == "secret " * 50


@pytest.mark.parametrize("name", ["three_layer", "xun", "my_pi_agent"])
def test_every_system_runs_in_the_loop(name):
    agent, _ = scripted(
        [asks(("say", {})), "Done."],
        strategy=make_strategy(name),
        tools=[tool("say", lambda: "hi")],
    )

    assert agent.run("Say it.") == "Done."
    assert [message.role for message in agent.history.messages()] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_usage_reaches_the_compactor():
    learnt = []

    class Noting:
        name, version, promises = "noting", "1", Promises()

        def start(self, context):
            self.inner = ThreeLayer().start(context)
            return self

        def steps(self, history, request):
            return self.inner.steps(history, request)

        def record_usage(self, usage):
            learnt.append(usage)

        def recover(self, handle):
            return None

    agent, _ = scripted([ModelReply("Hi.", usage=Usage(10, 2))], strategy=Noting())
    agent.run("Hello.")

    assert learnt == [Usage(10, 2)]


FAULTY_CALLS = {
    "unknown tool": (ToolCall("a", "nope", "{}"), "error: no tool named 'nope'; there are say"),
    "no JSON": (ToolCall("a", "say", "{"), "error: the arguments of say are not JSON"),
    "no object": (ToolCall("a", "say", "[1]"), "error: the arguments of say are not a JSON object"),
    "wrong names": (ToolCall("a", "say", '{"x": 1}'), "error: "),
    "raises": (ToolCall("a", "burst", ""), "error: division by zero"),
}


@pytest.mark.parametrize(("call", "text"), FAULTY_CALLS.values(), ids=FAULTY_CALLS)
def test_a_tool_that_fails_answers_an_error_in_both_drivers(call, text):
    box = Toolbox([tool("say", lambda: "hi"), tool("burst", lambda: str(1 / 0))])

    outcomes = [box.call(call), asyncio.run(box.acall(call))]

    assert all(outcome.is_error and outcome.text.startswith(text) for outcome in outcomes)


def test_a_coroutine_tool_needs_the_asynchronous_driver():
    async def wait():
        return "waited"

    box = Toolbox([tool("wait", wait)])

    assert box.call(ToolCall("a", "wait", "{}")).text == (
        "error: wait is asynchronous; run the agent with `arun`"
    )
    assert asyncio.run(box.acall(ToolCall("a", "wait", "{}"))).text == "waited"


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two tools of one name: compact"):
        scripted([], tools=[tool("compact", lambda: "mine")])


def test_a_read_is_bounded_and_says_how_to_go_on():
    text = "".join(chr(97 + index % 26) for index in range(50_000))
    recover = {"h": text}.get

    piece = read_persisted_output(recover, "h", offset_chars=5, max_chars=10**9)
    last = read_persisted_output(recover, "h", offset_chars=49_999)

    head, _, body = piece.partition("\n")
    assert head == "[characters 5 to 20005 of 50000; go on with offset_chars=20005]"
    assert body == text[5:20_005]
    assert last == f"[characters 49999 to 50000 of 50000]\n{text[-1]}"
    assert read_persisted_output({"h": "all"}.get, "h") == "all"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"offset_chars": -1}, "offset_chars must be 0 to 3, got -1"),
        ({"offset_chars": 4}, "offset_chars must be 0 to 3, got 4"),
        ({"max_chars": 0}, "max_chars must be >= 1, got 0"),
    ],
)
def test_a_read_outside_the_text_is_refused(options, problem):
    with pytest.raises(ValueError, match=problem):
        read_persisted_output({"h": "abc"}.get, "h", **options)


def test_arguments_that_are_missing_are_none():
    assert parsed_arguments(ToolCall("a", "say", "")) == {}


def test_a_run_that_does_not_end_is_stopped_and_can_go_on():
    say = tool("say", lambda: "hi")
    agent, _ = scripted([asks(("say", {}))] * 3 + ["Done."], tools=[say], max_requests=3)

    with pytest.raises(ModelError, match="no final answer after 3 requests"):
        agent.run("Say it.")

    assert agent.run() == "Done."


def test_nothing_to_go_on_with_is_an_error_and_a_finished_turn_repeats_its_answer():
    agent, _ = scripted(["Hi."])

    with pytest.raises(ValueError, match="give a prompt"):
        agent.run()
    agent.run("Hello.")
    assert agent.run() == "Hi."
    assert len(agent._model.calls) == 1


def test_a_session_of_another_strategy_is_refused_and_kept(tmp_path):
    path = tmp_path / "s.jsonl"
    scripted(["Hi."], journal=FileJournal(path))[0].run("Hello.")
    before = path.read_bytes()

    with pytest.raises(SessionError, match=r"s\.jsonl, line 1: written with parameters .*2000"):
        scripted([], journal=FileJournal(path), preview_chars=1)

    assert path.read_bytes() == before


DAMAGED = {
    "not JSON": (b"nonsense\n", "not JSON"),
    "no object": (b"[1]\n", "not a JSON object"),
    "unknown type": (b'{"type": "other"}\n', "unknown type 'other'"),
    "no message": (b'{"type": "message", "message": {"role": "king"}}\n', "unknown role 'king'"),
    "wrong length": (b'{"type": "view", "messages": 9, "request": 0, "time": 1}\n', "9 of 1"),
    "reply first": (b'{"type": "reply", "reply": {}}\n', "damaged record"),
    "focus": (b'{"type": "compact", "focus": 1.5}\n', "'focus' is float"),
    "time": (b'{"type": "view", "messages": 1, "request": 0, "time": "x"}\n', "'time' is str"),
    "usage": (
        b'{"type": "message", "message": {"role": "user", "content": ""}, '
        b'"usage": {"input_tokens": "x", "output_tokens": 1}}\n',
        "'input_tokens' is str",
    ),
}


@pytest.mark.parametrize(("line", "problem"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_session_names_the_line_and_stays_as_it_is(tmp_path, line, problem):
    path = tmp_path / "s.jsonl"
    scripted(["Hi."], journal=FileJournal(path))[0].run("Hello.")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    before = path.read_bytes()

    with pytest.raises(SessionError) as caught:
        scripted([], journal=FileJournal(path))

    assert "s.jsonl, line 3: " in str(caught.value)
    assert problem in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("field", ["text", "finish_reason", "model", "seconds", "tool_names"])
def test_a_recorded_reply_with_a_wrong_field_is_damaged(tmp_path, field):
    path = tmp_path / "s.jsonl"
    agent, _ = scripted(["First.", "Second."], summaries=["- s"], journal=FileJournal(path))
    agent.run("x" * 900)
    agent.compact()
    agent.run("And now?")
    lines = path.read_text("utf-8").splitlines()
    (at,) = [index for index, line in enumerate(lines) if '"type": "reply"' in line]
    record = json.loads(lines[at])
    record["reply"][field] = {}
    lines[at] = json.dumps(record)
    path.write_text("\n".join(lines) + "\n", "utf-8")

    with pytest.raises(SessionError, match=f"line {at + 1}: damaged record: .*{field}"):
        scripted([], journal=FileJournal(path))


@pytest.mark.parametrize("content", [b"# notes", b"# notes\n", b'{"type": "session"}\n'])
def test_a_foreign_file_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)

    with pytest.raises(SessionError, match=r"s\.jsonl, line 1: "):
        scripted([], journal=FileJournal(path))

    assert path.read_bytes() == content


def test_a_compactor_that_asks_for_more_than_was_recorded_cannot_go_on():
    journal = MemoryJournal()
    strategy = ThreeLayer(context_limit_chars=900)
    agent, _ = scripted(["A.", "B."], summaries=["- s"], strategy=strategy, journal=journal)
    agent.run("x" * 1_000)
    agent.run("Next.")
    records = [record for _, record in journal.records() if record["type"] != "reply"]
    without_replies = MemoryJournal()
    for record in records:
        without_replies.append(record)

    resumed, _ = scripted(["C."], strategy=strategy, journal=without_replies)

    with pytest.raises(SessionError, match="asks for a summary that was not recorded"):
        resumed.run("Third.")


def test_reasoning_is_sent_back_as_it_came():
    thought = Message("assistant", "Hi.", reasoning="hm")
    agent, _ = scripted([ModelReply("Hi.", message=thought), "Bye."])
    agent.run("Hello.")
    agent.run("Bye.")

    assert agent._model.calls[1].messages[1] == thought


SMALL = {
    "three_layer": {},
    "xun": {"summary_keep_max": 1},
    "my_pi_agent": {"context_budget": 2_000, "keep_recent_tokens": 100},
}


@pytest.mark.parametrize("name", SMALL)
def test_every_system_resumes_without_asking_for_its_summary_again(name):
    strategy, journal = make_strategy(name, SMALL[name]), MemoryJournal()
    say = tool("say", lambda: "word " * 100)
    worked = [asks(("say", {})), asks(("say", {})), "First."]
    agent, _ = scripted(
        [*worked, "Second."], strategy=strategy, journal=journal, tools=[say], summaries=["- sum"]
    )
    agent.run("Say it.")
    agent.compact()
    agent.run("And now?")

    resumed, _ = scripted(["Third."], strategy=strategy, journal=journal, tools=[say])
    resumed.run("And then?")

    before, after = agent._model.calls[-1].messages, resumed._model.calls[-1].messages
    assert len(agent._summarizer.calls) == 1
    assert any("- sum" in message.text for message in before)
    assert after[: len(before)] == before
    assert [message.text for message in after[len(before) :]] == ["Second.", "And then?"]
