"""How much can be reached at a saving, worked out by hand."""

from itertools import pairwise

import pytest

from compaction.messages import Message
from evals.fidelity.oracle_curve import CURVE_POINTS, Oracle, oracle_curve
from evals.needs import find_needs
from evals.prepare import prepare
from evals.synthetic import generate
from tests.needs_cases import prepared, result, says, steps, user

KEY = "ledger_export_key"
TALK = (
    Message("system", "Be brief and exact."),
    user("Find it."),
    says("", ("c1", "read_notes", {"n": 1})),
    result("c1", f"keep {KEY} for the nightly export and for the report of every month"),
    *steps(4),
    says(f"Use {KEY}."),
)
"""One need; its source is seen by requests 1 to 5, and is used at request 5."""


def oracle_of(conversation):
    return Oracle(conversation, find_needs(conversation))


def test_the_curve_runs_from_the_instructions_alone_to_all_that_is_needed():
    conversation = prepared(*TALK)
    size = conversation.counter.count
    whole = conversation.input_tokens
    alone = 6 * (size(TALK[0]) + conversation.fixed_tokens)
    kept = 5 * size(TALK[3])

    points = oracle_of(conversation).curve

    assert len(points) == CURVE_POINTS == 16
    assert points[0] == (pytest.approx(1 - alone / whole), 0.0)
    assert points[-1] == (pytest.approx(1 - (alone + kept) / whole), 1.0)


def test_between_them_part_of_the_message_is_reached():
    """Point 5 of 15 has a ninth of the tokens, and the relaxation a ninth of the message."""
    point = oracle_of(prepared(*TALK)).curve[5]

    assert point.reach == pytest.approx(1 / 9)


def test_more_saving_never_reaches_more_and_the_line_is_concave():
    conversation = prepare(generate(203, plant_every=1, gaps=(4, 9, 15, 40)))

    points = oracle_of(conversation).curve

    savings, reached = zip(*points, strict=True)
    assert list(savings) == sorted(savings, reverse=True)
    assert list(reached) == sorted(reached)
    slopes = [
        (after.reach - before.reach) / (before.saving_fraction - after.saving_fraction)
        for before, after in pairwise(points)
    ]
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(slopes))


def test_of_two_sources_the_cheaper_decides_where_all_is_reached():
    long = result("c2", f"{KEY} " + "and a long text about nothing at all " * 40)
    conversation = prepared(
        *TALK[:4], says("", ("c2", "read_notes", {"n": 2})), long, *steps(4), says(f"Use {KEY}.")
    )
    size = conversation.counter.count
    alone = 7 * (size(TALK[0]) + conversation.fixed_tokens)

    last = oracle_of(conversation).curve[-1]

    kept = 6 * size(TALK[3])
    assert last.saving_fraction == pytest.approx(1 - (alone + kept) / conversation.input_tokens)
    assert last.reach == 1.0


def test_where_nothing_is_needed_there_is_no_curve_and_no_best():
    conversation = prepared(*TALK[:3], *steps(3))

    oracle = oracle_of(conversation)

    assert oracle.curve == ()
    assert oracle.best([100] * len(conversation.requests)) is None


def test_an_answer_is_given_again_without_being_worked_out():
    oracle = oracle_of(prepared(*TALK))
    budgets = [1_000] * 6

    assert oracle.best(budgets) is oracle.best(tuple(budgets))
    assert oracle_curve(prepared(*TALK), oracle.selection) == oracle.curve
