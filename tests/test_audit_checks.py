"""The lines by which an audit checks itself, met and not."""

from dataclasses import replace

import pytest

from evals.audit.checks import checks_of
from evals.audit.sessions import audit_session
from evals.audit.text import sections_of
from evals.audit.values import Audit
from evals.settings import Setting
from tests.audit_cases import compacted, plan

CONTROLS = (Setting("truncate"), Setting("identity"), Setting("drop_all"))


@pytest.fixture(scope="module")
def session():
    return audit_session(compacted(), plan(*CONTROLS))


def test_all_checks_are_met_at_a_real_boundary(session):
    lines = list(checks_of(session.boundaries))

    assert [line.partition(":")[0] for line in lines] == ["met"] * 4
    assert all(line.endswith("(at 1 of 1).") for line in lines)


def test_they_stand_in_every_form_of_the_audit(session):
    titles = [each.title for each in sections_of(Audit((session,), show_text=False))]

    assert "Checks of this audit" in titles


@pytest.mark.parametrize(
    ("position", "fault", "line"),
    [
        (0, {"reached": 3}, "NOT MET: the recorded compaction, judged by two ways, kept the same"),
        (1, {"reached": 3}, "NOT MET: truncation stays below what whole messages can reach"),
        (2, {"reached": 3}, "NOT MET: identity reaches every need"),
        (3, {"recoverable": 1}, "NOT MET: drop_all can give nothing back"),
    ],
)
def test_a_wrong_contestant_is_told(session, position, fault, line):
    (right,) = session.boundaries
    contestants = list(right.contestants)
    contestants[position] = replace(contestants[position], **fault)
    wrong = replace(right, contestants=tuple(contestants))

    assert f"{line} (at 1 of 2)." in list(checks_of([right, wrong]))


def test_without_controls_one_check_is_left(session):
    (found,) = session.boundaries

    assert len(list(checks_of([replace(found, contestants=found.contestants[:1])]))) == 1
