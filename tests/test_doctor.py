"""What the doctor says of files: hand-counted sums, reasons with places, exit codes."""

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evals import doctor
from evals.checkup import check_file, check_files
from tests.import_cases import FIXTURES, SAMPLES, needs_samples, session_lines, write_lines

CHAT = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])


def examined(capsys, *paths, as_json=False):
    code = doctor.examine(paths, as_json=as_json)
    return code, capsys.readouterr().out


def test_the_sums_of_a_file_count_each_message_once():
    check = check_file(FIXTURES / "claude_code" / "session.jsonl")

    (session,) = check.transcripts
    # 9 messages, two more after the microcompaction, three after the compaction.
    assert (session.messages, session.requests, session.segments) == (9 + 2 + 3, 4, 3)
    assert session.requests_with_usage == 4
    assert [item.kind for item in session.compactions] == ["micro", "full"]
    assert check.format == "claude-code"
    assert {item.where for item in check.not_understood} == {"line 26", "line 27"}
    assert not check.is_understood


def test_words_that_were_said_again_after_a_compaction_are_counted_again(tmp_path):
    def record(number, kind, text, **more):
        message = {"role": kind, "id": f"m{number}", "content": [{"type": "text", "text": text}]}
        links = {"uuid": f"u{number}", "parentUuid": f"u{number - 1}", "sessionId": "s"}
        return {"type": kind, **links, "message": message, **more}

    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "u3", "sessionId": "s"}
    records = [
        record(1, "user", "go on"),
        record(2, "assistant", "done"),
        {**boundary, "parentUuid": None, "compactMetadata": {"trigger": "auto"}},
        record(4, "user", "A summary.", isCompactSummary=True),
        record(5, "assistant", "I see."),
        record(6, "user", "go on"),
        record(7, "assistant", "more"),
    ]

    (session,) = check_file(write_lines(tmp_path / "s.jsonl", records)).transcripts

    assert (session.segments, session.messages, session.requests) == (2, 6, 3)


def test_open_calls_and_usage_coverage_are_told():
    (run,) = check_file(FIXTURES / "mini_swe_agent" / "run.traj.json").transcripts

    assert (run.calls, run.unanswered_calls) == (2, 1)
    assert (run.requests, run.requests_with_usage) == (2, 2)


def test_calibration_is_that_of_the_segments_with_usage():
    (run,) = check_file(FIXTURES / "mini_swe_agent" / "run.traj.json").transcripts

    (fit,) = run.calibrations
    assert (fit.slope, fit.n_requests) == (1.0, 2)
    # The prefix is the median difference between reported and counted, so both signs are in it.
    assert 50 < fit.offset_tokens < 110


def test_without_calibration_nothing_is_counted():
    check = check_file(FIXTURES / "mini_swe_agent" / "run.traj.json", calibrate=False)

    assert check.transcripts[0].calibrations == ()


@pytest.mark.parametrize(
    ("content", "is_named", "is_understood"),
    [
        (CHAT, True, True),
        ("# A readme\n", False, True),
        ("# A readme\n", True, False),
        ('[{"role": "user", "cont', False, False),
    ],
)
def test_a_file_is_understood_or_the_user_is_told(tmp_path, content, is_named, is_understood):
    path = tmp_path / "file.json"
    path.write_text(content)

    (check,) = check_files([path if is_named else tmp_path], calibrate=False)[1]

    assert check.is_understood is is_understood
    assert (check.refusal is None) is (content == CHAT)


def test_the_exit_code_is_zero_only_if_everything_was_understood(tmp_path, capsys):
    (tmp_path / "a.json").write_text(CHAT)
    (tmp_path / "README.md").write_text("# Logs\n")
    good, text = examined(capsys, tmp_path)
    (tmp_path / "b.json").write_text('[{"role": "us')
    bad, told = examined(capsys, tmp_path)

    assert (good, bad) == (0, 1)
    assert "2 files: 1 read, 1 no conversation, 0 not wholly understood" in text
    assert f"refused: {tmp_path}/b.json:1: not JSON" in told.replace("\n", "")


def test_reasons_stand_with_their_lines(capsys):
    code, text = examined(capsys, FIXTURES / "claude_code" / "session.jsonl")

    assert code == 1
    assert "session.jsonl: line 26: record of unknown type 'moon-phase' [not understood]" in text


@pytest.mark.parametrize("columns", [40, 80, 139])
def test_in_a_narrow_window_or_a_pipe_each_file_is_a_paragraph(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    path = FIXTURES / "langfuse_otel" / "trace.json"

    _, text = examined(capsys, path)

    first, *lines = text.splitlines()
    assert first == str(path), "in one piece, however long"
    assert all(len(line) <= columns for line in lines if line.startswith("  "))
    words = " ".join(text.split())
    assert "transcripts 2; messages 8; requests 3; calls 2; " in words
    assert "; skipped " in words


def test_where_there_is_room_it_is_a_table(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    _, text = examined(capsys, FIXTURES / "langfuse_otel" / "trace.json")

    assert text.split()[:3] == ["file", "format", "transcripts"]


def test_json_holds_everything(capsys):
    code, text = examined(capsys, FIXTURES / "langfuse_otel" / "trace.json", as_json=True)

    report = json.loads(text)
    (file,) = report["files"]
    assert (code, report["is_complete"], file["is_understood"]) == (0, True, True)
    assert (file["format"], file["requests"], file["calls"]) == ("langfuse-otel", 3, 2)
    assert file["usage_coverage_fraction"] == 1.0
    assert [t["name"] for t in file["transcripts"]] == ["port-agent", "port-agent/2 gpt-judge"]
    assert file["skipped"][0]["where"] == "observation 0"


def test_an_interruption_shows_what_was_found_so_far(capsys, monkeypatch):
    def interrupted(paths, *, calibrate):
        def checks():
            yield check_file(FIXTURES / "swe_agent" / "text.traj", calibrate=calibrate)
            raise KeyboardInterrupt

        return 5, checks()

    monkeypatch.setattr(doctor, "check_files", interrupted)

    code = doctor.examine([FIXTURES], as_json=True)
    out, err = capsys.readouterr()

    assert code == 130
    assert "stopped after 1 of 5 files" in err
    assert json.loads(out)["is_complete"] is False


def test_the_command_exits_with_what_it_found():
    command = [sys.executable, "-m", "evals.cli", "doctor", "--no-calibration"]
    good = FIXTURES / "swe_agent" / "text.traj"

    done = subprocess.run([*command, good, "--json"], capture_output=True, text=True, check=False)
    missing = subprocess.run([*command, "missing"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["files"][0]["messages"] == 7
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "missing: no such file" in missing.stderr


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see open files")
def test_ctrl_c_during_a_large_file_stops_at_once_with_what_was_found(tmp_path):
    (tmp_path / "a.json").write_text(CHAT)
    large = tmp_path / "large.jsonl"
    with large.open("w") as file:
        for _ in range(60):
            file.write("\n".join(session_lines("s", 100, "x" * 5_000)) + "\n")
    command = [sys.executable, "-m", "evals.cli", "doctor", "--json", tmp_path / "a.json", large]

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _wait_until_open(process.pid, large)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert (process.returncode, err) == (130, "stopped after 1 of 2 files\n")
    assert [file["messages"] for file in json.loads(out)["files"]] == [2]


def _wait_until_open(pid, path):
    for _ in range(3000):
        time.sleep(0.01)
        with contextlib.suppress(OSError):
            if any(link.resolve() == path for link in Path(f"/proc/{pid}/fd").iterdir()):
                return
    pytest.fail(f"{path} was never opened")


@needs_samples
def test_every_sample_is_read_or_refused_with_a_reason_that_is_true():
    n_files, checks = check_files([SAMPLES], calibrate=False)
    found = {check.path.removeprefix(f"{SAMPLES}/"): check for check in checks}

    refused = {path: check.refusal for path, check in found.items() if check.refusal}
    assert n_files == 58 + 1
    assert "not a conversation" in refused.pop("MANIFEST.md")
    assert {path: reason.split("; ")[-1] for path, reason in refused.items()} == {
        **{
            f"langfuse_otel/{name}.chatml.json": (
                "convert it to OpenAI chat messages, or name another file"
            )
            for name in (
                "claude-agent-2025-12-22",
                "langgraph-js-2025-10-30",
                "pydantic-ai-tools-2025-12-04",
            )
        },
        **{
            f"recall_bfcl_memory/memory_{name}.{kind}.jsonl": (
                "name the conversation file, which takes them from beside it"
            )
            for name in ("customer", "student")
            for kind in ("questions", "answers")
        },
    }
    assert all(check.transcripts for check in found.values() if not check.refusal)
    assert not any(check.refusal and not check.is_foreign for check in found.values())


@pytest.mark.parametrize(
    ("folder", "formats"),
    [
        ("anthropic_messages", {"anthropic-messages"}),
        ("atif", {"atif"}),
        ("google_adk", {"google-adk"}),
        ("inspect_ai", {"inspect"}),
        ("langchain", {"langchain"}),
        ("langfuse_otel", {"langfuse-otel"}),
        ("locomo", {"locomo"}),
        ("longmemeval", {"longmemeval"}),
        ("mini_swe_agent", {"mini-swe-agent"}),
        ("openai_responses", {"openai-responses"}),
        ("openhands", {"openhands"}),
        ("openhands_sdk", {"openhands-sdk"}),
        ("sharegpt", {"sharegpt"}),
        ("swe_agent", {"swe-agent"}),
    ],
)
def test_no_format_takes_the_files_of_another(folder, formats):
    checks = check_files([FIXTURES / folder], calibrate=False)[1]

    assert {check.format for check in checks} == formats
