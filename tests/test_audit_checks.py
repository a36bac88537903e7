"""The lines by which an audit checks itself, met and not."""

from dataclasses import replace
from itertools import count

import pytest

from compaction.extractive import ExtractiveModel
from compaction.history import View, whole
from evals.audit import repeating
from evals.audit.checks import checks_of
from evals.audit.sessions import audit_session
from evals.audit.text import sections_of
from evals.audit.values import Audit, Chance
from evals.fidelity.placebo import PlaceboChoice
from evals.settings import Setting
from tests.audit_cases import boundary_of, compacted, plan
from tests.import_cases import write_lines

CONTROLS = (Setting("truncate"), Setting("identity"), Setting("drop_all"))


@pytest.fixture(scope="module")
def session():
    return audit_session(compacted(), plan(*CONTROLS))


def test_all_checks_are_met_at_a_real_boundary(session):
    lines = list(checks_of(session.boundaries))

    assert [line.partition(":")[0] for line in lines] == ["met"] * 6
    assert [line.rpartition("(")[2] for line in lines[:5]] == [
        *["1 of 1 times)."] * 3,
        "2 of 2 times).",  # truncate and drop_all; identity is over the size
        "3 of 3 times).",
    ]
    assert lines[5].endswith("(key_value 0 of 1, path 0 of 3; 1 text).")


def test_they_stand_in_every_form_of_the_audit(session):
    titles = [each.title for each in sections_of(Audit((session,), show_text=False))]

    assert "Checks of this audit" in titles


@pytest.mark.parametrize(
    ("position", "fault", "line"),
    [
        (0, {"reached": 3}, "the recorded compaction, judged by two ways, kept the same"),
        (2, {"reached": 3}, "the whole history (identity) keeps every need"),
        (3, {"recoverable": 1}, "drop_all keeps nothing but what stands in the messages that it"),
        (3, {"reached": 1}, "drop_all keeps nothing but what stands in the messages that it"),
        (1, {"reached": 3}, "no strategy that only selects messages is above the most that they"),
        (1, {"is_repeatable": False}, "a strategy that is asked twice does the same twice"),
    ],
)
def test_a_wrong_contestant_is_told(session, position, fault, line):
    (right,) = session.boundaries
    contestants = list(right.contestants)
    contestants[position] = replace(contestants[position], **fault)
    wrong = replace(right, contestants=tuple(contestants))

    unmet = [each for each in checks_of([right, wrong]) if each.startswith("NOT MET")]

    assert [each.startswith(f"NOT MET: {line}") for each in unmet] == [True]
    audit = Audit((replace(session, boundaries=(right, wrong)),), show_text=False)
    assert "1 check of this audit is not met" in sections_of(audit)[0].findings[-1]


@pytest.mark.parametrize(("found", "verdict"), [(2, "met"), (3, "NOT MET")])
def test_references_that_any_text_holds_are_told(session, found, verdict):
    (right,) = session.boundaries
    chance = Chance("other", {"path": 20, "hash": 4}, {"path": found, "hash": 0})

    line = list(checks_of([replace(right, chance=chance)]))[-1]

    assert line.startswith(f"{verdict}: unrelated text")
    assert f"(hash 0 of 4, path {found} of 20; 1 text)." in line


def test_the_unrelated_text_is_another_session_where_there_is_one(tmp_path):
    said = "see /srv/data/ledger.db and port=8787 " * 20
    other = {"type": "session", "id": "other", "timestamp": "2026-11-30T10:00:00.000Z", "cwd": "/o"}
    made = {"role": "user", "content": said}
    message = {"type": "message", "timestamp": "2026-11-30T10:00:01.000Z", "message": made}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    told = {"type": "message", "timestamp": "2026-11-30T10:00:02.000Z", "message": answer}
    path = write_lines(tmp_path / "other.jsonl", [other, message, told])
    choice = replace(plan(*CONTROLS), placebos=PlaceboChoice((path,)))

    (boundary,) = audit_session(compacted(), choice).boundaries

    assert boundary.chance.source.startswith(str(path))
    assert dict(boundary.chance.found) == {"key_value": 1, "path": 1}


def test_without_controls_three_checks_are_left():
    boundary = boundary_of(compacted(), Setting("clear_tool_results"))

    told = [line.partition(" (")[0] for line in checks_of([boundary])]

    assert told[:2] == [
        "met: the recorded compaction, judged by two ways, kept the same",
        "met: a strategy that is asked twice does the same twice",
    ]
    assert len(told) == 3


def test_a_strategy_that_does_something_else_the_second_time_is_seen(monkeypatch):
    calls = count()
    placed = repeating.placed

    def moody(setting, place, model):
        found = placed(setting, place, model)
        if next(calls):
            return found
        first = whole(place.history[0], 0)
        return replace(found, view=View((first,)), tokens=1)

    monkeypatch.setattr(repeating, "placed", moody)
    boundary = boundary_of(compacted(), *CONTROLS)

    assert [each.is_repeatable for each in boundary.contestants] == [None, False, True, True]


def test_nobody_is_asked_twice_who_costs_money(tmp_path):
    code = tmp_path / "mine.py"
    code.write_text("def same(messages):\n    return messages\n")
    mine = Setting(f"{code}:same")
    paid = replace(plan(Setting("xun"), mine), model=_Endpoint())

    (boundary,) = audit_session(compacted(), paid).boundaries

    assert [each.is_repeatable for each in boundary.contestants] == [None, None, None]
    free = boundary_of(compacted(), Setting("xun"), mine)
    assert [each.is_repeatable for each in free.contestants] == [None, True, None]


class _Endpoint:
    name = "endpoint"

    def complete(self, call):
        return ExtractiveModel().complete(call)

    async def acomplete(self, call):
        return ExtractiveModel().complete(call)
