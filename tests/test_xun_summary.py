"""The second level of xun: what the model is asked, and what is never committed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.contract.invariants import Checker
from compaction.errors import StoreError
from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import Usage, drive
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.strategy import Context, Request
from compaction.systems.xun import COMPACTED_SYSTEM_PROMPT, Xun
from compaction.tiers.results import original_text
from compaction.tokens import CharCounter
from tests.xun_cases import BAD_REPLIES, SUMMARY, Run, agent_run, outcomes, replies, tool_round

GOLDEN = Path(__file__).with_name("golden") / "xun_view.json"
SECTIONS = [
    "## system_context",
    "## overview",
    "## key_facts",
    "## user_preferences",
    "## decisions",
    "## pending_tasks",
    "## open_questions",
    "## tone_context",
]


def over(messages, *texts, **parameters):
    return Run(messages, replies(*texts), token_threshold=10_000, max_retries=0, **parameters)


def test_the_summary_takes_the_place_of_the_system_prompt_and_the_last_16_messages_stay():
    messages = agent_run(20, result_chars=100)
    run = over(messages, SUMMARY)

    view = run.view(10_001)

    wrapped = COMPACTED_SYSTEM_PROMPT.replace("{summary}", SUMMARY)
    assert wrapped.startswith(
        "Earlier conversation history has been compacted into the summary below"
    )
    assert view.messages == (Message("system", wrapped), messages[1], *messages[-16:])
    assert view.entries[0].origin.spans == ((0, 1), (2, 26))
    assert run.compactor.state.total_tokens is None
    assert run.counter.summary_rounds == 1


def test_the_model_sees_the_system_message_the_batch_and_one_request_for_eight_sections():
    messages = agent_run(20, result_chars=100)
    run = over(messages, SUMMARY)

    run.view(10_001)

    (call,) = run.model.calls
    *batch, request = call.messages
    assert batch == [messages[0], *messages[2:-16]]
    assert request.role == "user"
    assert [line for line in request.text.splitlines() if line.startswith("## ")] == SECTIONS
    assert list(call.sections) == SECTIONS
    assert "1,024 tokens" in request.text
    assert call.max_output_tokens == 1_024
    assert call.tools == ()


def twice_summarised(**parameters):
    run = over(agent_run(20, 100), "## overview\nfirst", "## overview\nsecond", **parameters)
    run.view(10_001)
    for index in range(20, 32):
        run.add(*tool_round(index, "r" * 100))
    return run, run.view(10_001)


def test_the_second_summary_sees_the_first_and_replaces_it():
    run, view = twice_summarised()

    assert "## overview\nfirst" in run.model.calls[1].messages[0].text
    assert run.model.calls[1].previous_summary == "## overview\nfirst"
    assert "first" not in view.messages[0].text
    assert [m.role for m in view.messages[:3]] == ["system", "user", "assistant"]


def test_literally_the_second_summary_may_forget_the_first():
    run, _ = twice_summarised(literal_batch=True)

    assert all("first" not in message.text for message in run.model.calls[1].messages)
    assert run.model.calls[1].previous_summary is None


def test_a_kept_system_prompt_stands_before_one_summary():
    run, view = twice_summarised(keep_system_prompt=True)

    assert view.messages[0] == Message("system", "s" * 100)
    assert view.messages[1].role == "system"
    assert "second" in view.messages[1].text
    assert [m.role for m in view.messages[2:5]] == ["user", "assistant", "tool"]
    assert "## overview\nfirst" in run.model.calls[1].messages[0].text
    assert Xun(keep_system_prompt=True).promises.keeps_system
    assert not Xun().promises.keeps_system


def test_the_tail_begins_with_a_whole_group():
    parallel = agent_run(20, result_chars=100)
    calls = tuple(m.tool_calls[0] for m in parallel[2::2])
    results = parallel[3::2]
    messages = [*agent_run(6, 100), Message("assistant", None, tool_calls=calls), *results]
    run = over(messages, SUMMARY)

    view = run.view(10_001)

    assert orphan_results(view.messages) == ()
    assert view.messages[2:] == tuple(messages[-21:])


def test_a_compaction_on_request_summarises_whatever_the_size():
    run = Run(agent_run(20, 100), replies(SUMMARY))
    run.compactor.request_compaction("the failing test")

    view = run.view()

    assert outcomes(view) == [("Summarize", "applied")]
    assert "the failing test" in run.model.calls[0].messages[-1].text
    assert run.view().events == ()


def test_a_summary_is_not_summarised_alone():
    run = Run(agent_run(20, 100), replies(SUMMARY, SUMMARY))
    views = []
    for _ in range(2):
        run.compactor.request_compaction(None)
        views.append(run.view())

    assert outcomes(views[1]) == [("Summarize", "skipped")]
    assert views[1].entries == views[0].entries
    assert len(run.model.calls) == 1


@pytest.mark.parametrize("case", BAD_REPLIES)
def test_a_bad_summary_commits_nothing_and_the_event_says_why(case):
    reply, reason = BAD_REPLIES[case]
    run = Run(agent_run(13, 200), replies(reply), token_threshold=1_000)
    free = Run(agent_run(13, 200), token_threshold=1_000, summary_keep_max=99, max_retries=0)

    view = run.view(2_000)

    assert view.entries == free.view(2_000).entries
    assert outcomes(view) == [("ClearToolResults", "applied"), ("Summarize", "failed")]
    assert reason in view.events[-1].reason
    assert run.counter.summary_rounds == 0
    assert len(run.model.calls) == 1


def test_a_failed_summary_is_tried_again_at_the_next_check():
    run = Run(agent_run(13, 200), replies("", SUMMARY), token_threshold=1_000, max_retries=0)
    run.view(2_000)

    assert outcomes(run.view(2_000)) == [("Summarize", "applied")]


def of_120_messages():
    """Four orders with results of growing length, two parallel calls, 120 messages in all."""
    messages = [Message("system", "You repair programs. Answer in English.")]
    for turn in range(4):
        messages.append(Message("user", f"Order {turn}: repair src/part_{turn}.py"))
        for index in range(turn * 14, turn * 14 + 14):
            messages += tool_round(index, f"line {index}\n" * (20 + index))
    messages += [Message("assistant", "All four are repaired."), Message("user", "Now check it.")]
    messages.append(Message("assistant", "It holds."))
    return messages


def shown(view):
    return [
        {
            "role": entry.message.role,
            "text": entry.message.text[:60],
            "chars": len(entry.message.text),
            "origin": entry.origin.kind,
            "spans": [list(span) for span in entry.origin.spans],
        }
        for entry in view.entries
    ]


def test_the_views_of_a_conversation_of_120_messages_are_the_golden_ones():
    messages = of_120_messages()
    run = Run(messages, replies(SUMMARY, SUMMARY), token_threshold=10_000, max_retries=1)

    cheap = shown(run.view(10_001))
    run.add(*tool_round(99, "r" * 100_000))
    summarised = shown(run.view(60_000))

    assert len(messages) == 120
    assert {"cheap": cheap, "summarised": summarised} == json.loads(GOLDEN.read_text("utf-8"))


@given(
    messages=conversations(min_turns=1, max_turns=4),
    keep_results=st.integers(0, 4),
    keep_messages=st.integers(1, 6),
    rounds=st.integers(0, 2),
    threshold=st.sampled_from([1, 300, 2_000]),
    keep_system=st.booleans(),
)
def test_every_view_keeps_every_promise_and_gives_back_what_it_names(
    messages, keep_results, keep_messages, rounds, threshold, keep_system
):
    settings = Xun(
        token_threshold=threshold,
        toolcall_keep_max=keep_results,
        summary_keep_max=keep_messages,
        escalation_rounds=rounds,
        max_summary_tokens=20,
        keep_system_prompt=keep_system,
    )
    compactor = settings.start(Context(CharCounter()))

    checker, history = Checker(settings.promises), History()
    for at, message in enumerate(messages):
        history = history.extended([message])
        if at + 1 < len(messages) and messages[at + 1].role != "assistant":
            continue
        view = drive(compactor.steps(history, Request(at)), ExtractiveModel())
        compactor.record_usage(Usage(sum(len(m.text) for m in view.messages), 0))

        assert checker.see(history, view, recover=compactor.recover) == []
        for entry in view.entries:
            if entry.origin.kind == "edited":
                original = history[entry.origin.first]
                assert f"ID: {entry.origin.handle}." in entry.message.text
                assert compactor.recover(entry.origin.handle) == original_text(original)


class FullDisk:
    """A store that can keep nothing."""

    def put(self, handle, text):
        raise StoreError(f"cannot keep {handle!r}: no space left")

    def get(self, handle):
        return None


def test_what_the_store_cannot_keep_stays_in_the_conversation():
    compactor = Xun(token_threshold=10_000, max_retries=0).start(Context(CharCounter(), FullDisk()))
    compactor.record_usage(Usage(10_001, 0))

    view = drive(compactor.steps(History(agent_run(20)), Request(0)), replies(""))

    assert view.messages == tuple(agent_run(20))
    assert {event.outcome for event in view.events} == {"failed"}
    assert "no space left" in view.events[0].reason
