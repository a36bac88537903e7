"""What was done to which file, and whether a view still tells."""

import json

import pytest

from compaction.messages import Message, ToolCall, canonical_json
from evals.fidelity.artifacts import failed_calls, states_of, survival_of


def call(name, call_id="c1", **arguments):
    return Message("assistant", "", tool_calls=(ToolCall(call_id, name, json.dumps(arguments)),))


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** Delete File: old.py\n*** End Patch"


@pytest.mark.parametrize(
    ("messages", "states"),
    [
        ([call("read_file", path="src/a.py")], {"src/a.py": "read"}),
        ([call("Read", file_path="./a.py"), call("Edit", file_path="a.py")], {"a.py": "modified"}),
        ([call("write_file", path="a.py"), call("cat", path="a.py")], {"a.py": "read"}),
        ([call("delete_file", path="a.py")], {"a.py": "deleted"}),
        ([call("apply_patch", input=PATCH)], {"src/a.py": "modified", "old.py": "deleted"}),
        ([call("str_replace_editor", command="view", path="a.py")], {"a.py": "read"}),
        ([call("str_replace_editor", command="create", path="a.py")], {"a.py": "modified"}),
        ([call("bash", command="rm a.py")], {}),
        ([call("list_files", path=".")], {}),
        ([Message("assistant", "", tool_calls=(ToolCall("c", "read", '{"path": '),))], {}),
        ([call("read_file", path=["a.py"])], {}),
    ],
)
def test_states(messages, states):
    assert states_of(messages, frozenset()) == states


def test_a_failed_call_did_nothing():
    failed = Message("tool", "no", tool_call_id="c2", extra=canonical_json({"is_error": True}))
    talk = [
        call("read_file", "c1", path="a.py"),
        Message("tool", "text", tool_call_id="c1"),
        call("edit_file", "c2", path="a.py"),
        failed,
    ]

    assert states_of(talk, failed_calls(talk)) == {"a.py": "read"}


@pytest.mark.parametrize(
    ("seen", "written", "survival"),
    [
        ({"src/a.py": "modified"}, "", "kept"),
        ({"src/a.py": "read"}, "", "stale"),
        ({}, "", "lost"),
        ({}, "I changed src/a.py to use UTC.", "kept"),
        ({}, "## Files modified:\n- src/a.py", "kept"),
        ({}, "<modified-files>\nsrc/a.py\n</modified-files>", "kept"),
        ({}, "<read-files>\nsrc/a.py\n</read-files>", "stale"),
        ({}, "已修改 src/a.py", "kept"),
        ({}, "See src/a.py for details.", "stale"),
        ({}, "I changed src/a.pyc", "lost"),
        ({"src/a.py": "read"}, "src/a.py was updated", "kept"),
    ],
)
def test_survival_of_a_modified_file(seen, written, survival):
    assert survival_of({"src/a.py": "modified"}, seen, [written]) == {"src/a.py": survival}


def test_of_a_file_that_was_read_the_name_is_enough():
    assert survival_of({"a.py": "read"}, {}, ["Looked at a.py."]) == {"a.py": "kept"}


def test_a_deleted_file_that_a_summary_calls_modified_is_stale():
    assert survival_of({"a.py": "deleted"}, {}, ["Modified a.py."]) == {"a.py": "stale"}


@pytest.mark.parametrize(
    ("files", "written", "survival"),
    [
        (["/home/me/app/src/a.py"], "I changed src/a.py to use UTC.", ["kept"]),
        (["/home/me/app/src/a.py"], "See app/src/a.py.", ["stale"]),
        (["/home/me/app/src/a.py"], "I changed a.py to use UTC.", ["lost"]),
        (["/one/src/a.py", "/two/src/a.py"], "I changed src/a.py to use UTC.", ["lost", "lost"]),
        (["/one/src/a.py", "/two/src/a.py"], "I changed /two/src/a.py.", ["lost", "kept"]),
    ],
)
def test_a_summary_may_name_a_file_by_folder_and_name_if_no_other_has_them(
    files, written, survival
):
    found = survival_of(dict.fromkeys(files, "modified"), {}, [written])

    assert list(found.values()) == survival
