"""The free layers, the threshold and the estimate of my_pi_agent."""

import json
from pathlib import Path

import pytest

from compaction.llm import Usage
from compaction.messages import Message
from compaction.pairing import orphan_results
from compaction.store import FolderStore
from compaction.systems.my_pi_agent import (
    MyPiAgent,
    budget_tool_results,
    estimate_tokens,
    micro_compact,
    snip_messages,
)
from tests.pi_cases import GOOD_REPLY, SUMMARY, chat, one_order, start, system, tool_round

OFF = 10**9


def test_the_estimate_is_a_quarter_of_the_json_characters() -> None:
    message = Message("user", "37*19=?")

    # [{"role": "user", "content": "37*19=?", "metadata": null}] has 58 characters.
    assert estimate_tokens([message]) == 14
    assert estimate_tokens([message], 0.5) == 29
    assert estimate_tokens([]) == 1


def test_chinese_text_counts_as_it_is_written_and_not_as_escapes() -> None:
    chinese, ascii_text = Message("user", "你好你好"), Message("user", "abcd")

    assert estimate_tokens([chinese], 1.0) == estimate_tokens([ascii_text], 1.0)


def test_tool_calls_count_as_metadata() -> None:
    plain, calling = Message("assistant", "Step 1."), tool_round(1)[0]
    metadata = json.dumps({"tool_calls": calling.to_openai()["tool_calls"]})

    assert estimate_tokens([calling], 1.0) - estimate_tokens([plain], 1.0) == len(metadata) - 4


def test_fifty_messages_are_left_and_fifty_one_become_three_a_marker_and_forty_six() -> None:
    talk = [Message("user" if i % 2 else "assistant", f"m{i}") for i in range(51)]

    assert snip_messages(talk[:50]) == talk[:50]
    snipped = snip_messages(talk)
    assert snipped[:3] == talk[:3]
    assert snipped[3] == Message("user", "[snipped 2 messages]")
    assert snipped[4:] == talk[5:]
    assert len(snipped) == 50


def test_a_snip_leaves_no_second_result_of_parallel_calls_behind() -> None:
    first, result = tool_round(1)
    second = tool_round(2)[0].tool_calls
    parallel = Message("assistant", "both", tool_calls=first.tool_calls + second)
    results = [result, Message("tool", "two", tool_call_id="c2")]
    talk = [Message("user", f"m{i}") for i in range(60)]
    # The naive tail of 46 begins with the second of the two results.
    conversation = [*talk[:15], parallel, *results, *talk[15:60]]

    snipped = snip_messages(conversation)

    assert conversation[-46] is results[1]
    assert orphan_results(snipped) == ()
    assert snipped[4:7] == [parallel, *results]


def test_micro_keeps_five_results_and_short_ones_and_every_call_id() -> None:
    messages = [m for number in range(8) for m in tool_round(number, chars=300)]
    messages[1] = Message("tool", "x" * 200, tool_call_id="c0")

    compacted = micro_compact(messages)

    changed = [i for i, (a, b) in enumerate(zip(messages, compacted, strict=True)) if a != b]
    assert changed == [3, 5]
    assert compacted[3] == messages[3].with_text("[Earlier tool result compacted]")


def test_micro_with_nothing_to_keep_compacts_every_long_result() -> None:
    messages = [m for number in range(3) for m in tool_round(number)]

    texts = [m.text for m in micro_compact(messages, keep_recent=0) if m.is_result]

    assert texts == ["[Earlier tool result compacted]"] * 3


def test_a_large_result_goes_to_a_file_and_leaves_its_path_and_a_preview(tmp_path: Path) -> None:
    call, result = tool_round(1, chars=20_001)

    (_, shown) = budget_tool_results([call, result], results_dir=tmp_path / "tool-results")

    (file,) = (tmp_path / "tool-results").iterdir()
    assert file.read_text() == result.text
    assert str(file) in shown.text
    assert result.text[:2_000] in shown.text
    assert result.text[:2_001] not in shown.text
    assert shown.tool_call_id == "c1"


def test_without_a_folder_a_large_result_stays() -> None:
    messages = tool_round(1, chars=50_000)

    assert budget_tool_results(messages) == messages
    assert budget_tool_results(messages, max_chars=10) == messages


def test_a_folder_that_cannot_be_made_keeps_the_result_and_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    run = start(MyPiAgent(), store=FolderStore(blocked / "results"))
    messages = [system(), Message("user", "go"), *tool_round(1, chars=30_000)]

    view = run.view(messages)

    assert list(view.messages) == messages
    assert [(event.tier, event.outcome) for event in view.events] == [
        ("OffloadLargeResults", "failed")
    ]


HOSTILE_IDS = ["../../x", "a/b", "CON", "x" * 5_000, "", "same", "same"]


def test_hostile_call_ids_stay_in_the_folder_and_give_back_their_own_text(tmp_path: Path) -> None:
    run = start(MyPiAgent(), store=FolderStore(tmp_path / "deep" / "results"))
    messages = [system(), Message("user", "go")]
    for number, call_id in enumerate(HOSTILE_IDS):
        call, result = tool_round(number, chars=21_000)
        raw_call = {**call.to_openai()["tool_calls"][0], "id": call_id}
        messages.append(Message.from_openai({**call.to_openai(), "tool_calls": [raw_call]}))
        messages.append(Message("tool", result.text, tool_call_id=call_id))

    view = run.view(messages)

    offloaded = [e for e in view.entries if e.origin.handle is not None]
    assert len(offloaded) == len(HOSTILE_IDS)
    for entry in offloaded:
        handle = entry.origin.handle
        assert handle is not None
        assert run.compactor.recover(handle) == messages[entry.origin.first].text
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.parent for path in files} == {tmp_path / "deep" / "results"}


def test_literal_handles_confuse_two_results_of_one_call_id() -> None:
    run = start(MyPiAgent(literal_handles=True))
    first, second = tool_round(1, chars=21_000), tool_round(1, chars=22_000)

    run.view([system(), Message("user", "go"), *first, *second])

    assert run.compactor.recover("c1") == first[1].text


def test_layer_two_keeps_the_handle_of_layer_three_unless_read_literally() -> None:
    messages = [system(), Message("user", "go"), *tool_round(0, chars=30_000)]
    messages += [m for number in range(1, 7) for m in tool_round(number)]

    sound, literal = start(MyPiAgent()), start(MyPiAgent(literal_handles=True))
    kept, lost = sound.view(messages).entries[3], literal.view(messages).entries[3]

    assert kept.message.text.startswith("[Earlier tool result compacted]")
    assert kept.origin.handle is not None
    assert kept.origin.handle in kept.message.text
    assert lost.message.text == "[Earlier tool result compacted]"


def test_no_budget_switches_everything_off() -> None:
    messages = one_order(100, chars=30_000)
    run = start(MyPiAgent(context_budget=None))

    view = run.view(messages)

    assert list(view.messages) == messages
    assert view.events == ()


def test_a_view_of_exactly_eighty_percent_is_sent_and_one_token_more_is_summarized() -> None:
    messages = chat(12)
    tokens = estimate_tokens(micro_compact(messages))
    free = {"max_messages": OFF}

    below = start(MyPiAgent(context_budget=tokens * 10 // 8 + 1, **free))
    above = start(MyPiAgent(context_budget=(tokens - 1) * 10 // 8, **free), [GOOD_REPLY])

    assert below.view(messages).events[-1].tier == "ClearToolResults"
    event = above.view(messages).events[-1]
    assert (event.tier, event.outcome) == ("Summarize", "applied")
    assert event.trigger == f"tokens {tokens} > {(tokens - 1) * 10 // 8 * 8 // 10}"


def test_usage_anchors_the_next_estimate() -> None:
    messages = chat(12)
    run = start(MyPiAgent(context_budget=10_000, max_messages=OFF), [GOOD_REPLY])
    chars = estimate_tokens(run.view(messages).messages, 1.0)

    run.compactor.record_usage(Usage(input_tokens=chars, output_tokens=1))
    event = run.view(messages).events[-1]

    assert chars > 8_000
    assert event.trigger == f"tokens {chars} > 8000"


def test_tokens_that_no_message_holds_are_added_and_not_spread_over_characters() -> None:
    run = start(MyPiAgent(context_budget=100_000, max_messages=OFF), [GOOD_REPLY])
    first = estimate_tokens(run.view(chat(1)).messages, 1.0)

    run.compactor.record_usage(Usage(41_000 + first // 4, 1, unlogged_tokens=41_000))
    view = run.view(chat(12))

    assert (41_000 + first // 4) / first * estimate_tokens(view.messages, 1.0) > 80_000
    assert [event for event in view.events if event.tier == "Summarize"] == []
    assert run.compactor.ratio == pytest.approx(0.25, rel=0.01)


@pytest.mark.parametrize(("anchor", "fits"), [("sent", True), ("free", False)])
def test_after_a_summary_the_ratio_is_of_the_view_sent_unless_read_literally(
    anchor: str, fits: bool
) -> None:
    run = start(MyPiAgent(context_budget=3_000, max_messages=OFF, anchor=anchor), [GOOD_REPLY])
    sent_chars = estimate_tokens(run.view(chat(30)).messages, 1.0)

    run.compactor.record_usage(Usage(input_tokens=sent_chars // 2, output_tokens=1))

    assert (run.compactor.ratio == pytest.approx(0.5, rel=0.01)) is fits


def test_one_user_message_and_a_hundred_rounds_still_compact() -> None:
    messages = one_order(100)
    run = start(MyPiAgent(context_budget=3_000, max_messages=OFF), [GOOD_REPLY])

    view = run.view(messages)

    assert view.events[-1].outcome == "applied"
    assert view.messages[0] == messages[0]
    assert SUMMARY in view.messages[1].text
    assert estimate_tokens(view.messages) < 3_000 * 0.8
    assert orphan_results(view.messages) == ()


def test_the_cached_view_costs_no_further_call() -> None:
    messages = one_order(100)
    run = start(MyPiAgent(context_budget=3_000, max_messages=OFF), [GOOD_REPLY])
    first = run.view(messages)

    later = run.view([*messages, *tool_round(100)])

    assert len(run.model.calls) == 1
    assert later.messages[:2] == first.messages[:2]
    assert later.messages[-2:] == tuple(tool_round(100))
