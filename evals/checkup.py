"""What a file of transcripts holds: counts, usage, compactions, calibration, and what was skipped.

One file is in memory at a time. How it is printed is in `evals.doctor`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from compaction.errors import TranscriptError
from compaction.messages import Message
from compaction.pairing import pair
from evals.calibration import Calibration
from evals.importers.files import UnknownFormatError
from evals.importers.outlines import outlining
from evals.loading import find_files, load_file, named_files, real_path
from evals.prepare import prepare
from evals.transcripts import RecordedCompaction, Segment, Skipped, Transcript

VERSION_KEYS: Final = ("version", "schema_version", "cli_version")
"""Where importers put the version of the program that wrote a log, in `Transcript.extra`."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One transcript."""

    name: str
    messages: int
    """Each once, although segments repeat what a compaction kept."""
    requests: int
    requests_with_usage: int
    calls: int
    unanswered_calls: int
    segments: int
    facts: int
    compactions: tuple[RecordedCompaction, ...]
    calibrations: tuple[Calibration, ...]
    """Of the segments that have usage, in order."""


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One file."""

    path: str
    format: str | None = None
    """None if the file was refused."""
    versions: tuple[str, ...] = ()
    transcripts: tuple[Checked, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    refusal: str | None = None
    is_foreign: bool = False
    """Refused because it is no conversation, and not named by the user but found in a folder."""

    @property
    def is_understood(self) -> bool:
        return (self.refusal is None or self.is_foreign) and not self.not_understood

    @property
    def not_understood(self) -> list[Skipped]:
        return [item for item in self.skipped if not item.expected]


def check_files(paths: Sequence[Path], *, calibrate: bool) -> tuple[int, Iterator[FileCheck]]:
    """Return how many files there are below `paths`, and their checks one after the other.

    Raises:
        TranscriptError: a path does not exist, or is a run folder.
    """
    files = find_files(paths)
    named = named_files(paths)
    checks = (
        check_file(path, calibrate=calibrate, is_named=real_path(path) in named) for path in files
    )
    return len(files), checks


def check_file(path: Path, *, calibrate: bool = True, is_named: bool = True) -> FileCheck:
    """Read one file; a file that cannot be read is a check with a refusal.

    Without calibration the texts of JSON Lines are not kept, so memory grows with the number of
    messages and not with the size of the file.
    """
    try:
        with outlining(is_on=not calibrate):
            transcripts = load_file(path)
    except UnknownFormatError as error:
        return FileCheck(str(path), refusal=str(error), is_foreign=not is_named)
    except TranscriptError as error:
        return FileCheck(str(path), refusal=str(error))
    return FileCheck(
        path=str(path),
        format=", ".join(dict.fromkeys(transcript.format for transcript in transcripts)),
        versions=tuple(dict.fromkeys(_versions(transcripts))),
        transcripts=tuple(_checked(transcript, calibrate=calibrate) for transcript in transcripts),
        skipped=tuple(item for transcript in transcripts for item in transcript.skipped),
    )


def _versions(transcripts: Iterable[Transcript]) -> Iterator[str]:
    for transcript in transcripts:
        for key in VERSION_KEYS:
            if isinstance(transcript.extra.get(key), str):
                yield transcript.extra[key]


def _checked(transcript: Transcript, *, calibrate: bool) -> Checked:
    messages = _each_once(transcript.segments)
    requests = [request for segment in transcript.segments for request in segment.requests]
    return Checked(
        name=transcript.name,
        messages=len(messages),
        requests=len(requests),
        requests_with_usage=sum(request.usage is not None for request in requests),
        calls=sum(len(message.tool_calls) for message in messages),
        unanswered_calls=len(pair(messages).open_calls),
        segments=len(transcript.segments),
        facts=len(transcript.facts),
        compactions=tuple(s.opened_by for s in transcript.segments if s.opened_by),
        calibrations=_calibrations(transcript) if calibrate else (),
    )


def _calibrations(transcript: Transcript) -> tuple[Calibration, ...]:
    if not any(request.usage for s in transcript.segments for request in s.requests):
        return ()
    fits = (segment.calibration for segment in prepare(transcript).segments)
    return tuple(fit for fit in fits if fit.n_requests)


def _each_once(segments: Sequence[Segment]) -> list[Message]:
    """Return messages in order, without those that a segment repeats from the one before.

    What was kept stands before the first answer; the same words after it were said again.
    """
    found = list(segments[0].messages)
    for before, segment in pairwise(segments):
        repeated = Counter(map(_key, before.messages))
        n_kept = segment.requests[0].position if segment.requests else len(segment.messages)
        for message in segment.messages[:n_kept]:
            key = _key(message)
            if repeated[key] > 0:
                repeated[key] -= 1
            else:
                found.append(message)
        found += segment.messages[n_kept:]
    return found


def _key(message: Message) -> object:
    """Tell messages apart by the calls they make or answer: a compaction may clear their text."""
    if message.is_result and message.tool_call_id:
        return message.tool_call_id
    if message.tool_calls:
        return tuple(call.call_id or call.name for call in message.tool_calls)
    return message
