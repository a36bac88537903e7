"""Zip archives of logs: safe to open whatever they hold, unpacked one member at a time.

Member names are never used as paths. A format whose file is an archive itself (Inspect's `.eval`)
reads it with `open_archive`; any other archive is a folder of files.
"""

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from compaction.errors import TranscriptError
from evals.importers.files import MAX_UNPACKED_BYTES


class Member(NamedTuple):
    """One file of an archive while it is unpacked."""

    path: Path
    """A temporary file, gone when the next member is asked for."""
    source: str
    """`logs.zip/a/b.json`."""


@contextmanager
def open_archive(path: Path, source: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive.

    Raises:
        TranscriptError: broken, or cannot be read.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        text = f"{source}: broken zip archive ({error}); copy or export the file again"
        raise TranscriptError(text) from error
    with archive:
        yield archive


def read_member(archive: zipfile.ZipFile, name: str, source: str) -> bytes:
    """Unpack a member.

    Raises:
        TranscriptError: damaged, encrypted, compressed in an unknown way, or far too large.
    """
    try:
        with archive.open(name) as file:
            data = file.read(MAX_UNPACKED_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        text = f"{source}: {name} is damaged ({error}); copy or export the archive again"
        raise TranscriptError(text) from error
    except (RuntimeError, NotImplementedError, KeyError) as error:
        text = f"{source}: {name} cannot be unpacked ({error}); unpack the archive yourself"
        raise TranscriptError(text) from error
    if len(data) > MAX_UNPACKED_BYTES:
        limit = MAX_UNPACKED_BYTES // 1_000_000
        raise TranscriptError(f"{source}: {name} is larger than {limit} MB when unpacked")
    return data


def members(path: Path, source: str) -> Iterator[Member]:
    """Unpack the visible files of an archive one after the other.

    Raises:
        TranscriptError: as `read_member`.
    """
    with open_archive(path, source) as archive, tempfile.TemporaryDirectory() as folder:
        for info in archive.infolist():
            if info.is_dir() or _is_hidden(info.filename):
                continue
            file = Path(folder) / "member"
            file.write_bytes(read_member(archive, info.filename, source))
            yield Member(file, f"{source}/{info.filename}")


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))
