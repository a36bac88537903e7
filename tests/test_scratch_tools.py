import json

import pytest

from compaction.agent_tools import Toolbox
from compaction.messages import ToolCall
from evals.recording import scratch_tools
from evals.recording.scratch_tools import MAX_MATCHES, MAX_OUTPUT_CHARS


@pytest.fixture
def root(tmp_path):
    project = (tmp_path / "project").resolve()
    (project / "src").mkdir(parents=True)
    (project / "src" / "b.py").write_text("one\ntwo\nthree\n")
    (project / "a.txt").write_text("two or three\n")
    (tmp_path / "outside.txt").write_text("secret")
    return project


@pytest.fixture
def call(root):
    toolbox = Toolbox(scratch_tools.scratch_tools(root))

    def run(name, **arguments):
        return toolbox.call(ToolCall("c", name, json.dumps(arguments))).text

    return run


def test_files_are_listed_in_order_with_sizes(call):
    assert call("list_files") == "      13  a.txt\n      14  src/b.py"
    assert call("list_files", path="src") == "      14  src/b.py"
    assert call("list_files", path="none") == "error: none: no such directory"


def test_a_file_is_read_whole_or_by_lines(call):
    assert call("read_file", path="src/b.py") == "one\ntwo\nthree\n"
    assert call("read_file", path="src/b.py", offset=2, limit=1) == "two\n"
    assert call("read_file", path="src/b.py", offset=3) == "three\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"path": "c.py"}, "c.py: no such file"),
        ({"path": "src"}, "src: no such file"),
        ({"path": "a.txt", "offset": 2}, "a.txt: offset 2 is past the last line (1)"),
        ({"path": "a.txt", "offset": 0}, "offset and limit count from 1, got 0 and None"),
        ({"path": "a.txt", "limit": 0}, "offset and limit count from 1, got 1 and 0"),
        ({"path": "../outside.txt"}, "../outside.txt: outside the project"),
        ({"path": "/etc/hostname"}, "/etc/hostname: outside the project"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_why(call, arguments, problem):
    assert call("read_file", **arguments) == f"error: {problem}"


def test_a_link_that_leads_outside_is_outside(call, root):
    (root / "link").symlink_to(root.parent / "outside.txt")

    assert call("read_file", path="link") == "error: link: outside the project"
    assert call("write_file", path="link", content="x") == "error: link: outside the project"
    assert (root.parent / "outside.txt").read_text() == "secret"


def test_a_search_answers_path_line_and_text(call):
    assert call("grep", pattern="^t") == "a.txt:1:two or three\nsrc/b.py:2:two\nsrc/b.py:3:three"
    assert call("grep", pattern="^t", path="src/b.py") == "src/b.py:2:two\nsrc/b.py:3:three"
    assert call("grep", pattern="four") == "no matches"
    assert call("grep", pattern="(").startswith("error: bad pattern: ")
    assert call("grep", pattern="x", path="none") == "error: none: no such file or directory"


def test_a_search_is_clipped_and_says_so(call, root):
    (root / "many.txt").write_text("hit\n" * (MAX_MATCHES + 5))

    lines = call("grep", pattern="hit").splitlines()

    assert len(lines) == MAX_MATCHES + 1
    assert lines[-1] == "... 5 more matches"


def test_an_edit_needs_exactly_one_place(call, root):
    def edit(old):
        return call("edit_file", path="src/b.py", old_string=old, new_string="2")

    assert edit("two") == "edited src/b.py at line 2"
    assert (root / "src" / "b.py").read_text() == "one\n2\nthree\n"
    assert edit("e\n") == "error: src/b.py: old_string found 2 times, must be exactly once"
    assert edit("four") == "error: src/b.py: old_string found 0 times, must be exactly once"


def test_a_file_is_created_and_replaced(call, root):
    assert call("write_file", path="new/é.txt", content="é") == "created new/é.txt (2 bytes)"
    assert call("write_file", path="new/é.txt", content="") == "replaced new/é.txt (0 bytes)"


def test_tests_run_for_real_without_timings_and_places(call, root):
    (root / "tests").mkdir()
    (root / "tests" / "__init__.py").touch()
    (root / "tests" / "test_a.py").write_text(
        "import unittest\nclass A(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(1, 2)\n"
    )

    text = call("run_tests", target="tests.test_a")

    assert text.startswith("exit code 1\n")
    assert "AssertionError: 1 != 2" in text
    assert "Ran 1 test\n" in text
    assert 'File "project/tests/test_a.py", line 4' in text
    assert str(root.parent) not in text
    assert call("run_tests").count("FAIL: test_it") == 1


def test_only_python_runs_and_it_sees_no_credentials(call, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not for tools")

    text = call("run_command", command='python -c "import os; print(sorted(os.environ))"')

    assert text.startswith("exit code 0\n")
    assert "OPENAI_API_KEY" not in text
    assert "PYTHONHASHSEED" in text
    assert call("run_command", command="ls") == "error: only python commands are allowed, got 'ls'"
    assert call("run_command", command="python 'x") == "error: No closing quotation"


def test_a_command_that_does_not_end_is_stopped(call, monkeypatch):
    monkeypatch.setattr(scratch_tools, "TIMEOUT_SECONDS", 0.2)

    text = call("run_command", command="python -c 'while True: pass'")

    assert text == "error: stopped, no end after 0.2 seconds"


def test_a_command_that_waits_for_input_gets_none(call):
    assert "EOFError" in call("run_command", command="python -c 'input()'")


def test_an_endless_output_is_clipped_and_says_so(call):
    text = call("run_command", command=f"python -c 'print(\"x\" * {MAX_OUTPUT_CHARS + 9})'")

    assert text.endswith("\n... 10 more characters")


def test_bytes_that_are_no_text_are_shown_as_escapes(call):
    code = "import sys; sys.stdout.buffer.write(bytes([255, 65]))"

    assert call("run_command", command=f"python -c '{code}'") == "exit code 0\n\\xffA"
