"""Transcripts that two settings cannot be compared on, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reports.differences import is_same_total
from reports.measures import Measure
from reports.sides import Side, values_of
from reports.wording import clean, listed, plural

DIFFERENT_TOTALS: Final = {
    "saving_fraction": "its input was counted differently in the two runs",
    "saved_usd_fraction": "it was priced differently in the two runs",
}


@dataclass(frozen=True, slots=True)
class Unmatched:
    transcript: str
    reason: str


def unmatched(
    baseline: Side, candidate: Side, provenance: str, measures: Sequence[Measure]
) -> Iterator[Unmatched]:
    """Yield what is in one run only, or was compared in part, with the reason."""
    ours, theirs = (side.tried(provenance) for side in (baseline, candidate))
    # Names are unique within a file only, so what is in both runs tells nothing of its namesakes.
    only_ours = baseline.only(candidate, provenance)
    only_theirs = candidate.only(baseline, provenance)
    changed = set(only_ours) & set(only_theirs)
    for name in only_ours:
        is_changed = name in changed
        yield Unmatched(
            name, "its content differs between the runs" if is_changed else "only in the baseline"
        )
    for name in only_theirs:
        if name not in changed:
            yield Unmatched(name, "only in the candidate")
    for key in (key for key in ours if key in theirs):
        failed = [
            name for name, side in (("baseline", ours), ("candidate", theirs)) if not side[key]
        ]
        if failed:
            where = "both" if len(failed) > 1 else f"the {failed[0]}"
            yield Unmatched(baseline.run.names[key], f"failed in {where}")
    yield from _without_value(baseline, candidate, provenance, measures)


def _without_value(
    baseline: Side, candidate: Side, provenance: str, measures: Sequence[Measure]
) -> Iterator[Unmatched]:
    """Yield transcripts that both scored and that a measure of the table leaves out."""
    ours, theirs = baseline.each(provenance), candidate.each(provenance)
    names = baseline.run.names
    keys = ours.index.intersection(theirs.index)
    ours, theirs = ours.loc[keys], theirs.loc[keys]
    for measure in measures:
        values = values_of(measure, ours, theirs)
        if not bool(values.notna().any(axis=None)):
            continue  # it is no line of the table
        is_same = is_same_total(measure, ours, theirs)
        for key in keys:
            has = [bool(known) for known in values.loc[key].notna()]
            reason = _reason(measure, has, is_same=bool(is_same[key]))
            if reason is not None:
                yield Unmatched(names[str(key)], reason)


def _reason(measure: Measure, has: Sequence[bool], *, is_same: bool) -> str | None:
    if all(has):
        return None if is_same else f"no {measure.title}: {DIFFERENT_TOTALS[measure.name]}"
    where = "" if not any(has) else f" in the {('baseline', 'candidate')[has.index(False)]}"
    return f"no {measure.title}: {measure.lacks}{where}"


def new_failures(baseline: Side, candidate: Side, provenance: str) -> Iterator[str]:
    theirs = candidate.tried(provenance)
    for key, is_scored in baseline.tried(provenance).items():
        if is_scored and theirs.get(key) is False:
            yield candidate.run.names[key]


def gaps(pairs: Sequence[tuple[Side, Side]]) -> Iterator[str]:
    """Yield what was not run, so that no comparison of these pairs can be relied on.

    Rows that a run lacks may be of any setting, unless its folder tells. And every transcript of a
    baseline has to be among those of its candidate, whole kinds of them too.
    """
    ours, theirs = (side.run for side in pairs[0])
    runs = {"run": ours} if ours is theirs else {"baseline": ours, "candidate": theirs}
    compared = [side for pair in pairs for side in pair]
    for side, run in runs.items():
        wanted = {each.label for each in compared if each.run is run}
        if run.incomplete is not None and (run.lacking is None or wanted & run.lacking):
            yield f"the {side} is {run.incomplete.partition(';')[0]} ({clean(run.path)})"
    absent: dict[tuple[str, ...], list[str]] = {}
    for baseline, candidate in pairs:
        known = baseline.run.provenances
        if names := tuple(name for each in known for name in baseline.only(candidate, each)):
            absent.setdefault(names, []).append(candidate.label)
    for names, labels in absent.items():
        of = "" if len(labels) == len(pairs) else f" under {listed(list(map(clean, labels)))}"
        yield (
            f"not run in the candidate{of}, or on other content: "
            f"{listed([clean(name, 60) for name in names])} ({plural(len(names), 'transcript')})"
        )
