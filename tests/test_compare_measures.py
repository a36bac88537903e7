"""What two settings are compared in: the definitions of a run's table, and every one left out."""

import io
import json
import textwrap

import pytest
from rich.console import Console

from evals.bounded import sessions_to_exceed
from evals.commands.compare import compare as compare_command
from evals.metrics import METRICS
from evals.stats import MIN_CLUSTERS_BCA
from reports import compare_notes, compare_text
from reports.compare import compare, compare_pairs, kinds_left_out, pairs_of
from reports.frames import load
from reports.measures import MEASURES, with_margins
from reports.sides import Side
from tests.reports_cases import failed, row, write_run


def compared(path, rows):
    run = load(write_run(path, rows))
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))
    return run, comparison


def found_in(comparison, name):
    return next(each for each in comparison.differences if each.measure.name == name)


def priced(name, label, before, after, **columns):
    return row(name, label, saving=0.5, cost_before_usd=before, cost_after_usd=after, **columns)


def test_dollars_and_tokens_are_those_of_all_transcripts_together_as_in_the_table(tmp_path):
    big = {"input_tokens_before": 3_000.0}
    rows = [
        row("a", "old", saving=0.5, cost_before_usd=1.0, cost_after_usd=0.5),
        row("b", "old", saving=0.1, cost_before_usd=9.0, cost_after_usd=9.0, **big),
        row("a", "new", saving=0.2, cost_before_usd=1.0, cost_after_usd=1.0),
        row("b", "new", saving=0.3, cost_before_usd=9.0, cost_after_usd=6.0, **big),
    ]

    run, comparison = compared(tmp_path / "run", rows)

    # Saved 500 + 300 and then 200 + 900 of 4,000 tokens; 0.50 + 0 and then 0 + 3 of 10 dollars.
    tokens = found_in(comparison, "saving_fraction")
    assert (tokens.baseline, tokens.candidate) == pytest.approx((0.2, 0.275))
    assert tokens.difference == pytest.approx(0.075)
    dollars = found_in(comparison, "saved_usd_fraction")
    assert (dollars.baseline, dollars.candidate) == pytest.approx((0.05, 0.3))
    assert dollars.difference == pytest.approx(0.25)
    assert (dollars.wins, dollars.losses) == (1, 1)
    table = run.settings().set_index("label")
    for label, found in (("old", "baseline"), ("new", "candidate")):
        assert getattr(tokens, found) == pytest.approx(table.loc[label, "saving_ratio"])
        assert getattr(dollars, found) == pytest.approx(table.loc[label, "usd_saving"])


def test_the_interval_of_dollars_is_of_the_ratio_and_not_of_the_mean(tmp_path):
    sizes = [1.0] * 19 + [100.0]
    rows = [priced(f"t{at}", "old", size, size) for at, size in enumerate(sizes)]
    rows += [
        priced(f"t{at}", "new", size, size * (0.5 if size == 1 else 0.9))
        for at, size in enumerate(sizes)
    ]

    _, comparison = compared(tmp_path / "run", rows)

    dollars = found_in(comparison, "saved_usd_fraction")
    assert dollars.difference == pytest.approx((19 * 0.5 + 10) / 119)
    assert 0.1 - 1e-9 <= dollars.low < dollars.difference < dollars.high <= 0.5 + 1e-9


def test_what_was_priced_in_two_ways_is_not_compared(tmp_path):
    old = [priced("a", "x", 1.0, 0.5), priced("b", "x", 1.0, 0.5)]
    new = [priced("a", "x", 2.0, 0.5), priced("b", "x", 1.0, 0.25)]
    runs = [load(write_run(tmp_path / name, rows)) for name, rows in (("1", old), ("2", new))]

    (comparison,) = compare_pairs(pairs_of(*runs))

    assert found_in(comparison, "saved_usd_fraction").n == 1
    assert found_in(comparison, "saving_fraction").n == 2
    assert [(each.transcript, each.reason) for each in comparison.unmatched] == [
        ("a", "no Saved dollars: it was priced differently in the two runs")
    ]


def test_what_costs_nothing_has_no_share_saved(tmp_path):
    rows = [
        priced(name, label, cost, 0.0)
        for name, cost in (("a", 0.0), ("b", 1.0))
        for label in ("old", "new")
    ]

    _, comparison = compared(tmp_path / "run", rows)

    assert found_in(comparison, "saved_usd_fraction").n == 1
    assert ("a", "no Saved dollars: no price") in [
        (each.transcript, each.reason) for each in comparison.unmatched
    ]


def test_a_measure_of_the_same_name_as_a_metric_is_pooled_as_that_is():
    titles = {metric.title: metric for metric in METRICS}
    for measure in MEASURES:
        metric = titles.get(measure.title)
        if metric is None:  # a mean of what the table adds up
            assert measure.title.startswith("Mean ")
            continue
        is_pooled = "together" in metric.definition and "the mean over" not in metric.definition
        assert is_pooled == (measure.saved_of is not None), measure.title


def test_every_transcript_that_a_line_leaves_out_is_named_with_the_reason(tmp_path):
    both = {"saving": 0.5, "reach": 0.9}
    rows = [row("whole", label, facts_kept_fraction=0.5, **both) for label in ("old", "new")]
    rows += [row("needless", label, saving=0.5) for label in ("old", "new")]
    rows += [row("half", "old", saving=0.5, reach=0.9), row("half", "new", saving=0.5)]
    rows += [row("idle", "old", **both), row("idle", "new", saving=0.0, reach=1.0)]
    rows += [row("still", x, saving=0.0, reach=1.0) for x in ("old", "new")]
    rows += [row("broke", "old", **both), failed("broke", "new", "no")]
    rows += [failed("worse", "old", "no"), row("worse", "new", **both)]
    rows += [row("alone", "old", **both)]

    _, comparison = compared(tmp_path / "run", rows)

    facts = "no Facts kept: no annotated facts"
    assert [(each.transcript, each.reason) for each in comparison.unmatched] == [
        ("alone", "only in the baseline"),
        ("broke", "failed in the candidate"),
        ("worse", "failed in the baseline"),
        ("half", "no Reach: no needs over long gaps in the candidate"),
        ("needless", "no Reach: no needs over long gaps"),
        ("half", facts),
        ("idle", facts),
        ("needless", facts),
        ("still", facts),
    ]
    n_of = {each.measure.name: each.n for each in comparison.differences}
    assert (n_of["reach"], n_of["facts_kept_fraction"], n_of["saving_fraction"]) == (3, 1, 5)
    assert (
        "Not compared, no Reach: no needs over long gaps: needless (1 transcript)."
        in compare_notes.notes(comparison)
    )


def test_long_lists_end_with_a_count_and_json_has_all(tmp_path):
    rows = [row("whole", label, saving=0.5, reach=0.9) for label in ("old", "new")]
    rows += [row(f"t{at:02}", label, saving=0.5) for at in range(20) for label in ("old", "new")]

    _, comparison = compared(tmp_path / "run", rows)

    (line,) = (line for line in compare_notes.notes(comparison) if "no Reach" in line)
    assert line.endswith("t11 and 8 more (20 transcripts).")
    content = json.loads(json.dumps(compare_text.as_json([comparison])))
    assert len(content["comparisons"][0]["unmatched"]) == 20


def test_kinds_of_transcripts_that_one_of_two_settings_lacks_are_named(tmp_path):
    old = load(write_run(tmp_path / "1", [row("a", "x", saving=0.5)]))
    new = load(
        write_run(
            tmp_path / "2",
            [row("a", "y", saving=0.5), row("m", "y", saving=0.5, provenance="authored")],
        )
    )

    assert list(kinds_left_out(old, new)) == [
        "Transcripts only in the candidate, not compared: all authored ones."
    ]


def test_a_small_difference_that_can_be_detected_is_not_written_as_0(tmp_path):
    rows = [row(f"t{at}", "old", saving=0.5, reach=0.9, model_calls=0) for at in range(12)]
    rows += [
        row(f"t{at}", "new", saving=0.5 + 1e-5 * (at % 2), reach=0.9, model_calls=at % 2)
        for at in range(12)
    ]

    _, comparison = compared(tmp_path / "run", rows)

    # (1.6449 + 0.8416) * 0.5222 / sqrt(12) = 0.3749 calls; of savings a hundred-thousandth of that.
    (line,) = (line for line in compare_notes.notes(comparison) if line.startswith("Smallest"))
    assert "5 %): Saved input 0.00037 points, Mean peak " in line
    assert line.endswith(", Mean model calls 0.3749.")


def test_violations_have_no_verdict_and_any_new_one_fails(tmp_path):
    rows = [row(f"t{at}", "old", saving=0.5) for at in range(20)]
    rows += [row(f"t{at}", "new", saving=0.5, violations=int(at == 3)) for at in range(20)]

    _, comparison = compared(tmp_path / "run", rows)

    assert found_in(comparison, "violations").verdict is None
    assert comparison.is_regression


def test_a_comparison_of_equal_rows_claims_nothing_of_shares_below_59_sessions(tmp_path):
    for n, verdict in ((58, "inconclusive"), (59, "non-inferior")):
        rows = [row(f"t{at}", x, saving=0.5, reach=0.9) for at in range(n) for x in ("old", "new")]

        _, comparison = compared(tmp_path / str(n), rows)

        found = found_in(comparison, "reach")
        assert (found.verdict, found.low, found.high) == (verdict, 0.0, 0.0)
        assert found.needed == (59 if verdict == "inconclusive" else None)
        assert found.verdict_low == pytest.approx(0.05 ** (1 / n) - 1, abs=1e-6)


def test_no_cell_of_a_table_is_cut(tmp_path):
    rows = [
        row(
            f"t{at}",
            label,
            saving=0.5,
            reach=0.9 if label == "old" else at % 2,
            constraints_kept_fraction=0.5,
            cost_before_usd=1.0,
            cost_after_usd=0.1 if label == "old" else 0.2 + 5 * (at % 2),
            peak_tokens_before=123_456.0,
            model_calls=at * (label == "old"),
        )
        for at in range(24)
        for label in ("old", "new")
    ]
    _, comparison = compared(tmp_path / "run", rows)

    for width in (compare_text.TABLE_CHARS, 60):
        console = Console(width=width, file=io.StringIO())
        console.print(compare_text.terminal([comparison], width=width))
        said = console.file.getvalue()
        assert "…" not in said
        for each in compare_notes.shown_of(comparison):
            is_line = width == 60 and not each.has_moved  # which says "identical on all 24"
            shown = compare_text.cells(each)
            for cell in (shown[0], shown[1], shown[-1]) if is_line else shown:
                missing = [word for word in cell.split() if word not in said and word != "–"]
                assert missing == [], width


def printed(found, width):
    console = Console(width=width, file=io.StringIO())
    console.print(compare_text.terminal(found, width=width))
    return console.file.getvalue()


def test_what_is_the_same_on_every_transcript_has_no_line_but_what_decides(tmp_path):
    rows = [
        row(f"t{at}", label, saving=0.5, reach=0.9, facts_kept_fraction=0.5, model_calls=calls)
        for at in range(12)
        for label, calls in (("old", 1), ("new", 2))
    ]
    _, comparison = compared(tmp_path / "run", rows)

    assert [each.measure.title for each in compare_notes.shown_of(comparison)] == [
        "Reach",
        "Saved input",
        "Mean model calls",
    ]
    assert (
        "The same on every transcript: Facts kept 50.0 % (n 12), Mean violations 0 (n 12), Mean "
        "peak 50 (n 12)."
    ) in [*compare_notes.notes(comparison)]


def test_runs_that_are_alike_take_few_lines_and_say_what_they_share_once(tmp_path):
    labels = [f"x(k={k})" for k in range(20)]
    rows = [
        row(name, label, saving=0.5, reach=0.9, facts_kept_fraction=0.5)
        for label in labels
        for name in ("a", "b")
    ] + [row("bare", label, saving=0.5) for label in labels[:19]]
    runs = [load(write_run(tmp_path / name, rows)) for name in ("old", "new")]

    found = compare_pairs(pairs_of(*runs))

    for width in (80, compare_text.TABLE_CHARS):
        said = " ".join(printed(found, width).split())
        assert said.count("Below 10 sessions there is no interval") == 1
        assert said.count("Margins: 5 points of Reach, Facts kept and Saved input.") == 1
        assert said.count("Not compared, no Reach: no needs over long gaps: bare") == 1
        assert said.count("So under x(k=0), x(k=1), x(k=2), ") == 2  # no Reach, no Facts kept
        assert said.count("Every measure is the same on every transcript.") == 20
        # Per setting a title, a head at most, reach and saved input, that, and an empty line.
        assert len(printed(found, width).splitlines()) < 20 * 7 + 45


def test_margins_are_said_once_with_what_they_are_of(tmp_path):
    rows = [
        row(name, label, saving=0.5, reach=0.9, quote_kept_fraction=0.5, model_calls=1)
        for name in ("a", "b")
        for label in ("old", "new")
    ]
    run = load(write_run(tmp_path / "run", rows))
    measures = with_margins({"saving_fraction": 0.125, "model_calls": 3})

    found = compare(Side(run, "old"), Side(run, "new"), measures)

    assert compare_notes.explanation(found).startswith(
        "Margins: 5 points of Reach; 2 points of Quotes kept; 12.5 points of Saved input; 3 of "
        "Mean model calls. Difference: "
    )
    given = with_margins({"quote_kept_fraction": 0.05})
    assert compare_notes.explanation(compare(Side(run, "old"), Side(run, "new"), given)).startswith(
        "Margins: 5 points of Reach, Quotes kept and Saved input. Difference: "
    )


def test_the_footnote_is_short_and_the_help_says_the_rest_with_its_numbers(tmp_path):
    both = {"facts_kept_fraction": 0.5, "quote_kept_fraction": 0.5, "cost_before_usd": 1.0}
    both |= {"constraints_kept_fraction": 0.5, "probe_right_fraction": 0.5, "cost_after_usd": 0.5}
    rows = [row("a", label, saving=0.5, reach=0.9, **both) for label in ("old", "new")]

    _, comparison = compared(tmp_path / "run", rows)

    lines = textwrap.wrap(compare_notes.explanation([comparison]), 80)
    assert len(lines) <= 6
    assert printed([comparison], 80).rstrip().splitlines()[-len(lines) :][0].startswith("Margins: ")
    said = " ".join(compare_command.__doc__.split())
    few, fewer = (sessions_to_exceed(1 - margin) for margin in (0.05, 0.02))
    assert f"takes {few} sessions to show a margin of 5 points and {fewer} to show one of 2" in said
    assert f"below {MIN_CLUSTERS_BCA} of them" in said


def test_the_smallest_loss_of_a_share_is_by_the_test_of_its_verdict(tmp_path):
    def found(reach_of):
        rows = [row(f"t{at:03}", "old", saving=0.5, reach=0.5) for at in range(159)]
        rows += [row(f"t{at:03}", "new", saving=0.5, reach=reach_of(at)) for at in range(159)]
        return found_in(compared(tmp_path / str(reach_of(0)), rows)[1], "reach")

    spread = 0.2 * (12 / 11) ** 0.5 * (158 / 159) ** 0.5
    # So much to either side, but for one session: 159 of them show 5 points, as many as it takes.
    moved = found(lambda at: 0.5 if at == 158 else 0.5 + spread * (-1) ** at)
    assert moved.detectable == pytest.approx(0.05, abs=0.0005)
    same = found(lambda _: 0.5)
    assert same.detectable == pytest.approx(1 - 0.05 ** (1 / 159))
    assert moved.detectable > same.detectable
