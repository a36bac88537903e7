"""`compaction-evals check`: what it finds, how small, how soon, and what it writes."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from compaction.contract.callables import as_strategy
from compaction.contract.invariants import INVARIANTS
from compaction.contract.search import Conversation, Plan, search
from compaction.contract.targets import Given, Target
from compaction.contract.trial import RequestChars
from compaction.errors import StrategyError
from compaction.messages import Message, ToolCall
from compaction.registry import PRESETS, TIERS
from evals.cli import main
from evals.fidelity.oracle_control import USES_THE_FUTURE
from evals.settings import KNOWN

CODE = '''
def keep_all(messages):
    return messages


def bug(messages):
    return messages


def by_call_order(messages, keep=2):
    """Deletes old results as if they came in the order of their calls."""
    results = [at for at, message in enumerate(messages) if message["role"] == "tool"]
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    count = max(0, len(results) - keep)
    gone, out = set(calls[:count]), []
    for at, message in enumerate(messages):
        if at in results[:count]:
            continue
        left = [call for call in message.get("tool_calls") or () if call["id"] not in gone]
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        out.append({**rest, "tool_calls": left} if left else rest)
    return out


def drops_the_user(messages):
    return [message for message in messages if message["role"] != "user"]


def hangs(messages):
    while True:
        pass


def hangs_and_swallows(messages):
    while True:
        try:
            while True:
                pass
        except Exception:
            pass


class KeepsFew:
    def __init__(self, keep=2):
        self.keep = keep

    def view(self, messages):
        return messages[-self.keep:]
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


@pytest.fixture
def check(capfd, monkeypatch):
    """Run the command in this process, in a folder of a user's."""

    def call(folder, *arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["compaction-evals", "check", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = capfd.readouterr()
        return SimpleNamespace(returncode=stopped.value.code, stdout=said.out, stderr=said.err)

    return call


def result_of(output, invariant):
    return re.search(rf"{invariant} +(pass|FAIL|not applicable)", output)[1]


def conversation_in(output):
    """The first conversation that is printed as JSON."""
    return json.loads(output[output.index("\n[\n") : output.index("\n]") + 2])


@pytest.mark.slow
def test_a_sound_function_passes_with_a_table_of_all_invariants(folder, check):
    done = check(folder, "mine.py:keep_all", "--examples", "5", "--no-recorded")

    assert done.returncode == 0, done.stderr
    assert [name for name in INVARIANTS if name not in done.stdout] == []
    assert result_of(done.stdout, "calls_stay_paired") == "pass"
    assert result_of(done.stdout, "handles_resolve") == "not applicable"
    assert "it changed none of them, so nothing was tested" in done.stdout


@pytest.mark.slow
def test_pairing_by_call_order_is_found_and_shrunk_to_8_messages(folder):
    outcome = search(Target("mine.py:by_call_order", folder=folder), Plan())

    broken = outcome.broken["calls_stay_paired"]
    assert len(broken.messages) <= 8
    assert broken.messages_before > len(broken.messages)


@pytest.mark.timing
def test_pairing_by_call_order_is_found_within_10_seconds(folder):
    started = time.process_time()

    outcome = search(Target("mine.py:by_call_order", folder=folder), Plan())

    assert "calls_stay_paired" in outcome.broken
    assert time.process_time() - started < 10


@pytest.mark.timing
def test_xun_is_checked_on_200_conversations_within_20_seconds():
    started = time.process_time()

    outcome = search(Target("xun"), Plan())

    assert outcome.conversations == 200
    assert time.process_time() - started < 20


def test_a_failure_shows_rule_place_and_the_shrunk_conversation(folder, check):
    done = check(folder, "mine.py:by_call_order", "--examples", "8", "--no-recorded")

    assert done.returncode == 1
    assert result_of(done.stdout, "calls_stay_paired") == "FAIL"
    assert "I1 calls_stay_paired: Every result in the view follows its call" in done.stdout
    assert re.search(r"request \d+, message \d+ of the view \(/\d+.*\): ", done.stdout)
    assert 3 <= len(conversation_in(done.stdout)) <= 8


@pytest.mark.slow
def test_the_saved_file_fails_on_its_own_until_the_fault_is_mended(folder, check):
    saved = folder / "tests" / "test_found.py"

    check(folder, "mine.py:by_call_order", "--examples=8", "--no-recorded", "--save", str(saved))

    def run():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(saved)]
        return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)

    imported = set(re.findall(r"^(?:from|import) (\w+)", saved.read_text(), re.MULTILINE))
    assert imported == {"pathlib", "pytest", "compaction"}
    assert run().returncode == 1
    assert "calls_stay_paired" in run().stdout
    (folder / "mine.py").write_text("def by_call_order(messages):\n    return messages\n")
    mended = run()
    assert mended.returncode == 0, mended.stdout


def test_nothing_is_saved_when_nothing_is_broken(folder, check):
    saved = folder / "test_found.py"

    check(folder, "mine.py:keep_all", "--examples=3", "--no-recorded", "--save", str(saved))

    assert not saved.exists()


def test_a_name_is_printed_as_it_is_written(folder, check):
    done = check(folder, "mine.py:bug", "--examples=1", "--no-recorded")

    assert "mine.py:bug: 1 conversations in" in done.stdout


@pytest.mark.slow
def test_junit_has_a_case_per_invariant(folder, check):
    path = folder / "reports" / "junit.xml"

    check(folder, "mine.py:by_call_order", "--examples=8", "--no-recorded", "--junit", str(path))

    suite = ElementTree.parse(path).getroot().find("testsuite")
    cases = suite.findall("testcase")
    failed = {case.get("name") for case in cases if case.find("failure") is not None}
    skipped = {case.get("name") for case in cases if case.find("skipped") is not None}
    assert [case.get("name") for case in cases] == list(INVARIANTS)
    assert "calls_stay_paired" in failed
    assert "handles_resolve" in skipped
    assert suite.get("failures") == str(len(failed))
    assert suite.get("skipped") == str(len(skipped))
    assert "shrunk to" in suite.find("testcase/failure").text


@pytest.mark.slow
def test_sarif_has_what_version_2_1_0_requires(folder, check):
    path = folder / "found.sarif"

    check(folder, "mine.py:by_call_order", "--examples=8", "--no-recorded", "--sarif", str(path))

    log = json.loads(path.read_text())
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    rules = [rule["id"] for rule in driver["rules"]]
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    assert driver["name"] == "compaction-evals"
    assert rules == list(INVARIANTS)
    assert all(
        rule["shortDescription"]["text"]
        and rule["fullDescription"]["text"]
        and rule["defaultConfiguration"]["level"] in ("error", "warning")
        for rule in driver["rules"]
    )
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "mine.py"
        assert place["region"]["startLine"] == CODE.split("def by_call_order")[0].count("\n") + 1
        assert result["properties"]["conversation"]


@pytest.mark.slow
def test_the_seed_decides_what_is_found(folder):
    def found(seed):
        outcome = search(
            Target("mine.py:by_call_order", folder=folder), Plan(examples=60, seed=seed)
        )
        return outcome.conversations, {k: v.messages for k, v in outcome.broken.items()}

    assert found(1) == found(1)
    assert found(1) != found(2)


@pytest.mark.slow
def test_promises_are_checked_where_they_are_made(folder, check):
    target = Target("mine.py:drops_the_user", folder=folder)
    done = check(folder, "mine.py:drops_the_user", "--promise", "keeps_last_user", "--no-recorded")

    assert "last_user_is_kept" not in search(target, Plan(examples=20)).applicable
    assert result_of(done.stdout, "last_user_is_kept") == "FAIL"


def test_a_parameter_reaches_the_class_and_the_report(folder, check):
    done = check(folder, "mine.py:KeepsFew", "--set", "keep=1", "--no-recorded", "--examples", "8")

    assert done.returncode == 1
    assert "with keep=1" in done.stdout


@pytest.mark.parametrize("name", ["hangs", "hangs_and_swallows"])
def test_a_call_that_does_not_return_ends_with_the_time_budget(folder, name, check):
    started = time.monotonic()

    done = check(folder, f"mine.py:{name}", "--no-recorded", "--time-budget", "0.5")

    assert time.monotonic() - started < 60
    assert done.returncode == 1
    assert "did not return within" in done.stdout
    assert "stopped by the time budget of 0.5 s" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.py:nothing"], "error: mine.py:nothing: there is no 'nothing'; to be called there"),
        (["yours.py:f"], "error: yours.py:f cannot be imported: StrategyError: there is no file"),
        (["xunn"], "error: unknown strategy 'xunn' (did you mean 'xun'?)"),
        (["xun", "--set", "toolcall_keep=1"], "error: xun has no parameter 'toolcall_keep'"),
        (["xun", "--set", "enabled=50%"], "error: xun: enabled is no size, so '50%'"),
        (["mine.py:keep_all", "--promise", "luck"], "error: nobody can promise 'luck'"),
        (["mine.py:keep_all", "--examples", "-1"], "error: Invalid value for '--examples'"),
        (["mine.py:keep_all", "--set", "keep"], "error: --set takes KEY=VALUE, got 'keep'"),
    ],
)
def test_what_cannot_be_checked_is_one_line_and_exit_2(folder, arguments, message, check):
    done = check(folder, *arguments, "--no-recorded")

    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_file_that_cannot_be_written_is_one_line(folder, check):
    (folder / "taken").write_text("")

    done = check(
        folder, "mine.py:keep_all", "--examples=1", "--no-recorded", "--junit", "taken/j.xml"
    )

    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write taken/j.xml: ")


ELSEWHERE = {**TIERS, **PRESETS, **USES_THE_FUTURE}
"""Tested with their own kind; what knows the recorded future cannot run on a made conversation."""


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in ELSEWHERE])
def test_our_systems_and_controls_keep_what_they_promise(name):
    outcome = search(Target(name, table=KNOWN), Plan(examples=12, budget_seconds=60))

    assert {key: broken.finding.violation for key, broken in outcome.broken.items()} == {}
    assert outcome.has_acted == (name != "identity")


def test_a_failure_in_a_recorded_conversation_is_shrunk_as_well():
    calls = tuple(ToolCall(f"c{at}", "read", '{"path": "a"}') for at in range(3))
    rounds = [
        message
        for at in range(40)
        for message in (
            Message("assistant", f"step {at}", tool_calls=calls),
            *(Message("tool", "text " * 50, tool_call_id=call.call_id) for call in calls),
        )
    ]
    conversation = (Message("user", "go"), *rounds)

    last_three = Given(as_strategy(lambda messages: messages[-3:], "last_three"))

    outcome = search(last_three, Plan(examples=0, recorded=[Conversation(conversation, "a log")]))

    broken = outcome.broken["calls_stay_paired"]
    assert broken.source == "a log"
    assert broken.messages_before == 161
    assert len(broken.messages) == 4


def test_a_target_says_what_is_wrong_with_its_parameters():
    with pytest.raises(StrategyError, match="xun has no parameter 'keep'"):
        Target("xun", {"keep": "1"}).strategy_for(())


def test_a_share_is_taken_of_each_conversation():
    short = (Message("user", "x" * 400),)
    target = Target("truncate", {"keep_tokens": "25%"}, table=KNOWN)
    size = RequestChars().count(short[0])

    assert size > 400
    assert target.parameters_for(short) == {"keep_tokens": str(round(size / 4))}
    assert target.parameters_for(short * 2) == {"keep_tokens": str(round(size / 2))}


def test_the_bundled_conversations_are_checked_too(tmp_path, check):
    done = check(tmp_path, "identity", "--examples", "0")

    assert done.returncode == 0
    assert re.search(r"identity: [1-9]\d* conversations? in", done.stdout)


def test_paths_in_the_project_are_relative_to_where_the_command_runs(folder):
    found = Target("mine.py:keep_all", folder=folder).found()

    assert found([1]) == [1]
    assert Path(found.__code__.co_filename) == folder / "mine.py"
