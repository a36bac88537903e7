"""What a model still answers and does over compacted views: a table beside the league table."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from reports.frames import Run
from reports.wording import MISSING, clean, count, percent, plural

TITLE: Final = "What a model still answers"
HEADS: Final = (
    "Setting",
    "Data",
    "Questions (transcripts)",
    "Right, %",
    "Unknown, %",
    "Wrong, %",
    "Effect retained, %",
    "Next requests",
    "Same tool, %",
    "Same call, %",
    "Same call beyond A/A, points",
)
_PROBES: Final = (
    "probe_right_fraction",
    "probe_unknown_fraction",
    "probe_wrong_fraction",
    "probe_effect_retained",
)
_ACTIONS: Final = ("action_tool_fraction", "action_call_fraction", "action_call_beyond_aa")


@dataclass(frozen=True, slots=True)
class Asked:
    """Texts of a table, and what has to be read with it."""

    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`."""
    notes: tuple[str, ...]


def asked(run: Run) -> Asked | None:
    """Return a line for each setting about which a model was asked; None if it was about none."""
    rows = run.rows[run.rows["scored"]]
    answered = rows[(rows["probes_counted"] > 0) | (rows["actions_asked"] > 0)]
    if answered.empty:
        return None
    groups = answered.groupby(["provenance", "label"], sort=False)
    lines = tuple(_line(label, provenance, group) for (provenance, label), group in groups)
    return Asked(lines, tuple(_notes(rows, answered)))


def _line(label: Any, provenance: Any, group: pd.DataFrame) -> tuple[str, ...]:
    probed = group[group["probes_counted"] > 0]
    acted = group[group["actions_asked"] > 0]
    n_questions = count(probed["probes_counted"].sum())
    return (
        clean(label),
        clean(provenance),
        f"{n_questions} ({len(probed)})" if len(probed) else MISSING,
        *(percent(_mean(probed, name)) for name in _PROBES),
        count(acted["actions_asked"].sum()) if len(acted) else MISSING,
        *(percent(_mean(acted, name)) for name in _ACTIONS),
    )


def _mean(rows: pd.DataFrame, name: str) -> float | None:
    """Return the mean over transcripts, each counted alike."""
    values = rows[name].dropna()
    return float(values.mean()) if len(values) else None


def _notes(rows: pd.DataFrame, answered: pd.DataFrame) -> Iterator[str]:
    models = sorted({*answered["probe_reader"].dropna(), *answered["action_model"].dropna()})
    yield (
        f"Answers of {' and '.join(map(clean, models))}, recorded. They say nothing about other "
        "models."
    )
    yield (
        "Questions count that this model answers right from the uncompacted history; fractions "
        "are means over transcripts."
    )
    whole = rows[rows["strategy"] == "identity"]
    dropped = whole[["probes_not_read", "probes_ungraded", "probes_unrecorded"]].sum()
    if dropped.sum():
        yield (
            f"Not counted: {plural(int(dropped['probes_not_read']), 'question')} that it does not "
            f"answer right uncompacted, {count(dropped['probes_ungraded'])} ungraded, "
            f"{count(dropped['probes_unrecorded'])} unrecorded (uncompacted)."
        )
    judged = answered.dropna(subset=["judge_kappa"])
    if len(judged):
        lowest, highest = judged["judge_kappa"].min(), judged["judge_kappa"].max()
        yield (
            f"Judge against the grading without a model: kappa {lowest:.2f} to {highest:.2f} over "
            f"{plural(len(judged), 'cell')}; below 0.80 its verdicts are no headline."
        )
