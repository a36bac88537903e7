"""A result that comes after its call was condensed: no view holds it, and an event says so."""

import pytest

from compaction.control import Pipeline
from compaction.conversation import Conversation
from compaction.errors import ModelError
from compaction.history import History, View
from compaction.late_results import LATE_RESULTS, arrivals
from compaction.llm import ScriptedChat, Usage, drive
from compaction.messages import Message, ToolCall
from compaction.pairing import pair
from compaction.strategy import Context, Request
from compaction.systems.my_pi_agent import MyPiAgent
from compaction.systems.three_layer import CompactState, ThreeLayer, pre_api_compress
from compaction.systems.xun import Agent, AutoCompactConfig, AutoCompactor, Xun
from compaction.tiers import SnipMiddle, Summarize
from compaction.tokens import CharCounter
from compaction.triggers import Chars

SUMMARY = "<summary>## Goal\nWait for the build.</summary>"
LATE = Message("tool", "the build is green", tool_call_id="build")


def tool_round(number):
    call = ToolCall(f"c{number}", "read", "{}")
    return [
        Message("assistant", "Reading.", tool_calls=(call,)),
        Message("tool", "x" * 400, tool_call_id=call.call_id),
    ]


def interrupted(rounds=20):
    """A call, words of the user where its result should be, and so many rounds."""
    build = Message("assistant", None, tool_calls=(ToolCall("build", "run", "{}"),))
    opening = [Message("system", "s"), Message("user", "Build it."), build]
    opening.append(Message("user", "Read the files meanwhile."))
    return opening + [message for number in range(rounds) for message in tool_round(number)]


STRATEGIES = {
    "xun": Xun(token_threshold=1_000, toolcall_keep_max=20, summary_keep_max=4),
    "three_layer": ThreeLayer(context_limit_chars=5_000, micro_min_chars=1_000),
    "my_pi_agent": MyPiAgent(context_budget=2_000, micro_min_chars=1_000),
    "my_pi_agent, raw tail": MyPiAgent(
        context_budget=2_000, micro_min_chars=1_000, retained_tail="raw"
    ),
    "pipeline, summary": Pipeline(
        name="p", tiers=(Summarize(keep_tail_messages=4),), trigger=Chars(max_chars=5_000)
    ),
    "pipeline, snip": Pipeline(name="p", tiers=(SnipMiddle(max_messages=8, keep_head=1),)),
}


class Running:
    def __init__(self, strategy):
        self.compactor = strategy.start(Context(counter=CharCounter()))
        self.model = ScriptedChat([SUMMARY] * 20)

    def view(self, messages) -> View:
        view = drive(self.compactor.steps(History(messages), Request(0)), self.model)
        self.compactor.record_usage(Usage(sum(len(m.text) for m in view.messages), 0))
        return view


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_result_whose_call_was_condensed_is_left_out_with_one_event(name):
    running = Running(STRATEGIES[name])
    messages = interrupted()
    views = [running.view(messages[:length]) for length in (4, len(messages), len(messages))]
    messages += [LATE, *tool_round(20)]
    views += [running.view(messages[:length]) for length in (len(messages) - 2, len(messages))]

    assert not any("build" in str(message.tool_calls) for message in views[2].messages)
    for view in views:
        assert pair(view.messages).orphans == []
    told = [event for view in views for event in view.events if event.tier == LATE_RESULTS]
    assert [(event.trigger, event.messages_removed) for event in told] == [
        ("the call of 'build' was condensed before", 1)
    ]
    assert views[-1].messages[-1] == messages[-1]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_late_result_whose_call_still_stands_stays(name):
    running = Running(STRATEGIES[name])
    messages = [*interrupted(2), LATE]

    running.view(messages[:-1])
    view = running.view(messages)

    assert view.messages[-1] == LATE
    assert pair(view.messages).orphans == []


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_result_of_a_reused_id_answers_the_call_that_stands(name):
    running = Running(STRATEGIES[name])
    messages = interrupted()
    running.view(messages[:4])
    running.view(messages)
    running.view(messages)
    again = Message("assistant", "Again.", tool_calls=(ToolCall("build", "run", "{}"),))

    view = running.view([*messages, again, LATE])

    assert view.messages[-2:] == (again, LATE)
    view = running.view([*messages, again, LATE, LATE])
    assert view.messages[-2:] == (again, LATE)


def test_a_conversation_that_lacks_the_call_itself_stays_as_it_is():
    entries = History([Message("user", "u"), LATE]).entries()

    assert arrivals(entries[:1], entries[1:]) == (entries[1:], ())


def test_the_functions_leave_it_out_of_what_is_sent():
    state = CompactState(transcripts=Context(counter=CharCounter()).store)
    model = ScriptedChat([SUMMARY])
    settings = STRATEGIES["three_layer"]
    sent = [message.to_openai() for message in interrupted()]

    sent = pre_api_compress(model, "m", sent, state, settings=settings)
    sent = pre_api_compress(model, "m", [*sent, LATE.to_openai()], state, settings=settings)

    assert [message["role"] for message in sent] == ["user"]
    assert state.events[-1].tier == LATE_RESULTS


def conversation_that_lost_the_call():
    conversation = Conversation()
    conversation.set_system_message_content("s")
    conversation.add_user_message("Build it.")
    conversation.add_agent_message(interrupted()[2].to_openai())
    conversation.add_user_message("Read the files meanwhile.")
    for message in interrupted()[4:]:
        conversation.add_agent_message(message.to_openai()) if message.tool_calls else (
            conversation.add_tool_result(message.tool_call_id, message.text)
        )
    conversation.compact(lambda batch: "## overview\nBuilding.", keep_recent=4)
    conversation.add_tool_result("build", LATE.text)
    return conversation


def test_a_typed_conversation_does_not_send_it_but_shows_it():
    conversation = Conversation.loads(conversation_that_lost_the_call().dumps())

    sent = [param.get("tool_call_id") for param in conversation.completion_params()]
    assert "build" not in sent
    assert conversation.to_history()[-1] == {"role": "tool", "content": LATE.text}


def test_the_automatic_check_takes_it_out_and_tells_of_it_once():
    conversation = conversation_that_lost_the_call()
    agent = Agent(
        ScriptedChat([ModelError("none")]),
        conversation,
        AutoCompactor(),
        AutoCompactConfig(token_threshold=100_000),
    )

    first, second = agent.before_call(), agent.before_call()

    assert [event.tier for event in first] == [LATE_RESULTS]
    assert second == ()
    assert conversation.messages[-1].message != LATE


def test_a_summariser_never_sees_it_among_the_real_messages():
    conversation = conversation_that_lost_the_call()
    batches = []

    conversation.compact(lambda batch: batches.append(batch) or "- s", keep_recent=0)

    (batch,) = batches
    assert pair([message.message for message in batch]).orphans == []
