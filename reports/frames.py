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
from reports.wording import natural

KEY_SEPARATOR: Final = "\x1f"
"""Between name and digest of a transcript; pandas drops a NUL."""
PROVENANCES: Final = ("recorded", "authored", "generated")
"""In the order of a report; real conversations first."""
FIDELITY: Final = ("reach", "facts_kept_fraction", "quote_kept_fraction")
JUDGED: Final = (
    *FIDELITY,
    "compared_reach",
    "matched_reach",
    "reach_difference",
    "needs",
    "lost",
    "undeclared",
    "mentioned",
    "facts_removed",
    "regret",
    "constraints_kept_fraction",
    "obligations_kept_fraction",
    "files_lost_fraction",
    "files_stale_fraction",
    "unsupported_fraction",
)
"""What says something of a setting only on transcripts where it saved something."""
DOLLARS: Final = (
    "cost_before_usd",
    "cost_after_usd",
    "saved_usd",
    "net_saved_usd_p50",
    "net_saved_usd_p100",
    "own_calls_usd",
)
"""Missing where a transcript has no price."""
SUMS: Final = (
    "requests",
    "input_tokens_before",
    "input_tokens_after",
    "needs",
    "lost",
    "undeclared",
    "mentioned",
    "facts_removed",
    "quote_needs",
    "compactions",
    "compactions_failed",
    "model_calls",
    "violations",
    "constraints",
    "obligations",
    "files",
    "drifted_pairs",
    "obligations_ticked",
    "cache_breaks",
    "rewritten_tokens",
    *DOLLARS,
)
MEANS: Final = (
    *FIDELITY,
    *SUMS,
    "saved_usd_fraction",
    "cache_hit_fraction",
    "cache_hit_fraction_before",
    "oracle_reach",
    "regret",
    "dead_token_fraction",
    "constraints_kept_fraction",
    "obligations_kept_fraction",
    "files_lost_fraction",
    "files_stale_fraction",
    "unsupported_fraction",
    "saving_fraction",
    "peak_tokens_before",
    "peak_tokens_after",
    "placebo_fraction",
    "compared_reach",
    "matched_reach",
    "reach_difference",
)
ESTIMATES: Final = (
    "saving_fraction",
    "reach",
    "facts_kept_fraction",
    "compared_reach",
    "reach_difference",
    "saved_usd_fraction",
    "regret",
    "constraints_kept_fraction",
)


@dataclass(frozen=True, eq=False)
class Run:
    """What a report sees of a run."""

    path: Path
    manifest: Mapping[str, Any]
    rows: pd.DataFrame
    """A row per cell: the columns of `evals.results.Row`, and `key` (the transcript), `scored`;
    `compared_reach`, `matched_reach` (of truncation at the same saving) and `reach_difference`, set
    only where all three are known. Numbers are float, with NaN for None."""
    n_stale: int
    """Rows of the folder that the manifest no longer names, or of an older layout: left out."""

    def settings(self) -> pd.DataFrame:
        """Return a row per provenance and label, aggregated over transcripts.

        Besides sums and plain means: `total`, `scored`, `engaged`, `with_needs` (transcripts),
        `saving_ratio` (of the sums, over all that were scored), for each of `ESTIMATES` the fields
        of `Estimate`, as `reach_low`, and `shown_saving`, `shown_reach`: over the transcripts that
        are compared with truncation, or over all of the setting if `is_compared` is false.
        """
        return self._settings

    def each(self, provenance: str, label: str) -> pd.DataFrame:
        """Return a row per scored transcript of a setting, by `key`: means over replicates.

        What needs a setting to have engaged (`JUDGED`) is missing where it did not.
        """
        found = self._each.get((provenance, label))
        return _by_transcript(self.rows.iloc[:0]).droplevel([0, 1]) if found is None else found

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
                **_counts(group),
                **_aggregated(self.each(provenance, str(label))),
            }
            for provenance in self.provenances
            for label, group in self.rows[self.rows["provenance"] == provenance].groupby(
                "label", sort=False
            )
        ]
        return pd.DataFrame(lines)

    @cached_property
    def _each(self) -> dict[tuple[str, str], pd.DataFrame]:
        grouped = _by_transcript(self.rows).groupby(level=[0, 1], sort=False)
        return {
            (str(provenance), str(label)): group.droplevel([0, 1])
            for (provenance, label), group in grouped
        }


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
    # However many processes wrote the rows, and in whatever order: the same report.
    used.sort(key=lambda row: (row.transcript, row.transcript_digest, natural(row.label)))
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
    types = {**dict.fromkeys(numbers, float), "engaged": bool, "is_control": bool}
    # A copy, because more than a hundred separate columns make every later insertion slow.
    frame = frame.astype(types).copy()
    names, digests = frame["transcript"].astype(str), frame["transcript_digest"].astype(str)
    frame["key"] = names + KEY_SEPARATOR + digests
    frame["scored"] = frame["status"] == "ok"
    truncation = matched(frame, curves(frame)).where(frame["strategy"] != TRUNCATE)
    frame["matched_reach"] = truncation.where(frame["reach"].notna())
    frame["compared_reach"] = frame["reach"].where(truncation.notna())
    frame["reach_difference"] = frame["compared_reach"] - frame["matched_reach"]
    return frame


def _by_transcript(rows: pd.DataFrame) -> pd.DataFrame:
    """Average the replicates of each (provenance, label, key)."""
    grouped = rows[rows["scored"]].groupby(["provenance", "label", "key"], sort=False)
    each = grouped[list(MEANS)].mean()
    each["cluster"], each["engaged"] = grouped["cluster"].first(), grouped["engaged"].all()
    each["has_needs"] = each["reach"].notna()
    for name in JUDGED:
        each[name] = each[name].where(each["engaged"])
    return each


def _counts(group: pd.DataFrame) -> dict[str, Any]:
    first = group.iloc[0]
    return {
        "strategy": first["strategy"],
        "is_control": bool(first["is_control"]),
        "total": group["key"].nunique(),
        "errors": int((group["status"] == "error").sum()),
    }


def _aggregated(each: pd.DataFrame) -> dict[str, Any]:
    """Aggregate one setting over its transcripts."""
    line: dict[str, Any] = {
        "scored": len(each),
        "engaged": int(each["engaged"].sum()),
        "with_needs": int(each["has_needs"].sum()),
        "saving_ratio": saving_of(each),
        "peak_max_tokens": each["peak_tokens_after"].max(),
        "peak_mean_tokens": each["peak_tokens_after"].mean(),
        "matched_reach": each["matched_reach"].mean(),
        "quotes_kept": each["quote_kept_fraction"].mean(),
        "quotes_n": int(each["quote_kept_fraction"].count()),
    }
    line |= {name: float(each[name].sum(min_count=name in DOLLARS)) for name in SUMS}
    for name in ESTIMATES:
        result = asdict(estimate(each[name], each["cluster"]))
        line |= {f"{name}_{key}": value for key, value in result.items()}
    return line | _shown(each)


def _shown(each: pd.DataFrame) -> dict[str, Any]:
    """Return saving and reach over one set of transcripts, the best there is to show."""
    for name in ("compared_reach", "reach"):
        of_name = each[each[name].notna()]
        if len(of_name):
            return {
                "shown_saving": saving_of(of_name),
                "shown_usd_saving": dollar_saving_of(of_name),
                "shown_reach": of_name[name].mean(),
                "shown_oracle": of_name["oracle_reach"].mean(),
                "shown_n": len(of_name),
                "is_compared": name == "compared_reach",
            }
    return {
        "shown_saving": saving_of(each),
        "shown_usd_saving": dollar_saving_of(each),
        "shown_reach": None,
        "shown_oracle": None,
        "shown_n": 0,
        "is_compared": False,
    }


def saving_of(each: pd.DataFrame) -> float | None:
    """Return the saving over some transcripts together; None if no input was measured."""
    before = each["input_tokens_before"].sum()
    return float(1 - each["input_tokens_after"].sum() / before) if before else None


def dollar_saving_of(each: pd.DataFrame) -> float | None:
    """Return the saving in dollars over some transcripts together, own calls included.

    Returns:
        None if a transcript has no price: a sum over the others would be of something else.
    """
    before, after = each["cost_before_usd"], each["cost_after_usd"]
    if each.empty or before.isna().any() or after.isna().any() or not before.sum():
        return None
    return float(1 - after.sum() / before.sum())
