"""A run folder as tidy frames: one row per cell, and one row per setting and provenance.

Recorded, authored and generated transcripts are never pooled. Fidelity counts only where a setting
saved something; a cell that failed stays in the denominator.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd

from evals.results import ROW_VERSION, Row, RunFolder
from reports.intervals import Estimate, estimate
from reports.matched import TRUNCATE, curves, matched

PROVENANCES: Final = ("recorded", "authored", "generated")
"""In the order of a report; real conversations first."""
FIDELITY: Final = ("reach", "facts_kept_fraction", "quote_kept_fraction")
SUMS: Final = (
    "requests",
    "input_tokens_before",
    "input_tokens_after",
    "needs",
    "lost",
    "mentioned",
    "facts_removed",
    "quote_needs",
    "compactions",
    "compactions_failed",
    "model_calls",
    "violations",
)
MEANS: Final = (
    *FIDELITY,
    *SUMS,
    "saving_fraction",
    "peak_tokens_before",
    "peak_tokens_after",
    "placebo_fraction",
    "matched_reach",
    "reach_difference",
)
ESTIMATES: Final = ("saving_fraction", "reach", "facts_kept_fraction", "reach_difference")


@dataclass(frozen=True, eq=False)
class Run:
    """What a report sees of a run."""

    path: Path
    manifest: Mapping[str, Any]
    rows: pd.DataFrame
    """A row per cell: the columns of `evals.results.Row`, and `key` (the transcript), `scored`,
    `matched_reach` and `reach_difference`. Numbers are float, with NaN for None."""
    n_stale: int
    """Rows of the folder that the manifest no longer names, or of an older layout: left out."""

    def settings(self) -> pd.DataFrame:
        """Return a row per provenance and label, aggregated over transcripts.

        Besides sums and plain means: `total`, `scored`, `engaged` (transcripts), `saving_ratio`
        (of the sums), and for each of `ESTIMATES` the fields of `Estimate`, as `reach_low`.
        """
        return self._settings

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
            {"provenance": provenance, "label": label, **_aggregated(group)}
            for provenance in self.provenances
            for label, group in self.rows[self.rows["provenance"] == provenance].groupby(
                "label", sort=False
            )
        ]
        return pd.DataFrame(lines)


def load(path: Path) -> Run:
    """Read a run folder.

    Raises:
        ResultsError: there is no run in this folder, or a row is broken.
    """
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    found = list(folder.rows())
    named = set(manifest.get("cells") or (row.cell_id for row in found))
    used = [row for row in found if row.cell_id in named and row.row_version == ROW_VERSION]
    return Run(Path(path), manifest, _frame(used), len(found) - len(used))


def estimate_of(line: Mapping[str, Any], name: str) -> Estimate:
    """Read an estimate back from a row of `settings()`; numbers only, NaN is None again."""
    values = {
        item.name: line[f"{name}_{item.name}"]
        for item in fields(Estimate)
        if pd.notna(line[f"{name}_{item.name}"])
    }
    counts = {key: int(values.get(key, 0)) for key in ("n", "n_clusters")}
    return Estimate(**{**values, **counts})


def _frame(rows: list[Row]) -> pd.DataFrame:
    columns = [item.name for item in fields(Row)]
    frame = pd.DataFrame([asdict(row) for row in rows], columns=columns)
    numbers = [
        item.name for item in fields(Row) if item.type in (int, float, int | None, float | None)
    ]
    frame[numbers] = frame[numbers].astype(float)
    for name in ("engaged", "is_control"):
        frame[name] = frame[name].astype(bool)
    frame["key"] = frame["transcript"].astype(str) + "\0" + frame["transcript_digest"].astype(str)
    frame["scored"] = frame["status"] == "ok"
    frame["matched_reach"] = matched(frame, curves(frame)).where(frame["strategy"] != TRUNCATE)
    frame["reach_difference"] = frame["reach"] - frame["matched_reach"]
    return frame


def _aggregated(group: pd.DataFrame) -> dict[str, Any]:
    """Aggregate one setting: replicates to transcripts first, then over transcripts."""
    first = group.iloc[0]
    good = group[group["scored"]]
    transcripts = good.groupby("key", sort=False)[list(MEANS)].mean()
    about = good.groupby("key", sort=False)
    clusters, engaged = about["cluster"].first(), about["engaged"].all()
    fidelity = transcripts.loc[engaged]
    for name in (*FIDELITY, "matched_reach", "reach_difference"):
        transcripts[name] = transcripts[name].where(engaged)
    transcripts["matched_reach"] = transcripts["matched_reach"].where(transcripts["reach"].notna())
    before = transcripts["input_tokens_before"].sum()
    line: dict[str, Any] = {
        "strategy": first["strategy"],
        "is_control": bool(first["is_control"]),
        "total": group["key"].nunique(),
        "errors": int((~group["scored"]).sum()),
        "scored": len(transcripts),
        "engaged": int(engaged.sum()),
        "saving_ratio": 1 - transcripts["input_tokens_after"].sum() / before if before else None,
        "peak_max_tokens": transcripts["peak_tokens_after"].max(),
        "peak_mean_tokens": transcripts["peak_tokens_after"].mean(),
        "matched_reach": transcripts["matched_reach"].mean(),
        "quotes_kept": transcripts["quote_kept_fraction"].mean(),
        "quotes_n": int(transcripts["quote_kept_fraction"].count()),
    }
    for name in SUMS:
        part = fidelity if name in ("needs", "lost", "mentioned", "facts_removed") else transcripts
        line[name] = float(part[name].sum())
    for name in ESTIMATES:
        result = asdict(estimate(transcripts[name], clusters))
        line |= {f"{name}_{key}": value for key, value in result.items()}
    return line
