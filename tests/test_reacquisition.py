"""What counts as read or run again, call by call, by hand."""

import json

import pytest

from compaction.messages import Message, ToolCall
from evals.audit.reacquisition import known_fraction, repeats_after, subject_of
from tests.audit_cases import messages

TEXT = "alpha = 1\nbeta = 2\ngamma = 3"


def call(name, **arguments):
    return ToolCall("x", name, json.dumps(arguments))


def read(call_id, path="/srv/a.py", result=TEXT, **more):
    return ("call", call_id, "read_file", {"path": path, **more}, result)


def edit(call_id, path="/srv/a.py"):
    return ("call", call_id, "edit_file", {"path": path, "text": "x"}, "done")


def again(before, after, kept=()):
    """Return (kind, subject) of the re-acquisitions after a boundary."""
    log = messages(before) + messages(after)
    found = repeats_after(log, len(messages(before)), kept)
    return [(each.subject.kind, each.subject.text) for each in found]


@pytest.mark.parametrize(
    ("made", "kind", "text"),
    [
        (call("read_file", path="./src/a.py"), "file", "src/a.py"),
        (call("Read", file_path="/srv/a.py", offset=20), "file", "/srv/a.py"),
        (call("str_replace_editor", command="view", path="/srv/a.py"), "file", "/srv/a.py"),
        (call("WebFetch", url="https://a.example/x", prompt="?"), "url", "https://a.example/x"),
        (call("Bash", command="ls -l", description="list", timeout=5), "command", "ls -l"),
        (call("shell", command=["ls"], workdir="/srv"), "command", '[["ls"],"/srv"]'),
        (call("get_order", order="W1"), "call", 'get_order {"order":"W1"}'),
        (call("Bash", command="cat /srv/a.py"), "file", "/srv/a.py"),
        (call("exec", cmd="sed -n '1,240p' a.py", workdir="/srv"), "file", "/srv/a.py"),
        (call("exec", cmd="cd /srv && nl -ba a.py | sed -n '1,9p'"), "file", "/srv/a.py"),
        (call("shell", command=["bash", "-lc", "head -n 20 /srv/a.py"]), "file", "/srv/a.py"),
        (call("shell", command=["tail", "-5", "a.py"], workdir="/srv"), "file", "/srv/a.py"),
    ],
)
def test_a_call_fetches(made, kind, text):
    assert subject_of(made) == (kind, text)


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py b.py",
        "cat a.py > b.py",
        "cat *.py",
        'cat "$FILE"',
        "cat a.py && rm a.py",
        "cat a.py; make",
        "cat a.py | sh",
        "cat 'a.py",
        "sed -i 's/a/b/' a.py",
        "sed -n 's/a/b/w c.py' a.py",
        "echo a.py | cat",
        "cat",
        "| cat a.py",
        "cat a.py\nmake",
    ],
)
def test_a_command_that_may_do_more_than_show_one_file_is_a_command(command):
    assert subject_of(call("Bash", command=command)).kind == "command"


def test_a_file_shown_by_commands_is_reacquired_unless_that_file_was_changed():
    def shown(call_id, lines):
        return ("call", call_id, "exec", {"cmd": f"sed -n '{lines}p' /srv/a.py"}, TEXT)

    def patch(path):
        body = f"*** Begin Patch\n*** Update File: {path}\n+x"
        return ("call", "p", "apply_patch", {"input": body}, "done")

    file = [("file", "/srv/a.py")]
    assert again([shown("1", "1,9")], [shown("2", "1,99")]) == file
    assert again([shown("1", "1,9"), patch("/srv/b.py")], [shown("2", "1,9")]) == file
    for path in ("/srv/a.py", "a.py", "srv/a.py"):
        assert again([shown("1", "1,9"), patch(path)], [shown("2", "1,9")]) == []


def test_searches_are_told_apart_by_where_they_look():
    one, other = (subject_of(call("Grep", pattern="tries", path=p)) for p in ("/a", "/b"))

    assert one is not None
    assert one.kind == "search"
    assert one != other


@pytest.mark.parametrize(
    "made",
    [
        call("edit_file", path="/srv/a.py"),
        call("str_replace_editor", command="str_replace", path="/srv/a.py"),
        call("apply_patch", input="*** Update File: a.py\n+x"),
        call("cancel_order", order="W1"),
        ToolCall("x", "read_file", "not JSON"),
        ToolCall("x", "read_file", '["a"]'),
    ],
)
def test_a_call_that_changes_something_or_cannot_be_read_fetches_nothing(made):
    assert subject_of(made) is None


def test_a_file_that_is_read_again_unchanged_is_reacquired_once():
    assert again([read("1")], [read("2"), read("3")]) == [("file", "/srv/a.py")]


def test_nothing_is_reacquired_that_was_read_only_after_the_boundary():
    assert again([], [read("1"), read("2")]) == []


def test_what_still_stands_in_the_context_is_not_reacquired():
    kept = [message for message in messages([read("1")]) if message.is_result]

    assert again([read("1")], [read("2")], kept) == []


def test_one_of_several_earlier_reads_that_still_stands_is_enough():
    before = [read("1"), read("2")]
    kept = [messages(before)[3]]

    assert again(before, [read("3")], kept) == []
    assert again(before, [read("3")]) == [("file", "/srv/a.py")]


def test_another_part_that_still_stands_hides_no_loss_and_none_is_told_twice():
    """As in a recorded clearing of results: lines 400 to 599 went, lines 200 to 299 stayed."""
    gone, stays = (f"line = {part}\nvalue = {part}" for part in "ab")
    before = [read("1", result=gone), read("2", result=stays)]
    kept = [message for message in messages(before) if message.text == stays]
    lost = [("file", "/srv/a.py")]

    assert len(kept) == 1
    assert again(before, [read("3", result=gone)], kept) == lost
    assert again(before, [read("3", result=stays)], kept) == []
    assert again(before, [read("3", result=gone), read("4", result=gone)], kept) == lost


@pytest.mark.parametrize("changed_before", [True, False])
def test_a_file_that_was_changed_since_is_not_reacquired(changed_before):
    before, after = [read("1")], [read("2")]
    (before if changed_before else after).insert(1 if changed_before else 0, edit("e"))

    assert again(before, after) == []


def test_a_change_of_another_file_changes_nothing():
    assert again([read("1"), edit("e", "/srv/b.py")], [read("2")]) == [("file", "/srv/a.py")]


def test_a_failed_edit_changes_nothing():
    failed = [Message("assistant", "", tool_calls=(call("edit_file", path="/srv/a.py"),))]
    failed += [
        Message.from_openai(
            {"role": "tool", "tool_call_id": "x", "content": "no", "is_error": True}
        )
    ]
    log = (*messages([read("1")]), *failed, *messages([read("2")]))

    assert len(repeats_after(log, 4, ())) == 1


def test_a_read_from_before_and_after_a_change_counts_by_the_newer_one():
    assert again([read("1"), edit("e"), read("2")], [read("3")]) == [("file", "/srv/a.py")]


def test_another_part_of_a_file_is_not_reacquired():
    assert again([read("1")], [read("2", result="delta = 4\nepsilon = 5", offset=90)]) == []


def test_half_of_the_characters_known_is_enough():
    # Two lines of nine characters, one of them known: 9 of 18.
    assert again([read("1")], [read("2", result="alpha = 1\nomega = 9")])
    assert not again([read("1")], [read("2", result="alpha = 1\nomega = 90")])


def test_a_command_is_not_reacquired_after_any_file_was_written():
    listing = ("call", "1", "Bash", {"command": "ls"}, TEXT)
    repeated = ("call", "2", "Bash", {"command": "ls"}, TEXT)

    assert again([listing], [repeated]) == [("command", "ls")]
    assert again([listing, edit("e", "/srv/other.py")], [repeated]) == []


def test_known_lines_are_found_behind_line_numbers():
    numbered = "     7\talpha = 1\n     8\tnew line"

    # Of "alpha = 1" and "new line" 9 of 17 characters are known.
    assert known_fraction(numbered, [TEXT]) == 9 / 17
    assert known_fraction("", [TEXT]) == 0.0
