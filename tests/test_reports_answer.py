"""What the answer names, and when it names nothing."""

from reports.answer import answers, best_setting
from reports.frames import load
from tests.reports_cases import failed, row, small_rows, write_run

LINE = [(0.0, 1.0), (1.0, 0.0)]


def answer_of(path, rows) -> str:
    return answers(load(write_run(path / "run", rows)))[0]


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
    assert "n = 2 transcripts" in text


def test_few_sessions_are_said_to_be_too_few(tmp_path):
    text = answer_of(tmp_path, many(9, 0.8))

    assert "That is 9 sessions: too few for a claim about other conversations." in text
    assert "interval" not in text


def test_ten_sessions_have_intervals_and_no_warning(tmp_path):
    text = answer_of(tmp_path, many(10, 0.8))

    assert "(95 % interval" in text
    assert "too few" not in text


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
    assert "truncation was not measured" in answer_of(
        tmp_path / "1", [row("a", "x", saving=0.5, reach=0.5)]
    )
    assert "no needs over long gaps" in answer_of(
        tmp_path / "2", [row("a", "x", saving=0.5), *truncation("a")]
    )


def test_controls_alone_and_no_rows_at_all_say_so(tmp_path):
    assert "only controls" in answer_of(tmp_path / "1", truncation("a"))
    assert answer_of(tmp_path / "2", []) == "Nothing was measured: the run has no rows."


def test_transcripts_on_which_the_setting_did_nothing_are_named(tmp_path):
    rows = [
        row("a", "half", saving=0.5, reach=0.9),
        row("b", "half", saving=0.0, reach=1.0),
        *truncation("a"),
    ]

    assert "n = 1 transcript of 2, on the others it did not engage." in answer_of(tmp_path, rows)
