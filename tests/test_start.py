"""The bare command: finds conversations without opening them, and asks before it reads."""

import os
import subprocess
import sys

import pytest

from evals.commands.start import lines_of, start
from evals.session_places import PLACES, find_places

LOG = '{"type": "user"}\n'


def write_log(home, folder, name="a.jsonl"):
    path = home / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(LOG)
    return path


def test_every_place_that_exists_is_found_and_counted(tmp_path):
    for place in PLACES:
        write_log(tmp_path, f"{place.folder}/deep/er")

    found = find_places(tmp_path, {})

    assert [each.place for each in found] == list(PLACES)
    assert {(each.n_files, each.n_bytes, each.is_partial) for each in found} == {
        (1, len(LOG), False)
    }


def test_a_moved_folder_is_found_where_its_variable_says(tmp_path):
    write_log(tmp_path / "elsewhere", "projects")

    (found,) = find_places(tmp_path / "home", {"CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")})

    assert found.path == tmp_path / "elsewhere" / "projects"


def test_empty_folders_other_files_and_links_do_not_count(tmp_path):
    (tmp_path / ".codex/sessions").mkdir(parents=True)
    write_log(tmp_path, ".gemini/tmp", name="picture.png")
    real = write_log(tmp_path / "far", "logs")
    (tmp_path / ".copilot").mkdir()
    (tmp_path / ".copilot/session-state").symlink_to(real, target_is_directory=True)
    (real / "loop").symlink_to(real, target_is_directory=True)

    found = find_places(tmp_path, {})

    # A folder that is itself a link is the user's choice; links below it are not followed.
    assert [(each.place.agent, each.n_files) for each in found] == [("Copilot CLI", 1)]


def test_nothing_is_opened(tmp_path):
    path = write_log(tmp_path, ".claude/projects")
    (path / "a.jsonl").unlink()
    os.mkfifo(path / "b.jsonl")  # opening it would wait forever
    write_log(tmp_path, ".claude/projects", name="c.jsonl")

    (found,) = find_places(tmp_path, {})

    assert found.n_files == 1


def test_it_asks_before_it_reads_and_then_audits(tmp_path, capsys):
    path = write_log(tmp_path, ".claude/projects")
    asked, commands = [], []

    def no(question):
        asked.append(question)
        return False

    assert start(commands.append, home=tmp_path, ask=no) == 0
    assert (len(asked), commands) == (1, [])
    assert str(path) in asked[0]

    start(lambda arguments: commands.append(arguments) or 0, home=tmp_path, ask=lambda text: True)
    assert commands == [["audit", str(path)]]
    assert "compaction-evals audit" in capsys.readouterr().out


def test_logs_without_recorded_compactions_are_run(tmp_path):
    path = write_log(tmp_path, ".gemini/tmp")
    commands = []

    start(lambda arguments: commands.append(arguments) or 0, home=tmp_path, ask=lambda text: True)

    assert commands == [["run", str(path)]]


def test_without_logs_the_bundled_conversations_are_offered(tmp_path):
    commands = []

    start(lambda arguments: commands.append(arguments) or 0, home=tmp_path, ask=lambda text: True)

    assert commands == [["run"]]


def test_a_hostile_folder_name_stays_one_quoted_line(tmp_path):
    home = tmp_path / "a b;\nrm -rf"
    write_log(home, ".claude/projects")

    lines = lines_of(find_places(home, {}))

    assert all("\n" not in line for line in lines)
    assert any("audit $'" in line for line in lines)


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_bare_command_asks_nothing_in_a_pipe(tmp_path, arguments):
    write_log(tmp_path, ".claude/projects")

    done = subprocess.run(
        [sys.executable, "-m", "evals.cli", *arguments],
        env={**os.environ, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert ("Claude Code: 1 file" in done.stdout) == (not arguments)
