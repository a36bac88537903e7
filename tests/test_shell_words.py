"""Commands to copy: a real shell reads the words as they were, and nothing steers the terminal."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.shell_words import path_argument, shell_line
from reports.configuration_systems import command_line
from reports.measure_again import measure_command

WORDS = [
    "a b",
    "it's",
    "tab\tand\nline",
    "a\rb",
    "\x1b[31mred\x9b",
    "turned\u202egnp",
    "zero\u200bwidth",
    "\\back'slash\x07",
    "$(x) `y` *",
    "bytes \udcff\udc80",
    "ünï",
]
BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="no bash")


def read_by_bash(line):
    command = [BASH, "-c", f"printf '%s\\0' {line}"]
    said = subprocess.run(command, capture_output=True, check=True, env={"LC_ALL": "C"}).stdout
    return [word.decode("utf-8", "surrogateescape") for word in said.split(b"\0")[:-1]]


@needs_bash
def test_a_shell_reads_the_words_as_they_were():
    line = shell_line(WORDS)

    assert line.isprintable()
    assert read_by_bash(line) == WORDS


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_whatever_a_word_holds_the_line_can_be_printed(word):
    assert shell_line([word]).isprintable()


@pytest.mark.parametrize("path", ["aé=b", "k=v", "-dash", "--out", "-", "_=\nx"])
def test_a_path_is_taken_for_no_flag_and_no_parameter(path):
    from evals.commands.sweep import _split

    assert path_argument(path) == f"./{path}"
    assert _split([path_argument(path)]) == ((Path(path),), [])


@needs_bash
def test_the_command_that_measures_again_holds_its_paths_whatever_they_are():
    line = measure_command({"paths": WORDS}, "s", {}, {"keep": (2,)}, min_reach=0.9)

    assert line.isprintable()
    assert read_by_bash(line)[3:-3] == WORDS


@needs_bash
def test_flags_of_somebodys_own_code_are_read_as_they_were():
    form = command_line("a\tb.py:make", {"mark": "\x1b[0m"}, frozenset({"mark"}))

    assert form.text.isprintable()
    assert read_by_bash(form.text)[3:] == ["a\tb.py:make", "--set", "mark=\x1b[0m"]


@needs_bash
def test_the_bare_command_names_a_folder_of_the_home_as_a_shell_reads_it(tmp_path, monkeypatch):
    from evals.commands.start import _shown

    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / "a b\x1b"
    command = [BASH, "-c", f"printf %s {_shown(folder)}"]

    said = subprocess.run(
        command, capture_output=True, check=True, env={"HOME": str(tmp_path)}, text=True
    ).stdout

    assert said == str(folder)
    assert _shown(folder).startswith("~/")
