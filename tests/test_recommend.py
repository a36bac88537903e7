"""Recommendations on runs written by hand, with numbers that can be worked out."""

import json
import os
import statistics
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from evals.bounded import lower_bound
from evals.cli import main
from evals.stats import clustered
from reports import recommend_json, recommend_text
from reports.candidates import Candidate
from reports.choosing import near_equal, pareto_set
from reports.confirm import confirm, halves
from reports.frames import load
from reports.recommend import recommend
from reports.shares import Share
from tests.reports_cases import failed, row, write_run


def setting(k):
    return f"clear_tool_results(keep_last_results={k})"


def rows_of(label, cells, **columns):
    """Return a row per transcript; a cell is (saving, reach)."""
    k = label.partition("=")[2].rstrip(")")
    given = {
        "parameters": {"keep_last_results": k},
        "resolved": {"keep_last_results": int(k), "trigger_tokens": None},
        "needs": 4,
        **columns,
    }
    return [
        row(name, label, saving=saving, reach=reach, **given)
        for name, (saving, reach) in cells.items()
    ]


def recommended(tmp_path, rows, **options):
    return recommend(load(write_run(tmp_path / "run", rows)), **options)


FEW = [
    *rows_of(setting(1), {"a": (0.6, 0.7), "b": (0.6, 1.0)}),
    *rows_of(setting(3), {"a": (0.4, 0.9), "b": (0.4, 1.0)}),
    *rows_of(setting(5), {"a": (0.2, 1.0), "b": (0.2, 1.0)}),
    *rows_of(setting(4), {"a": (0.3, 0.8), "b": (0.3, 0.9)}),
]
"""Each transcript has 1,000 tokens; keep 4 costs more and reaches less than keep 3."""


def sessions(n, reach):
    return {f"t{at:02}": (0.5, reach(at)) for at in range(n)}


def test_few_sessions_name_the_cheapest_that_reaches_enough_on_its_worst_transcript(tmp_path):
    (found,) = recommended(tmp_path, FEW, min_reach=0.9)

    assert found.chosen.label == setting(3)
    assert (found.chosen.cost, found.cost_before) == (pytest.approx(1_200), 2_000)
    assert found.chosen.worst == ("a", 0.9)
    assert (found.chosen.lower, found.allows_claims, found.confirmation) == (None, False, None)
    text = "\n".join(recommend_text.sentences(found))
    assert "n too small for claims: 2 sessions" in text
    assert "on every one of these transcripts the cheapest, 1.2 thousand tokens" in text
    assert "Its reach by transcript, %: a 90.0, b 100.0." in text


def test_a_mean_that_is_enough_is_not_enough_if_the_worst_is_not(tmp_path):
    # Keep 1 has a mean of 0.85 and a worst of 0.7.
    assert recommended(tmp_path, FEW, min_reach=0.8)[0].chosen.label == setting(3)
    assert recommended(tmp_path, FEW, min_reach=0.7)[0].chosen.label == setting(1)


def test_the_pareto_set_leaves_out_what_another_beats(tmp_path):
    (found,) = recommended(tmp_path, FEW)

    assert [[item.label for item in group] for group in found.pareto] == [
        [setting(1)],
        [setting(3)],
        [setting(5)],
    ]


def test_ties_stand_together(tmp_path):
    rows = [*FEW, *rows_of(setting(9), {"a": (0.4, 0.9), "b": (0.4, 1.0)})]

    (found,) = recommended(tmp_path, rows)

    assert [item.label for item in found.pareto[1]] == [setting(3), setting(9)]
    assert {item.label for item in found.near} == {setting(3), setting(9)}
    assert recommend_text.ranges_of(found.near) == {"keep_last_results": ["3", "9"]}


def test_a_setting_within_one_percent_in_cost_and_reach_is_near_equal(tmp_path):
    # Keep 3 costs 1,200 tokens: one per cent is 12 together, 6 each.
    cells = {
        7: {"a": (0.394, 0.89), "b": (0.394, 1.0)},
        8: {"a": (0.393, 0.9), "b": (0.393, 1.0)},
        9: {"a": (0.4, 0.9), "b": (0.4, 0.97)},
    }
    rows = [*FEW, *(each for k, cell in cells.items() for each in rows_of(setting(k), cell))]

    (found,) = recommended(tmp_path, rows)

    assert [item.label for item in found.near] == [setting(3), setting(7)]


def test_doing_nothing_on_a_transcript_saves_and_loses_nothing_there(tmp_path):
    rows = rows_of(setting(1), {"a": (0.0, 1.0), "b": (0.6, 0.9)})

    (found,) = recommended(tmp_path, rows, min_reach=0.9)

    assert (found.chosen.cost, found.chosen.reach, found.chosen.n) == (
        pytest.approx(1_400),
        pytest.approx(0.95),
        2,
    )


def test_dollars_decide_if_every_row_has_them(tmp_path):
    def priced(k, usd):
        cells = {"a": (0.1 * k, 0.95)}
        return rows_of(setting(k), cells, cost_before_usd=1.0, cost_after_usd=usd)

    (found,) = recommended(tmp_path / "1", [*priced(1, 0.4), *priced(2, 0.7)])
    assert (found.unit, found.chosen.label, found.chosen.cost) == ("usd", setting(1), 0.4)

    (found,) = recommended(tmp_path / "2", [*priced(1, 0.4), *priced(2, None)])
    assert (found.unit, found.chosen.label) == ("tokens", setting(2))


def test_a_setting_that_costs_more_than_none_is_said_to(tmp_path):
    rows = rows_of(setting(1), {"a": (0.3, 1.0)}, cost_before_usd=1.0, cost_after_usd=1.2)

    (found,) = recommended(tmp_path, rows)

    assert recommend_text.DEARER in [*recommend_text.sentences(found)]
    said = next(recommend_text.sentences(found))
    assert (
        "the cheapest, yet no cheaper than no compaction: $1.20 against $1.00 "
        "(dearer on 1 of 1 transcript), 30.0 % of the input tokens saved."
    ) in said
    (cheap,) = recommended(tmp_path / "2", FEW)
    assert "IT COSTS" not in "\n".join(recommend_text.sentences(cheap))


def test_on_how_many_transcripts_a_cheaper_setting_is_dearer_is_said(tmp_path):
    costs = {"a": (1.0, 0.2), "b": (1.0, 1.4), "c": (1.0, 1.0)}
    rows = [
        each
        for name, (before, after) in costs.items()
        for each in rows_of(
            setting(1), {name: (0.3, 1.0)}, cost_before_usd=before, cost_after_usd=after
        )
    ]
    free = {"requests": 0, "cost_before_usd": 0.0, "cost_after_usd": 0.0}
    silent = rows_of(setting(1), {"without a request": (0.0, None)}, **free)

    (found,) = recommended(tmp_path, [*rows, *silent])

    said = next(recommend_text.sentences(found))
    assert "$2.60 instead of $3.00 without compaction (dearer on 1 of 3 transcripts)" in said
    (content,) = recommend_json.as_json([found])["recommendations"]
    assert content["chosen"]["transcripts_dearer"] == 1


def test_dollars_name_the_model_and_that_they_are_simulated(tmp_path):
    costs = {"cost_before_usd": 1.0, "cost_after_usd": 0.5, "price_basis": "recorded"}
    cells = {"a": (0.3, 1.0), "b": (0.3, 1.0)}
    (found,) = recommended(tmp_path, rows_of(setting(1), cells, priced_model="m-1", **costs))
    (tokens,) = recommended(tmp_path / "2", FEW)

    line = "Dollars are simulated, from an empty cache on, priced as m-1 (2 transcripts)."
    assert line in [*recommend_text.sentences(found)]
    assert not [each for each in recommend_text.sentences(tokens) if "simulated" in each]


def test_one_form_is_printed_and_the_others_are_named(tmp_path, monkeypatch, capsys):
    path = write_run(tmp_path / "run", FEW)

    _, short, _ = command(monkeypatch, capsys, "recommend", path, "--min-reach", "90%")
    _, whole, _ = command(
        monkeypatch, capsys, "recommend", path, "--min-reach", "90%", "--all-forms"
    )

    assert "context_management" in short
    assert "make_strategy" not in short
    assert "With --all-forms also for LangChain, pydantic-ai-harness, Inspect and" in short
    assert "make_strategy" in whole
    assert "--all-forms" not in whole


def test_a_setting_that_is_dearer_by_its_own_calls_says_so(tmp_path):
    def said(own):
        costs = {"cost_before_usd": 1.0, "cost_after_usd": 1.2, "own_calls_usd": own}
        rows = rows_of(setting(1), {"a": (0.3, 1.0)}, **costs)
        (found,) = recommended(tmp_path / str(own), rows)
        return [*recommend_text.sentences(found)]

    assert recommend_text.DEARER_BY_CALLS in said(0.3)
    assert recommend_text.DEARER in said(0.1)


def test_what_failed_broke_a_rule_or_did_nothing_is_left_out_with_the_reason(tmp_path):
    rows = [
        *rows_of(setting(1), {"a": (0.6, 1.0)}),
        failed("b", setting(1), "no luck"),
        *rows_of(setting(2), {"a": (0.6, 1.0)}),
        *rows_of(setting(3), {"a": (0.6, 1.0), "b": (0.6, 1.0)}, violations=1, violated={"r": 1}),
        *rows_of(setting(4), {"a": (0.0, 1.0), "b": (0.019, 1.0)}),
        *rows_of(setting(5), {"a": (0.2, 1.0), "b": (0.2, 1.0)}),
    ]

    (found,) = recommended(tmp_path, rows)

    assert found.chosen.label == setting(5)
    assert {each.label: each.reason for each in found.left_out} == {
        setting(1): "failed on 1 transcript",
        setting(2): "was not run on 1 transcript",
        setting(3): "broke r on 2 transcripts",
        setting(4): "saved less than 1 % of the input tokens",
    }


def test_provenances_are_never_pooled(tmp_path):
    rows = [*FEW, *rows_of(setting(2), {"c": (0.9, 0.95)}, provenance="authored")]

    found = recommended(tmp_path, rows)

    assert [(each.provenance, each.chosen.label) for each in found] == [
        ("recorded", setting(3)),
        ("authored", setting(2)),
    ]


def test_controls_are_no_candidates(tmp_path):
    cheap = row("a", "drop_all", saving=0.9, reach=1.0, needs=4, is_control=True)

    (found,) = recommended(tmp_path, [*FEW, cheap])

    assert "drop_all" not in [item.label for group in found.pareto for item in group]


def test_if_none_reaches_enough_the_closest_is_named_and_no_configuration_printed(tmp_path):
    (found,) = recommended(tmp_path, FEW[:4], min_reach=0.95)

    assert (found.chosen, found.nearest.label) == (None, setting(3))
    text = "\n".join(recommend_text.sentences(found))
    assert "Without compaction the cost is 2.0 thousand tokens." in text
    assert "No setting reaches 95.0 % on every one of these transcripts" in text
    assert "90.0 % on its worst" in text
    assert recommend_json.as_json([found])["recommendations"][0]["configurations"] == []


def test_without_needs_nothing_can_be_told(tmp_path):
    rows = rows_of(setting(1), {"a": (0.5, None)}, needs=0)

    (found,) = recommended(tmp_path, rows)

    assert found.chosen is None
    assert "No needs over long gaps" in next(recommend_text.sentences(found))


def test_from_ten_sessions_on_the_lower_bound_decides_not_the_mean(tmp_path):
    rows = [
        *rows_of(setting(1), sessions(12, lambda at: 0.0 if at == 3 else 1.0)),
        *rows_of(setting(5), sessions(12, lambda at: 0.97), input_tokens_before=2_000.0),
    ]

    (found,) = recommended(tmp_path, rows, min_reach=0.7)

    first = found.pareto[0][0]
    # 11 of 12 all or nothing: the bound of Clopper and Pearson is 0.661, the mean 0.917.
    assert (first.label, first.reach) == (setting(1), pytest.approx(11 / 12))
    assert first.lower == pytest.approx(beta.ppf(0.05, 11, 2), abs=0.005)
    # All alike: 0.97 times what twelve perfect sessions support.
    bound = 0.97 * 0.05 ** (1 / 12)
    assert (found.chosen.label, found.chosen.lower) == (setting(5), pytest.approx(bound, abs=1e-6))
    text = "\n".join(recommend_text.sentences(found))
    assert "the cheapest whose 95 % lower bound of reach is at least 70.0 %" in text
    assert "it reaches 97.0 % (lower bound 75.6 %)." in text
    assert "Not confirmed on held-out sessions: that takes 20 with needs, there are 12." in text


def test_the_bound_is_one_in_selection_column_sentence_and_confirmation(tmp_path):
    def reach(at):
        return 1.0 - 0.1 * (at % 3 == 0)

    (found,) = recommended(tmp_path, rows_of(setting(1), sessions(24, reach)), min_reach=0.7)

    (tested,) = found.confirmation.tests
    held_out = found.chosen.within(halves([f"t{at:02}" for at in range(24)])[1])
    assert tested.lower == held_out.lower
    every = clustered([reach(at) for at in range(24)], range(24))
    assert found.chosen.lower == lower_bound(every, floor=0.0)
    shown = f"{100 * found.chosen.lower:.1f}"
    assert f"(lower bound {shown} %)" in next(recommend_text.sentences(found))
    assert recommend_json.as_json([found])["recommendations"][0]["chosen"]["lower_bound"] == (
        found.chosen.lower
    )


@pytest.mark.parametrize(("n", "is_named"), [(28, False), (29, True)])
def test_as_many_perfect_sessions_name_a_setting_as_their_bound_takes(tmp_path, n, is_named):
    # 0.05 ** (1 / 28) = 0.8985, 0.05 ** (1 / 29) = 0.9019.
    (found,) = recommended(tmp_path, rows_of(setting(1), sessions(n, lambda at: 1.0)))

    assert (found.n_to_name, found.chosen is not None) == (29, is_named)


def test_too_few_sessions_name_the_closest_with_what_it_takes(tmp_path, monkeypatch, capsys):
    rows = [
        *rows_of(setting(1), sessions(12, lambda at: 0.4 if at == 3 else 1.0)),
        *rows_of(setting(5), sessions(12, lambda at: 1.0), input_tokens_before=2_000.0),
    ]

    (found,) = recommended(tmp_path, rows, min_reach=0.9)
    code, out, _ = command(monkeypatch, capsys, "recommend", tmp_path / "run")

    assert (found.chosen, found.nearest.label, found.by_mean.label) == (
        None,
        setting(5),
        setting(1),
    )
    text = next(recommend_text.sentences(found))
    assert text.startswith(
        "Too few sessions to name a setting: 12 sessions that lose nothing support a reach of at "
        "most 77.9 %, and 90.0 % takes at least 29. --min-reach 0.77 names one. The closest "
        f"is {setting(5)}: it reaches 100.0 % (lower bound 77.9 %), "
    )
    assert f"By its mean alone the cheapest that reaches 90.0 % is {setting(1)}: 95.0 %" in text
    assert code == 1
    assert "context_management" not in out
    (lower,) = recommended(tmp_path / "lower", rows, min_reach=0.77)
    assert lower.chosen.label == setting(5)


def test_what_sessions_can_show_is_said_by_the_test_that_decides(tmp_path):
    def said(n, reach):
        rows = rows_of(setting(1), sessions(n, reach))
        (found,) = recommended(tmp_path / f"{n}", rows, min_reach=0.7)
        text = "\n".join(recommend_text.sentences(found))
        return found.detectable, [line for line in text.splitlines() if "Detectable" in line]

    # Twelve sessions that are all alike have a bound of 0.779 times their reach.
    alike, (line,) = said(12, lambda at: 0.98)
    assert alike == pytest.approx(0.7 / 0.05 ** (1 / 12), abs=0.01)
    assert line == (
        f"Detectable: from 12 sessions that scatter like those of {setting(1)}, a true reach of "
        f"{100 * alike:.1f} % has a bound of 70.0 % 4 times in 5."
    )
    scattered, (line,) = said(13, lambda at: 1.0 - 0.9 * (at % 2))
    assert scattered is None
    assert "no true reach has a bound of 70.0 %" in line
    assert said(9, lambda at: 1.0) == (None, [])


def test_from_enough_sessions_on_one_half_chooses_and_the_other_confirms(tmp_path):
    rows = [
        *rows_of(setting(1), sessions(64, lambda at: 0.5)),
        *rows_of(setting(3), sessions(64, lambda at: 0.99 + 0.01 * (at % 2))),
    ]

    (found,) = recommended(tmp_path, rows, min_reach=0.9)

    assert found.chosen.label == setting(3)
    assert found.chosen.n == 64
    assert (found.confirmation.n_discovery, found.confirmation.n_held_out) == (32, 32)
    assert [(each.label, each.is_confirmed) for each in found.confirmation.tests] == [
        (setting(3), True)
    ]
    assert (found.is_confirmed, found.is_refuted) == (True, False)


@pytest.mark.parametrize("n", [57, 58])
def test_what_all_sessions_name_is_named_where_half_of_them_name_none(tmp_path, n):
    # 0.99 * 0.05 ** (1 / 29) = 0.893, 0.99 * 0.05 ** (1 / 58) = 0.940.
    (found,) = recommended(tmp_path, rows_of(setting(1), sessions(n, lambda at: 0.99)))

    assert (found.chosen.label, found.confirmation) == (setting(1), None)
    assert (found.is_confirmed, found.is_refuted) == (False, False)
    text = "\n".join(recommend_text.sentences(found))
    why = {57: "that takes 58 with needs, there are 57", 58: "half of the 58 name none"}
    assert f"Not confirmed on held-out sessions: {why[n]}" in text


def test_a_low_reach_takes_fewer_sessions_to_confirm_and_all_of_it_no_number_supports(tmp_path):
    rows = rows_of(setting(1), sessions(32, lambda at: 1.0))

    (low,) = recommended(tmp_path / "1", rows, min_reach=0.5)
    (default,) = recommended(tmp_path / "2", rows)
    (all_of_it,) = recommended(tmp_path / "3", rows, min_reach=1.0, margin=0.0)

    assert (low.n_to_confirm, low.is_confirmed) == (20, True)
    assert (default.chosen.label, default.n_to_confirm, default.confirmation) == (
        setting(1),
        58,
        None,
    )
    assert (all_of_it.chosen, all_of_it.n_to_name, all_of_it.n_to_confirm) == (None, None, None)
    assert next(recommend_text.sentences(all_of_it)).startswith(
        "No number of sessions supports a reach of 100.0 % of others, so ask for less."
    )


def test_a_confirmed_setting_beside_the_cheapest_is_not_called_the_cheapest(tmp_path):
    lucky, held_out = halves([f"t{at:02}" for at in range(60)])
    cheaper = dict.fromkeys(lucky, (0.5, 1.0)) | dict.fromkeys(held_out, (0.5, 0.7))
    rows = [
        *rows_of(setting(1), cheaper),
        *rows_of(setting(3), dict.fromkeys(cheaper, (0.499, 1.0))),
    ]

    (found,) = recommended(tmp_path, rows)

    assert (found.chosen.label, found.is_confirmed) == (setting(3), True)
    assert next(recommend_text.sentences(found)).startswith(
        f"{setting(3)}: confirmed, and near-equal to {setting(1)}, which is not and is the "
        "cheapest whose 95 % lower bound of reach is at least 90.0 % on the discovery half, "
    )


def test_a_winner_of_the_discovery_half_alone_is_not_confirmed(tmp_path):
    names = [f"t{at:02}" for at in range(60)]
    lucky, _ = halves(names)
    rows = rows_of(setting(1), {name: (0.5, 1.0 if name in lucky else 0.6) for name in names})

    (found,) = recommended(tmp_path, rows, min_reach=0.9)

    assert [each.is_confirmed for each in found.confirmation.tests] == [False]
    # 0.6 * the least weight of 30 sessions among 31: 0.05 ** (1 / 30).
    assert "60.0 % (95 % lower bound 54." in "\n".join(recommend_text.sentences(found))
    assert found.is_refuted
    assert recommend_json.as_json([found])["recommendations"][0]["is_refuted"]


def test_what_other_sessions_do_not_confirm_is_labelled_and_exits_with_3(
    tmp_path, monkeypatch, capsys
):
    names = [f"t{at:02}" for at in range(60)]
    lucky, _ = halves(names)
    rows = rows_of(setting(1), {name: (0.5, 1.0 if name in lucky else 0.6) for name in names})

    code, out, _ = command(monkeypatch, capsys, "recommend", write_run(tmp_path / "run", rows))

    assert code == 3
    assert out.index("NOT CONFIRMED: the sessions") < out.index("context_management")


def test_what_held_out_sessions_confirm_exits_with_0_and_has_no_such_label(
    tmp_path, monkeypatch, capsys
):
    path = write_run(tmp_path / "run", rows_of(setting(1), sessions(60, lambda at: 1.0)))

    code, out, _ = command(monkeypatch, capsys, "recommend", path)

    assert code == 0
    assert "NOT CONFIRMED" not in out
    assert "context_management" in out


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([failed("a", setting(1), "no"), failed("b", setting(1), "no")], "Every cell of every"),
        (rows_of(setting(1), {"a": (0.001, 1.0)}), "No setting saved 1 % of the input tokens"),
        (
            [*rows_of(setting(1), {"a": (0.5, 1.0)}), failed("b", setting(1), "no")],
            "No setting worked without fault on every transcript and saved 1 %",
        ),
        (
            [
                *rows_of(setting(1), {"a": (0.001, 1.0), "b": (0.001, 1.0)}),
                *rows_of(setting(2), {"a": (0.5, 1.0)}),
                failed("b", setting(2), "no"),
            ],
            "No setting worked without fault on every transcript and saved 1 %",
        ),
    ],
)
def test_where_no_setting_can_be_judged_the_reason_is_told(
    tmp_path, monkeypatch, capsys, rows, reason
):
    code, out, _ = command(monkeypatch, capsys, "recommend", write_run(tmp_path / "run", rows))

    assert code == 1
    assert out.splitlines()[1].startswith(reason)
    assert "no other beats" not in out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["most in full, some not", "skewed", "one in seven loses all"])
def test_a_confirmation_of_three_settings_is_seldom_wrong(kind):
    """The true mean is the wanted reach minus the margin: confirming it is an error, at 5 %."""
    draw, n, n_draws = np.random.default_rng(7), 30, 500

    def drawn():
        if kind == "skewed":
            reach = draw.beta(3.4, 0.6, n)
        elif kind == "one in seven loses all":
            reach = (draw.random(n) < 0.85).astype(float)
        else:
            reach = np.where(draw.random(n) < 0.7, 1.0, draw.random(n))
        clusters = [f"s{at}" for at in range(n)]
        return pd.DataFrame({"reach": reach, "engaged": True, "cluster": clusters})

    def is_wrong():
        family = {name: drawn() for name in "abc"}
        found = confirm(family, 0.9, 0.05, n_discovery=n, n_held_out=n)
        return any(each.is_confirmed for each in found.tests)

    wrong = sum(is_wrong() for _ in range(n_draws))
    assert wrong / n_draws <= 0.06, wrong


def swept(seed, n_sessions, *, good=None):
    """Return 8 settings that keep all or nothing: true reach 0.85, of the good one 0.99."""
    draw = np.random.default_rng(seed)

    def cells(share):
        return sessions(n_sessions, lambda _: float(draw.random() < share))

    return [
        item for k in range(8) for item in rows_of(setting(k), cells(0.99 if k == good else 0.85))
    ]


@pytest.mark.slow
def test_the_best_of_8_settings_at_the_limit_is_seldom_confirmed(tmp_path):
    """16 sweeps, an error of 5 % in each: above 3 has p < 0.01."""
    confirmed = [
        recommended(tmp_path / str(seed), swept(seed, 60))[0].is_confirmed for seed in range(16)
    ]

    assert sum(confirmed) <= 3


@pytest.mark.slow
def test_a_setting_that_keeps_nearly_all_is_confirmed_among_8(tmp_path):
    found = [recommended(tmp_path / str(seed), swept(seed, 100, good=7))[0] for seed in range(6)]

    right = [each.is_confirmed and each.chosen.label == setting(7) for each in found]
    assert sum(right) >= 5


def test_sessions_not_transcripts_are_counted(tmp_path):
    rows = rows_of(setting(1), sessions(24, lambda at: 0.95), cluster="one session")

    (found,) = recommended(tmp_path, rows)

    assert (found.n_clusters, found.n_with_needs, found.allows_claims) == (1, 24, False)


def test_truncation_and_the_best_choice_stand_beside(tmp_path):
    points = [
        row("a", f"truncate({s})", strategy="truncate", saving=s, reach=r, is_control=True)
        for s, r in ((0.2, 0.9), (0.6, 0.5))
    ]
    rows = [*rows_of(setting(1), {"a": (0.4, 0.95)}, oracle_reach=0.99), *points]

    (found,) = recommended(tmp_path, rows)

    # Half-way between the two sizes.
    assert found.chosen.truncation.other == pytest.approx(0.7)
    assert found.chosen.oracle.other == pytest.approx(0.99)
    assert (
        "Where it engaged (1 transcript) it reaches 95.0 %, truncation at the same saving 70.0 % "
        "and the best choice of whole messages with the same tokens 99.0 %."
    ) in list(recommend_text.sentences(found))


def unit_rows(label, sizes, fits, **columns):
    """Return a row per transcript: its size, and the slope and offset of its provider."""
    return [
        row(
            f"t{at}",
            label,
            saving=0.5,
            reach=1.0,
            needs=1,
            resolved={"trigger_tokens": size, "keep_last_results": 3},
            requests=9,
            calibration_slope=slope,
            calibration_offset_tokens=offset,
            fixed_tokens=3.0,
            estimate_per_counted_token=1.0,
            **columns,
        )
        for at, (size, (slope, offset)) in enumerate(zip(sizes, fits, strict=True))
    ]


def triggered(size, sizes, fits=((2.0, 1_000.0), (1.0, 4_000.0)), **columns):
    label = f"anthropic_clear_tool_uses(trigger_tokens={size})"
    return unit_rows(label, sizes, fits, parameters={"trigger_tokens": str(size)}, **columns)


def said_of(path, rows, monkeypatch, capsys, *flags):
    write_run(path / "run", rows, paths=["logs"])
    _, out, _ = command(monkeypatch, capsys, "recommend", path / "run", *flags)
    return " ".join(out.split())


def test_a_converted_size_is_bracketed_and_nothing_claims_to_measure_it(
    tmp_path, monkeypatch, capsys
):
    """1,000 + 2 * (997 + 3) = 3,000 and 4,000 + 1 * (5,997 + 3) = 10,000; half-way 6,500.

    Back: (6,500 - 1,000) / 2 - 3 = 2,747 and 6,500 - 4,000 - 3 = 2,497.
    """
    out = said_of(tmp_path, triggered("50%", (997, 5_997)), monkeypatch, capsys)

    assert "6,500 is the median of these." in out
    assert (
        "By each transcript's own fit it is from 2,497 to 2,747 tokens as counted here, so no "
        "size measures it; this run did not measure both ends."
    ) in out
    assert (
        "No command here measures the size above. This one measures both ends of what it is in "
        "tokens as counted here, on the same paths; on each transcript it lies between them. If "
        "both reach enough, stay with the size above: "
        "compaction-evals sweep anthropic_clear_tool_uses logs trigger_tokens=2497,2747 "
        "--min-reach 0.9"
    ) in out
    assert "medians as fixed sizes" not in out
    assert "3497" not in out  # the median of the counted sizes, which is another setting


def test_a_form_without_conversion_still_measures_its_median(tmp_path, monkeypatch, capsys):
    rows = triggered("50%", (997, 5_997))

    out = said_of(tmp_path, rows, monkeypatch, capsys, "--all-forms")

    ours = out[out.index("compaction (this library):") :]
    assert "What measures the medians as fixed sizes" in ours
    assert "sweep anthropic_clear_tool_uses logs trigger_tokens=3497 --min-reach" in ours


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        # 2,500: 1,000 + 2 * 2,503 = 6,006 and 4,000 + 2,503 = 6,503; half-way 6,254.5, so 6,255;
        # back (6,255 - 1,000) / 2 - 3 = 2,624.5 and 6,255 - 4,003 = 2,252.
        ((), "this run did not measure both ends."),
        ((2_252,), "this run did not measure both ends."),
        ((2_252, 2_624), "this run measured both ends."),
        ((2_000, 3_000), "this run measured sizes beyond both ends, 2,000 and 3,000."),
    ],
)
def test_a_fixed_size_says_whether_both_ends_were_measured_and_asks_for_no_more(
    beside, said, tmp_path, monkeypatch, capsys
):
    rows = triggered(2_500, (2_500, 2_500), input_tokens_before=900.0)
    rows += [line for size in beside for line in triggered(size, (size, size))]
    # Another strategy or another second parameter brackets nothing.
    rows += unit_rows(
        "anthropic_clear_tool_uses(trigger_tokens=9000, keep_last_results=9)",
        (9_000, 9_000),
        ((2.0, 1_000.0), (1.0, 4_000.0)),
        parameters={"trigger_tokens": "9000", "keep_last_results": "9"},
    )

    out = said_of(tmp_path, rows, monkeypatch, capsys)

    assert "Measured: 2,500 counted tokens of messages." in out
    assert "6,255 is the median of these." in out
    assert "from 2,252 to 2,624 tokens as counted here" in out
    assert said in out
    assert "sweep" not in out


def shares_of(tmp_path, sizes, **manifest):
    """Recommend on a run whose only setting had a share; it came to these sizes."""
    rows = [
        row(
            name,
            "clear_tool_results(keep_last_results=3, trigger_tokens=50%)",
            saving=0.5,
            reach=1.0,
            needs=1,
            parameters={"keep_last_results": "3", "trigger_tokens": "50%"},
            resolved={"keep_last_results": 3, "trigger_tokens": tokens},
            requests=requests,
            calibration_slope=1.5,
            calibration_offset_tokens=100.0,
            fixed_tokens=3.0,
            estimate_per_counted_token=1.0,
        )
        for name, (tokens, requests) in sizes.items()
    ]
    (found,) = recommend(load(write_run(tmp_path / "run", rows, **manifest)))
    return found


@pytest.mark.parametrize(
    ("sizes", "median"),
    [
        ((1_000, 9_000, 4_000), 4_000),
        # The mean of both middle values, and a half is rounded up.
        ((1_000, 9_000, 4_000, 5_001), 4_501),
        ((9_000, 1_000), 5_000),
    ],
)
def test_of_a_share_the_true_median_is_printed_with_its_range(tmp_path, sizes, median):
    found = shares_of(tmp_path, {f"t{at}": (size, 9) for at, size in enumerate(sizes)})

    assert found.chosen.resolved["trigger_tokens"] == "50%"
    share = Share("50%", sizes)
    assert found.chosen.shares == {"trigger_tokens": share}
    (content,) = recommend_json.as_json([found])["recommendations"]
    api = content["configurations"][0]
    # 100 + 1.5 * (median + 3), half a token rounded up.
    assert f'"value": {int(100 + 1.5 * (statistics.median(sizes) + 3) + 0.5)}' in api["text"]
    assert "1,000 to 9,000" in api["unmeasured"][0]
    assert content["chosen"]["shares"]["trigger_tokens"]["median"] == median


def test_a_transcript_without_requests_has_no_peak_that_counts(tmp_path):
    found = shares_of(tmp_path, {"a": (1, 0), "b": (4_000, 9), "c": (6_000, 9)})

    assert found.chosen.shares["trigger_tokens"] == Share("50%", (4_000, 6_000))
    assert len(found.chosen.scales) == 2


def test_a_share_that_came_to_one_number_was_measured_as_that(tmp_path):
    found = shares_of(tmp_path, {"a": (4_000, 9), "b": (4_000, 9)}, paths=["logs"])

    assert (found.chosen.shares, found.measure) == ({}, {})
    assert found.chosen.resolved["trigger_tokens"] == 4_000


def test_the_command_that_measures_the_median_has_paths_and_flags_of_the_run(tmp_path):
    manifest = {"paths": ["my logs", "a=b"], "flags": ["--price", "gpt-5"], "config": {"file": "x"}}

    found = shares_of(tmp_path, {"a": (4_000, 9), "b": (6_000, 9)}, **manifest)

    assert found.measure["Anthropic Messages API"] == (
        f"compaction-evals --config {os.devnull} sweep clear_tool_results 'my logs' ./a=b "
        "trigger_tokens=5000 --set keep_last_results=3 --price gpt-5 --min-reach 0.9"
    )


def test_the_command_is_printed_whole_below_the_configuration(tmp_path, monkeypatch, capsys):
    found = shares_of(tmp_path, {"a": (4_000, 9), "b": (6_000, 9)}, paths=["logs"])
    monkeypatch.setenv("COLUMNS", "40")

    _, out, _ = command(monkeypatch, capsys, "recommend", tmp_path / "run")

    measure = found.measure["Anthropic Messages API"]
    assert f"  {measure}" in out.splitlines()
    assert out.index("context_management") < out.index(measure)


IDLE = {
    **{f"t{at:02}": (0.5, 0.7) for at in range(3)},
    **{f"t{at:02}": (0.0, 1.0) for at in range(3, 20)},
}
"""Engaged on 3 of 20: mean reach (3 * 0.7 + 17) / 20 = 0.955."""


def test_the_sentence_says_where_a_setting_did_anything_and_what_it_reaches_there(tmp_path):
    free = row("free", setting(1), saving=0.5, parameters={"keep_last_results": "1"})

    (found,) = recommended(tmp_path, [*rows_of(setting(1), IDLE), free], min_reach=0.75)

    said = next(recommend_text.sentences(found))
    assert said.startswith(
        f"{setting(1)}, engaged on 4 of 21 transcripts (3 of the 20 with needs, where it reaches "
        "70.0 %): the cheapest whose "
    )
    assert "Over all 20 with needs, 17 on which it did nothing included, it reaches 95.5 %" in said
    assert said.endswith("Where it engaged it reaches less than the 75.0 % asked for.")
    (content,) = recommend_json.as_json([found])["recommendations"]
    chosen = content["chosen"]
    assert (chosen["n"], chosen["n_engaged"]) == (20, 3)
    assert chosen["reach_where_engaged"] == pytest.approx(0.7)
    assert (chosen["transcripts"], chosen["transcripts_engaged"]) == (21, 4)


def test_few_sessions_say_it_too_and_mark_the_idle_ones(tmp_path):
    rows = rows_of(setting(1), {"a": (0.5, 0.9), "b": (0.0, 1.0)})

    (found,) = recommended(tmp_path, rows, min_reach=0.9)

    text = "\n".join(recommend_text.sentences(found))
    assert f"{setting(1)}, engaged on 1 of 2 transcripts (1 of the 2 with needs, where" in text
    assert "Its reach by transcript, %: a 90.0, b 100.0 (did nothing)." in text


def test_a_setting_that_engaged_everywhere_says_that(tmp_path):
    (found,) = recommended(tmp_path, FEW, min_reach=0.9)

    said = next(recommend_text.sentences(found))
    assert said.endswith(
        "It engaged on all 2 transcripts; over the 2 with needs it reaches 95.0 %."
    )


def test_what_did_nothing_where_needs_are_is_no_candidate(tmp_path):
    free = row("free", setting(1), saving=0.9, parameters={"keep_last_results": "1"})
    rows = [*rows_of(setting(1), {"a": (0.0, 1.0), "b": (0.0, 1.0)}), free]

    (found,) = recommended(tmp_path, rows)

    assert found.chosen is None
    assert [each.reason for each in found.left_out] == [
        "did nothing on any transcript with needs, so what it loses is not known"
    ]


def test_truncation_stands_beside_where_the_setting_did_anything(tmp_path):
    points = [
        row(name, f"truncate({s})", strategy="truncate", saving=s, reach=r, is_control=True)
        for name in "ab"
        for s, r in ((0.2, 0.9), (0.6, 0.5))
    ]
    rows = [*rows_of(setting(1), {"a": (0.4, 0.95), "b": (0.0, 1.0)}), *points]

    (found,) = recommended(tmp_path, rows)

    beside = found.chosen.truncation
    assert (beside.n, beside.reach, beside.other) == (1, 0.95, pytest.approx(0.7))
    said = list(recommend_text.sentences(found))
    alone = "it reaches 95.0 %, truncation at the same saving 70.0 %."
    assert f"Where it engaged (1 transcript) {alone}" in said
    best = "The best choice of whole messages with the same tokens is not known here."
    assert best in said


def test_of_settings_that_all_lose_everything_somewhere_the_closest_is_the_one_of_most_reach(
    tmp_path,
):
    rows = [
        *rows_of(setting(1), {"a": (0.6, 0.0), "b": (0.6, 0.2)}),
        *rows_of(setting(2), {"a": (0.5, 0.0), "b": (0.5, 0.8)}),
    ]

    assert recommended(tmp_path, rows)[0].nearest.label == setting(2)


def test_a_self_check_that_fails_is_a_line_of_text_and_of_json(tmp_path, monkeypatch, capsys):
    wrong = row("a", "identity", saving=0.2, reach=0.4, needs=4, is_control=True)
    path = write_run(tmp_path / "run", [*FEW, wrong])

    _, out, _ = command(monkeypatch, capsys, "recommend", path)
    _, as_json, _ = command(monkeypatch, capsys, "recommend", path, "--json")

    checks = json.loads(as_json)["self_checks"]
    failed = [each for each in checks if not each["is_met"]]
    assert [each["expected"] for each in failed] == [
        "identity saves nothing",
        "identity reaches everything",
    ]
    said = " ".join(out.split())
    assert f"Self-checks of the instrument: 0 of {len(checks)} met." in said
    assert "recorded: identity saves nothing: NO, at most 20.000 %" in said


def test_self_checks_that_are_met_are_one_line(tmp_path, monkeypatch, capsys):
    right = row("a", "identity", saving=0.0, reach=1.0, needs=4, is_control=True)

    _, out, _ = command(
        monkeypatch, capsys, "recommend", write_run(tmp_path / "run", [*FEW, right])
    )

    assert out.splitlines()[-1] == "Self-checks of the instrument: 2 of 2 met."


def candidate(cost, reach):
    each = pd.DataFrame({"reach": [reach], "engaged": [True], "cluster": ["s"]}, index=["t"])
    return Candidate(f"{cost}/{reach}", "s", {}, {}, {}, (), cost, 100.0, 0.5, each, {}, each)


points = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12)


@given(points)
def test_the_pareto_set_is_what_no_other_setting_beats(given_points):
    candidates = [candidate(float(cost), reach / 10) for cost, reach in given_points]

    front = [(item.cost, item.reach) for group in pareto_set(candidates) for item in group]

    unbeaten = [
        (c.cost, c.reach)
        for c in candidates
        if not any(
            (o.cost, -o.reach) != (c.cost, -c.reach) and o.cost <= c.cost and o.reach >= c.reach
            for o in candidates
        )
    ]
    assert sorted(front) == sorted(unbeaten)


def test_a_cost_that_is_higher_by_a_rounding_only_is_the_same_cost():
    worse, better = candidate(30.0, 0.8), candidate(30.0 + 1e-12, 0.9)

    assert pareto_set([worse, better]) == ((better,),)
    assert pareto_set([candidate(30.0, 0.9), better])[0][1] is better


@given(points)
def test_a_setting_is_near_equal_to_itself(given_points):
    candidates = [candidate(float(cost), reach / 10) for cost, reach in given_points]

    assert candidates[0] in near_equal(candidates[0], candidates)


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["compaction-evals", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    said = capsys.readouterr()
    return stopped.value.code, said.out, said.err


def test_the_command_prints_text_and_json(tmp_path, monkeypatch, capsys):
    path = write_run(tmp_path / "run", FEW)

    code, out, _ = command(monkeypatch, capsys, "recommend", path, "--min-reach", "90%")
    assert code == 3
    assert "n too small for claims" in out
    assert "NOT CONFIRMED: there are too few sessions to hold some out" in out
    assert '"type": "clear_tool_uses_20250919"' in out

    code, out, _ = command(monkeypatch, capsys, "recommend", path, "--min-reach", "0.9", "--json")
    (found,) = json.loads(out)["recommendations"]
    assert (code, found["chosen"]["label"], found["allows_claims"]) == (3, setting(3), False)


def test_a_configuration_is_printed_whole_on_a_narrow_terminal(tmp_path, monkeypatch, capsys):
    path = write_run(tmp_path / "run", FEW)
    monkeypatch.setenv("COLUMNS", "40")

    given = ("recommend", path, "--min-reach", "90%")
    _, out, _ = command(monkeypatch, capsys, *given, "--all-forms")
    _, as_json, _ = command(monkeypatch, capsys, *given, "--json")

    forms = json.loads(as_json)["recommendations"][0]["configurations"]
    lines = [line for form in forms for line in form["text"].splitlines()]
    assert max(map(len, lines)) > 40
    assert not {f"  {line}" for line in lines if line} - set(out.splitlines())


@pytest.mark.parametrize("value", ["90", "much", "-0.1"])
def test_a_reach_that_is_no_share_is_refused(value, tmp_path, monkeypatch, capsys):
    path = write_run(tmp_path / "run", FEW)

    code, _, said = command(monkeypatch, capsys, "recommend", path, "--min-reach", value)

    assert code == 2
    assert "--min-reach" in said
    assert said.count("\n") == 1


def test_a_run_of_controls_has_nothing_to_recommend(tmp_path, monkeypatch, capsys):
    path = write_run(tmp_path / "run", [row("a", "identity", saving=0.0, is_control=True)])

    code, out, _ = command(monkeypatch, capsys, "recommend", path)

    assert code == 1
    assert "nothing to recommend" in out


def test_transcripts_of_one_name_are_told_apart_by_their_files(tmp_path):
    # Names are unique within a file only; both files hold a `conversation`.
    rows = [
        row("conversation", setting(1), saving=saving, reach=reach, needs=4, engaged=saving > 0)
        for saving, reach in ((0.5, 0.7), (0.0, 1.0))
    ]
    rows = [
        replace(each, cell_id=f"c{at}", transcript_digest=f"d{at}", source=f"logs/{at}.json")
        for at, each in enumerate(rows)
    ]

    (found,) = recommended(tmp_path, rows, min_reach=0.5)

    (shown,) = recommend_json.as_json([found])["recommendations"]
    assert shown["chosen"]["by_transcript"] == {"0.json": 0.7, "1.json": 1.0}
    assert shown["chosen"]["worst"]["transcript"] == "0.json"
    text = "\n".join(recommend_text.sentences(found))
    assert "Its reach by transcript, %: 0.json 70.0, 1.json 100.0 (did nothing)." in text
