"""Aggregation of a run folder, against numbers worked out by hand."""

import pandas as pd
import pytest

from evals.results import ResultsError, Row
from reports.frames import Run, estimate_of, load
from reports.intervals import Estimate, estimate
from tests.reports_cases import failed, row, small_rows, write_run


def line_of(run: Run, label: str, provenance: str = "recorded") -> dict:
    settings = run.settings()
    found = settings[(settings["label"] == label) & (settings["provenance"] == provenance)]
    assert len(found) == 1
    return found.to_dict("records")[0]


@pytest.fixture
def small(tmp_path) -> Run:
    return load(write_run(tmp_path / "run", small_rows()))


def test_the_saving_is_a_ratio_of_sums_beside_a_mean_of_ratios(small):
    line = line_of(small, "xun(k=2)")

    assert line["saving_ratio"] == pytest.approx(1 - (500 + 2_700) / 4_000)
    assert line["saving_fraction_mean"] == pytest.approx((0.5 + 0.1) / 2)


def test_what_was_not_measured_after_does_not_count_as_saved(tmp_path):
    lacking = {"saving_fraction": None, "input_tokens_after": None, "engaged": False}
    rows = [row("a", "x", saving=0.5), row("b", "x", saving=0.5, **lacking)]

    line = line_of(load(write_run(tmp_path / "lacking", rows)), "x")

    assert line["saving_ratio"] == pytest.approx(0.5)


def test_reach_is_a_mean_over_transcripts_with_their_range(small):
    found = estimate_of(line_of(small, "xun(k=2)"), "reach")

    assert found.mean == pytest.approx(0.8)
    assert (found.n, found.least, found.most) == (2, 0.7, 0.9)


def test_peak_is_shown_as_largest_and_as_mean(small):
    line = line_of(small, "xun(k=2)")

    assert line["peak_max_tokens"] == pytest.approx(90)
    assert line["peak_mean_tokens"] == pytest.approx(70)


def test_truncation_is_read_at_the_saving_of_each_transcript(small):
    line = line_of(small, "xun(k=2)")

    # 0.7 at 50 % on a, halfway between 0.8 and 0.6; 0.8 at 10 % on b.
    assert line["matched_reach"] == pytest.approx((0.7 + 0.8) / 2)
    assert line["reach_difference_mean"] == pytest.approx((0.9 - 0.7 + 0.7 - 0.8) / 2)


def test_truncation_is_averaged_over_the_transcripts_that_have_a_reach(tmp_path):
    rows = [item for item in small_rows() if item.cell_id != "b-xun(k=2)"]
    rows.append(row("b", "xun(k=2)", saving=0.1, reach=None, input_tokens_before=3_000.0))

    run = load(write_run(tmp_path / "run", rows))

    assert line_of(run, "xun(k=2)")["matched_reach"] == pytest.approx(0.7)


def test_reach_truncation_and_difference_subtract(tmp_path):
    """On b, truncation was measured up to a saving of 20 %."""
    rows = [item for item in small_rows() if item.label != "xun(k=2)"]
    rows += [
        row("a", "xun(k=2)", saving=0.6, reach=0.9, needs=20),
        row("b", "xun(k=2)", saving=0.3, reach=0.7, needs=10, input_tokens_before=3_000.0),
    ]

    line = line_of(load(write_run(tmp_path / "run", rows)), "xun(k=2)")

    assert line["is_compared"]
    assert line["reach_difference_n"] == 1
    assert line["compared_saving_ratio"] == pytest.approx(0.6)
    assert line["compared_reach_mean"] == pytest.approx(0.9)
    assert line["matched_reach"] == pytest.approx(0.6)
    assert line["reach_difference_mean"] == pytest.approx(0.3)
    assert line["reach_mean"] == pytest.approx(0.8)
    assert line["saving_ratio"] == pytest.approx(1 - (400 + 2_100) / 4_000)


def test_what_truncation_was_not_measured_for_is_shown_over_all_with_needs(small):
    line = line_of(small, "drop_all")

    assert not line["is_compared"]
    assert (line["reach_n"], line["reach_mean"]) == (2, 0.0)
    assert line["saving_ratio"] == pytest.approx(0.9)
    assert line["compared_saving_ratio"] is None or pd.isna(line["compared_saving_ratio"])


def test_fidelity_counts_only_where_something_was_saved(small):
    line = line_of(small, "idle")

    assert (line["engaged"], line["scored"], line["total"]) == (1, 2, 2)
    assert estimate_of(line, "reach") == Estimate(0.8, 1, 1, 0.8, 0.8)
    assert (line["lost"], line["needs"]) == (4, 20)


def test_a_setting_that_never_saved_has_no_reach(small):
    line = line_of(small, "identity")

    assert line["engaged"] == 0
    assert estimate_of(line, "reach") == Estimate()


def test_a_failed_cell_stays_in_the_count_of_all(small):
    line = line_of(small, "mine.py:shrink")

    assert (line["scored"], line["total"], line["errors"]) == (1, 2, 1)
    assert line["saving_ratio"] == pytest.approx(0.6)


def test_authored_transcripts_are_never_pooled_with_recorded_ones(small):
    assert small.provenances == ("recorded", "authored")
    assert line_of(small, "xun(k=2)", "authored")["reach_mean"] == pytest.approx(0.2)
    assert line_of(small, "xun(k=2)", "recorded")["reach_mean"] == pytest.approx(0.8)


def test_replicates_of_a_transcript_count_once(tmp_path):
    rows = [
        row("a", "x", saving=0.5, reach=1.0, cell_id="1"),
        row("a", "x", saving=0.5, reach=0.0, cell_id="2", replicate=1),
        row("b", "x", saving=0.5, reach=1.0, cell_id="3"),
    ]

    run = load(write_run(tmp_path / "run", rows))

    found = estimate_of(line_of(run, "x"), "reach")
    assert (found.mean, found.n) == (0.75, 2)


def test_rows_of_other_commands_and_layouts_are_left_out_and_counted(tmp_path):
    rows = [
        row("a", "x", saving=0.5, cell_id="kept"),
        row("a", "y", saving=0.5, cell_id="of another command"),
        row("a", "z", saving=0.5, cell_id="of another layout", row_version=0),
    ]

    run = load(write_run(tmp_path / "run", rows, cells=["kept", "of another layout"]))

    assert run.rows["label"].tolist() == ["x"]
    assert run.n_stale == 2


def test_numbers_have_types_that_can_be_calculated_with(small):
    for item in ("reach", "requests", "calibration_error_fraction", "facts_kept_fraction"):
        assert small.rows[item].dtype == float, item
    assert small.rows["engaged"].dtype == bool


def test_a_run_in_which_everything_failed_can_be_loaded(tmp_path):
    run = load(write_run(tmp_path / "run", [failed("a", "x", "request 1: no")]))

    line = line_of(run, "x")
    assert (line["scored"], line["total"], line["engaged"]) == (0, 1, 0)
    assert estimate_of(line, "reach") == Estimate()


def test_a_run_without_rows_can_be_loaded(tmp_path):
    run = load(write_run(tmp_path / "run", []))

    assert run.settings().empty
    assert run.provenances == ()


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ResultsError, match=r"not a run folder: it has no run\.json"):
        load(tmp_path)


def test_ten_sessions_have_an_interval():
    values = pd.Series([0.0, 1.0] * 5)

    found = estimate(values, pd.Series(range(10)))

    # Student's t: 0.5 +- 2.262 * 0.527 / sqrt(10).
    assert (found.low, found.high) == pytest.approx((0.123, 0.877), abs=5e-4)
    assert found.allows_claims


def test_nine_sessions_have_no_interval_however_many_transcripts():
    values = pd.Series([0.0, 1.0] * 9)

    found = estimate(values, pd.Series([at // 2 for at in range(18)]))

    assert (found.n, found.n_clusters, found.low) == (18, 9, None)
    assert not found.allows_claims


def test_transcripts_of_a_session_are_drawn_together():
    values = pd.Series([0.0, 1.0] * 10)
    clusters = pd.Series([at // 2 for at in range(20)])

    found = estimate(values, clusters)

    # Each session has mean 0.5, so no draw of sessions has another mean.
    assert (found.low, found.high) == (0.5, 0.5)


def test_missing_values_are_left_out_of_an_estimate():
    found = estimate(pd.Series([None, 0.25, 0.75], dtype=float), pd.Series(["a", "b", "c"]))

    assert (found.mean, found.n, found.n_clusters) == (0.5, 2, 2)


def test_every_column_of_a_row_is_a_column_of_the_frame(small):
    assert set(Row.__slots__) <= set(small.rows.columns)
