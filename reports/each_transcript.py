"""What the named setting saves and keeps on each transcript: means hide who pays and who loses."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from reports.answer import best_setting
from reports.frames import Run
from reports.league import ranked_lines
from reports.wording import MISSING, clean, count, kilo, number, percent

TITLE: Final = "Each transcript"
HEADS: Final = (
    *("Transcript", "File", "Input, k tokens", "Saved, % of tokens", "Saved, USD"),
    *("Reach, % of needs", "Needs", "Reached", "Lost"),
)
MAX_ROWS: Final = 60
_NOT_REACHED: Final = ("lost", "mentioned", "regenerable", "undeclared")


class EachTable(NamedTuple):
    label: str
    rows: tuple[tuple[str, ...], ...]
    """As `HEADS`; the longest transcripts first."""
    n_left_out: int


def each_table(run: Run, provenance: str) -> EachTable | None:
    """Return a row per transcript for the setting that the answer names, else the first engaged."""
    label = _label(run, provenance)
    if label is None:
        return None
    each = run.each(provenance, label).sort_values(
        "input_tokens_before", ascending=False, kind="stable"
    )
    files = dict(zip(run.rows["key"], run.rows["source"], strict=True))
    rows = tuple(
        _row(run.names[key], files[key], values)
        for key, values in zip(each.index, each.to_dict("records"), strict=True)
    )
    return EachTable(clean(label), rows[:MAX_ROWS], max(0, len(rows) - MAX_ROWS))


def _label(run: Run, provenance: str) -> str | None:
    best = best_setting(run, provenance)
    if best is not None:
        return str(best["label"])
    settings = run.settings()
    mine = settings[(settings["provenance"] == provenance) & ~settings["is_control"]]
    engaged = (str(line["label"]) for line in ranked_lines(mine) if line["engaged"])
    return next(engaged, None)


def _row(name: str, file: str, values: Mapping[Any, Any]) -> tuple[str, ...]:
    has_needs = bool(values["has_needs"])
    fates = sum(values[fate] for fate in _NOT_REACHED)
    return (
        clean(name, 40),
        clean(file, 80),
        kilo(values["input_tokens_before"]),
        percent(values["saving_fraction"]),
        number(values["saved_usd"], 4),
        percent(values["reach"]),
        count(values["needs"]) if has_needs else MISSING,
        count(values["needs"] - fates) if has_needs else MISSING,
        count(values["lost"]) if has_needs else MISSING,
    )
