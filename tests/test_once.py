"""Compacting once at a boundary: where it is, what each prompt's layout keeps, that it lasts."""

import pytest

from compaction.errors import ModelError
from compaction.history import History
from compaction.llm import ModelReply, NoModel, ScriptedChat, drive
from compaction.messages import messages_from_openai
from compaction.model_wire import FIRST_SEED
from compaction.prompts import SUMMARY_INSTRUCTIONS
from compaction.store import MemoryStore
from compaction.strategy import Context, Request
from compaction.systems.my_pi_agent_prompts import SUMMARIZATION_SYSTEM_PROMPT
from compaction.systems.three_layer_prompts import COMPRESS_SYSTEM
from compaction.systems.xun_prompts import SUMMARY_INSTRUCTION
from compaction.tokens import CharCounter
from evals.probing.boundaries import boundary_of, boundary_tokens
from evals.probing.once import BARE_REQUEST, PROMPT_NAMES, ClearOnce, SummaryOnce
from evals.settings import PROMPTS
from tests.probe_cases import conversation, prepared_dataset

MESSAGES = messages_from_openai(conversation())
AT = History(MESSAGES[:4]).total(CharCounter())
"""Reached before the request at 4, not before the one at 2."""


def views(strategy, model):
    compactor = strategy.start(Context(CharCounter(), MemoryStore()))
    return [
        drive(compactor.steps(History(MESSAGES[:position]), Request(index=at)), model)
        for at, position in enumerate((2, 4, 6))
    ]


@pytest.mark.parametrize(
    ("prompt", "roles"),
    [
        ("headings", ["system", "user"]),
        ("plain", ["system", "user"]),
        ("my_pi_agent", ["system", "user"]),
        ("three_layer", ["user"]),
        ("xun", ["system", "user"]),
    ],
)
def test_a_summary_stands_where_the_system_of_its_prompt_puts_it(prompt, roles):
    model = ScriptedChat(["A summary that is short."])

    before, at, after = views(SummaryOnce(prompt=prompt, at_tokens=AT), model)

    assert before.messages == MESSAGES[:2]
    assert [message.role for message in at.messages] == roles
    assert sum("A summary that is short." in message.text for message in at.messages) == 1
    assert after.messages == (*at.messages, *MESSAGES[4:6])
    assert len(model.calls) == 1


@pytest.mark.parametrize(
    ("prompt", "own"),
    [
        ("headings", SUMMARY_INSTRUCTIONS),
        ("plain", BARE_REQUEST),
        ("my_pi_agent", SUMMARIZATION_SYSTEM_PROMPT),
        ("three_layer", COMPRESS_SYSTEM),
        ("xun", SUMMARY_INSTRUCTION),
    ],
)
def test_each_prompt_is_the_one_of_its_system_and_no_other(prompt, own):
    model = ScriptedChat(["A summary that is short."])
    every = (
        SUMMARY_INSTRUCTIONS,
        BARE_REQUEST,
        SUMMARIZATION_SYSTEM_PROMPT,
        COMPRESS_SYSTEM,
        SUMMARY_INSTRUCTION,
    )

    views(SummaryOnce(prompt=prompt, at_tokens=AT), model)

    asked = "\n".join(message.text for message in model.calls[0].messages)
    assert [text for text in every if text.strip() in asked] == [own]


def test_xun_keeps_the_last_user_message_beside_its_summary():
    at = views(SummaryOnce(prompt="xun", at_tokens=AT), ScriptedChat(["Short."]))[1]

    assert at.messages[1] == MESSAGES[1]


def test_a_rejected_summary_leaves_the_view_and_is_not_asked_for_again():
    model = ScriptedChat([ModelReply("Half a summ", finish_reason="length")])

    _, at, after = views(SummaryOnce(at_tokens=AT), model)

    assert at.messages == MESSAGES[:4]
    assert [event.outcome for event in at.events] == ["failed"]
    assert after.messages == MESSAGES[:6]
    assert len(model.calls) == 1


def test_replicates_of_a_summary_are_the_same_call_under_other_seeds():
    models = [ScriptedChat(["A summary that is short."]) for _ in range(3)]
    found = [
        views(SummaryOnce(prompt="plain", at_tokens=AT, replicate=number), model)[1]
        for number, model in enumerate(models)
    ]

    calls = [model.calls[0] for model in models]
    assert [call.seed for call in calls] == [None, FIRST_SEED + 1, FIRST_SEED + 2]
    assert {call.messages for call in calls} == {calls[0].messages}
    assert {view.messages for view in found} == {found[0].messages}


def test_a_replicate_that_fails_fails_as_the_first_does():
    model = ScriptedChat([ModelError("cut off")])

    _, at, _ = views(SummaryOnce(at_tokens=AT, replicate=1), model)

    assert at.messages == MESSAGES[:4]
    assert [event.outcome for event in at.events] == ["failed"]


def test_the_extractive_summary_asks_nobody_and_keeps_lines_of_the_conversation():
    at = views(SummaryOnce(by="extractive", at_tokens=AT), NoModel())[1]

    assert "WX-3318" in at.messages[1].text
    assert at.entries[1].origin.kind == "generated"


def test_results_are_cleared_at_the_boundary_and_not_after_it():
    _, at, after = views(ClearOnce(keep_last_results=0, at_tokens=AT), NoModel())

    assert "9451" not in at.messages[3].text
    assert after.messages[5] == MESSAGES[5]


def test_a_boundary_depends_on_the_size_of_the_conversation_only(tmp_path):
    prepared = prepared_dataset(tmp_path)
    sizes = [
        sum(map(prepared.counter.count, prepared.transcript.messages[:position]))
        for position in (2, 4, 6, 8, 10)
    ]

    boundary = boundary_of(prepared, "50%")

    assert boundary_tokens(prepared, "50%") == round(sizes[-1] / 2)
    assert sizes[1] < sizes[-1] / 2 <= sizes[2]
    assert (boundary.messages, boundary.request.index) == (6, 2)
    assert boundary_of(prepared, "200%") is None


def test_every_prompt_stands_in_the_default_run():
    assert sorted(PROMPT_NAMES) == sorted(PROMPTS)


@pytest.mark.parametrize("parameters", [{"at_tokens": 0}, {"max_summary_tokens": 0}])
def test_sizes_are_positive(parameters):
    with pytest.raises(ValueError, match="must be >= 1"):
        SummaryOnce(**parameters)
    with pytest.raises(ValueError, match="replicate must be >= 0"):
        SummaryOnce(replicate=-1)
