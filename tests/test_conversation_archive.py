"""What a conversation is stored as, and what older and broken archives are read as."""

import json

import pytest

from compaction.conversation import Conversation
from compaction.conversation_messages import RawOpenAIMessage, SystemPrompt, UserMessage
from compaction.errors import TranscriptError
from compaction.systems.xun_levels import CompactionCounter

CALL = {
    "role": "assistant",
    "content": None,
    "reasoning_content": "hmm",
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "content": "r" * 500, "tool_call_id": "c1"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}}
OLD_MESSAGES = [
    {"role": "system", "content": "You are X."},
    {"role": "user", "content": "hello"},
    {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
    CALL,
    RESULT,
    {"role": "user", "content": "named", "name": "bob"},
    {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA"}}]},
    {"role": "developer", "content": "be brief"},
]


def full():
    conversation = Conversation([SystemPrompt("s", True, {"AGENTS.md": "# Rules"})])
    conversation.add_user_message("see \ud800 é", ["https://x.org/a.png"])
    conversation.set_response_schema({"type": "object"})
    conversation.add_agent_message(CALL)
    conversation.add_tool_result("c1", RESULT["content"])
    conversation.compact_toolcall(keep_max=0)
    conversation.total_tokens = 77
    conversation.compaction_counter = CompactionCounter(1, 2)
    return conversation


def test_everything_survives_dumps_and_loads_the_originals_too():
    conversation = full()

    loaded = Conversation.loads(conversation.dumps())

    assert loaded.messages == conversation.messages
    assert loaded.total_tokens == 77
    assert loaded.compaction_counter == CompactionCounter(1, 2)
    assert loaded.compacted_toolcall_result("c1") == RESULT["content"]
    assert loaded.dumps() == conversation.dumps()


def test_the_archive_has_kinds_and_the_legacy_key():
    stored = json.loads(full().dumps())

    assert [message["kind"] for message in stored["messages"]] == ["system", "user", "raw", "raw"]
    assert all("raw" in message for message in stored["messages"])
    assert stored["tokens_used"] == 77
    assert "total_tokens" not in stored


def test_a_file_is_read_back_and_replaced_as_a_whole(tmp_path):
    path = tmp_path / "session.json"

    Conversation().dump(path)
    full().dump(str(path))

    assert Conversation.load(path).messages == full().messages
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: {"messages": m, "tokens_used": 5}])
def test_archives_from_before_1_3_0_are_migrated_without_a_loss(wrap):
    loaded = Conversation.loads(json.dumps(wrap(OLD_MESSAGES)))

    assert loaded.completion_params() == OLD_MESSAGES
    assert [type(message) for message in loaded.messages[:5]] == [
        SystemPrompt,
        UserMessage,
        UserMessage,
        RawOpenAIMessage,
        RawOpenAIMessage,
    ]
    assert loaded.messages[2].images == ("https://x.org/a.png",)
    assert json.loads(loaded.dumps())["messages"][0]["kind"] == "system"


def test_old_and_new_messages_may_stand_in_one_archive():
    loaded = Conversation.loads(json.dumps([OLD_MESSAGES[0], UserMessage("new").to_json()]))

    assert loaded.messages == [SystemPrompt("You are X."), UserMessage("new")]


def with_message(message):
    return json.dumps({"messages": [UserMessage("a").to_json(), message]})


CORRUPT = {
    '{"messages": [': "line 1, column 15: the archive is not JSON",
    '{\n"messages": [],\n}': "line 3, column 1: the archive is not JSON",
    "": "line 1, column 1: the archive is not JSON",
    "7": "no list 'messages'",
    "{}": "no list 'messages'",
    '{"messages": {}}': "no list 'messages'",
    "[" * 100_000: "nested too deeply",
    with_message(7): r"messages\[1\]: a message must be an object, got int",
    with_message({"kind": "x", "raw": {}}): r"messages\[1\]: unknown kind 'x'",
    with_message({"kind": "raw"}): r"messages\[1\]: kind 'raw' needs an object 'raw'",
    with_message({"kind": "raw", "raw": {"role": "robot"}}): r"messages\[1\]: unknown role 'robot'",
    with_message({"kind": "user", "raw": {"content": 7}}): r"messages\[1\]: 'content' must be str",
    with_message({"kind": "user", "raw": {"content": "a", "images": ["/etc/passwd"]}}): (
        r"messages\[1\]: an image must be"
    ),
    with_message({"kind": "system", "raw": {"content": "a", "persist_sections": {"A": 1}}}): (
        r"messages\[1\]: 'A' must be str, got int"
    ),
    with_message({"kind": "system", "raw": {"content": "a", "is_compressed": "yes"}}): (
        r"messages\[1\]: 'is_compressed' must be bool, got str"
    ),
    with_message({"role": "assistant", "content": 7}): r"messages\[1\]: content must be a string",
    '{"messages": [], "tokens_used": "many"}': "'tokens_used' must be a count or null",
    '{"messages": [], "tokens_used": -1}': "'tokens_used' must be a count or null",
    '{"messages": [], "compaction_counter": [1]}': "'compaction_counter' must be an object",
    '{"messages": [], "compacted_toolcalls": {"c1": 7}}': "must be an object of strings",
}


@pytest.mark.parametrize("text", CORRUPT, ids=lambda text: text[:40])
def test_a_corrupt_archive_is_an_error_that_names_the_place_and_the_file_stays(text, tmp_path):
    path = tmp_path / "session.json"
    path.write_text(text, "utf-8")

    with pytest.raises(TranscriptError, match=CORRUPT[text]) as caught:
        Conversation.load(path)

    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert path.read_text("utf-8") == text


def test_a_number_that_is_too_long_to_be_read_is_an_error():
    with pytest.raises(TranscriptError, match="not JSON"):
        Conversation.loads('{"messages": [], "tokens_used": ' + "1" * 5_000 + "}")


def test_parts_that_are_no_objects_are_named_for_display():
    stored = {"messages": [{"role": "user", "content": [1, ["x"], {"type": "audio"}]}]}

    shown = Conversation.loads(json.dumps(stored)).to_history()

    assert shown == [{"role": "user", "content": "[part]\n[part]\n[audio]"}]


def test_bytes_that_are_no_text_are_an_error(tmp_path):
    path = tmp_path / "session.json"
    path.write_bytes(b'{"messages": []\xff}')

    with pytest.raises(TranscriptError, match="byte 15: the archive is not UTF-8"):
        Conversation.load(path)


def test_a_file_that_is_cut_off_anywhere_is_an_error_or_whole(tmp_path):
    text = full().dumps()

    for length in range(0, len(text), 7):
        with pytest.raises(TranscriptError, match="line 1, column"):
            Conversation.loads(text[:length])


def test_a_failing_write_keeps_the_file_that_was_there(tmp_path):
    path = tmp_path / "session.json"
    full().dump(path)
    before = path.read_bytes()
    broken = full()
    broken.messages.append(UserMessage("a", response_schema={"bad": {1, 2}}))

    with pytest.raises(TypeError):
        broken.dump(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
