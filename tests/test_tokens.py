"""Counts against numbers worked out by hand."""

import base64
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.history import History, View
from compaction.image_tokens import image_tokens
from compaction.messages import Message, Part, ToolCall
from compaction.strategy import Context
from compaction.tiers import ClearToolResults, SnipMiddle
from compaction.tokens import (
    MEDIA_TOKENS,
    CharCounter,
    JsonCharCounter,
    RunningTotal,
    TiktokenCounter,
    total_of,
)


def png(width, height):
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08" * 5
    return "data:image/png;base64," + base64.b64encode(header).decode()


def gif(width, height):
    return (
        "data:image/gif;base64,"
        + base64.b64encode(b"GIF89a" + struct.pack("<HH", width, height) + b"\0" * 5).decode()
    )


def jpeg(width, height):
    quantization = b"\xff\xdb" + struct.pack(">H", 67) + b"\0" * 65
    frame = b"\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 10
    return "data:image/jpeg;base64," + base64.b64encode(b"\xff\xd8" + quantization + frame).decode()


def image(url, detail="auto"):
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        # 1024 x 1024 -> short side 768 -> 768 x 768: 2 x 2 tiles = 85 + 4 * 170
        (image(png(1024, 1024)), 765),
        # 2048 x 4096 -> 1024 x 2048 -> 768 x 1536: 2 x 3 tiles = 85 + 6 * 170
        (image(png(2048, 4096)), 1105),
        # 512 x 512 stays: 1 tile
        (image(png(512, 512)), 255),
        # 513 x 512 stays: 2 tiles
        (image(png(513, 512)), 425),
        # 1 x 1 stays: 1 tile
        (image(png(1, 1)), 255),
        # 1000 x 100 is not enlarged: 2 x 1 tiles
        (image(gif(1000, 100)), 425),
        # 1920 x 1080 -> 1365 x 768: 3 x 2 tiles
        (image(jpeg(1920, 1080)), 1105),
        (image(png(4096, 4096), "low"), 85),
        (image("https://example.org/a.png"), 765),
        (image("data:image/webp;base64,AAAA"), 765),
        (image("data:image/png;base64,not base64 at all"), 765),
        ({"type": "image_url", "image_url": png(512, 512)}, 255),
        ({"type": "image_url"}, 765),
    ],
)
def test_images_cost_what_the_tile_rule_says(part, tokens):
    assert image_tokens(part) == tokens


def test_a_message_costs_its_frame_and_its_texts():
    counter = TiktokenCounter()
    call = ToolCall("call_1", "read", '{"path":"a"}')

    assert counter.count_text("hello world") == 2
    assert counter.count(Message("user", "hello world")) == 3 + 2
    assert counter.count(Message("user", "")) == 3
    assert counter.count(Message("user", None)) == 3
    assert counter.count(Message("user", "hello world", name="hello")) == 3 + 2 + 1 + 1
    assert counter.count(Message("assistant", None, tool_calls=(call,))) == (
        3 + 3 + counter.count_text("read") + counter.count_text('{"path":"a"}')
    )


def test_media_cost_their_rule_and_never_their_base64():
    counter = TiktokenCounter()
    data = base64.b64encode(bytes(range(256)) * 400).decode()
    parts = (
        Part.of_text("hello world"),
        Part.from_openai(image(png(512, 512))),
        Part.from_openai({"type": "file", "file": {"file_data": data}}),
        Part.from_openai({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
    )

    assert counter.count(Message("user", parts)) == 3 + 2 + 255 + 2 * MEDIA_TOKENS
    unknown = Part.from_openai({"type": "video", "data": data})
    assert counter.count(Message("user", (unknown,))) < 30


def test_reasoning_costs_only_where_it_is_sent_back():
    message = Message("assistant", "hello", reasoning="hello world")

    assert TiktokenCounter().count(message) == 4
    assert TiktokenCounter(include_reasoning=True).count(message) == 6


def test_counters_that_count_differently_have_different_names():
    counters = [
        TiktokenCounter(),
        TiktokenCounter("cl100k_base"),
        TiktokenCounter(include_reasoning=True),
        CharCounter(),
        JsonCharCounter(),
    ]

    assert len({counter.name for counter in counters}) == len(counters)


def test_tools_cost_their_compact_json():
    counter = TiktokenCounter()
    tool = {"type": "function", "function": {"name": "f"}}

    assert counter.count_tools([tool, tool]) == 2 * counter.count_text(
        '{"function":{"name":"f"},"type":"function"}'
    )


def test_characters_are_those_of_text_reasoning_and_calls():
    message = Message(
        "assistant",
        (Part.of_text("ab"), Part.from_openai(image(png(1, 1))), Part.of_text("结果")),
        reasoning="why",
        tool_calls=(ToolCall("id", "read", "{}"),),
    )

    assert CharCounter().count(message) == len("ab\n结果") + 3 + 4 + 2


@given(messages=conversations(max_turns=1, max_rounds=3))
def test_json_characters_are_those_of_the_dumped_message(messages):
    counter = JsonCharCounter()

    for message in messages:
        dumped = json.dumps(message.to_openai(), ensure_ascii=False)
        assert counter.count(message) == counter.count(message) == len(dumped)


@given(messages=conversations(max_turns=2, max_rounds=4), data=st.data())
def test_a_running_total_equals_a_full_recount_of_any_view(messages, data):
    counter, context = CharCounter(), Context(counter=CharCounter())
    running, history = RunningTotal(counter), History(messages)
    tiers = [
        None,
        ClearToolResults(keep_last_results=1),
        ClearToolResults(keep_last_results=0, placeholder="[c]"),
        SnipMiddle(max_messages=6),
    ]
    for _ in range(6):
        view = View.of(history.prefix(data.draw(st.integers(0, len(messages)))))
        tier = data.draw(st.sampled_from(tiers))
        seen = tier.apply(view, context) if tier else view

        assert running.total(seen.entries) == total_of(counter, seen.messages)
