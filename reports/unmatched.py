"""Transcripts that two settings cannot be compared on, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reports.frames import KEY_SEPARATOR, Run


class Side(NamedTuple):
    """A run, and the setting of it that is compared."""

    run: Run
    label: str


@dataclass(frozen=True, slots=True)
class Unmatched:
    transcript: str
    reason: str


def unmatched(baseline: Side, candidate: Side, provenance: str) -> Iterator[Unmatched]:
    """Yield what is in one run only, or was compared in part, with the reason."""
    ours, theirs = (tried(side, provenance) for side in (baseline, candidate))
    changed = {name_of(key) for key in ours} & {name_of(key) for key in theirs}
    for mine, other, side in ((ours, theirs, "baseline"), (theirs, ours, "candidate")):
        for key in mine:
            if key in other:
                continue
            if name_of(key) in changed:
                if side == "baseline":
                    yield Unmatched(name_of(key), "its content differs between the runs")
            else:
                yield Unmatched(name_of(key), f"only in the {side}")
    for key in (key for key in ours if key in theirs):
        if not ours[key]:
            text = "failed in both" if not theirs[key] else "failed in the baseline"
            yield Unmatched(name_of(key), text)
    yield from _not_engaged(baseline, candidate, provenance)


def _not_engaged(baseline: Side, candidate: Side, provenance: str) -> Iterator[Unmatched]:
    ours = baseline.run.each(provenance, baseline.label)["engaged"]
    theirs = candidate.run.each(provenance, candidate.label)["engaged"]
    for key in ours.index.intersection(theirs.index):
        idle = [name for name, side in (("baseline", ours), ("candidate", theirs)) if not side[key]]
        if idle:
            yield Unmatched(name_of(key), f"no fidelity: {' and '.join(idle)} not engaged")


def new_failures(baseline: Side, candidate: Side, provenance: str) -> Iterator[str]:
    theirs = tried(candidate, provenance)
    for key, is_scored in tried(baseline, provenance).items():
        if is_scored and theirs.get(key) is False:
            yield name_of(key)


def tried(side: Side, provenance: str) -> Mapping[str, bool]:
    """Return transcript key -> whether every replicate of the setting was scored."""
    rows = side.run.rows
    mine = rows[(rows["provenance"] == provenance) & (rows["label"] == side.label)]
    return {
        str(key): bool(ok) for key, ok in mine.groupby("key", sort=False)["scored"].all().items()
    }


def name_of(key: object) -> str:
    """Return the transcript's name from its key in a frame."""
    return str(key).partition(KEY_SEPARATOR)[0]
