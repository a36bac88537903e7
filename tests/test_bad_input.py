"""Everything that a user can get wrong: one clear line, the right exit code, nothing lost."""

import gzip
import json
import os
from pathlib import Path

import pytest

from evals.results import RunFolder
from tests.run_cases import chat, one_error, write_chats, write_code

CHAT = json.dumps(chat())
CODE = """
import os
import time


class Uncallable:
    pass


def fine(messages):
    return messages


def raises(messages):
    raise KeyError("boom\\nand more")


def raises_late(messages):
    if len(messages) > 8:
        raise ValueError("too long for me")
    return messages


def none(messages):
    messages.clear()


def text(messages):
    return "a text"


def numbers(messages):
    return [1, 2]


def unknown_role(messages):
    return [*messages, {"role": "wizard", "content": "abracadabra"}]


def not_json(messages):
    return [*messages, {"role": "user", "content": {1, 2}}]


def orphans(messages):
    return [message for message in messages if message["role"] == "tool"] or messages


def twice(messages):
    return messages + messages


def hangs(messages):
    time.sleep(60)


def dies(messages):
    os._exit(3)


def prints(messages):
    print("hello" * 10_000)
    return messages
"""


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("empty.json", b"", "empty.json: the file is empty; name another file"),
        ("empty.jsonl", b"\n \n", "empty.jsonl"),
        ("bin.dat", bytes(range(256)) * 20, "bin.dat: binary data, no conversation"),
        ("cut.json", CHAT.encode()[:900], "cut.json:1: not JSON"),
        ("cut.json.gz", gzip.compress(CHAT.encode())[:200], "cut.json.gz: broken gzip archive"),
        ("text.txt", b"Dear diary,\ntoday I talked to a model.", "text.txt"),
        ("number.json", b"42", "number.json"),
        ("no_messages.json", b'{"messages": []}', "no_messages.json"),
        ("role.json", b'[{"role": "wizard", "content": "x"}]', "role.json"),
        ("utf16.json", CHAT.encode("utf-16"), "utf16.json"),
    ],
)
def test_a_file_that_holds_no_conversation_is_named_with_the_reason(
    command, tmp_path, name, content, expected
):
    path = tmp_path / name
    path.write_bytes(content)

    error = one_error(command("run", path, "--out", tmp_path / "run"))

    assert f"{tmp_path}/{expected}" in error
    assert ";" in error, "says what to do"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: None, "no such file or folder; correct the path"),
        (lambda path: path.mkdir(), "no transcript in 0 files"),
        (lambda path: (path.mkdir(), (path / "README.md").write_text("x")), "no transcript in 1"),
    ],
    ids=["missing", "empty folder", "folder without transcripts"],
)
def test_a_path_without_transcripts_is_named(command, tmp_path, make, expected):
    path = tmp_path / "data"
    make(path)

    error = one_error(command("run", path, "--out", tmp_path / "run"))

    assert f"{path}: {expected}" in error


def test_a_name_with_a_line_break_makes_no_second_line(command, tmp_path):
    error = one_error(command("run", tmp_path / "a\nb \x1b[31m", "--out", tmp_path / "run"))

    assert "a\\nb \\x1b[31m: no such file or folder" in error


@pytest.mark.slow
def test_a_damaged_file_in_a_folder_is_a_line_and_the_others_run(command, tmp_path):
    data = write_chats(tmp_path / "data", 2)
    (data / "cut.json").write_text(CHAT[:900])
    (data / "empty.json").write_text("")

    code, _, errors = command(
        "run", data, "--strategy", "identity", "--no-controls", "--out", tmp_path / "run"
    )

    assert code == 1
    assert errors[0].startswith(f"not read: {data / 'cut.json'}:1: not JSON")
    assert len(list(RunFolder(tmp_path / "run").rows())) == 2


def test_objects_glued_on_one_line_are_read_and_reported(command, tmp_path):
    first, second, *rest = (json.dumps(message) for message in chat())
    path = tmp_path / "glued.jsonl"
    path.write_text("\n".join([first + second, *rest]))

    code, _, errors = command(
        "run", path, "--strategy", "identity", "--no-controls", "--out", tmp_path / "run"
    )

    assert code == 0
    assert errors == [f"noted: {path}, line 1: 2 records glued on one line, all read"]
    (row,) = RunFolder(tmp_path / "run").rows()
    assert row.messages == 21


def test_a_cut_last_line_is_reported_and_the_rest_runs(command, tmp_path):
    lines = [json.dumps(message) for message in chat()]
    path = tmp_path / "cut.jsonl"
    path.write_text("\n".join([*lines, lines[-1][:20]]))

    code, _, errors = command(
        "run", path, "--strategy", "identity", "--no-controls", "--out", tmp_path / "run"
    )

    assert code == 0
    assert len(errors) == 1
    assert errors[0].startswith(f"noted: {path}, line 22: cut off")


def test_an_orphan_result_is_reported_and_the_conversation_runs(command, tmp_path):
    messages = chat()
    del messages[2]
    path = tmp_path / "orphan.json"
    path.write_text(json.dumps(messages))

    code, _, errors = command(
        "run", path, "--strategy", "xun", "--no-controls", "--out", tmp_path / "run"
    )

    assert code == 0
    assert len(errors) == 1
    assert errors[0].startswith(f"noted: {path}, messages[2]: a result for call 'call_0'")
    rows = list(RunFolder(tmp_path / "run").rows())
    assert {row.status for row in rows} == {"ok"}
    assert len(rows) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("raises", "failed: {spec} on {place}: request 0: {spec} raised KeyError: 'boom"),
        ("raises_late", "failed: {spec} on {place}: request 4: {spec} raised ValueError: too long"),
        ("none", "failed: {spec} on {place}: request 0: {spec} returned None; it must return"),
        ("text", "failed: {spec} on {place}: request 0: {spec} returned a str; it must return"),
        ("numbers", "failed: {spec} on {place}: request 0: {spec} returned a bad list: message 0"),
        ("unknown_role", "message 2: unknown role 'wizard'"),
        ("not_json", "returned a message 2 that is not JSON"),
        ("orphans", "broken: {spec} on {place}: "),
        ("twice", "broken: {spec} on {place}: "),
        ("dies", "failed: {spec} on {place}: request 0: {spec}: its process ended (exit 3)"),
        ("hangs", "request 0: {spec} gave no answer within 1 s and was stopped"),
    ],
)
def test_code_that_misbehaves_is_a_row_and_a_line_and_the_others_go_on(
    command, tmp_path, name, expected
):
    data, out = write_chats(tmp_path / "data", 1), tmp_path / "run"
    spec = f"{write_code(tmp_path, CODE)}:{name}"

    code, _, errors = command(
        "run",
        data,
        "--strategy",
        "identity",
        "--strategy",
        spec,
        "--timeout",
        "1",
        "--no-controls",
        "--out",
        out,
    )

    place = f"{data / 'chat_0.json'} (conversation)"
    rows = {row.strategy: row for row in RunFolder(out).rows()}
    assert code == 1
    assert len(errors) == 1
    assert expected.format(spec=spec, place=place) in errors[0]
    assert "Traceback" not in errors[0]
    assert rows["identity"].status == "ok"
    assert rows[spec].status == ("ok" if name in ("orphans", "twice") else "error")
    assert (out / "report.html").is_file()


def test_code_that_prints_does_not_disturb_the_run(command, tmp_path):
    data = write_chats(tmp_path / "data", 1)
    spec = f"{write_code(tmp_path, CODE)}:prints"

    code, out, errors = command(
        "run", data, "--strategy", spec, "--no-controls", "--out", tmp_path / "run"
    )

    assert (code, errors) == (0, [])
    assert "hellohello" not in out


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_such_name", "has no 'no_such_name'; it has: "),
        ("Uncallable", "neither a function nor an object with view(messages)"),
        ("fine", "takes no such parameters"),
    ],
)
def test_code_that_cannot_be_started_is_refused_before_anything_runs(
    command, tmp_path, name, expected
):
    data = write_chats(tmp_path / "data", 1)
    spec = f"{write_code(tmp_path, CODE)}:{name}"
    extra = ["--set", "a=1"] if name == "fine" else []

    error = one_error(command("run", data, "--strategy", spec, *extra, "--out", tmp_path / "run"))

    assert expected in error
    assert not (tmp_path / "run").exists()


def test_code_with_a_syntax_error_is_named_with_its_line(command, tmp_path):
    spec = write_code(tmp_path, "def f(messages):\n    return [messages\n")

    error = one_error(command("run", write_chats(tmp_path / "data"), "--strategy", f"{spec}:f"))

    assert "SyntaxError" in error


@pytest.mark.slow
def test_what_was_computed_before_a_failure_is_there_after_it(command, tmp_path):
    """A setting fails; run again with another one, the first rows are not computed again."""
    data, out = write_chats(tmp_path / "data", 2), tmp_path / "run"
    spec = f"{write_code(tmp_path, CODE)}:raises"
    command("run", data, "--strategy", "identity", "--no-controls", "--out", out)
    before = {row.cell_id: row for row in RunFolder(out).rows()}

    code, _, _ = command(
        "run", data, "--strategy", "identity", "--strategy", spec, "--no-controls", "--out", out
    )

    after = {row.cell_id: row for row in RunFolder(out).rows()}
    assert code == 1
    assert len(before) == 2
    assert len(after) == 4
    assert all(after[cell] == row for cell, row in before.items())


@pytest.mark.parametrize("where", ["a file", "below a file", "a broken rows file"])
def test_a_run_folder_that_cannot_be_used_is_refused(command, tmp_path, where):
    data = write_chats(tmp_path / "data", 1)
    taken = tmp_path / "taken"
    if where == "a broken rows file":
        taken.mkdir()
        (taken / "rows.jsonl").write_text("[1]\n{}\n")
    else:
        taken.write_text("x")
    out = taken / "deep" if where == "below a file" else taken

    error = one_error(command("run", data, "--strategy", "identity", "--out", out))

    assert str(taken) in error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused(command, tmp_path):
    data = write_chats(tmp_path / "data", 1)
    (tmp_path / "locked").mkdir(mode=0o500)

    error = one_error(command("run", data, "--out", tmp_path / "locked" / "run"))

    assert "cannot write to" in error


@pytest.mark.parametrize("content", [None, "[1]", "{", "\x00"])
def test_a_folder_that_is_no_run_is_no_report(command, tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    error = one_error(command("report", tmp_path))

    assert "run.json" in error


HOSTILE = (
    "</script><script>alert(1)</script>",
    "a b 'c' \"d\"",
    "[red]x[/red]",
    "结果 é 😀",
    "line\nbreak \x1b[31m",
    "--strategy",
    "x" * 180,
)


@pytest.mark.slow
def test_hostile_names_pass_through_every_output(command, tmp_path):
    data = tmp_path / "my data"
    data.mkdir()
    for name in HOSTILE:
        (data / f"{name.replace('/', '∕')}.json").write_text(CHAT)
    (data / "native.json").write_text(
        json.dumps(
            {
                "format": "compaction-evals/transcript",
                "version": 1,
                "name": HOSTILE[0],
                "segments": [{"messages": chat(), "requests": [{"position": 2}]}],
            }
        )
    )
    out = tmp_path / "my </script> run".replace("/", "∕")

    code, _, errors = command(
        "run",
        data,
        "--strategy",
        "truncate",
        "--set",
        "keep_tokens=40%",
        "--no-controls",
        "--out",
        out,
    )

    page = (out / "report.html").read_text("utf-8")
    assert (code, errors) == (0, [])
    assert {row.source for row in RunFolder(out).rows()} == {str(path) for path in data.iterdir()}
    assert HOSTILE[0] not in page
    assert "<script>alert(1)" not in page


def test_an_absolute_and_a_relative_path_to_one_file_count_once(command, tmp_path, monkeypatch):
    write_chats(tmp_path / "data", 1)
    monkeypatch.chdir(tmp_path)

    command(
        "run",
        "data",
        Path("data") / "chat_0.json",
        tmp_path / "data",
        "--strategy",
        "identity",
        "--no-controls",
        "--out",
        "run",
    )

    assert len(list(RunFolder(Path("run")).rows())) == 1
