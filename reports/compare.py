"""Two settings, or two runs of the same settings, on the transcripts that both were scored on.

The first is the baseline, the second the candidate; a difference is candidate minus baseline, and
"better" follows the metric's direction. Recorded, authored and generated transcripts are never
pooled. Statistics are those of `evals.stats`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from evals.results import ResultsError
from evals.stats import TIE, holm, mcnemar_p
from reports.differences import Difference, difference_of, paired
from reports.frames import Cluster, Run
from reports.measures import MEASURES, Measure
from reports.scope import scope
from reports.sides import Side
from reports.unmatched import Unmatched, new_failures, unmatched
from reports.wording import clean, listed

N_MOVED: Final = 10
"""Transcripts that moved most and are listed."""


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
    idle_baseline: tuple[str, ...]
    """Compared transcripts on which the baseline did not engage: it counts with what it kept."""
    idle_candidate: tuple[str, ...]
    n_compared: int
    """Transcripts that both scored."""
    scope: str | None = None
    """From how many projects the sessions come, where that is known."""
    clusters_are: Cluster = "session"

    @property
    def is_regression(self) -> bool:
        return bool(self.new_failures or self.new_violations)

    @property
    def is_idle(self) -> bool:
        """Whether neither side engaged anywhere and none lost anything without a saving either."""
        return len(self.idle_baseline) == len(
            self.idle_candidate
        ) == self.n_compared > 0 and not any(
            each.has_moved for each in self.differences if each.measure.is_share
        )


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


def compare_pairs(
    pairs: Sequence[tuple[Side, Side]], measures: Sequence[Measure] = MEASURES
) -> tuple[Comparison, ...]:
    """Compare baselines with their candidates, and adjust for all of them together."""
    return _adjusted(tuple(each for pair in pairs for each in compare(*pair, measures)))


def pairs_of(baseline: Run, candidate: Run) -> tuple[tuple[Side, Side], ...]:
    """Return every setting of a run with the setting of the same name in another.

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
    return tuple((Side(baseline, label), Side(candidate, label)) for label in common)


def left_out(baseline: Run, candidate: Run) -> Iterator[str]:
    """Yield what one of two runs has and the other has not: settings, kinds of transcripts."""
    for ours, theirs, side in _both_ways(baseline, candidate):
        known = labels_of(theirs)
        if only := [label for label in labels_of(ours) if label not in known]:
            yield f"Settings only in the {side}, not compared: {listed(list(map(clean, only)))}."
    yield from kinds_left_out(baseline, candidate)


def kinds_left_out(baseline: Run, candidate: Run) -> Iterator[str]:
    """Yield which kinds of transcripts one of two runs has and the other has not."""
    for ours, theirs, side in _both_ways(baseline, candidate):
        if only := [name for name in ours.provenances if name not in theirs.provenances]:
            yield f"Transcripts only in the {side}, not compared: all {listed(only)} ones."


def _both_ways(baseline: Run, candidate: Run) -> tuple[tuple[Run, Run, str], ...]:
    return (baseline, candidate, "baseline"), (candidate, baseline, "candidate")


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
    ours, theirs = baseline.each(provenance), candidate.each(provenance)
    keys = ours.index.intersection(theirs.index)
    ours, theirs = ours.loc[keys], theirs.loc[keys]
    pairs = [(measure, paired(measure, ours, theirs)) for measure in measures]
    differences = tuple(
        difference_of(measure, both, is_whole_baseline=baseline.keeps_all)
        for measure, both in pairs
        if len(both)
    )
    worse = theirs["violations"] > ours["violations"]
    has_failed = [
        {key: not is_scored for key, is_scored in side.tried(provenance).items()}
        for side in (baseline, candidate)
    ]
    breaks = [dict(side["violations"] > 0) for side in (ours, theirs)]

    def names(found: pd.Index) -> tuple[str, ...]:
        return tuple(candidate.run.names[str(key)] for key in found)

    return Comparison(
        provenance,
        baseline.label,
        candidate.label,
        differences,
        (_outcome("broke a rule", *breaks), _outcome("failed", *has_failed)),
        _moved(pairs, candidate.run.names),
        tuple(unmatched(baseline, candidate, provenance, measures)),
        tuple(new_failures(baseline, candidate, provenance)),
        names(keys[worse]),
        names(keys[~ours["engaged"]]),
        names(keys[~theirs["engaged"]]),
        len(keys),
        scope(baseline.run, provenance),
        baseline.run.clusters_are,
    )


def _outcome(name: str, ours: Mapping[str, bool], theirs: Mapping[str, bool]) -> Outcome:
    keys = ours.keys() & theirs.keys()
    first = int(sum(ours[key] and not theirs[key] for key in keys))
    second = int(sum(theirs[key] and not ours[key] for key in keys))
    return Outcome(name, len(keys), first, second, mcnemar_p(first, second))


def _moved(
    pairs: Sequence[tuple[Measure, pd.DataFrame]], names: Mapping[str, str]
) -> tuple[Moved, ...]:
    for measure, both in pairs:
        change = (both["candidate"] - both["baseline"]).abs()
        largest = change[change > TIE].sort_values(ascending=False, kind="stable").index[:N_MOVED]
        if len(largest):
            return tuple(
                Moved(
                    names[str(key)],
                    measure,
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
        if each.measure.margin is not None and each.p is not None
    }
    adjusted = holm(family)
    return tuple(
        replace(
            comparison,
            differences=tuple(
                replace(each, p_holm=adjusted.get(f"{i}/{k}"))
                for k, each in enumerate(comparison.differences)
            ),
        )
        for i, comparison in enumerate(found)
    )
