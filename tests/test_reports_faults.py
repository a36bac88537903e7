"""Failed steps with their reason, a model that never answered, statements of broken rules."""

from evals.results import RunFolder
from reports.faults import alarm, failed_steps, violations
from reports.frames import load
from reports.page import html
from reports.tables import markdown
from tests.reports_cases import failed, row, write_run

FAILED = {"compactions_failed": 2, "first_failure": "401: no key"}


def test_failed_steps_are_listed_with_their_first_reason(tmp_path):
    rows = [row(name, "x", saving=0.5, **FAILED) for name in "ab"]

    found = failed_steps(load(write_run(tmp_path / "run", rows)))

    assert (found.n_all, found.n_hidden) == (4, 0)
    assert [item.text for item in found.shown] == [
        "2 failed steps: 401: no key (and 1 more transcript)"
    ]


def test_a_model_that_never_answered_is_said_on_top(tmp_path):
    rows = [row("a", "x", saving=0.0, **FAILED), failed("b", "x", "all 3 summaries failed: 401")]
    run = load(write_run(tmp_path / "run", rows, model="gpt-x"))

    text = alarm(run)

    assert text is not None
    assert text.startswith("The model gpt-x gave no summary: every call failed (401: no key)")
    assert markdown(run).splitlines()[2] == f"**{text}**"
    assert text in html(run)


def test_no_alarm_without_a_model_or_with_one_answer(tmp_path):
    rows = [row("a", "x", saving=0.5, **FAILED)]
    answered = [*rows, row("b", "x", saving=0.5, model_calls=1)]
    idle = [row("a", "x", saving=0.0)]

    assert alarm(load(write_run(tmp_path / "1", rows))) is None
    assert alarm(load(write_run(tmp_path / "2", answered, model="gpt-x"))) is None
    assert alarm(load(write_run(tmp_path / "3", idle, model="gpt-x"))) is None


def test_a_broken_rule_has_its_statement_once(tmp_path):
    rows = [
        row("a", label, saving=0.5, requests=1, violations=1, violated={"never_grows": 1})
        for label in ("x", "y")
    ]
    rules = {"never_grows": "The view has no more tokens than the history.", "other": "Unused."}
    run = load(write_run(tmp_path / "run", rows, rules=rules))

    assert [item.text for item in violations(run).shown] == ["never_grows at 1 of 1 request"] * 2
    assert markdown(run).count(rules["never_grows"]) == 1
    assert rules["never_grows"] in html(run)
    assert "Unused" not in markdown(run)


def test_a_run_without_statements_still_names_its_rules(tmp_path):
    rows = [row("a", "x", saving=0.5, violations=1, violated={"never_grows": 1})]
    path = write_run(tmp_path / "run", rows)
    manifest = RunFolder(path).manifest()

    assert "rules" not in manifest
    assert violations(load(path)).rules == ()
