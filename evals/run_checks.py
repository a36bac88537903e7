"""What is refused before anything is replayed: a folder, path or flag that leads to nothing."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from compaction.errors import StrategyError, TranscriptError
from compaction.registry import load_strategy_class
from evals.foreign import is_foreign
from evals.loading import LoadReport, Location, load
from evals.probing.recordings import recorded_models, recordings_of
from evals.results import CELLS_FOLDER, ROWS_FILE, RUN_FILE, ResultsError, RunFolder
from evals.settings import KNOWN, Setting
from evals.shell_words import path_argument, shell_word

OURS: Final = frozenset({CELLS_FOLDER, ROWS_FILE, RUN_FILE, "report.html", "report.md"})
"""What a run writes; hidden files are not looked at."""


def check_out(out: Path) -> None:
    """Refuse a folder with other files in it: with a run it would be no folder of theirs any more.

    Raises:
        ResultsError: names one of the files.
    """
    try:
        if not out.is_dir() or (out / RUN_FILE).is_file():
            return
        others = sorted(
            entry.name
            for entry in out.iterdir()
            if not entry.name.startswith(".") and entry.name not in OURS
        )
    except OSError as error:
        text = f"cannot look into {out}: {error.strerror}; choose another --out"
        raise ResultsError(text) from error
    if others:
        raise ResultsError(
            f"{out} holds other files ({others[0]}); a run wants a folder of its own, "
            "choose another --out"
        )


def check_requests(found: LoadReport, paths: Iterable[Path]) -> None:
    """Refuse transcripts of which nothing can be replayed.

    Raises:
        TranscriptError: no model was asked anything in any of them.
    """
    if len(found.without_requests) == len(found.locations):
        listed = ", ".join(map(str, paths))
        raise TranscriptError(
            f"{listed}: no request to a model in it, so there is nothing to replay; name a "
            "conversation that a model has answered"
        )


def check_recorded(
    reader: str | None,
    *,
    with_probes: bool,
    settings: Sequence[Setting],
    locations: Sequence[Location],
) -> None:
    """Refuse to grade answers of which there are none.

    Raises:
        StrategyError: says whose answers there are, or the command that records some.
    """
    if reader is None and not with_probes:
        return
    if not with_probes and not any(map(_may_be_recorded, settings)):
        raise StrategyError(
            "--reader changes nothing here: give --probes too, or a strategy that is answered "
            "from recordings (summary_once)"
        )
    known = _models_about(locations)
    if not known or (reader is not None and reader not in known):
        flag = f"--reader {reader}" if reader else "--probes"
        path = shell_word(path_argument(locations[0].path))
        model = shell_word(reader or "MODEL")
        there = f"there are those of {', '.join(sorted(known))}; " if known else ""
        raise StrategyError(
            f"{flag}: no such answers about these transcripts are recorded; {there}"
            f"compaction-evals probe {path} --model {model} --base-url URL records them"
        )


def _may_be_recorded(setting: Setting) -> bool:
    if is_foreign(setting.strategy):
        return False
    return hasattr(load_strategy_class(setting.strategy, table=KNOWN), "is_recorded")


def _models_about(locations: Iterable[Location]) -> set[str]:
    known: set[str] = set()
    for location in locations:
        known |= {*recorded_models(recordings_of(location.path, load(location)).folder)}
    return known


def replaced_cells(folder: RunFolder) -> tuple[frozenset[str], str]:
    """Return the cells of the run that a folder holds now, and its command."""
    try:
        manifest = folder.manifest()
    except ResultsError:
        return frozenset(), ""
    return frozenset(manifest.get("cells") or ()), str(manifest.get("command"))
