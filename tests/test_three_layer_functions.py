"""The functions that the seed names, as an agent's own loop calls them."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from compaction.errors import ModelError
from compaction.llm import ScriptedChat
from compaction.store import FolderStore
from compaction.systems import three_layer
from compaction.systems.three_layer import (
    COMPACT_PLACEHOLDER,
    COMPRESS_SYSTEM,
    MICRO_PLACEHOLDER,
    CompactState,
    ThreeLayer,
    acompact_history,
    apre_api_compress,
    compact_history,
    compact_tool,
    estimate_context_size,
    micro_compact,
    persist_large_output,
    pre_api_compress,
    summarize_history,
    track_recent_file,
)
from compaction.systems.three_layer_prompts import SUMMARY_HEADER
from evals.recording.scripted_endpoint import Reply, serve_script
from tests.three_layer_cases import BAD_REPLIES, OPENING, SUMMARY, rounds


def dicts(messages):
    return [message.to_openai() for message in messages]


@pytest.fixture
def state(tmp_path):
    return CompactState(
        results=FolderStore(tmp_path / "results"),
        transcripts=FolderStore(tmp_path / "transcripts", suffix=".jsonl"),
    )


def written(tmp_path):
    """The transcripts in the order in which they were written, as lists of messages."""
    files = sorted((tmp_path / "transcripts").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    return [[json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in files]


def test_a_small_output_comes_back_as_it_is_and_nothing_is_written(tmp_path, state):
    assert persist_large_output("call_1", "z" * 30_000, state) == "z" * 30_000
    assert not (tmp_path / "results").exists()


def test_a_large_output_is_written_once_and_previewed(tmp_path, state):
    output = "z" * 30_001

    first, again = (persist_large_output("call_1", output, state) for _ in range(2))

    (file,) = (tmp_path / "results").iterdir()
    assert file.read_text("utf-8") == output
    assert file.name.startswith("call_1.")
    assert file.suffix == ".txt"
    assert first == again
    assert str(file) in first
    assert first.count("z" * 2_000) == 1
    assert len(first) < 2_500


def test_the_text_of_a_denied_call_goes_the_same_way(state):
    assert persist_large_output("call_1", "Permission denied.", state) == "Permission denied."


def test_literally_the_file_is_named_by_the_id_and_keeps_the_first_text(tmp_path, state):
    literal = ThreeLayer(literal_handles=True)

    persist_large_output("call_1", "1" * 30_001, state, settings=literal)
    second = persist_large_output("call_1", "2" * 30_001, state, settings=literal)

    assert (tmp_path / "results" / "call_1.txt").read_text("utf-8") == "1" * 30_001
    assert "2" * 2_000 in second


def test_an_output_that_cannot_be_written_comes_back_whole(tmp_path):
    (tmp_path / "file").write_text("in the way")
    state = CompactState(results=FolderStore(tmp_path / "file"))

    output = persist_large_output("call_1", "z" * 30_001, state)

    assert output == "z" * 30_001
    assert state.events[-1].outcome == "failed"


def test_micro_compact_changes_old_long_results_only_and_keeps_other_objects():
    messages = dicts([*OPENING, *rounds(1, chars=121), *rounds(1, chars=120, start=1)])
    messages += dicts(rounds(10, chars=500, start=2))
    before = json.dumps(messages)

    made = micro_compact(messages)

    assert made[3] == {"role": "tool", "tool_call_id": "call_0", "content": MICRO_PLACEHOLDER}
    assert all(new is old for new, old in zip(made, messages, strict=True) if new is not made[3])
    assert json.dumps(messages) == before
    assert micro_compact(made) == made


def test_the_estimate_is_the_length_of_the_json_in_characters():
    messages = [{"role": "user", "content": "上下文"}]

    assert estimate_context_size(messages) == len('[{"role": "user", "content": "上下文"}]')


def test_the_strategy_and_the_function_measure_the_same(state):
    messages = [*OPENING, *rounds(3, chars=50)]
    limit = estimate_context_size(dicts(messages))
    strategy = ThreeLayer(context_limit_chars=limit - 1)

    made = pre_api_compress(
        ScriptedChat(["- short"]), "", dicts(messages), state, settings=strategy
    )

    assert len(made) == 1
    assert state.events[-1].trigger == f"chars {limit} > {limit - 1}"


def test_pre_api_compress_runs_layer_two_and_calls_no_model_below_the_limit(state):
    model = ScriptedChat([])

    made = pre_api_compress(model, "", dicts([*OPENING, *rounds(11, chars=500)]), state)

    assert made[3]["content"] == MICRO_PLACEHOLDER
    assert len(made) == 24
    assert model.calls == []


def test_pre_api_compress_replaces_everything_above_the_limit(tmp_path, state):
    messages = dicts([*OPENING, *rounds(12, chars=11_000)])
    track_recent_file(state, "src/a.py")

    made = pre_api_compress(ScriptedChat([SUMMARY]), "", messages, state)

    assert [message["role"] for message in made] == ["user"]
    assert made[0]["content"].startswith(f"{SUMMARY_HEADER}\n\n{SUMMARY}\n\n")
    assert made[0]["content"].endswith("\n- src/a.py")
    assert (state.has_compacted, state.last_summary) == (True, SUMMARY)
    assert written(tmp_path) == [messages]


def test_the_transcript_restores_persisted_and_cleared_outputs(tmp_path, state):
    outputs = [f"{index}" * 31_000 for index in range(10)] + ["short"] * 5
    originals, messages = dicts(OPENING), dicts(OPENING)
    for index, output in enumerate(outputs):
        asked = dicts(rounds(1, chars=1, start=index))[0]
        call_id = asked["tool_calls"][0]["id"]
        answered = {"role": "tool", "tool_call_id": call_id}
        originals += [asked, {**answered, "content": output}]
        shown = persist_large_output(call_id, output, state)
        messages = [*messages, asked, {**answered, "content": shown}]
        messages = pre_api_compress(ScriptedChat([]), "", messages, state)

    compact_history(ScriptedChat([SUMMARY]), "", messages, state)

    assert messages[3]["content"].startswith(MICRO_PLACEHOLDER)
    assert messages[21]["content"].startswith("<persisted-output")
    assert written(tmp_path) == [originals]


def test_compact_history_passes_the_focus_on_and_appends_it(state):
    model = ScriptedChat([SUMMARY])

    made = compact_history(model, "", dicts([*OPENING, *rounds(5, chars=900)]), state, "the tests")

    assert "<focus>\nthe tests\n</focus>" in model.calls[0].messages[1].text
    assert made[0]["content"].endswith("Focus for the work to come: the tests")


def test_a_second_compaction_summarises_the_first_summary_too(state):
    model = ScriptedChat([SUMMARY, "- second"])
    made = compact_history(model, "", dicts([*OPENING, *rounds(5, chars=900)]), state)

    again = compact_history(model, "", [*made, *dicts(rounds(5, chars=900))], state)

    assert "3 files are left" in model.calls[1].messages[1].text
    assert again[0]["content"] == f"{SUMMARY_HEADER}\n\n- second"


@pytest.mark.parametrize(("reply", "reason"), BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_a_failed_summary_gives_the_history_back(tmp_path, state, reply, reason):
    messages = dicts([*OPENING, *rounds(5, chars=900)])

    made = compact_history(ScriptedChat([reply]), "", messages, state)

    assert made == messages
    assert all(new is old for new, old in zip(made, messages, strict=True))
    assert (state.events[-1].outcome, state.has_compacted) == ("failed", False)
    assert reason in state.events[-1].reason
    assert written(tmp_path) == [messages]


def test_summarize_history_returns_the_text_or_raises():
    messages = dicts(OPENING)

    assert summarize_history(ScriptedChat([SUMMARY]), "", messages) == SUMMARY
    with pytest.raises(ModelError, match="no summary: the summary is empty"):
        summarize_history(ScriptedChat([" "]), "", messages)
    with pytest.raises(ModelError, match="no summary: timed out"):
        summarize_history(ScriptedChat([ModelError("timed out")]), "", messages)


def test_the_asynchronous_functions_do_the_same(tmp_path):
    messages = dicts([*OPENING, *rounds(12, chars=11_000)])
    states = [CompactState(transcripts=FolderStore(tmp_path / str(index))) for index in range(4)]

    made = [
        pre_api_compress(ScriptedChat([SUMMARY]), "", messages, states[0]),
        asyncio.run(apre_api_compress(ScriptedChat([SUMMARY]), "", messages, states[1])),
        compact_history(ScriptedChat([SUMMARY]), "", messages, states[2]),
        asyncio.run(acompact_history(ScriptedChat([SUMMARY]), "", messages, states[3])),
    ]

    assert all(item == made[0] for item in made)
    assert len(made[0]) == 1


def test_the_client_may_be_one_of_the_openai_package(state, monkeypatch):
    from openai import AsyncOpenAI, OpenAI

    messages = dicts([*OPENING, *rounds(5, chars=900)])
    with serve_script([Reply(SUMMARY), Reply(SUMMARY)]) as endpoint:
        connection = {"base_url": endpoint.base_url, "api_key": "none"}
        with OpenAI(**connection) as client:
            made = compact_history(client, "a-model", messages, state)

        async def compact():
            async with AsyncOpenAI(**connection) as client:
                return await acompact_history(client, "a-model", messages, state)

        again = asyncio.run(compact())

    assert made == again
    assert made[0]["content"].endswith(SUMMARY)
    assert [body["model"] for body in endpoint.requests] == ["a-model", "a-model"]
    assert endpoint.requests[0]["messages"][0]["content"] == COMPRESS_SYSTEM
    assert "tools" not in endpoint.requests[0]


def test_the_system_prompt_and_the_last_user_message_stay_if_asked_for(state):
    settings = ThreeLayer(keep_system_prompt=True, keep_last_user=True)
    messages = dicts([*OPENING, *rounds(5, chars=900)])
    made = compact_history(ScriptedChat([SUMMARY]), "", messages, state, settings=settings)

    again = compact_history(
        ScriptedChat(["- second"]),
        "",
        [*made, *dicts(rounds(5, chars=900))],
        state,
        settings=settings,
    )

    assert [message["role"] for message in made] == ["system", "user", "user"]
    assert made[2] is messages[1]
    assert again[0] is messages[0]
    assert again[1]["content"].endswith("- second")
    assert again[2] is messages[1]


def test_two_states_know_nothing_of_each_other():
    one, other = CompactState(), CompactState()

    track_recent_file(one, "a.py")

    assert other.recent_files == []


def test_the_compact_tool_answers_its_placeholder_and_takes_a_focus():
    asked = []
    tool = compact_tool(asked.append)

    assert tool.run(focus="the tests") == COMPACT_PLACEHOLDER == "Compacting conversation..."
    assert tool.run() == COMPACT_PLACEHOLDER
    assert asked == ["the tests", None]
    assert tool.schema()["function"]["name"] == "compact"


def test_every_row_of_the_seed_table_names_a_symbol_and_a_test_that_exist():
    rows = re.findall(r"^    (\w+) \| (\w+)$", three_layer.__doc__, re.MULTILINE)
    files = Path(__file__).parent.glob("test_*.py")
    tests = {name for file in files for name in re.findall(r"def (\w+)", file.read_text("utf-8"))}

    assert len(rows) == 25
    assert {symbol for symbol, _ in rows} <= set(three_layer.__all__)
    assert {test for _, test in rows} <= tests
