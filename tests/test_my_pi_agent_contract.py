"""The contract on generated conversations, golden views, and the limits of parameters."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.contract.generators import conversations, long_runs
from compaction.contract.invariants import Checker
from compaction.extractive import ExtractiveModel
from compaction.history import History
from compaction.llm import NoModel, ScriptedChat, Usage, drive
from compaction.messages import Message, messages_to_openai
from compaction.strategy import Context, Request
from compaction.systems import my_pi_agent
from compaction.systems.my_pi_agent import MyPiAgent, estimate_tokens
from compaction.tokens import TiktokenCounter, total_of
from tests.pi_cases import GOOD_REPLY, system, tool_round

GOLDEN = Path(__file__).parent / "golden"


def golden_conversation() -> list[Message]:
    """120 messages: five turns, parallel calls, a large result, an edit in each turn."""
    messages = [system()]
    for turn in range(7):
        messages.append(Message("user", f"Task {turn}: change src/f{turn}.py."))
        for number in range(turn * 8, turn * 8 + 7):
            chars = 25_000 if number == 50 else 150 + number * 10
            tool = "edit" if number % 8 == 3 else "read"
            messages += tool_round(number, chars=chars, tool=tool)
        messages += [Message("assistant", f"Done with {turn}.")] if turn < 6 else []
    return [*messages, *(m for number in range(90, 94) for m in tool_round(number))][:120]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("free", {}),
        ("summary", {"context_budget": 2_500}),
        (
            "literal",
            {
                "context_budget": 2_500,
                "cut": "after_user",
                "summary_input": "all",
                "retained_tail": "raw",
                "literal_handles": True,
            },
        ),
    ],
)
def test_the_view_of_120_messages_is_the_golden_one(name: str, parameters: dict) -> None:
    messages = golden_conversation()
    model = ScriptedChat([GOOD_REPLY])
    compactor = MyPiAgent(**parameters).start(Context(counter=TiktokenCounter()))
    view = drive(compactor.steps(History(messages), Request(0)), model)
    seen = {
        "view": messages_to_openai(view.messages),
        "calls": [messages_to_openai(call.messages) for call in model.calls],
    }
    path = GOLDEN / f"my_pi_agent_{name}.json"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(json.dumps(seen, indent=1, ensure_ascii=False) + "\n")

    assert len(messages) == 120
    assert seen == json.loads(path.read_text())


SETTINGS = st.builds(
    MyPiAgent,
    context_budget=st.sampled_from([0, 60, 300, 1_200, 5_000]),
    keep_recent_tokens=st.sampled_from([None, 0, 100, 1_000]),
    max_messages=st.sampled_from([5, 9, 50]),
    offload_max_chars=st.sampled_from([None, 300, 2_000]),
    preview_chars=st.sampled_from([0, 40]),
    micro_keep_recent=st.integers(0, 5),
    micro_min_chars=st.sampled_from([0, 200]),
    keep_last_user=st.booleans(),
    cut=st.sampled_from(["before_user", "after_user"]),
    summary_input=st.sampled_from(["new", "all"]),
    retained_tail=st.sampled_from(["treated", "raw"]),
    on_failure=st.sampled_from(["free_view", "history"]),
)


@settings(max_examples=60)
@given(
    messages=conversations(min_turns=1, max_turns=6) | long_runs(max_rounds=40),
    strategy=SETTINGS,
    failing=st.booleans(),
)
@pytest.mark.slow
def test_every_view_keeps_the_contract(
    messages: list[Message], strategy: MyPiAgent, failing: bool
) -> None:
    model = NoModel() if failing else ExtractiveModel()
    counter = TiktokenCounter()
    run, twin = (strategy.start(Context(counter=counter)) for _ in range(2))
    checker, whole = Checker(strategy.promises), History(messages)

    for length in range(1, len(whole) + 1):
        history = whole.prefix(length)
        view = drive(run.steps(history, Request(length)), model)
        again = drive(twin.steps(history, Request(length)), model)
        broken = checker.see(
            history,
            view,
            twin=again,
            tokens_before=history.total(counter),
            tokens_after=total_of(counter, view.messages),
            recover=run.recover,
        )
        assert broken == []
        run.record_usage(Usage(estimate_tokens(view.messages, 0.4), 1))
        twin.record_usage(Usage(estimate_tokens(view.messages, 0.4), 1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"context_budget": -1}, "context_budget must be >= 0, got -1"),
        ({"trigger_fraction": 0.0}, "trigger_fraction must be in (0, 1], got 0.0"),
        ({"max_messages": 4}, "max_messages must be >= keep_head + 2 = 5"),
        ({"micro_min_chars": -1}, "min_chars must be >= 0, got -1"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError) as raised:
        MyPiAgent(**parameters)

    assert message in str(raised.value)


def test_each_row_of_the_seed_table_names_a_test_that_exists() -> None:
    table = (my_pi_agent.__doc__ or "").partition("symbol -> test:")[2]
    written = "\n".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    rows = table.strip().split("\n- ")

    for row in rows:
        named = re.findall(r"\btest_\w+", row)
        assert named, row
        assert "`" in row, row
        assert [name for name in named if f"def {name}(" not in written] == []
    assert len(rows) > 30
