"""`audit` as a user runs it."""

import json
import sys
import time

import pytest

from evals.cli import main
from tests.audit_cases import FORMATS, OUTCOMES, claude_code
from tests.import_cases import SAMPLES, needs_samples
from tests.run_cases import write_code


@pytest.fixture
def command(capsys, monkeypatch):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["compaction-evals", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err

    return call


@pytest.fixture
def sessions(tmp_path):
    """A folder with the story in all four formats."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    for write in FORMATS.values():
        write(folder)
    return folder


def test_a_folder_of_all_formats_is_audited_and_written(command, sessions, tmp_path):
    out, md = tmp_path / "out", tmp_path / "notes" / "a.md"

    code, text, errors = command(sessions, "--out", out, "--md", md, "--no-controls")

    assert (code, errors) == (0, f"wrote {out / 'audit.html'}\n")
    assert "4 sessions, 4 of them compacted; 4 compactions that can be judged." in text
    assert "Of 16 references needed afterwards" in text
    assert sorted(path.name for path in out.iterdir()) == ["audit.html", "audit.json", "audit.md"]
    assert md.read_text() == (out / "audit.md").read_text()
    for path in (*out.iterdir(), md):
        assert not any(name in path.read_text() for name in OUTCOMES)


def test_json_is_everything_and_nothing_else(command, tmp_path):
    code, text, _ = command(claude_code(tmp_path), "--json", "--show-text")

    found = json.loads(text)
    (boundary,) = found["sessions"][0]["boundaries"]
    assert (code, found["format"], found["version"]) == (0, "compaction-evals/audit", 1)
    assert {line["name"]: line["outcome"] for line in boundary["lines"]} == OUTCOMES
    assert [each["label"] for each in boundary["contestants"]][-2:] == ["identity", "drop_all"]


def test_names_are_shown_on_the_terminal_only_if_wanted(command, tmp_path):
    path = claude_code(tmp_path)

    assert "config/retry.yaml" not in command(path)[1]
    assert "config/retry.yaml (+5)" in command(path, "--show-text")[1]


def test_strategies_and_grids_are_those_of_the_flags(command, tmp_path):
    arguments = ("--strategy", "clear_tool_results", "--grid", "keep_last_results=0,1,2")

    _, text, _ = command(claude_code(tmp_path), *arguments, "--no-controls", "--json")

    boundary = json.loads(text)["sessions"][0]["boundaries"][0]
    assert [each["label"] for each in boundary["contestants"]] == [
        "recorded",
        *(f"clear_tool_results(keep_last_results={n})" for n in range(3)),
    ]


def test_a_strategy_that_fails_makes_the_exit_code_1(command, tmp_path):
    spec = f"{write_code(tmp_path)}:fails"

    code, text, _ = command(claude_code(tmp_path), "--strategy", spec)

    assert code == 1
    assert "no luck" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--strategy", "nobody"), "unknown strategy 'nobody'"),
        (("--set", "keep_last_results=3"), "need --strategy"),
        (("--price", "no-such-model"), "no price is known"),
        (("--base-url", "http://localhost:1"), "--base-url needs --model"),
    ],
)
def test_wrong_flags_are_one_line_and_exit_2(command, tmp_path, arguments, says):
    code, out, errors = command(claude_code(tmp_path), *arguments)

    assert (code, out) == (2, "")
    assert says in errors
    assert errors.count("\n") == 1


def test_nothing_to_read_is_exit_2(command, tmp_path):
    (tmp_path / "notes.txt").write_text("no conversation")

    assert command(tmp_path / "missing")[0] == 2
    code, _, errors = command(tmp_path)
    assert (code, "no transcript in 1 file;" in errors) == (2, True)


def test_a_damaged_file_is_named_and_makes_the_exit_code_1(command, sessions):
    (sessions / "broken.json").write_text('{"sessionId": "x", "agent": "lead", "messages": [')

    code, text, errors = command(sessions)

    assert code == 1
    assert "broken.json" in errors
    assert "Not read: " in " ".join(text.split())  # a long path wraps


def test_a_file_that_ends_inside_a_record_is_judged_as_far_as_it_goes(command, tmp_path):
    path = claude_code(tmp_path)
    text = path.read_text()
    path.write_text(text[: text.index("lint config") + 3])

    code, out, errors = command(path, "--json")

    (boundary,) = json.loads(out)["sessions"][0]["boundaries"]
    assert (code, errors.count("\n")) == (0, 1)
    assert "cut off, the file ends inside a record" in errors
    assert (boundary["needs"]["asked"], boundary["requests_after"]) == (3, 4)


def test_a_place_that_cannot_be_written_is_one_line(command, tmp_path):
    path = claude_code(tmp_path)

    code, _, errors = command(path, "--md", path / "a.md")

    assert code == 2
    assert errors.startswith("error: cannot write ")


def test_what_was_done_before_a_stop_is_told(command, sessions, monkeypatch):
    import evals.audit.command

    audited = evals.audit.command.audit_session
    done = []

    def stopped(transcript, plan):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(transcript)
        return audited(transcript, plan)

    monkeypatch.setattr(evals.audit.command, "audit_session", stopped)
    code, text, errors = command(sessions)

    assert (code, errors) == (130, "stopped after 2 of 4 sessions\n")
    assert "2 sessions, 2 of them compacted" in text


@pytest.mark.slow
def test_more_processes_say_the_same(command, tmp_path, monkeypatch):
    import evals.audit.command

    for number in range(12):
        (tmp_path / str(number)).mkdir()
        claude_code(tmp_path / str(number))
    (tmp_path / "11" / "damaged.jsonl").write_text('{"type": "user", "message": ')
    monkeypatch.setattr(evals.audit.command, "MIN_SESSIONS_OF_A_WORKER", 3)

    alone, shared = (command(tmp_path, "--json", "--jobs", jobs) for jobs in (1, 3))

    assert alone[0] == shared[0]
    first, second = (json.loads(text) for _, text, _ in (alone, shared))
    assert len(first["sessions"]) == 12
    for found in (first, second):
        del found["command"]
    assert first == second


@needs_samples
def test_the_compactions_of_real_sessions_are_those_that_were_looked_at_by_hand(command):
    _, text, _ = command(SAMPLES / "claude_code", "--json", "--show-text", "--no-controls")

    found = [b for s in json.loads(text)["sessions"] for b in s["boundaries"]]
    cleared, full = sorted(found, key=lambda each: each["kind"], reverse=True)
    assert [cleared["needs"][k] for k in ("asked", "kept")] == [2, 2]
    # Lines 400 to 599 of a file were cleared; 500 to 559 and 420 to 469 are read again, in two
    # requests, while lines 200 to 309 of the same file still stand there.
    assert cleared["reacquired"]["by_kind"] == {"file": 2}
    assert {name.rpartition("/")[2] for name in cleared["reacquired"]["names"]} == {
        "hooks_claudecode_handlers.go"
    }
    assert cleared["reacquired"]["requests_only"] == 2
    # The first request after the summary reads two files of the merge again, and nothing else.
    assert full["reacquired"]["by_kind"] == {"file": 2}
    assert [name.rpartition("/")[2] for name in full["reacquired"]["names"]] == [
        "auto_commit.go",
        "manual_commit.go",
    ]
    # 61,595 tokens were reported for a summary of 2,865: files were put in again without a word.
    assert full["unlogged_tokens"] > 10_000
    assert full["needs"]["lost"] == 0
    # The summary tells "StepCount: 0", "CondensedTranscriptLines: 0" and one function by name; what
    # was read again stands in none of its lines. Six results bring all of it, five do not.
    assert {line["name"] for line in full["lines"] if line["outcome"] == "named"} == {
        "StepCount=0",
        "CondensedTranscriptLines=0",
        "sessionStateToStrategy",
    }
    assert (full["needs"]["read_again"], full["clearing"]["keep_last_results"]) == (12, 6)
    assert full["survived"]["invented"] == [["/Users/dev1/.REDACTED.jsonl", "path"]]


@needs_samples
@pytest.mark.slow
def test_what_codex_read_again_by_shell_is_what_was_looked_at_by_hand(command):
    _, text, _ = command(SAMPLES / "codex", "--json", "--show-text", "--no-controls")

    (boundary,) = (b for s in json.loads(text)["sessions"] for b in s["boundaries"])
    # Lines 17 and 965 of the log are `sed -n '1,240p'` of one file, with equal output of 2,370
    # tokens; 27 patches to other files lie between. Line 944 is `git status`, as before.
    assert boundary["reacquired"]["by_kind"] == {"file": 1, "command": 1}
    assert boundary["reacquired"]["requests_only"] == 1
    assert 2_370 < boundary["reacquired"]["tokens"] < 2_800
    # The summary is encrypted: nothing is said of what it kept.
    assert boundary["needs"] == {
        **dict.fromkeys(("kept", "named", "read_again", "lost"), 0),
        "asked": 8,
        "unseen": 8,
    }


@needs_samples
@pytest.mark.timing
def test_six_real_sessions_take_less_than_twelve_seconds(command):
    started = time.process_time()

    code, _, _ = command(SAMPLES / "claude_code")

    assert code == 0
    assert time.process_time() - started < 12


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("100", 100), (None, 10_000)])
def test_a_pipe_has_whole_names_and_a_terminal_its_width(
    command, tmp_path, monkeypatch, columns, widest
):
    folder = tmp_path / ("deep" * 30)
    folder.mkdir()
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)

    _, text, _ = command(claude_code(folder))

    assert max(map(len, text.splitlines())) <= widest
    assert (str(folder) in text) == (columns is None)
