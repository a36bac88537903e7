"""Two settings, or two runs of the same settings, on the transcripts that both were scored on.

The first is the baseline, the second the candidate; a difference is candidate minus baseline, and
"better" follows the metric's direction. Recorded, authored and generated transcripts are never
pooled. Statistics are those of `evals.stats`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from evals.power import minimum_detectable_effect, sessions_needed, spread_of
from evals.results import ResultsError
from evals.stats import (
    MIN_CLUSTERS,
    TIE,
    VERDICT_LEVEL,
    Clustered,
    Verdict,
    bootstrap_interval,
    clustered,
    holm,
    mcnemar_p,
    sign_flip_p,
    verdict_of,
)
from reports.frames import Run
from reports.measures import MEASURES, Measure
from reports.unmatched import Side, Unmatched, name_of, new_failures, tried, unmatched
from reports.wording import clean, listed

N_MOVED: Final = 10
"""Transcripts that moved most and are listed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure over the transcripts that have it on both sides."""

    measure: Measure
    n: int
    n_clusters: int
    baseline: float
    candidate: float
    difference: float
    """Mean of candidate minus baseline over transcripts."""
    low: float | None
    """Ends of the 95 % interval; None below `evals.stats.MIN_CLUSTERS` sessions."""
    high: float | None
    p: float
    """Of "no difference", by flipping signs; two-sided, not adjusted."""
    p_holm: float
    """Adjusted for all measures of all settings of the comparison."""
    wins: int
    """Transcripts on which the candidate is better."""
    ties: int
    losses: int
    verdict: Verdict | None
    verdict_low: float | None
    """Ends of the 90 % interval that decides, of candidate minus baseline like the other."""
    verdict_high: float | None
    detectable: float | None
    """Smallest difference that this many sessions would show in four of five cases."""
    needed: int | None
    """Sessions that would show a difference as large as the margin, where these do not decide."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Something that a transcript either has or has not on each side."""

    name: str
    n: int
    """Transcripts that were tried on both sides."""
    only_baseline: int
    only_candidate: int
    p: float
    """Exact McNemar test, two-sided; transcripts of one session are taken for independent."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A transcript and how far it moved."""

    transcript: str
    measure: Measure
    baseline: float
    candidate: float

    @property
    def difference(self) -> float:
        return self.candidate - self.baseline


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything about one pair of settings on the transcripts of one provenance."""

    provenance: str
    baseline: str
    candidate: str
    differences: tuple[Difference, ...]
    outcomes: tuple[Outcome, ...]
    moved: tuple[Moved, ...]
    """By the first measure that moved anywhere, largest first."""
    unmatched: tuple[Unmatched, ...]
    new_failures: tuple[str, ...]
    """Transcripts that the baseline scored and the candidate failed on."""
    new_violations: tuple[str, ...]
    """Transcripts on which the candidate broke a rule that the baseline kept."""

    @property
    def is_regression(self) -> bool:
        return bool(self.new_failures or self.new_violations)


def compare(
    baseline: Side, candidate: Side, measures: Sequence[Measure] = MEASURES
) -> tuple[Comparison, ...]:
    """Compare two settings, a comparison per provenance.

    Raises:
        ResultsError: a setting is not in its run, or no transcript is in both.
    """
    for side in (baseline, candidate):
        _check_label(side)
    found = tuple(
        _compare(baseline, candidate, provenance, measures)
        for provenance in baseline.run.provenances
        if provenance in candidate.run.provenances
    )
    if not any(each.differences or each.new_failures for each in found):
        raise ResultsError(
            f"{baseline.run.path} ({baseline.label}) and {candidate.run.path} ({candidate.label}) "
            "have no transcript in common that both scored; run both on the same files, and again "
            "if files have changed or are read in another way since"
        )
    return _adjusted(found)


def compare_runs(
    baseline: Run, candidate: Run, measures: Sequence[Measure] = MEASURES
) -> tuple[Comparison, ...]:
    """Compare every setting of a run with the setting of the same name in another.

    Raises:
        ResultsError: the runs have no setting in common.
    """
    ours, theirs = labels_of(baseline), labels_of(candidate)
    common = [label for label in ours if label in theirs]
    if not common:
        raise ResultsError(
            f"{baseline.path} and {candidate.path} have no setting in common; name one of each as "
            f"RUN::SETTING. There are {', '.join(ours) or 'only controls'} and "
            f"{', '.join(theirs) or 'only controls'}"
        )
    pairs = [compare(Side(baseline, label), Side(candidate, label), measures) for label in common]
    return _adjusted(tuple(each for pair in pairs for each in pair))


def left_out(baseline: Run, candidate: Run) -> Iterator[str]:
    """Yield what one of two runs has and the other has not: settings, kinds of transcripts."""
    for ours, theirs, side in (
        (baseline, candidate, "baseline"),
        (candidate, baseline, "candidate"),
    ):
        known = labels_of(theirs)
        if only := [label for label in labels_of(ours) if label not in known]:
            yield f"Settings only in the {side}, not compared: {listed(list(map(clean, only)))}."
        if only := [name for name in ours.provenances if name not in theirs.provenances]:
            yield f"Transcripts only in the {side}, not compared: all {listed(only)} ones."


def labels_of(run: Run) -> list[str]:
    """Return the settings of a run without its controls, in the order of its rows."""
    return list(dict.fromkeys(run.rows.loc[~run.rows["is_control"], "label"].astype(str)))


def _check_label(side: Side) -> None:
    known = list(dict.fromkeys(side.run.rows["label"].astype(str)))
    if side.label not in known:
        raise ResultsError(
            f"{side.run.path} has no setting {side.label!r}; it has {', '.join(known)}"
        )


def _compare(
    baseline: Side, candidate: Side, provenance: str, measures: Sequence[Measure]
) -> Comparison:
    ours = baseline.run.each(provenance, baseline.label)
    theirs = candidate.run.each(provenance, candidate.label)
    keys = ours.index.intersection(theirs.index)
    ours, theirs = ours.loc[keys], theirs.loc[keys]
    differences = tuple(
        found for measure in measures if (found := _difference(measure, ours, theirs)) is not None
    )
    worse = theirs["violations"] > ours["violations"]
    has_failed = [
        {key: not is_scored for key, is_scored in tried(side, provenance).items()}
        for side in (baseline, candidate)
    ]
    breaks = [dict(side["violations"] > 0) for side in (ours, theirs)]
    return Comparison(
        provenance,
        baseline.label,
        candidate.label,
        differences,
        (_outcome("broke a rule", *breaks), _outcome("failed", *has_failed)),
        _moved(differences, ours, theirs),
        tuple(unmatched(baseline, candidate, provenance)),
        tuple(new_failures(baseline, candidate, provenance)),
        tuple(map(name_of, keys[worse])),
    )


def _outcome(name: str, ours: Mapping[str, bool], theirs: Mapping[str, bool]) -> Outcome:
    keys = ours.keys() & theirs.keys()
    first = int(sum(ours[key] and not theirs[key] for key in keys))
    second = int(sum(theirs[key] and not ours[key] for key in keys))
    return Outcome(name, len(keys), first, second, mcnemar_p(first, second))


def _difference(measure: Measure, ours: pd.DataFrame, theirs: pd.DataFrame) -> Difference | None:
    both = _paired(measure, ours, theirs)
    if both.empty:
        return None
    change = both["candidate"] - both["baseline"]
    better = change if measure.better == "higher" else -change
    clusters = both["cluster"].astype(str).tolist()
    data = clustered(change.tolist(), clusters)
    interval, deciding = bootstrap_interval(data), bootstrap_interval(data, level=VERDICT_LEVEL)
    p = sign_flip_p(data)
    verdict = _verdict(measure, clustered(better.tolist(), clusters))
    return Difference(
        measure,
        len(both),
        data.n_clusters,
        float(both["baseline"].mean()),
        float(both["candidate"].mean()),
        float(change.mean()),
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        p,
        p,
        wins=int((better > TIE).sum()),
        ties=int((better.abs() <= TIE).sum()),
        losses=int((better < -TIE).sum()),
        verdict=verdict,
        verdict_low=None if deciding is None else deciding.low,
        verdict_high=None if deciding is None else deciding.high,
        detectable=minimum_detectable_effect(data) if data.n_clusters >= MIN_CLUSTERS else None,
        needed=(
            sessions_needed(spread_of(data), measure.margin)
            if verdict == "inconclusive" and measure.margin
            else None
        ),
    )


def _verdict(measure: Measure, better: Clustered) -> Verdict | None:
    return None if measure.margin is None else verdict_of(better, margin=measure.margin)


def _paired(measure: Measure, ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Return baseline, candidate and cluster of the transcripts that have both values."""
    if measure.name not in ours or measure.name not in theirs:
        return pd.DataFrame(columns=["baseline", "candidate", "cluster"])
    both = pd.DataFrame(
        {
            "baseline": ours[measure.name],
            "candidate": theirs[measure.name],
            "cluster": ours["cluster"],
        }
    )
    if measure.needs_engagement:
        both = both[ours["engaged"] & theirs["engaged"]]
    return both.dropna()


def _moved(
    differences: tuple[Difference, ...], ours: pd.DataFrame, theirs: pd.DataFrame
) -> tuple[Moved, ...]:
    for each in differences:
        if each.ties == each.n:
            continue
        both = _paired(each.measure, ours, theirs)
        change = (both["candidate"] - both["baseline"]).abs()
        largest = change[change > TIE].sort_values(ascending=False, kind="stable").index[:N_MOVED]
        return tuple(
            Moved(
                name_of(key),
                each.measure,
                float(both.loc[key, "baseline"]),
                float(both.loc[key, "candidate"]),
            )
            for key in largest
        )
    return ()


def _adjusted(found: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
    """Adjust every p that leads to a verdict for all of them."""
    family = {
        f"{i}/{k}": each.p
        for i, comparison in enumerate(found)
        for k, each in enumerate(comparison.differences)
        if each.measure.margin is not None
    }
    adjusted = holm(family)
    return tuple(
        replace(
            comparison,
            differences=tuple(
                replace(each, p_holm=adjusted.get(f"{i}/{k}", each.p))
                for k, each in enumerate(comparison.differences)
            ),
        )
        for i, comparison in enumerate(found)
    )
