"""A side that did nothing lost nothing, so what the other side loses there is seen."""

import numpy as np
import pandas as pd
import pytest

from evals.bounded import lower_bound
from evals.stats import clustered
from reports import compare_notes
from reports.compare import compare
from reports.differences import difference_of
from reports.frames import load
from reports.gate import conditions, met, unmeasured
from reports.measures import measure_named
from reports.sides import Side
from tests.reports_cases import row, write_run

KEPT = {"saving": 0.5, "reach": 0.8}
IDLE = {"saving": 0.0, "reach": 1.0}


def compared(path, rows):
    run = load(write_run(path, rows))
    (comparison,) = compare(Side(run, "old"), Side(run, "new"))
    return comparison


def found_in(comparison, name):
    return next(each for each in comparison.differences if each.measure.name == name)


def test_a_loss_where_only_the_candidate_engages_closes_the_gate(tmp_path):
    rows = [row(f"t{at}", label, **KEPT) for at in range(7) for label in ("old", "new")]
    rows += [row(f"u{at}", "old", **IDLE) for at in range(5)]
    rows += [row(f"u{at}", "new", saving=0.5, reach=0.4) for at in range(5)]

    comparison = compared(tmp_path / "run", rows)

    reach = found_in(comparison, "reach")
    # 7 * 0.8 + 5 * 1 and then 7 * 0.8 + 5 * 0.4, of 12.
    assert (reach.n, reach.baseline, reach.candidate) == pytest.approx((12, 10.6 / 12, 7.6 / 12))
    assert (reach.wins, reach.ties, reach.losses) == (0, 7, 5)
    assert [*met(conditions(["reach<-0.02"]), [comparison])] != []
    assert comparison.idle_baseline == tuple(f"u{at}" for at in range(5))
    assert comparison.idle_candidate == ()
    assert (
        "Not engaged there, so counted with what it kept (all, if it did nothing): the baseline on "
        "u0, u1, u2, u3 and u4 (5 transcripts)."
    ) in [*compare_notes.notes(comparison)]


@pytest.mark.parametrize(
    ("name", "nothing_left", "something_left"),
    [
        ("facts_kept_fraction", {"facts": 4}, {"facts": 4, "facts_removed": 2}),
        ("constraints_kept_fraction", {}, {"constraints": 2}),
        (
            "probe_right_fraction",
            {"probes": 3, "probes_counted": 0, "probes_not_read": 1}
            | {"probes_unrecorded": 0, "probes_ungraded": 0},
            {"probes": 3, "probes_counted": 2, "probes_not_read": 1}
            | {"probes_unrecorded": 0, "probes_ungraded": 0},
        ),
    ],
)
@pytest.mark.parametrize("saving", [0.0, 0.2])
def test_a_share_of_what_left_the_view_is_whole_where_nothing_did(
    tmp_path, name, nothing_left, something_left, saving
):
    """Whether the side did nothing at all or nothing that the measure is about."""
    still = row("a", "old", saving=saving, reach=1.0, **nothing_left)
    moved = row("a", "new", saving=0.5, reach=1.0, **something_left, **{name: 0.5})

    found = found_in(compared(tmp_path / "run", [still, moved]), name)

    assert (found.n, found.baseline, found.candidate, found.losses) == (1, 1.0, 0.5, 1)


@pytest.mark.parametrize(
    ("name", "unknown", "reason"),
    [
        ("facts_kept_fraction", {"facts": 0}, "no annotated facts"),
        (
            "probe_right_fraction",
            {"probes": 3, "probes_counted": 0, "probes_not_read": 0}
            | {"probes_unrecorded": 3, "probes_ungraded": 0},
            "no answer of a model was counted",
        ),
        ("probe_right_fraction", {}, "no answer of a model was counted"),
        ("quote_kept_fraction", {}, "nothing was quoted"),
    ],
)
def test_what_was_not_measured_is_not_whole(tmp_path, name, unknown, reason):
    rows = [row("a", "old", **IDLE, **unknown), row("a", "new", **KEPT, **{name: 0.5})]

    comparison = compared(tmp_path / "run", rows)

    assert name not in [each.measure.name for each in comparison.differences]
    (title,) = (each.reason for each in comparison.unmatched if reason in each.reason)
    assert title.endswith(f"{reason} in the baseline")


def test_what_neither_side_touched_is_kept_in_full_and_a_loss_without_a_saving_is_seen(tmp_path):
    rows = [row("still", label, **IDLE) for label in ("old", "new")]
    rows += [row("longer", "old", **IDLE), row("longer", "new", saving=-0.3, reach=0.2)]

    comparison = compared(tmp_path / "run", rows)

    reach = found_in(comparison, "reach")
    # 100 and 100, and 100 and 20.
    assert (reach.n, reach.baseline, reach.candidate) == (2, 1.0, pytest.approx(0.6))
    assert comparison.unmatched == ()
    assert not comparison.is_idle
    assert [*met(conditions(["reach<-0.02"]), [comparison])] != []


def test_a_setting_counts_the_same_whatever_it_is_compared_with(tmp_path):
    """So that differences add up: none to small, small to large, none to large."""
    rows = [row(f"t{at}", "none", **IDLE, facts=4) for at in range(4)]
    rows += [row(f"t{at}", "small", **IDLE, facts=4) for at in range(2)]
    some = {"facts": 4, "facts_removed": 2, "saving": 0.5}
    rows += [row(f"t{at}", "small", reach=0.6, facts_kept_fraction=0.5, **some) for at in (2, 3)]
    rows += [row("t0", "large", **IDLE, facts=4)]
    rows += [row(f"t{at}", "large", reach=0.2, facts_kept_fraction=0, **some) for at in (1, 2, 3)]
    run = load(write_run(tmp_path / "run", rows))

    def found(one, other, name):
        (comparison,) = compare(Side(run, one), Side(run, other))
        each = found_in(comparison, name)
        return each.n, each.baseline, each.candidate

    for name, small, large in (
        ("reach", (2 + 2 * 0.6) / 4, (1 + 3 * 0.2) / 4),
        ("facts_kept_fraction", (2 + 2 * 0.5) / 4, 1 / 4),
    ):
        assert found("none", "small", name) == pytest.approx((4, 1.0, small))
        assert found("small", "large", name) == pytest.approx((4, small, large))
        assert found("none", "large", name) == pytest.approx((4, 1.0, large))


@pytest.mark.parametrize("columns", [{"reach": 1.0}, {}])
def test_a_gate_passes_where_nothing_was_compacted_and_says_so(tmp_path, columns):
    """With needs or without any: what did nothing lost nothing."""
    rows = [row(f"t{at}", x, saving=0.0, **columns) for at in range(4) for x in ("old", "new")]

    comparison = compared(tmp_path / "run", rows)

    wanted = conditions(["reach<-0.02", "reach=inferior", "facts_kept_fraction<-2%"])
    assert [*unmeasured(wanted, [comparison]), *met(wanted, [comparison])] == []
    said = [*compare_notes.notes(comparison)]
    assert compare_notes.IDLE in said
    assert not any("Not engaged there" in line for line in said)
    # What holds of no difference, or asks for a bound, is not waved through.
    asked = conditions(["facts_kept_fraction<0.02", "quote_kept_fraction.low<-0.05"])
    assert len([*unmeasured(asked, [comparison])]) == 2


def test_where_one_transcript_was_compacted_a_measure_that_none_has_closes_the_gate(tmp_path):
    rows = [row("a", x, saving=0.0) for x in ("old", "new")]
    rows += [row("b", "old", saving=0.0), row("b", "new", saving=0.5)]

    comparison = compared(tmp_path / "run", rows)

    assert [*unmeasured(conditions(["reach<-0.02"]), [comparison])] == [
        "reach<-0.02 (no transcript has it on both sides)"
    ]


def test_where_both_did_nothing_both_are_named_once(tmp_path):
    rows = [row("still", label, **IDLE) for label in ("old", "new")]
    rows += [row("moved", label, **KEPT) for label in ("old", "new")]

    said = [*compare_notes.notes(compared(tmp_path / "run", rows))]

    assert (
        "Not engaged there, so counted with what it kept (all, if it did nothing): both on still "
        "(1 transcript)."
    ) in said


def test_few_transcripts_that_are_the_same_are_not_inferior(tmp_path):
    same = [row(f"t{at}", label, **KEPT) for at in range(3) for label in ("old", "new")]
    wanted = conditions(["reach=inferior", "inferior", "reach.low<-0.05", "reach=non-inferior"])
    few = "(fewer than 10 sessions have it)"

    found = [compared(tmp_path / "same", same)]
    assert [*unmeasured(wanted, found)] == [
        f"reach.low<-0.05 {few}",
        f"reach=non-inferior {few}",
    ]
    assert [*met(wanted, found)] == []

    moved = [*same, row("u", "old", **KEPT), row("u", "new", saving=0.5, reach=0.7)]
    found = [compared(tmp_path / "moved", moved)]
    assert len([*unmeasured(wanted, found)]) == 4


def test_against_no_compaction_the_verdict_is_the_bound_of_the_candidate_alone(tmp_path):
    reaches = [1.0, 0.9, 0.2, 0.7, 1.0, 1.0, 0.5, 0.95, 0.8, 1.0, 0.6, 0.9]
    control = {"strategy": "identity", **IDLE}
    rows = [row(f"t{at:02}", "old", **control) for at in range(len(reaches))]
    rows += [row(f"t{at:02}", "new", saving=0.5, reach=x) for at, x in enumerate(reaches)]

    found = found_in(compared(tmp_path / "run", rows), "reach")

    # Nothing can be gained over all, and at worst all of it is lost: the floor of reach itself.
    alone = clustered(reaches, range(len(reaches)))
    assert found.verdict_low == pytest.approx(lower_bound(alone, floor=0.0) - 1, abs=1e-6)
    assert found.difference <= found.verdict_high <= 0


def test_only_what_never_compacts_is_known_to_have_nothing_to_gain_on(tmp_path):
    """One session in 20 may gain 0.9: then a loss of 0.1 in all others is one of 5 points."""
    for strategy, high, verdict in (
        ("identity", -0.1 + 0.1 * (1 - 0.05 ** (1 / 12)), "inferior"),
        ("old", -0.1 + 1.1 * (1 - 0.05 ** (1 / 12)), "inconclusive"),
    ):
        columns = {"strategy": strategy, **IDLE}
        rows = [row(f"t{at:02}", "old", **columns) for at in range(12)]
        rows += [row(f"t{at:02}", "new", saving=0.5, reach=0.9) for at in range(12)]

        found = found_in(compared(tmp_path / strategy, rows), "reach")

        assert found.verdict_high == pytest.approx(high, abs=1e-6)
        assert found.verdict == verdict


def test_a_baseline_that_never_engages_is_not_listed_transcript_by_transcript(tmp_path):
    rows = [row(f"t{at}", "old", **IDLE) for at in range(3)]
    rows += [row(f"t{at}", "new", **KEPT) for at in range(3)]

    said = [*compare_notes.notes(compared(tmp_path / "run", rows))]

    assert (
        "Not engaged there, so counted with what it kept (all, if it did nothing): the baseline on "
        "all 3 transcripts."
    ) in said


@pytest.mark.parametrize(("n", "verdict"), [(58, "inconclusive"), (59, "non-inferior")])
def test_an_idle_baseline_makes_no_claim_easier(tmp_path, n, verdict):
    rows = [row(f"t{at}", "old", **IDLE) for at in range(n)]
    rows += [row(f"t{at}", "new", saving=0.5, reach=1.0) for at in range(n)]

    assert found_in(compared(tmp_path / "run", rows), "reach").verdict == verdict


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 24, 40])
def test_gains_that_are_rare_and_large_are_not_called_a_loss(n):
    """A true loss of 5 points, the margin: called more at most one time in 20."""
    generator, n_wrong, tries = np.random.default_rng(1), 0, 200
    for _ in range(tries):
        is_gain = generator.random(n) < 0.05
        both = pd.DataFrame({"baseline": np.where(is_gain, 0.1, 1.0), "weight": 1.0})
        both["candidate"] = np.where(is_gain, 1.0, 0.9)
        both["cluster"] = [str(at) for at in range(n)]
        n_wrong += difference_of(measure_named("reach"), both).verdict == "inferior"

    assert n_wrong <= tries / 20
