"""From paths of any kind to transcripts: files, folders of logs, bundled datasets.

Files are looked at one after the other, so that one file's transcripts are in memory at a time; a
`Location` is all that a worker needs. How a format is read is in `evals.importers`.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from compaction.errors import TranscriptError
from compaction.messages import Json
from evals.datasets_folder import (
    ANSWERS_FOLDER,
    CASSETTE_NAMES,
    FACTS_NAME,
    DatasetError,
    bundled_datasets,
    cassette_of,
    datasets_folder,
)
from evals.importers import importers
from evals.importers.files import UnknownFormatError, read_document
from evals.reading import read_file
from evals.results import ROWS_FILE, RUN_FILE
from evals.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class Location:
    """Where a transcript is; `load` fetches it."""

    path: Path
    index: int
    """Among the transcripts of the file."""
    name: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file that gave no transcript."""

    path: Path
    reason: str
    """Names the file, the place and what to do."""
    is_foreign: bool
    """No conversation at all, such as a README in a folder; otherwise a damaged one."""


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one file gave: transcripts or a refusal."""

    path: Path
    transcripts: tuple[Transcript, ...] = ()
    refusal: Refusal | None = None

    @property
    def locations(self) -> list[Location]:
        return [Location(self.path, i, t.name) for i, t in enumerate(self.transcripts)]


@dataclass(slots=True)
class LoadReport:
    """What a set of paths holds, without the transcripts themselves."""

    locations: list[Location] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    """Damaged conversations."""
    passed_over: list[Refusal] = field(default_factory=list)
    """Files of folders that are no conversations."""
    noted: list[str] = field(default_factory=list)
    """What was mended or left out of files that were read: a line a transcript."""
    without_requests: list[str] = field(default_factory=list)
    """Sources of transcripts in which no model was asked: nothing of them can be replayed."""


def find_files(paths: Sequence[Path]) -> list[Path]:
    """List the files below `paths`, each once; those of a folder are sorted.

    Hidden files, hidden folders, run folders and recorded answers inside a folder are left out.
    Links to folders are followed, but none is entered twice. A folder that cannot be listed is in
    the list itself.

    Raises:
        TranscriptError: a path does not exist, or is a run folder.
    """
    found: dict[str, Path] = {}
    entered: set[str] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise TranscriptError(f"{path}: no such file or folder; correct the path")
        if _is_folder(path) and _is_run_folder(path):
            text = f"{path}: a run folder, not transcripts; name what it was made from"
            raise TranscriptError(text)
        for file in _files_below(path, entered) if _is_folder(path) else [path]:
            found.setdefault(real_path(file), file)
    return list(found.values())


def real_path(path: Path) -> str:
    """Return where links lead; unlike `Path.resolve`, a loop of links is no error."""
    return os.path.realpath(path)


def named_files(paths: Sequence[Path]) -> set[str]:
    """Return the real paths of what the user named itself, not a folder around it."""
    return {real_path(path) for path in paths if not _is_folder(path)}


def load_file(path: Path) -> list[Transcript]:
    """Read every transcript of a file; facts that lie beside a cassette are attached.

    Conversations that a scripted endpoint answered are authored, wherever they lie.

    Raises:
        UnknownFormatError: the file is no conversation.
        TranscriptError: damaged; file, line or message index, and what to do.
    """
    source = str(path)
    transcripts = [
        replace(each, provenance="authored")
        if each.provenance == "recorded" and each.is_scripted
        else each
        for each in read_file(path, source)
    ]
    if path.name in CASSETTE_NAMES and path.with_name(FACTS_NAME).is_file():
        return _with_facts(transcripts, path.with_name(FACTS_NAME))
    return transcripts


def load(location: Location) -> Transcript:
    """Fetch one transcript; the file that was read last is kept.

    Raises:
        TranscriptError: as `load_file`, or the file has changed since it was scanned.
    """
    state = location.path.stat() if location.path.is_file() else None
    stamp = (state.st_size, state.st_mtime_ns) if state else (0, 0)
    transcripts = _cached_file(location.path, stamp)
    if location.index >= len(transcripts):
        raise TranscriptError(f"{location.path}: changed since it was scanned; start again")
    return transcripts[location.index]


@lru_cache(maxsize=1)
def _cached_file(path: Path, _stamp: tuple[int, int]) -> list[Transcript]:
    return load_file(path)


def scan(paths: Sequence[Path]) -> Iterator[Scanned]:
    """Read the files below `paths` one by one.

    A file that the user named itself is refused, and never passed over, if it is no conversation.

    Raises:
        TranscriptError: no file holds a transcript; of files that were named, why.
    """
    files = find_files(paths)
    named = named_files(paths)
    has_any = False
    first: Refusal | None = None
    for path in files:
        try:
            scanned = Scanned(path, tuple(load_file(path)))
        except TranscriptError as error:
            is_named = real_path(path) in named
            is_foreign = isinstance(error, UnknownFormatError) and not is_named
            refusal = Refusal(path, str(error), is_foreign)
            first = first or (refusal if is_named else None)
            scanned = Scanned(path, refusal=refusal)
        has_any = has_any or bool(scanned.transcripts)
        yield scanned
    if not has_any and first is not None:
        others = len(files) - 1
        more = f" (and {_counted(others, 'more ')} without a transcript)" if others else ""
        raise TranscriptError(f"{first.reason}{more}")
    if not has_any:
        listed = ", ".join(str(path) for path in paths)
        formats = ", ".join(importer.FORMAT for importer in importers())
        raise TranscriptError(
            f"{listed}: no transcript in {_counted(len(files))}; looked for {formats}; name a file "
            "or folder with recorded conversations"
        )


def survey(paths: Sequence[Path]) -> LoadReport:
    """Scan everything and keep the locations only.

    Raises:
        TranscriptError: as `scan`.
    """
    report = LoadReport()
    for scanned in scan(paths):
        report.locations += scanned.locations
        report.noted += [note for item in scanned.transcripts if (note := _note_on(item))]
        report.without_requests += [t.source for t in scanned.transcripts if not t.n_requests]
        if scanned.refusal:
            is_foreign = scanned.refusal.is_foreign
            (report.passed_over if is_foreign else report.refused).append(scanned.refusal)
    return report


def _note_on(transcript: Transcript) -> str | None:
    # Glued records are read, but the file is damaged all the same.
    listed = [item for item in transcript.skipped if not item.expected or "glued" in item.reason]
    if not listed:
        return None
    first, more = listed[0], len(listed) - 1
    rest = f" (and {more} more)" if more else ""
    return f"{transcript.source}, {first.where}: {first.reason}{rest}"


def bundled_files() -> list[Path]:
    """Return the cassettes of the bundled datasets.

    Raises:
        DatasetError: they are not installed.
    """
    return [cassette_of(dataset) for dataset in bundled_datasets()]


def load_bundled(name: str | None = None) -> list[Transcript]:
    """Read the bundled datasets, or the one of a name, with their facts."""
    files = [path for path in bundled_files() if name in (None, path.parent.name)]
    return [transcript for path in files for transcript in load_file(path)]


def _files_below(folder: Path, entered: set[str]) -> Iterable[Path]:
    pending = [folder]
    while pending:
        current = pending.pop()
        real = real_path(current)
        if real in entered:
            continue
        entered.add(real)
        try:
            entries = sorted(current.iterdir())
        except OSError:
            yield current
            continue
        visible = [entry for entry in entries if not entry.name.startswith(".")]
        yield from (entry for entry in visible if not _is_folder(entry))
        folders = [entry for entry in visible if _is_folder(entry) and not _is_left_out(entry)]
        pending += reversed(folders)


def _is_left_out(folder: Path) -> bool:
    is_answers = folder.name == ANSWERS_FOLDER and folder.with_name(FACTS_NAME).is_file()
    return is_answers or _is_run_folder(folder)


def _is_run_folder(folder: Path) -> bool:
    try:
        return (folder / RUN_FILE).is_file() and (folder / ROWS_FILE).is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - `Path.is_dir` raises where access is denied


def _with_facts(transcripts: list[Transcript], facts_path: Path) -> list[Transcript]:
    """Attach facts to the longest conversation, the one that they are about."""
    facts = _facts(facts_path)
    longest = max(transcripts, key=lambda transcript: transcript.n_requests)
    is_bundled = facts_path.parent.resolve().parent == _bundled_folder()
    folder = facts_path.parent.name
    return [
        replace(
            transcript,
            name=folder if transcript is longest else f"{folder}/{transcript.name}",
            source=f"datasets/{folder}" if is_bundled else transcript.source,
            facts=facts if transcript is longest else (),
        )
        for transcript in transcripts
    ]


def _bundled_folder() -> Path | None:
    try:
        return datasets_folder().resolve()
    except DatasetError:
        return None


def _facts(path: Path) -> tuple[Json, ...]:
    document = read_document(path, str(path))
    listed = document.get("facts") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not all(isinstance(fact, dict) for fact in listed):
        raise TranscriptError(f"{path}: no list of facts; write a JSON list of objects")
    return tuple(listed)


def _counted(n: int, more: str = "") -> str:
    return f"{n} {more}{'file' if n == 1 else 'files'}"
