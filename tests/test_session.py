"""The session tree: branches, compactions, the way back, and the fold."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compaction.contract.generators import conversations
from compaction.errors import SessionError
from compaction.messages import Message, Messages
from compaction.session import Session
from compaction.session_entries import (
    CompactionEntry,
    SessionEntry,
    SessionState,
    message_of,
    record_of,
)
from tests.session_cases import older, session_of, talk, texts, write_lines


@given(messages=conversations())
def test_every_message_comes_back_from_its_record(messages: Messages) -> None:
    through_json = json.loads(json.dumps([record_of(message) for message in messages]))

    assert tuple(message_of(record) for record in through_json) == messages


def test_a_record_has_the_three_keys_of_the_seed() -> None:
    assert record_of(Message("user", "37*19=?")) == {
        "role": "user",
        "content": "37*19=?",
        "metadata": None,
    }


def test_a_session_in_memory_and_one_on_disk_hold_the_same(tmp_path: Path) -> None:
    messages = talk(6)
    path = tmp_path / "deep" / "s.jsonl"

    session_of(messages, path)

    assert Session.load(path).get_full_history_messages() == tuple(messages)
    assert session_of(messages).get_full_history_messages() == tuple(messages)


def test_a_file_that_exists_is_never_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session_of(talk(2), path)

    with pytest.raises(SessionError, match="exists"):
        Session(path)
    assert len(Session.open(path).entries) == 2
    assert Session.open(tmp_path / "new.jsonl").entries == {}


def test_a_branch_leaves_the_other_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = session_of(talk(4), path)

    session.rewind("e2")
    session.append(Message("user", "another way"))

    for one in (session, Session.load(path)):
        assert texts(one.get_full_history_messages()) == ["m0", "m1", "another way"]
        assert len(one.entries) == 5


def test_a_step_back_without_a_new_message_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session_of(talk(4), path).rewind("e2")

    assert Session.load(path).current_id == "e2"


def test_a_compaction_hangs_beside_the_path() -> None:
    session = session_of(talk(6))

    entry = session.add_summary_cache("what happened", 4)

    assert session.current_id == entry.parent_id == session.compaction_floor == "e6"
    assert all(isinstance(one, SessionEntry) for one in session.get_current_path())
    assert texts(session.get_full_history_messages()) == texts(tuple(talk(6)))
    assert entry.replaces_entry_ids == ("e2", "e3", "e4")


def test_the_latest_compaction_gives_the_three_things_that_are_restored() -> None:
    session = session_of(talk(6))
    session.add_summary_cache("first", 3)
    session.append(Message("assistant", "m6"))
    session.add_summary_cache("second", 5)

    cache = session.get_latest_compaction_cache()

    assert cache is not None
    assert cache["summary"] == "second"
    assert cache["covered_count"] == 5
    assert texts(cache["retained_tail"]) == ["m5", "m6"]


def test_a_second_compaction_names_the_first_and_only_what_is_new() -> None:
    session = session_of(talk(8))
    session.add_summary_cache("first", 3)
    session.append(Message("user", "m8"))

    second = session.add_summary_cache("second", 6)

    assert second.replaces_entry_ids == ("s9", "e4", "e5", "e6")
    assert texts(session.get_state().messages) == [
        "m0",
        "Previous conversation summary:\nsecond",
        "m6",
        "m7",
        "m8",
    ]
    assert session.get_state().summary == "second"


@pytest.mark.parametrize("count", [0, -1, 7])
def test_a_compaction_of_messages_that_are_not_there_is_refused(count: int) -> None:
    session = session_of(talk(6))

    with pytest.raises(SessionError, match="covered_count must be from 1 to 6"):
        session.add_summary_cache("x", count)


def test_no_way_leads_back_before_the_floor() -> None:
    session = session_of(talk(6))
    session.add_summary_cache("x", 3)
    session.append(Message("assistant", "m6"))
    session.append(Message("user", "m7"))

    for before in ("e1", "e2", "e3", "e4", "e5"):
        with pytest.raises(SessionError, match="was compacted"):
            session.rewind(before)
    with pytest.raises(SessionError, match="no message 's7'"):
        session.rewind("s7")
    session.rewind("e8")
    session.rewind("e6")

    assert session.current_id == "e6"
    cache = session.get_latest_compaction_cache()
    assert cache is not None
    assert texts(cache["retained_tail"]) == ["m3", "m4", "m5"]


def test_the_floor_itself_is_refused_if_only_what_comes_after_is_wanted() -> None:
    session = session_of(talk(6))
    session.add_summary_cache("x", 3)
    session.append(Message("assistant", "m6"))

    with pytest.raises(SessionError, match="cannot go back to 'e6'"):
        session.rewind("e6", include_floor=False)


def test_another_branch_is_before_the_floor_too() -> None:
    session = session_of(talk(4))
    session.rewind("e2")
    session.append(Message("user", "b"))
    session.add_summary_cache("x", 2)

    with pytest.raises(SessionError, match="was compacted"):
        session.rewind("e4")


def test_the_older_entry_with_role_system_is_read(tmp_path: Path) -> None:
    side = {
        "id": "s1",
        "parent_id": "e4",
        "type": "compaction",
        "role": "system",
        "content": "[Context summary — earlier conversation compacted]\n\n## Goal\nWork.",
        "metadata": {
            "retained_tail": [{"role": "user", "content": "now"}],
            "covered_count": 3,
            "tokens_before": 95_000,
            "summary_usage": {"prompt_tokens": 2_000, "completion_tokens": 500},
            "summary_model": "qwen3.6-flash",
        },
    }
    path = write_lines(
        tmp_path / "old.jsonl",
        older("e1", None, "system", "s"),
        older("e2", "e1", "user", "q"),
        older("e3", "e2", "assistant", "a"),
        older("e4", "e3", "user", "now"),
        side,
        older("e5", "e4", "assistant", "yes"),
    )

    session = Session.load(path)

    assert texts(session.get_full_history_messages()) == ["s", "q", "a", "now", "yes"]
    assert session.get_latest_compaction_cache() == {
        "summary": "## Goal\nWork.",
        "covered_count": 3,
        "retained_tail": (Message("user", "now"),),
    }
    assert session.compaction_floor == "e4"
    assert texts(session.get_state().messages) == [
        "s",
        "Previous conversation summary:\n## Goal\nWork.",
        "now",
        "yes",
    ]
    entry = session.entries["s1"]
    assert isinstance(entry, CompactionEntry)
    assert entry.summary_model == "qwen3.6-flash"


def test_a_compaction_that_lies_on_the_path_is_no_part_of_the_history(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "s.jsonl",
        older("e1", None, "user", "q"),
        {"id": "s1", "parent_id": "e1", "type": "compaction", "summary": "S"},
        older("e2", "s1", "assistant", "a"),
    )

    session = Session.load(path)

    assert texts(session.get_full_history_messages()) == ["q", "a"]
    assert texts(session.get_current_path_messages())[1].endswith("compacted]\n\nS")
    assert session.get_current_path_messages()[1].role == "system"
    assert session.get_latest_compaction_cache() is None


def test_a_fold_without_ids_and_counts_replaces_nothing() -> None:
    entries = [
        SessionEntry("e1", None, Message("user", "q")),
        CompactionEntry("s1", "e1", "S"),
        CompactionEntry("s2", "e1", "T", ("never there",)),
    ]

    state = SessionState.from_entries(entries)

    assert texts(state.messages) == ["q"]


def test_a_fold_keeps_what_stands_between_replaced_messages() -> None:
    entries = [SessionEntry(f"e{i}", None, Message("user", f"m{i}")) for i in range(5)]

    state = SessionState.from_entries([*entries, CompactionEntry("s", "e4", "S", ("e1", "e3"))])

    assert texts(state.messages) == ["m0", "Previous conversation summary:\nS", "m2", "m4"]


@given(st.lists(st.integers(0, 3), max_size=6))
def test_ids_are_never_given_twice(steps: list[int]) -> None:
    session = session_of(talk(3))

    for step in steps:
        session.append(Message("user", "x"))
        if step == 0:
            session.add_summary_cache("s", 1 + len(session.get_current_path()) // 2)

    assert len({entry.entry_id for entry in session.entries.values()}) == len(session.entries)
