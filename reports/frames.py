"""A run folder as tidy frames: one row per cell, and one row per setting and provenance.

Recorded, authored and generated transcripts are never pooled. Fidelity counts only where a setting
saved something; a cell that failed stays in the denominator.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, Final, Literal

import pandas as pd

from evals.projects import projects_of
from evals.results import ROW_VERSION, ResultsError, Row, RunFolder, incomplete
from reports.aggregates import aggregated, by_transcript, counts
from reports.intervals import Estimate
from reports.matched import TRUNCATE, curves, matched
from reports.wording import natural

KEY_SEPARATOR: Final = "\x1f"
"""Between name and digest of a transcript; pandas drops a NUL."""
Cluster = Literal["session", "project"]
PROVENANCES: Final = ("recorded", "authored", "generated")
"""In the order of a report; real conversations first."""


@dataclass(frozen=True, eq=False)
class Run:
    """What a report sees of a run."""

    path: Path
    manifest: Mapping[str, Any]
    rows: pd.DataFrame
    """A row per cell: the columns of `evals.results.Row`, of which `cluster` is what is drawn as a
    whole (`clusters_are`); and `session`, `key` (the transcript), `scored`;
    `compared_reach`, `compared_saving`, `matched_reach` (of truncation at the same saving) and
    `reach_difference`, set only where all are known. Numbers are float, with NaN for None."""
    n_stale: int
    """Rows of the folder that the manifest no longer names, or of an older layout: left out."""
    incomplete: str | None = None
    """One line if rows of the run are missing: how many, and how to continue."""
    lacking: frozenset[str] | None = None
    """Settings of which rows are missing, by label; None where the folder does not tell."""
    clusters_are: Cluster = "session"
    """What statistics draw as a whole."""

    def settings(self) -> pd.DataFrame:
        """Return a row per provenance and label, aggregated over transcripts.

        Besides sums and plain means: `total`, `scored`, `engaged`, `with_needs` (transcripts),
        `saving_ratio` (of the sums, over all that were scored), `usd_saving` (the same in dollars,
        over the `priced` ones), for each of `ESTIMATES` the fields of `Estimate`, as `reach_low`;
        and over those that are compared with truncation `compared_saving_ratio` and
        `matched_reach`.
        """
        return self._settings

    def each(self, provenance: str, label: str) -> pd.DataFrame:
        """Return a row per scored transcript of a setting, by `key`: means over replicates.

        What needs a setting to have engaged (`JUDGED`) is missing where it did not.
        """
        found = self._each.get((provenance, label))
        return by_transcript(self.rows.iloc[:0]).droplevel([0, 1]) if found is None else found

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Transcript key -> what it is called in this run's reports."""
        return dict(zip(self.rows["key"], self.rows["transcript"], strict=True))

    def sidecar(self, cell_id: str) -> Mapping[str, Any]:
        return RunFolder(self.path).sidecar(cell_id) or {}

    @cached_property
    def provenances(self) -> tuple[str, ...]:
        """The groups of this run; an unknown one comes last."""
        found = sorted(set(self.rows["provenance"]) - set(PROVENANCES))
        known = [name for name in PROVENANCES if (self.rows["provenance"] == name).any()]
        return (*known, *found)

    @cached_property
    def _settings(self) -> pd.DataFrame:
        lines = [
            {
                "provenance": provenance,
                "label": label,
                **counts(group),
                **aggregated(self.each(provenance, str(label))),
            }
            for provenance in self.provenances
            for label, group in self.rows[self.rows["provenance"] == provenance].groupby(
                "label", sort=False
            )
        ]
        return pd.DataFrame(lines)

    @cached_property
    def _each(self) -> dict[tuple[str, str], pd.DataFrame]:
        grouped = by_transcript(self.rows).groupby(level=[0, 1], sort=False)
        return {
            (str(provenance), str(label)): group.droplevel([0, 1])
            for (provenance, label), group in grouped
        }


def load(path: Path, *, cluster: Cluster = "session") -> Run:
    """Read a run folder.

    Args:
        path: The folder.
        cluster: What statistics draw as a whole. A session that names no project stands alone.

    Raises:
        ResultsError: there is no run in this folder, a row is broken, or projects are wanted and
            none is known.
    """
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    found = list(folder.rows())
    named = set(manifest.get("cells") or (row.cell_id for row in found))
    used = [row for row in found if row.cell_id in named and row.row_version == ROW_VERSION]
    # However many processes wrote the rows, and in whatever order: the same report.
    used.sort(key=lambda row: (row.transcript, row.transcript_digest, natural(row.label)))
    lacks = incomplete(manifest, {row.cell_id for row in found})
    frame = _frame(used)
    if cluster == "project":
        frame["cluster"] = project_names(frame).fillna(frame["cluster"])
        if len(frame) and frame["project"].isna().all():
            raise ResultsError(
                f"{path} knows no projects, so they cannot be drawn: its transcripts name none, or "
                "an older version wrote the rows; leave --cluster out, or run again into another "
                "folder"
            )
    labels = {row.cell_id: row.label for row in found if row.cell_id in named}
    lacking = _lacking(manifest, Counter(labels.values()))
    return Run(Path(path), manifest, frame, len(found) - len(used), lacks, lacking, cluster)


def _lacking(manifest: Mapping[str, Any], present: Mapping[str, int]) -> frozenset[str] | None:
    """Return the settings that have fewer rows than a finished run wrote."""
    if (wanted := manifest.get("cells_by_setting")) is None:
        return None
    return frozenset(label for label, n in wanted.items() if present.get(label, 0) != n)


def project_names(rows: pd.DataFrame) -> pd.Series:
    """Return the project of each row's session; missing where it names none."""
    pairs = rows[["session", "project"]].drop_duplicates()
    projects = [None if pd.isna(name) else str(name) for name in pairs["project"]]
    names = projects_of(zip(pairs["session"], projects, strict=True))
    return rows["session"].map(names)


def estimate_of(line: Mapping[str, Any], name: str) -> Estimate:
    """Read an estimate back from a row of `settings()`; numbers only, NaN is None again."""
    values = {
        item.name: line[f"{name}_{item.name}"]
        for item in fields(Estimate)
        if pd.notna(line[f"{name}_{item.name}"])
    }
    counts = {key: int(values.get(key, 0)) for key in ("n", "n_clusters")}
    return Estimate(**{**values, **counts})


def _told_apart(frame: pd.DataFrame) -> pd.Series:
    """Return each row's transcript by its name, or by its file where several share the name.

    Names are unique within a file only: every OpenAI chat without an id is a `conversation`. The
    file's name alone does if it tells them apart; `explain` takes both.
    """
    firsts = frame.drop_duplicates("key").astype({"transcript": str, "source": str})
    shared = firsts[firsts["transcript"].duplicated(keep=False)]
    names = dict(zip(firsts["key"], firsts["transcript"], strict=True))
    wholes = shared["source"] + " (" + shared["transcript"] + ")"
    files = shared["source"].map(lambda source: PurePath(source).name)
    for given in (wholes, shared["source"], files):
        alone = ~given.duplicated(keep=False)
        names |= dict(zip(shared.loc[alone, "key"], given[alone], strict=True))
    return frame["key"].map(names)


def _frame(rows: list[Row]) -> pd.DataFrame:
    columns = [item.name for item in fields(Row)]
    # No asdict: it copies every value, which takes longer than reading the file.
    frame = pd.DataFrame(list(map(attrgetter(*columns), rows)), columns=columns)
    numbers = [
        item.name for item in fields(Row) if item.type in (int, float, int | None, float | None)
    ]
    types = {**dict.fromkeys(numbers, float), "engaged": bool, "is_control": bool}
    # A copy, because more than a hundred separate columns make every later insertion slow.
    frame = frame.astype(types).copy()
    names, digests = frame["transcript"].astype(str), frame["transcript_digest"].astype(str)
    frame["session"] = frame["cluster"].astype(str)
    frame["key"] = names + KEY_SEPARATOR + digests
    frame["transcript"] = _told_apart(frame)
    frame["scored"] = frame["status"] == "ok"
    truncation = matched(frame, curves(frame)).where(frame["strategy"] != TRUNCATE)
    frame["matched_reach"] = truncation.where(frame["reach"].notna())
    frame["compared_reach"] = frame["reach"].where(truncation.notna())
    frame["compared_saving"] = frame["saving_fraction"].where(frame["compared_reach"].notna())
    frame["reach_difference"] = frame["compared_reach"] - frame["matched_reach"]
    return frame
