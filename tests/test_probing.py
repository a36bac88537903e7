"""Recording answers of an endpoint, going on with it, and grading them offline in a run."""

import shlex
import shutil
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from compaction.errors import ModelError
from evals.cells import Plan
from evals.cli import app
from evals.loading import load_bundled, survey
from evals.prepare import prepare
from evals.probes import probes_of
from evals.probing.answers import UnrecordedError
from evals.probing.ask import ProbeRequest, outlook, record
from evals.probing.boundaries import boundary_of
from evals.probing.patience import MAX_FAILURES_IN_A_ROW, EndpointError
from evals.probing.recordings import ACTIONS, PROBES, SUMMARIES, recorded_models
from evals.probing.spending import BudgetError
from evals.recording.scripted_answers import Fault, Reply
from evals.recording.scripted_endpoint import serve_script
from evals.results import RunFolder
from evals.settings import Setting
from evals.sweep import run_plan
from tests.probe_cases import MODEL, answers_in, reader_that_reads, write_dataset

AT = {"at_tokens": "50%"}
PLAIN = Setting("summary_once", {"prompt": "plain", **AT})
XUN = Setting("summary_once", {"prompt": "xun", **AT})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A dataset about which an endpoint was asked everything, and what it was sent."""
    folder = tmp_path_factory.mktemp("probing") / "relay"
    folder.mkdir()
    cassette = write_dataset(folder)
    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        asked = request(cassette, endpoint)
        done = record(asked, lambda _: None)
        bodies = list(endpoint.requests)
    return cassette, done, bodies


@pytest.fixture
def dataset(recorded, tmp_path):
    """A copy of it that a test may change."""
    shutil.copytree(recorded[0].parent, tmp_path / "relay")
    return tmp_path / "relay" / "cassette.json"


def request(cassette, endpoint, **changes):
    base_url = endpoint if isinstance(endpoint, str) else endpoint.base_url
    return ProbeRequest(
        model=MODEL, base_url=base_url, paths=(cassette,), settings=(PLAIN,), **changes
    )


def rows_of(cassette, folder, *settings, with_probes=True):
    plan = Plan(settings=settings, with_probes=with_probes)
    run = RunFolder(folder)
    run.create()
    rows = []
    run_plan(plan, survey([cassette]).locations, run, jobs=1, progress=rows.append)
    return rows


def test_each_question_is_asked_once_in_each_condition(recorded):
    cassette, done, bodies = recorded
    folder = cassette.parent / "models" / MODEL

    # One summary. Two facts are stated before the boundary: each asked without context, over the
    # full history and over the summary. Requests 2 and 3 of the three that call tools follow: two
    # proposals each from the full history, one each from the compacted one.
    counts = [answers_in(folder / file) for file in (SUMMARIES, PROBES, ACTIONS)]
    assert counts[:2] == [1, 6]
    assert sum(counts) == done.asked == len(bodies)
    assert recorded_models(cassette.parent / "models") == [MODEL]
    assert done.spent_usd == 0.0


def test_questions_come_one_at_a_time_and_all_over_one_view_before_the_next(recorded):
    """What a prompt cache wants, and what keeps one answer from giving away another."""
    _, _, bodies = recorded
    asked = [
        (body["messages"][0]["content"], body["messages"][1]["content"])
        for body in bodies
        if "answer exactly UNKNOWN" in str(body)
    ]

    views = [view for view, _ in asked]
    runs = [view for at, view in enumerate(views) if at == 0 or views[at - 1] != view]
    assert len(views) == 6
    assert len(runs) == len(set(runs)) == 3
    assert {question.count("?") for _, question in asked} == {1}
    assert all("Do not guess" in view for view in views)


def test_what_a_question_gives_away_is_no_effect_of_the_view(dataset, tmp_path):
    def guessing(body):
        knows = "What is the ticket?" in str(body)
        return Reply("WX-3318") if knows else reader_that_reads(body)

    shutil.rmtree(dataset.parent / "models")
    with serve_script(guessing, model=MODEL) as endpoint:
        record(request(dataset, endpoint, with_actions=False), lambda _: None)
    row = rows_of(dataset, tmp_path / "run", PLAIN)[0]

    # The ticket is right even without context, the port is lost: (0.5 - 0.5) / (1 - 0.5).
    assert (row.probe_right_fraction, row.probe_guessed_fraction) == (0.5, 0.5)
    assert row.probe_effect_retained == 0.0


def test_what_was_recorded_is_never_asked_again(dataset):
    with serve_script([], model=MODEL) as endpoint:
        done = record(request(dataset, endpoint), lambda _: None)

        assert endpoint.requests == []
    assert done.asked == 0


def test_a_call_that_is_refused_keeps_no_other_from_being_asked(tmp_path, recorded):
    folder = tmp_path / "relay"
    folder.mkdir()
    for name in ("cassette.json", "facts.json"):
        shutil.copy(recorded[0].with_name(name), folder / name)
    cassette = folder / "cassette.json"
    answered = []

    def say(body):
        if len(answered) == 4:
            answered.append(None)
            return Fault("status", status=400)
        answered.append(body)
        return reader_that_reads(body)

    with serve_script(say, model=MODEL) as endpoint:
        first = record(request(cassette, endpoint), lambda _: None)
        second = record(request(cassette, endpoint), lambda _: None)

    assert (first.asked, second.asked) == (recorded[1].asked - 1, 1)
    assert "400" in first.failed[0]
    assert second.failed == []


def test_a_recording_goes_on_where_its_endpoint_went_away(tmp_path, recorded):
    folder = tmp_path / "relay"
    folder.mkdir()
    for name in ("cassette.json", "facts.json"):
        shutil.copy(recorded[0].with_name(name), folder / name)
    cassette = folder / "cassette.json"
    answered = []

    def say(body):
        if len(answered) == 4:
            return Fault("cut_off")
        answered.append(body)
        return reader_that_reads(body)

    with serve_script(say, model=MODEL) as endpoint:
        with pytest.raises(EndpointError, match="3 such calls in a row"):
            record(request(cassette, endpoint), lambda _: None)
        # What was cut off may have been charged: it is not asked again on the same run.
        assert len(endpoint.requests) == 4 + MAX_FAILURES_IN_A_ROW
        answered.append(None)
        kept = answers_in(folder / "models" / MODEL / PROBES)
        done = record(request(cassette, endpoint), lambda _: None)

    assert kept == 4
    assert done.asked == recorded[1].asked - 4


def test_a_dry_run_counts_what_is_missing_and_sends_nothing(recorded, dataset, tmp_path):
    nowhere = "http://127.0.0.1:9/v1"
    missing = outlook(request(dataset, nowhere, replicates=2))
    everything = outlook(request(dataset, nowhere))

    assert everything.estimate.calls.total() == 0
    # Two questions in three conditions, once more each; 40 tokens of answer at most, of which the
    # judge sees as many as nobody knows yet, and says 5.
    assert missing.estimate.calls == {"probe answer": 6, "judge verdict": 6}
    assert missing.estimate.output_tokens == 6 * 40 + 6 * 5
    unjudged = outlook(request(dataset, nowhere, replicates=2, judged="none"))
    assert unjudged.estimate.calls == {"probe answer": 6}
    assert missing.usd == 0.0
    assert missing.minutes > 0
    assert "on this machine" in missing.text()
    assert "minutes at the pace so far" in missing.text()


def test_a_limit_stops_before_the_call_that_could_exceed_it(tmp_path, recorded):
    folder = tmp_path / "relay"
    folder.mkdir()
    for name in ("cassette.json", "facts.json"):
        shutil.copy(recorded[0].with_name(name), folder / name)
    from evals.money.caching import rule_for
    from evals.money.prices import PriceVector, Rates

    rule = rule_for("gpt-4o", has_read_price=True, keeps_an_hour=False)
    dear = PriceVector(MODEL, Rates(1_000_000.0, 0.0, 0.0, 0.0), rule)
    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        asked = request(folder / "cassette.json", endpoint, price=dear, max_cost_usd=500.0)
        with pytest.raises(BudgetError, match="--max-cost 500 reached"):
            record(asked, lambda _: None)

        # A dollar a token: the questions without context fit, the whole history does not.
        assert 0 < len(endpoint.requests) < recorded[1].asked


def test_a_run_grades_recorded_answers_without_an_endpoint(dataset, tmp_path):
    identity, summary = rows_of(dataset, tmp_path / "run", Setting("identity"), PLAIN)

    assert (identity.status, summary.status) == ("ok", "ok")
    # The whole history is the condition that the others are measured by, not a result.
    assert (identity.probes, identity.probes_counted) == (2, 0)
    assert identity.probe_right_fraction is None
    assert identity.actions_asked == 0
    # The summary keeps the ticket and not the port, and the reader invents nothing.
    assert summary.probe_reader == MODEL
    assert (summary.probes, summary.probes_counted, summary.probes_unrecorded) == (2, 2, 0)
    assert summary.probe_right_fraction == 0.5
    assert (summary.probe_unknown_fraction, summary.probe_wrong_fraction) == (0.5, 0.0)
    assert summary.probe_guessed_fraction == 0.0
    assert summary.model_calls == 1
    assert summary.own_seconds > 0
    assert summary.actions_asked > 0


def test_a_summary_that_was_not_recorded_is_a_row_of_its_own_status(dataset, tmp_path):
    rows = rows_of(dataset, tmp_path / "run", XUN, PLAIN, with_probes=False)

    assert [row.status for row in rows] == ["unrecorded", "ok"]
    assert "compaction-evals probe" in rows[0].error
    assert str(dataset) in rows[0].error
    assert rows[0].saving_fraction is None


def test_the_command_in_a_row_records_what_the_row_lacks(dataset, tmp_path):
    own = Setting("summary_once", {"prompt": "xun", "max_summary_tokens": "300", **AT})
    (before,) = rows_of(dataset, tmp_path / "run", own, with_probes=False)
    command = before.error.partition("record it: compaction-evals ")[2]
    with serve_script(reader_that_reads, model=MODEL) as endpoint:
        arguments = shlex.split(command.replace("URL", endpoint.base_url))
        said = CliRunner().invoke(app, arguments)
    (after,) = rows_of(dataset, tmp_path / "run", own, with_probes=False)

    assert said.exit_code == 0
    assert (before.status, after.status) == ("unrecorded", "ok")
    assert after.model_calls == 1


def test_a_new_recording_makes_a_new_cell(dataset, tmp_path):
    before = rows_of(dataset, tmp_path / "run", PLAIN, with_probes=False)[0]
    path = dataset.parent / "models" / MODEL / SUMMARIES
    path.write_text(path.read_text("ascii").replace("Repair the relay", "Mend the relay"), "ascii")

    after = rows_of(dataset, tmp_path / "run", PLAIN, with_probes=False)[0]

    assert before.cell_id != after.cell_id


def test_a_view_nobody_asked_about_has_no_score(dataset, tmp_path):
    row = rows_of(dataset, tmp_path / "run", Setting("drop_all"))[0]

    assert row.status == "ok"
    assert (row.probes_unrecorded, row.probes_counted) == (2, 0)
    assert row.probe_right_fraction is None


def test_replicates_are_asked_under_their_own_seeds_and_split_the_variance(tmp_path, dataset):
    def wavering(body):
        found = reader_that_reads(body)
        is_first = body.get("seed") is None
        return found if is_first or found.content != "WX-3318" else Reply("UNKNOWN")

    with serve_script(wavering, model=MODEL) as endpoint:
        done = record(request(dataset, endpoint, replicates=3), lambda _: None)
    row = rows_of(dataset, tmp_path / "run", PLAIN)[0]

    # Two questions in three conditions, twice more each.
    assert done.asked == 12
    assert row.probe_replicates == 3
    # Ticket: right, unknown, unknown. Port: never. Means 1/3 and 0: within (2/3) / 4 = 1/6;
    # between (3 x 2 x 1/36 - 1/6) / 3 = 0.
    assert row.probe_right_fraction == pytest.approx(1 / 6)
    assert row.probe_variance_answers == pytest.approx(1 / 6)
    assert row.probe_variance_questions == pytest.approx(0.0)


def test_the_judge_sees_all_decided_answers_if_asked_and_its_kappa_is_of_these(tmp_path, dataset):
    def judged(body):
        text = " ".join(str(message["content"]) for message in body["messages"])
        return Reply("no") if "<answer>WX-3318" in text else reader_that_reads(body)

    with serve_script(judged, model=MODEL) as endpoint:
        record(request(dataset, endpoint, judged="all"), lambda _: None)
    row = rows_of(dataset, tmp_path / "run", PLAIN)[0]

    # Decided: port uncompacted; ticket uncompacted and over the summary. The judge says no to the
    # ticket, yes to the port. All are right for the grader, so chance alone agrees as much.
    assert row.judge_pairs == 3
    assert row.judge_kappa == pytest.approx(0.0)


def test_an_unrecorded_error_is_no_model_error():
    assert not issubclass(UnrecordedError, ModelError)


def test_nothing_is_asked_about_a_fact_that_cannot_be_judged():
    (transcript,) = load_bundled("short-feed-relay")
    asked = [fact for fact in transcript.facts if fact.get("question") and fact.get("answers")]
    broken = ({"stated_at": 10_000}, {"answers": ["8080", "9090"]}, {"evidence": "nobody said it"})
    facts = [{**fact, **change} for fact, change in zip(asked, broken, strict=False)]

    sound, unsound = (
        prepare(replace(transcript, facts=tuple(each))) for each in (asked[3:], facts + asked[3:])
    )

    boundary = boundary_of(sound)
    assert len(facts) == 3
    assert probes_of(sound, boundary) == probes_of(unsound, boundary)
    assert probes_of(sound, boundary)
