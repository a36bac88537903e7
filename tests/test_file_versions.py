"""Which results show a file that a later call changed."""

import pytest

from compaction.messages import Message
from evals.extraction.file_versions import FileVersions
from tests.needs_cases import result, says, user


def changed(*messages, at=2, before=None):
    whole = (user("Go."), *messages)
    return FileVersions(whole).changed_by(at, len(whole) if before is None else before)


def reads(path, **arguments):
    return says("", ("r1", "read_file", {"path": path, **arguments}))


def writes(path, *, call_id="w1", tool="edit_file", **arguments):
    return says("", (call_id, tool, {"path": path, **arguments}))


def test_a_file_that_is_edited_after_it_was_read_is_another_version():
    assert changed(reads("src/a.py"), result("r1", "one"), writes("src/a.py")) == 3


def test_the_last_change_before_the_request_is_told():
    talk = (
        reads("src/a.py"),
        result("r1", "one"),
        writes("src/a.py"),
        result("w1", "ok"),
        writes("./src//a.py", call_id="w2"),
        result("w2", "ok"),
    )

    assert changed(*talk) == 5
    assert changed(*talk, before=5) == 3
    assert changed(*talk, before=3) is None


def test_what_was_written_before_it_was_read_is_not_outdated():
    talk = (writes("src/a.py"), result("w1", "ok"), reads("src/a.py"), result("r1", "one"))

    assert changed(*talk, at=4) is None
    assert changed(*talk, at=2) is None


def test_another_file_and_a_file_that_is_only_read_are_no_change():
    assert changed(reads("src/a.py"), result("r1", "one"), writes("src/b.py")) is None
    assert changed(reads("src/a.py"), result("r1", "one"), reads("src/a.py")) is None


def test_a_call_that_failed_changed_nothing():
    failed = Message("tool", "no match", tool_call_id="w1", extra='{"is_error":true}')

    assert changed(reads("src/a.py"), result("r1", "one"), writes("src/a.py"), failed) is None


def test_an_editor_that_is_told_to_view_reads():
    talk = (reads("src/a.py"), result("r1", "one"))
    editor = {"path": "src/a.py", "tool": "str_replace_editor"}

    assert changed(*talk, writes(**editor, command="view")) is None
    assert changed(*talk, writes(**editor, command="str_replace")) == 3


@pytest.mark.parametrize("header", ["Update", "Add", "Delete"])
def test_a_patch_changes_the_files_in_its_headers(header):
    patch = f"*** Begin Patch\n*** {header} File: src/a.py\n@@\n-one\n+two\n*** End Patch"
    talk = (reads("src/a.py"), result("r1", "one"), says("", ("p1", "shell", {"cmd": patch})))

    assert changed(*talk) == 3


def test_a_result_without_a_file_and_odd_arguments_are_no_version():
    odd = says("", ("x1", "write", {"path": 7}), ("x2", "write", {"path": " "}))

    assert changed(says("", ("r1", "run", {"go": "on"})), result("r1", "one"), odd) is None


def test_a_result_of_a_write_shows_the_file_too():
    talk = (
        writes("src/a.py"),
        result("w1", "1: one"),
        writes("src/a.py", call_id="w2"),
        result("w2", "1: two"),
    )

    assert changed(*talk, at=2) == 3
    assert changed(*talk, at=4) is None
