"""A model behind an endpoint as the agent: turns, faults, interruptions."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from evals.cassettes import load_cassette
from evals.cli import main
from evals.recording import recording_live
from evals.recording.recorder import UnrecordedRequestError
from evals.recording.recording_live import LiveModel, RecordingError
from evals.recording.scenario_recording import RecordRequest, record, replay
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script

SCENARIO = """
name: visit
model: authored
created: 1000
project: project
system: You help.
steps:
- user: Read the list.
- say: (authored, not sent)
- user: Now sum it up.
- say: (authored, not sent)
"""
READS = 5
"""Requests of the first user turn that read; one more answers it, and one the second turn."""
ALL = READS + 2


def call(number):
    arguments = json.dumps({"path": "list.txt", "offset": number + 1, "limit": 1})
    function = {"name": "read_file", "arguments": arguments}
    return {"id": f"call_{number}", "type": "function", "function": function}


def behave(body):
    """Answer by what was said so far: whoever asks the same is answered the same."""
    if "tools" not in body:
        return Reply("## Goal\nRead the list.")
    text = str(body["messages"])
    said = max((int(number) + 1 for number in re.findall(r"call_(\d+)", text)), default=0)
    if said < READS and "sum it up" not in text:
        return Reply(f"Reading {said}.", (call(said),), elapsed_seconds=0)
    return Reply(f"Read after {said}.", elapsed_seconds=0)


def late(body):
    reply = behave(body)
    return Reply(reply.content, reply.tool_calls, elapsed_seconds=0, delay_seconds=0.4)


@pytest.fixture
def scenario(tmp_path):
    folder = tmp_path / "visit"
    (folder / "project").mkdir(parents=True)
    lines = (f"entry {n} costs {n * 7} " + "and so on " * 40 + "\n" for n in range(20))
    (folder / "project" / "list.txt").write_text("".join(lines))
    (folder / "scenario.yaml").write_text(SCENARIO)
    return folder / "scenario.yaml"


def live(scenario, base_url, name="out", limit=None, **more):
    model = LiveModel(
        name="some-model",
        base_url=base_url,
        temperature=0.5,
        max_output_tokens=limit,
        timeout_seconds=20,
    )
    cassette = scenario.parent / name / "cassette.json"
    return RecordRequest(scenario=scenario, cassette=cassette, model=model, **more)


def conversation(cassette):
    """Return what was sent and answered, without the endpoint's ids and clock."""
    return [
        (i.request_body, i.response_json()["choices"][0]["message"])
        for i in load_cassette(cassette)
    ]


def sent_texts(endpoint):
    return [json.dumps(body, sort_keys=True) for body in endpoint.requests]


def test_a_model_is_sent_the_users_turns_and_works_with_the_real_tools(scenario):
    said = []
    with serve_script(behave) as endpoint:
        done = record(live(scenario, endpoint.base_url), said.append)

    last = load_cassette(done.cassette)[-1].request_body
    assert (done.requests, done.answers) == (ALL, ALL)
    assert (last["model"], last["temperature"]) == ("some-model", 0.5)
    assert [m["content"] for m in last["messages"] if m["role"] == "user"] == [
        "Read the list.",
        "Now sum it up.",
    ]
    results = [m["content"] for m in last["messages"] if m["role"] == "tool"]
    assert results[3].startswith("entry 3 costs 21 and so on")
    assert "authored" not in json.dumps(last)
    assert len(said) == ALL
    assert said[0].startswith("answer 1: agent, ")


def test_parameters_that_the_endpoint_refuses_are_left_out_in_recording_and_replay(scenario):
    def picky(body):
        for key in ("temperature", "max_completion_tokens"):
            if key in body:
                return Fault("status", 400, text=f"Unsupported parameter: {key}")
        return behave(body)

    with serve_script(picky) as endpoint:
        asked = live(scenario, endpoint.base_url, limit=99)
        done = record(asked, print)

    bodies = [i.request_body for i in load_cassette(asked.cassette)]
    assert done.answers == ALL
    assert {body["max_tokens"] for body in bodies} == {99}
    assert not any("temperature" in body for body in bodies)
    assert replay(asked).answers == ALL


def test_a_turn_that_finds_no_end_is_ended_and_said(scenario):
    said = []
    with serve_script(behave) as endpoint:
        done = record(live(scenario, endpoint.base_url, max_requests=3), said.append)

    assert said[3] == "user turn 1 of 2: no answer after 3 requests"
    assert done.requests == 4
    assert replay(live(scenario, None, max_requests=3)).answers == 4


def test_a_compactor_in_the_loop_is_recorded_with_its_calls_and_replays(scenario):
    parameters = {"context_budget": "900", "micro_keep_recent": "1", "keep_recent_tokens": "200"}
    with serve_script(behave) as endpoint:
        asked = live(scenario, endpoint.base_url, strategy="my_pi_agent", parameters=parameters)
        done = record(asked, print)

    summaries = [i for i in load_cassette(asked.cassette) if "tools" not in i.request_body]
    assert done.answers == done.requests + len(summaries)
    assert len(summaries) > 0
    assert done.compactions > 0
    assert replay(asked).answers == done.answers
    with pytest.raises(UnrecordedRequestError, match="no recorded answer"):
        replay(live(scenario, None))


FAULTS = {
    "server error": (Fault("status", 500), "InternalServerError"),
    "rate limit": (Fault("status", 429), "RateLimitError"),
    "cut off": (Fault("cut_off"), "Connection error"),
    "no answer": (Fault("slow"), "Connection error"),
    "broken JSON": (Fault("malformed"), "'some-model': the answer is no JSON"),
    "refused": (Fault("status", 401), "AuthenticationError"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_keeps_what_was_recorded_and_the_same_command_goes_on(scenario, monkeypatch, name):
    monkeypatch.setattr(recording_live, "RETRIES", 0)
    fault, text = FAULTS[name]
    answers = [behave] * 2 + [lambda _: fault] + [behave] * ALL
    script = iter(answers)
    with serve_script(lambda body: next(script)(body)) as endpoint:
        asked = live(scenario, endpoint.base_url)
        with pytest.raises(RecordingError, match=text) as caught:
            record(asked, print)
        assert "2 answers are kept, the same command continues" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not asked.cassette.exists()
        done = record(asked, print)

    assert (done.answers, done.reused) == (ALL, 2)
    # the failed one, and then everything that was not kept
    assert len(endpoint.requests) == 3 + ALL - 2
    assert [path.name for path in asked.cassette.parent.iterdir()] == ["cassette.json"]


def test_nothing_is_recorded_if_the_endpoint_is_down(scenario, monkeypatch):
    monkeypatch.setattr(recording_live, "RETRIES", 0)
    with serve_script([]) as endpoint:
        address = endpoint.base_url

    with pytest.raises(RecordingError, match=r"Connection error.*nothing was recorded"):
        record(live(scenario, address), print)

    assert not (scenario.parent / "out").exists()


@pytest.mark.slow
def test_a_rate_limit_is_waited_for_as_long_as_the_endpoint_says(scenario):
    answers = iter([Fault("status", 429, retry_after_seconds=0.3), Fault("status", 500)])
    started = time.monotonic()
    with serve_script(lambda body: next(answers, None) or behave(body)) as endpoint:
        done = record(live(scenario, endpoint.base_url), print)

    assert time.monotonic() - started > 0.3
    assert done.answers == ALL
    assert len(endpoint.requests) == ALL + 2


def test_a_failed_summary_ends_the_recording_too(scenario, monkeypatch):
    monkeypatch.setattr(recording_live, "RETRIES", 0)
    parameters = {"context_budget": "900", "micro_keep_recent": "1", "keep_recent_tokens": "200"}

    def no_summary(body):
        return behave(body) if "tools" in body else Fault("status", 500)

    with serve_script(no_summary) as endpoint:
        asked = live(scenario, endpoint.base_url, strategy="my_pi_agent", parameters=parameters)
        with pytest.raises(RecordingError, match="answers are kept"):
            record(asked, print)
        endpoint.say = behave
        done = record(asked, print)

    assert replay(asked).answers == done.answers > done.requests


def test_a_run_that_goes_another_way_says_where_and_leaves_the_rest_out(scenario, monkeypatch):
    monkeypatch.setattr(recording_live, "RETRIES", 0)
    script = iter([behave] * 4 + [lambda _: Fault("status", 500)] + [behave] * ALL)
    said = []
    with serve_script(lambda body: next(script)(body)) as endpoint:
        asked = live(scenario, endpoint.base_url)
        with pytest.raises(RecordingError):
            record(asked, print)
        project = scenario.parent / "project" / "list.txt"
        project.write_text(project.read_text().replace("entry 1 ", "entry I "))
        done = record(asked, said.append)

    assert (done.answers, done.reused) == (ALL, 2)
    assert said[0] == "4 answers were kept by a recording that did not finish"
    assert said[1].startswith("not sent as before, so it is sent again: ")
    assert "message 5 of 6 (tool) differs: 'entry 1 costs 7" in said[1]
    assert "entry I costs" in conversation(asked.cassette)[-1][0]["messages"][5]["content"]


@pytest.mark.slow
def test_a_recording_that_is_killed_goes_on_and_pays_for_nothing_twice(scenario):
    with serve_script(behave) as endpoint:
        whole = record(live(scenario, endpoint.base_url, "whole"), print)
    with serve_script(late) as endpoint:
        asked = live(scenario, endpoint.base_url, "killed")
        process = command(scenario, endpoint.base_url, "killed")
        wait_until(lambda: len(endpoint.requests) == 4, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        before = len(endpoint.requests)
        kept = asked.cassette.with_name("cassette.json.unfinished").read_text("utf-8")
        again = command(scenario, endpoint.base_url, "killed")
        output, errors = again.communicate(timeout=60)

    assert again.returncode == 0, errors
    assert len(kept.splitlines()) - 1 == before - 1  # the header, and the one in flight
    assert f"{ALL} answers, {before - 1} of them kept before" in output
    assert len(endpoint.requests) == ALL + 1
    assert len(set(sent_texts(endpoint))) == ALL
    assert conversation(asked.cassette) == conversation(whole.cassette)


def command(scenario, base_url, name):
    out = scenario.parent / name
    line = ["record", scenario, "--model", "some-model", "--base-url", base_url]
    line += ["--temperature", "0.5", "--out", out]
    return subprocess.Popen(
        [sys.executable, "-m", "evals.cli", *map(str, line)],
        env={
            **os.environ,
            "TMPDIR": str(scenario.parent),
        },  # a killed one leaves its scratch folder
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until(reached, process):
    stop = time.monotonic() + 60
    while not reached():
        assert time.monotonic() < stop
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.fixture
def cli(capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["compaction-evals", "record", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capsys.readouterr()
        return stopped.value.code, said.out, said.err

    return run


def test_the_command_records_a_model_and_shows_that_it_replays(scenario, cli):
    out = scenario.parent / "out"
    with serve_script(behave) as endpoint:
        code, text, _ = cli(
            scenario, "--model", "m", "--base-url", endpoint.base_url, "--out", out, "--yaml"
        )
    again, shown, errors = cli(scenario, "--replay", "--out", out, "--yaml")

    assert (code, again, errors) == (0, 0, "")
    assert text.startswith(f"{out / 'cassette.yaml'}: {ALL} requests, {ALL} answers, sha256 ")
    assert shown == f"{out / 'cassette.yaml'}: all {ALL} answers asked for, as recorded\n"


def test_the_command_without_a_model_lets_the_author_answer(scenario, cli):
    out = scenario.parent / "out"

    code, text, errors = cli(scenario, "--out", out)

    assert (code, errors) == (0, "")
    assert ": 2 requests, 2 answers, sha256 " in text
    assert conversation(out / "cassette.json")[0][1]["content"] == "(authored, not sent)"


def test_a_difference_is_shown_as_a_diff(scenario, cli):
    out = scenario.parent / "out"
    cli(scenario, "--out", out)
    scenario.write_text(SCENARIO.replace("sum it up", "add it up"))

    code, _, errors = cli(scenario, "--replay", "--out", out)

    assert code == 2
    assert errors.splitlines()[-3:-1] == ["-Now sum it up.", "+Now add it up."]
    assert "request 2 of 2; message 3 of 4 (user) differs" in errors.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--model", "m"], "needs a key in OPENAI_API_KEY"),
        (["--base-url", "http://localhost/v1"], "--base-url needs --model"),
        (["--temperature", "1"], "need --model"),
        (["--strategy", "xnu"], "xnu"),
        (["--set", "x"], "KEY=VALUE"),
        (["--replay"], "no such cassette"),
    ],
)
def test_wrong_flags_are_one_line_and_nothing_is_written(scenario, cli, flags, problem):
    out = scenario.parent / "out"

    code, text, errors = cli(scenario, "--out", out, *flags)

    assert (code, text) == (2, "")
    assert problem in errors
    assert len(errors.splitlines()) == 1
    assert not out.exists()
