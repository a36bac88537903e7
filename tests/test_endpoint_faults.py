"""Everything that an endpoint does wrong, to every kind of call, over a real server.

Whatever goes wrong: a record with its reason, never a score; what was answered is kept; nothing
that may have been charged is asked twice in a run, and nothing that is answered ever again.
"""

import json
import shutil
from dataclasses import dataclass

import pytest

from compaction.errors import CompactionError
from evals.cells import Plan
from evals.loading import survey
from evals.probing.ask import ProbeRequest, record
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script
from evals.results import RunFolder
from evals.settings import Setting
from evals.sweep import run_plan
from tests.probe_cases import MODEL, reader_that_reads, write_dataset

PLAIN = Setting("summary_once", {"prompt": "plain", "at_tokens": "50%"})
CLEAR = Setting("clear_once", {"keep_last_results": "0", "at_tokens": "50%"})
TOOL_CALL = {"id": "c9", "type": "function", "function": {"name": "read", "arguments": "{}"}}
PURPOSES = ("summary", "probe answer", "judge verdict", "next action")


@dataclass(frozen=True)
class Wrong:
    """What an endpoint does to calls of one kind, and what must come of it."""

    says: Reply | Fault
    reason: str
    """In the row."""
    tries: int = 1
    """Requests for one call within one run of the command."""
    is_answer: bool = False
    """It was answered, if badly: never asked again, since it was paid."""
    wait_seconds: float = 5.0


FAULTS = {
    "slow": Wrong(Fault("slow", delay_seconds=0.5), "APITimeoutError", wait_seconds=0.1),
    "rate limit": Wrong(Fault("status", 429, retry_after_seconds=0.0), "RateLimitError", tries=6),
    "overloaded": Wrong(Fault("status", 503, retry_after_seconds=0.0), "InternalServer", tries=6),
    "cut off": Wrong(Fault("cut_off"), "Connection error"),
    "malformed": Wrong(Fault("malformed"), "the answer is no JSON"),
    "context length": Wrong(
        Fault("status", 400, text="This model's maximum context length is 10 tokens"),
        "maximum context length is 10 tokens",
    ),
    "empty": Wrong(Reply(""), "is empty", is_answer=True),
    "refusal": Wrong(Reply(None, refusal="No."), "the model refused", is_answer=True),
    "tool call": Wrong(Reply(None, (TOOL_CALL,)), "the reply is a tool call", is_answer=True),
}
PROSE = Wrong(Reply("Well, that depends on what you mean."), "", is_answer=True)
CASES = [
    *((fault, purpose) for fault in FAULTS for purpose in PURPOSES),
    ("prose", "judge verdict"),
    ("prose", "next action"),
]
REASONS = {"judge verdict": "neither yes nor no", "next action": "no tool call as JSON"}


def purpose_of(body):
    text = json.dumps(body)
    if "yes or no?" in text:
        return "judge verdict"
    if "next tool call" in text:
        return "next action"
    return "probe answer" if "answer exactly UNKNOWN" in text else "summary"


def hedging(body):
    """Answer so that the judge is asked about the port over the whole history."""
    found = reader_that_reads(body)
    return Reply("9451 or 9452") if found.content == "9451" else found


class Endpoint:
    """Answers all but one kind of call, and counts what it was asked."""

    def __init__(self, wrong, purpose):
        self.wrong, self.purpose = wrong, purpose
        self.answered, self.failed = [], []

    def say(self, body):
        key = json.dumps(body, sort_keys=True)
        if self.wrong is not None and purpose_of(body) == self.purpose:
            self.failed.append(key)
            if self.wrong.is_answer:
                self.answered.append(key)
            return self.wrong.says
        self.answered.append(key)
        return hedging(body)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults") / "relay"
    folder.mkdir()
    return write_dataset(folder).parent


@pytest.fixture
def cassette(original, tmp_path):
    return shutil.copytree(original, tmp_path / "relay") / "cassette.json"


def asked_of(cassette, base_url, wrong, setting):
    return ProbeRequest(
        model=MODEL,
        base_url=base_url,
        paths=(cassette,),
        settings=(setting,),
        timeout_seconds=5.0 if wrong is None else wrong.wait_seconds,
        first_wait_seconds=0.001,
    )


def scored(cassette, folder, setting):
    run = RunFolder(folder)
    run.create()
    rows = []
    plan = Plan(settings=(setting,), with_probes=True, reader=MODEL)
    run_plan(plan, survey([cassette]).locations, run, jobs=1, progress=rows.append)
    return rows[0], run.sidecar(rows[0].cell_id) or {}


def reasons_of(purpose, row, sidecar):
    if purpose == "summary":
        return [text for text in (row.error, row.first_failure) if text]
    kind = "action_faults" if purpose == "next action" else "probe_faults"
    return sidecar[kind]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "purpose"), CASES)
def test_a_fault_is_a_record_with_a_reason_and_nothing_is_lost_or_paid_twice(
    cassette, tmp_path, fault, purpose
):
    wrong = PROSE if fault == "prose" else FAULTS[fault]
    setting = PLAIN if purpose == "summary" else CLEAR
    endpoint = Endpoint(wrong, purpose)

    with serve_script(endpoint.say, model=MODEL) as served:
        try:
            record(asked_of(cassette, served.base_url, wrong, setting), lambda _: None)
        except CompactionError as error:
            assert "What was recorded is kept" in str(error)  # noqa: PT017 - both ends are right
        row, sidecar = scored(cassette, tmp_path / "run", setting)
        judged = [body for body in served.requests if purpose_of(body) == "judge verdict"]
        tries = {key: endpoint.failed.count(key) for key in endpoint.failed}
        endpoint.wrong = None
        record(asked_of(cassette, served.base_url, None, setting), lambda _: None)

    assert endpoint.failed
    assert set(tries.values()) == {wrong.tries}
    reason = REASONS[purpose] if fault == "prose" else wrong.reason
    assert any(reason in text for text in reasons_of(purpose, row, sidecar))
    # What is no answer is shown to no judge, who would be paid for it.
    assert not judged or purpose != "probe answer"
    # Never a score.
    if purpose == "next action":
        assert row.actions_asked == 0
        assert row.action_call_fraction is row.action_call_beyond_aa is None
    elif purpose == "judge verdict":
        assert row.probes_ungraded == 1
    else:
        assert not row.probes_counted
        assert row.probe_right_fraction is row.probe_wrong_fraction is None
        assert not row.engaged or purpose == "probe answer"
    # Nothing lost, nothing paid twice: every answer came once, in two runs of the command.
    assert len(endpoint.answered) == len(set(endpoint.answered))


@pytest.mark.slow
def test_a_rate_limit_that_ends_costs_waiting_and_nothing_else(cassette):
    turned_away = []

    def say(body):
        key = json.dumps(body, sort_keys=True)
        if turned_away.count(key) < 2:
            turned_away.append(key)
            return Fault("status", 429, retry_after_seconds=0.0)
        return reader_that_reads(body)

    with serve_script(say, model=MODEL) as served:
        done = record(asked_of(cassette, served.base_url, None, CLEAR), lambda _: None)

    assert done.failed == []
    assert len(turned_away) == 2 * done.asked
    assert len(served.requests) == 3 * done.asked


def test_an_endpoint_that_is_down_costs_nothing_and_is_named_in_the_rows(cassette, tmp_path):
    nowhere = "http://127.0.0.1:9/v1"

    with pytest.raises(CompactionError, match=r"Connection error.*3 such calls in a row"):
        record(asked_of(cassette, nowhere, None, PLAIN), lambda _: None)
    row, _ = scored(cassette, tmp_path / "run", PLAIN)

    assert row.status == "unrecorded"
    assert "compaction-evals probe" in row.error
