"""Which needs were lost, with their text, if the run was told to keep it (`--show-text`).

The only part of a report that shows text of a conversation; everything is cut and cleaned.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from reports.answer import best_setting
from reports.frames import Run
from reports.league import ranked
from reports.notes import LONG_GAP_REQUESTS
from reports.wording import clean, count

MAX_NEEDS: Final = 20
"""Of one transcript."""
MAX_TRANSCRIPTS: Final = 20
"""Those that lost most."""
MAX_VALUE_CHARS: Final = 120
HOW_TO: Final = (
    "The needs that were lost are not named: a run holds no text of a conversation unless it is "
    "made with --show-text."
)
HEADS: Final = ("Request", "Class", "Needed", "Gap, requests", "Source, message", "Status")
_SHOWN: Final = ("request", "class", "value", "gap", "source", "status")
_LOST: Final = {"lost": "lost", "undeclared": "not declared"}


@dataclass(frozen=True, slots=True)
class LostNeeds:
    """What one cell lost; needs as texts in the order of `HEADS`."""

    transcript: str
    label: str
    needs: tuple[tuple[str, ...], ...]
    n_hidden: int


def is_text_shown(run: Run) -> bool:
    return run.manifest.get("show_text") is True


def lost_of(run: Run, provenance: str) -> tuple[LostNeeds, ...]:
    """Return what the setting that the answer names lost, else the first of the table."""
    label = shown_label(run, provenance)
    if label is None or not is_text_shown(run):
        return ()
    rows = run.rows[(run.rows["provenance"] == provenance) & (run.rows["label"] == label)]
    rows = rows[rows["scored"] & rows["engaged"]].assign(
        _missing=rows["lost"].fillna(0) + rows["undeclared"].fillna(0)
    )
    worst = rows[rows["_missing"] > 0].sort_values(
        ["_missing", "key"], ascending=[False, True], kind="stable"
    )
    return tuple(
        _lost_in(clean(row["transcript"]), clean(label), run.sidecar(str(row["cell_id"])))
        for row in worst.head(MAX_TRANSCRIPTS).to_dict("records")
    )


def shown_label(run: Run, provenance: str) -> str | None:
    """Return the setting whose cells a report looks into: the named one, else the first engaged."""
    best = best_setting(run, provenance)
    if best is not None:
        return str(best["label"])
    settings = run.settings()
    settings = ranked(settings[(settings["provenance"] == provenance) & ~settings["is_control"]])
    engaged = settings[settings["engaged"] > 0]
    return None if engaged.empty else str(engaged["label"].iloc[0])


def _lost_in(transcript: str, label: str, sidecar: Mapping[str, Any]) -> LostNeeds:
    found = list(_texts(sidecar))
    return LostNeeds(transcript, label, tuple(found[:MAX_NEEDS]), max(0, len(found) - MAX_NEEDS))


def _texts(sidecar: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    needs = sidecar.get("needs", {})
    columns = needs.get("columns", [])
    if not {*_SHOWN, "kind"} <= set(columns):
        return
    for values in needs.get("rows", []):
        row = dict(zip(columns, values, strict=False))
        if row["kind"] != "need" or row["status"] not in _LOST or row["gap"] <= LONG_GAP_REQUESTS:
            continue
        texts = {
            **{name: count(row[name]) for name in ("request", "gap", "source")},
            "class": clean(row["class"], 40),
            "status": _LOST[row["status"]],
            "value": clean(row["value"], MAX_VALUE_CHARS),
        }
        yield tuple(texts[name] for name in _SHOWN)
