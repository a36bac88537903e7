"""What the answer names, and when it names nothing."""

import random
import re
from dataclasses import replace

import pytest

from reports.answer import RULE, answers, best_setting
from reports.confirm import ALPHA
from reports.costs import cost_blocks
from reports.frames import load
from reports.league import blocks
from reports.proof import adjusted_p
from tests.reports_cases import failed, row, small_rows, write_run

LINE = [(0.0, 1.0), (1.0, 0.0)]


def answer_of(path, rows) -> str:
    return answers(load(write_run(path / "run", rows)))[0].text


def notes_of(path, rows) -> str:
    return "\n".join(answers(load(write_run(path / "run", rows)))[0].notes)


def truncation(transcript: str) -> list:
    """Truncation reaches 1 - saving."""
    return [
        row(transcript, f"truncate(k={at})", saving=saving, reach=reach, is_control=True)
        for at, (saving, reach) in enumerate(LINE)
    ]


def many(n: int, reach: float, **columns) -> list:
    rows = [
        row(f"t{at}", "good", saving=0.5, reach=reach + (0.02 if at % 2 else -0.02), **columns)
        for at in range(n)
    ]
    return rows + [item for at in range(n) for item in truncation(f"t{at}")]


def test_the_best_of_those_that_beat_truncation_is_named(tmp_path):
    text = answer_of(tmp_path, small_rows())

    assert "xun(k=2) keeps the most" in text
    assert "saves 20.0 %" in text
    assert "reaches 80.0 % of the needs, +5.0 points against truncation" in text
    assert (
        "n = 2 transcripts. Counted together, of the 30 needs in these 2 transcripts 25 are "
        "reached, 0 only mentioned as a bare word and 5 lost."
    ) in text


def test_what_becomes_of_needs_is_counted_where_the_reach_is_from(tmp_path):
    """Idle: its 7 needs are in no number. Too large a saving for truncation: its 9 are."""
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4, lost=1, mentioned=2),
        row("b", "x", saving=0.5, reach=0.9, needs=6, lost=2, undeclared=1, regenerable=1),
        row("idle", "x", saving=0.0, reach=1.0, needs=7),
        row("far", "x", saving=0.9, reach=0.5, needs=9, lost=8),
        *truncation("a"),
        *truncation("b"),
    ]

    text = answer_of(tmp_path, rows)

    assert "n = 3 transcripts of 4" in text
    assert "saves 47.5 % of the input tokens" in text
    assert "reaches 76.7 % of the needs, +40.0 points against" in text
    assert (
        "of the 19 needs in these 3 transcripts 4 are reached, 2 only mentioned as a bare word, 1 "
        "to be had by repeating a call, 1 visible nowhere in code that does not say whether it can "
        "give them back and 11 lost."
    ) in text


def test_one_transcript_is_not_called_these(tmp_path):
    text = answer_of(tmp_path, [row("a", "x", saving=0.5, reach=0.9, needs=4), *truncation("a")])

    assert "of the 4 needs in that transcript 4 are reached, 0 only mentioned" in text


def test_how_many_engaged_is_counted_among_those_with_needs(tmp_path):
    """On 6 of 10 with needs it did nothing; that it engaged on 5 without needs does not count."""
    rows = [
        *many(10, 0.8),
        *(row(f"t{at}", "rare", saving=0.5 * (at < 4), reach=1.0, needs=2) for at in range(10)),
        *(row(f"free{at}", "rare", saving=0.5) for at in range(5)),
        *(row(f"free{at}", "good", saving=0.5) for at in range(5)),
    ]

    assert "rare: engaged on 4 of 10 transcripts with needs" in notes_of(tmp_path, rows)


def test_few_sessions_are_said_to_be_too_few(tmp_path):
    text = answer_of(tmp_path, many(9, 0.8))

    assert "nothing can be said about other conversations: 9 sessions can be compared" in text
    assert "Of these, good keeps the most" in text
    assert "interval" not in text


def test_ten_sessions_have_intervals_and_no_warning(tmp_path):
    text = answer_of(tmp_path, many(10, 0.8))

    assert "saves 50.0 % of the input tokens (on average 50.0 % per transcript, 95 %" in text
    assert "of the needs (95 % interval" in text
    assert "nothing can be said" not in text


def test_a_difference_that_may_be_zero_names_nothing_when_there_are_enough_sessions(tmp_path):
    text = answer_of(tmp_path, many(10, 0.501))

    assert "no setting that worked without fault is clearly better than truncation" in text


def test_a_setting_that_broke_a_rule_or_failed_somewhere_is_not_named(tmp_path):
    rows = [
        row("a", "breaks", saving=0.5, reach=1.0, violations=1, violated={"x": 1}),
        row("a", "fails", saving=0.5, reach=1.0),
        failed("b", "fails", "no"),
        *truncation("a"),
    ]

    run = load(write_run(tmp_path / "run", rows))

    assert best_setting(run, "recorded") is None


def test_a_setting_below_truncation_is_not_named(tmp_path):
    text = answer_of(tmp_path, [row("a", "bad", saving=0.5, reach=0.4), *truncation("a")])

    assert "no setting that worked without fault kept more than truncation" in text


def test_settings_that_never_engaged_say_so(tmp_path):
    text = answer_of(tmp_path, [row("a", "idle", saving=0.0, reach=1.0), *truncation("a")])

    assert "no setting saved 1 % or more" in text


def test_a_run_in_which_everything_failed_says_so(tmp_path):
    assert "every cell of every strategy failed" in answer_of(
        tmp_path, [failed("a", "x", "no"), *truncation("a")]
    )


def test_without_truncation_or_needs_nothing_is_recommended(tmp_path):
    assert "truncation was not run" in answer_of(
        tmp_path / "1", [row("a", "x", saving=0.5, reach=0.5)]
    )
    assert "truncation was not measured at these savings" in answer_of(
        tmp_path / "3",
        [
            row("a", "x", saving=0.5, reach=0.5),
            row("a", "truncate(k=1)", saving=0.1, reach=0.9, is_control=True),
        ],
    )
    assert "no needs over long gaps" in answer_of(
        tmp_path / "2", [row("a", "x", saving=0.5), *truncation("a")]
    )


def test_controls_alone_and_no_rows_at_all_say_so(tmp_path):
    assert "only controls" in answer_of(tmp_path / "1", truncation("a"))
    assert answer_of(tmp_path / "2", []) == "Nothing was measured: the run has no rows."


def test_engaged_and_with_needs_are_two_counts(tmp_path):
    rows = [
        row("a", "half", saving=0.5, reach=0.9, needs=4),
        row("b", "half", saving=0.5),
        row("c", "half", saving=0.0, reach=1.0, needs=4),
        row("d", "half", saving=0.0),
        *truncation("a"),
    ]

    text = answer_of(tmp_path, rows)

    assert (
        "n = 1 transcript of 4: 2 have needs over long gaps, and the setting engaged on 2 of all, "
        "1 of those with needs."
    ) in text


def test_transcripts_without_a_truncation_value_are_told_apart(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4),
        row("b", "x", saving=0.5, reach=0.1, needs=4),
        *truncation("a"),
    ]

    text = answer_of(tmp_path, rows)

    assert "reaches 50.0 % of the needs, +40.0 points" in text
    assert "measured at its saving on 1, where it reaches 90.0 % and truncation 50.0 %." in text


def test_the_rule_is_below_the_answer_once(tmp_path):
    rows = small_rows()
    rows += [
        row("m", "y", saving=0.5, reach=0.9, provenance="generated"),
        row("m", "truncate(k=1)", saving=0.6, reach=0.1, provenance="generated", is_control=True),
    ]

    found = answers(load(write_run(tmp_path / "run", rows)))

    assert [answer.all_notes.count(RULE) for answer in found] == [1, 0, 0]
    assert not any(RULE in answer.notes for answer in found)


def test_settings_that_look_better_are_left_out_with_the_reason(tmp_path):
    bad = {"violations": 1, "violated": {"never_grows": 1}}
    rows = [
        *many(10, 0.8, needs=4),
        *(row(f"t{at}", "breaks", saving=0.5, reach=0.9) for at in range(1, 10)),
        row("t0", "breaks", saving=0.5, reach=0.9, **bad),
        *(row(f"t{at}", "fails", saving=0.5, reach=0.9) for at in range(1, 10)),
        failed("t0", "fails", "no"),
        *(row(f"t{at}", "wobbles", saving=0.3, reach=1 - 0.5 * (at % 2)) for at in range(10)),
        *(row(f"t{at}", "below", saving=0.1, reach=0.85) for at in range(10)),
        *(row(f"t{at}", "rare", saving=0.5 * (at < 4), reach=1.0) for at in range(10)),
        *(row(f"t{at}", "unmatched", saving=0.5, reach=0.1) for at in range(10)),
    ]

    notes = notes_of(tmp_path, rows)

    left_out = next(line for line in notes.splitlines() if line.startswith("Left out: "))
    assert "breaks: broke never_grows on 1 transcript;" in left_out
    assert "fails: failed on 1 of 10 transcripts" in left_out
    assert "below: -5.0 points against truncation" in left_out
    assert "rare: engaged on 4 of 10 transcripts with needs" in left_out
    assert "unmatched" not in left_out


def test_an_interval_that_touches_zero_is_a_reason(tmp_path):
    rows = [
        *many(10, 0.6),
        *(row(f"t{at}", "wobbles", saving=0.3, reach=1 - 0.5 * (at % 2)) for at in range(10)),
    ]

    notes = notes_of(tmp_path, rows)

    assert "wobbles: interval of the difference touches 0 (-" in notes


def test_a_setting_that_another_beats_in_both_is_never_named(tmp_path):
    """On all its transcripts `wide` reaches most; on the two it shares, `both` beats it."""
    rows = [
        row("a", "wide", saving=0.4, reach=0.8, needs=4),
        row("b", "wide", saving=0.4, reach=0.8, needs=4),
        row("c", "wide", saving=0.4, reach=1.0, needs=4),
        row("a", "both", saving=0.5, reach=0.8, needs=4),
        row("b", "both", saving=0.5, reach=0.8, needs=4),
        row("c", "both", saving=0.0, reach=1.0, needs=4),
        *(item for name in "abc" for item in truncation(name)),
    ]

    run = load(write_run(tmp_path / "run", rows))

    best = best_setting(run, "recorded")
    assert best is not None
    assert best["label"] == "both"
    assert (
        "wide: both saves 50.0 % and reaches 80.0 %, it 40.0 % and 80.0 %, on the same 2 "
        "transcripts"
    ) in "\n".join(answers(run)[0].notes)


def test_a_control_that_keeps_more_than_all_as_thrifty_settings_is_named(tmp_path):
    rows = [
        row("a", "thrifty", saving=0.5, reach=0.6),
        row("a", "timid", saving=0.2, reach=0.9),
        row("a", "random_drop", saving=0.5, reach=0.7, is_control=True),
        *truncation("a"),
    ]
    better = row("a", "close", saving=0.46, reach=0.75)

    expected = "The control random_drop (saves 50.0 %, reaches 70.0 %) keeps more than every"

    assert f"{expected} setting that saves about as much or more (1 of them)." in notes_of(
        tmp_path / "1", rows
    )
    assert expected not in notes_of(tmp_path / "2", [*rows, better])


def test_advice_to_lower_a_threshold_goes_to_settings_that_have_one_and_did_not_grow(tmp_path):
    rows = [
        row("a", "xun", saving=0.0, reach=1.0, resolved={"token_threshold": 192_000}),
        row("a", "mine.py:f", saving=0.0, reach=1.0, resolved={"keep": 3}),
        row("a", "grows", saving=-0.12, reach=1.0, resolved={"token_threshold": 5}),
    ]

    notes = notes_of(tmp_path, rows)

    assert "Lower the token_threshold of xun, for example to 50% of the peak." in notes
    assert "mine.py" not in notes
    assert "grows grew the input by 12.0 %." in notes
    assert "of grows" not in notes


def test_dollars_are_named_and_a_dearer_setting_says_so(tmp_path):
    def text(name, after):
        costs = {"cost_before_usd": 2.0, "cost_after_usd": after, "saved_usd": 2.0 - after}
        return answer_of(tmp_path / name, many(10, 0.8, **costs))

    assert "and 25.0 % of the dollars (95 % interval 25.0 to 25.0), reaches" in text("cheaper", 1.5)
    assert (
        "but COSTS 50.0 % MORE dollars (95 % interval 50.0 to 50.0; dearer on 10 of 10 "
        "transcripts), because of the prompt cache, "
    ) in text("dear", 3)
    assert "dollars" not in answer_of(tmp_path / "unpriced", many(10, 0.8))


def test_dollars_that_may_go_either_way_have_an_interval_with_both_signs(tmp_path):
    rows = many(12, 0.8, cost_before_usd=2.0)
    dear = [replace(each, cost_after_usd=1.0 + 1.8 * (at % 2)) for at, each in enumerate(rows[:12])]

    text = answer_of(tmp_path, [*dear, *rows[12:]])

    # 1 and 2.8 of 2 dollars in turn: 1.9 on average, from half saved to 40 % more.
    assert "and 5.0 % of the dollars (95 % interval -" in text
    assert "; dearer on 6 of 12 transcripts), reaches" in text


def test_a_setting_that_is_dearer_by_its_own_calls_does_not_blame_the_cache(tmp_path):
    costs = {"cost_before_usd": 2.0, "cost_after_usd": 2.5, "own_calls_usd": 0.8}

    text = answer_of(tmp_path, many(10, 0.8, **costs))

    assert (
        "COSTS 25.0 % MORE dollars (95 % interval 25.0 to 25.0; dearer on 10 of 10 transcripts), "
        "because of its own model"
    ) in text


def test_settings_that_cost_more_than_no_compaction_are_listed_even_if_none_is_named(tmp_path):
    def priced(label, after):
        return row("a", label, saving=0.8, reach=0.1, cost_before_usd=2.0, cost_after_usd=after)

    rows = [priced("cheap", 1.0), priced("dear", 2.5), priced("dearest", 5.0), *truncation("a")]

    assert (
        "DEARER than no compaction, in dollars over all transcripts with a price, are 2 of 3 "
        "settings: dearest +150 % and dear +25 %." in (notes_of(tmp_path / "1", rows))
    )
    assert "DEARER" not in notes_of(tmp_path / "2", [rows[0], *truncation("a")])
    assert "DEARER" not in notes_of(tmp_path / "3", small_rows())


def sweep(seed: int, n_settings: int, *, gain: float = 0.0, n: int = 20) -> list:
    """Return settings that reach what truncation does, but for noise; the first one gains."""
    draw = random.Random(seed)
    rows = [
        row(
            f"t{at}",
            f"s(k={number})",
            saving=0.5,
            reach=0.5 + draw.uniform(-0.3, 0.3) + gain * (number == 0),
        )
        for number in range(n_settings)
        for at in range(n)
    ]
    return rows + [item for at in range(n) for item in truncation(f"t{at}")]


def is_any_better(path, rows) -> bool:
    """Return whether a setting may be named: only those whose p is small are called better."""
    return min(adjusted_p(load(write_run(path, rows)), "recorded").values()) <= ALPHA


@pytest.mark.slow
def test_of_48_equal_settings_none_is_called_better_more_often_than_the_level_says(tmp_path):
    """20 sweeps at a level of 5 %: 1 is expected, above 2 (10 %) is too much."""
    named = [is_any_better(tmp_path / str(seed), sweep(seed, 48)) for seed in range(20)]

    assert sum(named) <= 2


def seldom(seed: int, n_settings: int, *, n: int = 20) -> list:
    """Return settings that gain 5 points in nine sessions of ten and lose 45 in the tenth."""
    draw = random.Random(seed)
    rows = [
        row(f"t{at}", f"s(k={k})", saving=0.5, reach=0.05 if draw.random() < 0.1 else 0.55)
        for k in range(n_settings)
        for at in range(n)
    ]
    return rows + [item for at in range(n) for item in truncation(f"t{at}")]


@pytest.mark.slow
def test_settings_that_gain_often_and_lose_seldom_as_much_are_not_called_better(tmp_path):
    """Of 12 that are equal on average most sweeps have one that shows no loss in 20 sessions."""
    named = [is_any_better(tmp_path / str(seed), seldom(seed, 12)) for seed in range(20)]

    assert sum(named) <= 2


@pytest.mark.slow
def test_a_setting_that_is_clearly_better_is_named_among_many(tmp_path):
    named = [
        "s(k=0) keeps the most among the settings that are better than truncation"
        in answer_of(tmp_path / str(seed), sweep(seed, 12, gain=0.25))
        for seed in range(8)
    ]

    assert sum(named) >= 7


def test_the_best_of_many_tries_is_told_with_its_adjusted_p(tmp_path):
    text = next(
        text
        for seed in range(100)
        if "The best is" in (text := answer_of(tmp_path / str(seed), sweep(seed, 12, n=10)))
    )

    assert (
        "no setting is clearly better than truncation at the same saving once 12 settings" in text
    )
    assert "too few to show it" not in text
    p = float(re.search(r"The best is s\(k=\d+\) \(p = ([0-9.]+) adjusted\): it saves", text)[1])
    assert 0.05 < p <= 1


def test_a_proven_setting_is_named_though_an_unproven_one_reaches_more(tmp_path):
    """`steady` gains 20 points everywhere; `wild` 24, from losing 40 to gaining 45."""
    names = [f"t{at}" for at in range(20)]
    rows = [
        *(row(name, "steady", saving=0.5, reach=0.7) for name in names),
        *(
            row(name, "wild", saving=0.5, reach=0.1 if at % 4 == 0 else 0.95)
            for at, name in enumerate(names)
        ),
        *(row(name, f"idle(k={k})", saving=0.5, reach=0.5) for name in names for k in range(8)),
        *(item for name in names for item in truncation(name)),
    ]

    (answer,) = answers(load(write_run(tmp_path / "run", rows)))

    assert "steady keeps the most among the settings that are better than truncation" in answer.text
    assert "Left out: wild: not clearly better than truncation (p = 0." in "\n".join(answer.notes)


def test_sessions_that_could_not_show_a_gain_whatever_it_kept_are_told(tmp_path):
    """Truncation keeps 90 %: that nothing at all is lost is a gain of 10 points at most."""
    rows = [row(f"t{at}", "good", saving=0.1, reach=0.95 + 0.01 * (at % 2)) for at in range(12)]

    text = answer_of(tmp_path, rows + [item for at in range(12) for item in truncation(f"t{at}")])

    assert text.startswith(
        "On the recorded transcripts no setting is clearly better than truncation at the same "
        "saving; 12 sessions are too few to show it, even of one that lost nothing. The best is "
        "good (p = "
    )


SMALLEST = (
    "Smallest difference from truncation that this corpus would show in four of five cases, by the "
    "test that decides (one-sided, 5 %, a setting alone; Holm's adjustment for several asks for "
    "more): "
)


def even(label: str, n: int, saving: float, reach: float, apart: float = 0.0) -> list:
    """Truncation reaches 1 - saving; the setting more and less in turn."""
    return [
        row(f"t{at}", label, saving=saving, reach=reach + (apart if at % 2 else -apart))
        for at in range(n)
    ]


def beside_truncation(n: int, *rows: list) -> list:
    cut = [item for at in range(n) for item in truncation(f"t{at}")]
    return [*(item for each in rows for item in each), *cut]


def smallest(path, rows) -> list:
    return [line for line in notes_of(path, rows).splitlines() if line.startswith("Smallest")]


def test_the_smallest_difference_that_a_corpus_would_show_is_of_the_test_that_decides(tmp_path):
    """Ten sessions that all gain d where truncation keeps k: p = (k / (k + d)) ** 10.

    At p = 0.05, d = k * (20 ** 0.1 - 1) = 0.3493 k: 17.5 points for k = 0.5, 14.0 for 0.4.
    """
    good, better = even("good", 10, 0.5, 0.8), even("better", 10, 0.6, 0.8)

    (alone,) = smallest(tmp_path / "1", beside_truncation(10, good))
    (both,) = smallest(tmp_path / "2", beside_truncation(10, even("good", 10, 0.5, 0.9), better))

    assert alone == f"{SMALLEST}17.5 points for good."
    assert both == f"{SMALLEST}17.5 points for good; 14.0 to 17.5 points over the 2 settings."
    assert smallest(tmp_path / "3", beside_truncation(9, even("good", 9, 0.5, 0.8))) == []


def test_where_no_difference_would_show_none_is_named_and_why(tmp_path):
    """Lost nothing: 0.9 ** 12 = 0.282, so nothing shows; 0.75 ** 12 = 0.032 would."""
    close, wild = even("close", 12, 0.1, 0.95), even("wild", 12, 0.25, 0.75, 0.25)
    reason = "none for close: even a setting that lost nothing would not show"

    (one,) = smallest(tmp_path / "1", beside_truncation(12, close))
    (none,) = smallest(tmp_path / "2", beside_truncation(12, close, wild))
    good = even("good", 12, 0.5, 0.6)
    (some,) = smallest(tmp_path / "3", beside_truncation(12, close, wild, good))
    # Named, as the first interval lies above 0: differences of 0 and 25 points.
    wide = [
        row(f"t{at}", "wide", saving=0.25, reach=0.75 + 0.25 * (at % 3 > 0)) for at in range(12)
    ]
    (apart,) = smallest(tmp_path / "4", beside_truncation(12, wide))

    assert one == f"{SMALLEST}{reason}."
    assert none == f"{SMALLEST}{reason}; none for any of 2 settings."
    # 0.5 * (20 ** (1 / 12) - 1) = 0.1418.
    assert some == (
        f"{SMALLEST}{reason}; 14.2 to 14.2 points over 1 of 3 settings, none for the others."
    )
    assert apart == f"{SMALLEST}none for wide, which scatters too much."


def test_the_smallest_difference_never_contradicts_the_sentence_beside_it(tmp_path):
    """A setting that gains less alone is not shown; one that gains as much is."""
    for at, (gain, is_shown) in enumerate([(0.17, False), (0.18, True)]):
        rows = beside_truncation(10, even("good", 10, 0.5, 0.5 + gain))
        text = answer_of(tmp_path / f"{at}", rows)

        assert ("better than truncation at the same saving (p = " in text) == is_shown
        assert smallest(tmp_path / f"s{at}", rows) == [f"{SMALLEST}17.5 points for good."]


DEAR = {"cost_before_usd": 1.0, "cost_after_usd": 1.5, "saved_usd": -0.5}
CHEAP = {"cost_before_usd": 9.0, "cost_after_usd": 4.0, "saved_usd": 5.0}


def test_one_name_is_one_number_in_the_sentence_and_in_both_tables(tmp_path):
    """Truncation was measured at its saving on `a` alone, where it costs more."""
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4, **DEAR),
        row("b", "x", saving=0.7, reach=0.5, needs=4, **CHEAP),
        *truncation("a"),
    ]
    run = load(write_run(tmp_path / "run", rows))

    # 4.5 of 10 dollars, 0.6 of the tokens and 0.7 of the needs, over both transcripts.
    (text,) = (answer.text for answer in answers(run))
    assert "saves 60.0 % of the input tokens and 45.0 % of the dollars (dearer on 1 of 2" in text
    assert "reaches 70.0 % of the needs, +40.0 points" in text
    league, costs = (
        dict(zip([column.title for column in block.columns], block.lines[0].cells, strict=True))
        for block in (*blocks(run), *cost_blocks(run))
    )
    shown = {title: cell.text for title, cell in league.items()}
    assert shown["Saved, % of tokens"] == "60.0"
    assert shown["Saved, % of dollars"] == costs["Saved, % of dollars"].text == "45.0"
    assert shown["Dearer on, of transcripts"] == "1 of 2"
    assert shown["Reach, % of needs (n)"] == "70.0 (2)"
    assert shown["Vs truncation: n"] == "1"
    assert shown["Vs truncation: saved there, %"] == "50.0"
    assert shown["Vs truncation: reach there, %"] == "90.0"
    assert shown["Vs truncation: its reach, %"] == "50.0"
    assert shown["Vs truncation: difference, points"] == "+40.0"


def test_dearer_settings_are_told_over_all_transcripts_with_a_price(tmp_path):
    """Truncation was measured at its saving on `a` alone, where it costs more."""
    rows = [
        row("a", "x", saving=0.5, reach=0.9, needs=4, **DEAR),
        row("b", "x", saving=0.5, reach=0.9, needs=4, **CHEAP),
        row("b", "y", saving=0.5, reach=0.9, needs=4, **DEAR),
        *truncation("a"),
    ]

    notes = notes_of(tmp_path, rows)

    assert "DEARER" in notes
    assert "are 1 of 2 settings: y +50 %." in notes


def test_the_transcript_of_the_lowest_reach_is_named_with_its_needs(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=1.0, needs=40),
        row("b", "x", saving=0.5, reach=0.25, needs=4, lost=3),
        *truncation("a"),
        *truncation("b"),
    ]

    text = answer_of(tmp_path / "1", rows)

    assert text.endswith("The lowest reach is that of b: 25.0 % (4 needs).")
    alike = [row(name, "x", saving=0.5, reach=0.9, needs=10) for name in "ab"]
    assert "lowest" not in answer_of(tmp_path / "2", [*alike, *truncation("a"), *truncation("b")])
