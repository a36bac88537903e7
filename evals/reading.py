"""From one file to its transcripts: the importer that takes it, or every file of an archive.

Which files are read is in `evals.loading`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Never

from compaction.errors import TranscriptError
from evals.importers import importer_for
from evals.importers.files import UnknownFormatError, head_of, is_archive
from evals.importers.reports import unique_names
from evals.importers.zip_archives import members
from evals.transcripts import Skipped, Transcript


def read_file(path: Path, source: str) -> list[Transcript]:
    """Read a file of any format, or an archive of such files.

    Raises:
        UnknownFormatError: no conversation, or no regular file.
        TranscriptError: damaged; file, line or message index, and what to do.
    """
    _refuse_irregular(path, source)
    try:
        return _read(path, source)
    except UnknownFormatError:
        if not is_archive(path, source):
            raise
    return _read_archive(path, source)


def _refuse_irregular(path: Path, source: str) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink():
            text = f"{source}: a link that leads nowhere; name another file"
            raise UnknownFormatError(text) from error
        raise TranscriptError(f"{source}: no such file; correct the path") from error
    except OSError as error:
        text = f"{source}: cannot be read ({error.strerror}); check the path"
        raise TranscriptError(text) from error
    if S_ISDIR(mode):
        raise TranscriptError(f"{source}: the folder cannot be listed; check its permissions")
    if not S_ISREG(mode):
        text = f"{source}: a pipe or a device; write its content to a file and name that"
        raise UnknownFormatError(text)


def _read(path: Path, source: str) -> list[Transcript]:
    # The head may hold a whole document: it is gone before the file is read.
    importer = importer_for(head_of(path, source))
    try:
        return list(importer.read(path, source))
    except RecursionError as error:
        text = f"{source}: JSON nested too deeply to be a log; export the file again"
        raise TranscriptError(text) from error
    except MemoryError as error:
        raise TranscriptError(f"{source}: too large for the memory; split the file") from error


def _read_archive(path: Path, source: str) -> list[Transcript]:
    """Read every file of an archive; what gave no conversation is told as skipped."""
    transcripts: list[Transcript] = []
    skipped: list[Skipped] = []
    for member in members(path, source):
        try:
            transcripts += _read(member.path, member.source)
        except TranscriptError as error:
            is_foreign = isinstance(error, UnknownFormatError)
            is_nested = is_foreign and is_archive(member.path, member.source)
            reason = "an archive in an archive; unpack it first" if is_nested else str(error)
            skipped.append(Skipped(member.source, reason, is_foreign and not is_nested))
    if not transcripts:
        _refuse_archive(source, skipped)
    names = unique_names(transcript.name for transcript in transcripts)
    named = [replace(t, name=name) for t, name in zip(transcripts, names, strict=True)]
    return [replace(named[0], skipped=(*named[0].skipped, *skipped)), *named[1:]]


def _refuse_archive(source: str, skipped: Sequence[Skipped]) -> Never:
    first = min(skipped, key=lambda item: item.expected, default=None)
    if first is None:
        text = f"{source}: no file in the archive that is not hidden; name another file"
        raise UnknownFormatError(text)
    text = f"{source}: no conversation in the archive ({first.where}: {first.reason})"
    raise UnknownFormatError(text) if first.expected else TranscriptError(text)
