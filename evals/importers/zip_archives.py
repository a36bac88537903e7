"""Zip archives of logs: safe to open whatever they hold, unpacked one member at a time.

Member names are never used as paths. A format whose file is an archive itself (Inspect's `.eval`)
reads it with `open_archive`; any other archive is a folder of files.
"""

import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from compaction.errors import TranscriptError
from evals.importers.files import MAX_DOCUMENT_BYTES
from evals.importers.unpacking import CHUNK_BYTES, refuse_bomb

MAX_UNPACKED_BYTES: Final = 2_000_000_000
"""Of one member on disk, where JSON Lines are read line by line."""


class Member(NamedTuple):
    """One file of an archive while it is unpacked."""

    path: Path
    """A temporary file, gone when the next member is asked for."""
    source: str
    """`logs.zip/a/b.json`."""


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive. No member gives more bytes than its header says."""

    file: zipfile.ZipFile
    source: str

    @property
    def names(self) -> list[str]:
        return self.file.namelist()

    def read(self, name: str) -> bytes:
        """Unpack a member into memory.

        Raises:
            TranscriptError: damaged, encrypted, compressed in an unknown way, or far too large.
        """
        with self._reading(name):
            return b"".join(self._pieces(self.file.getinfo(name), MAX_DOCUMENT_BYTES))

    def unpack(self, info: zipfile.ZipInfo, path: Path) -> None:
        """Unpack a member into a file. Raises as `read`."""
        with self._reading(info.filename), path.open("wb") as target:
            for piece in self._pieces(info, MAX_UNPACKED_BYTES):
                target.write(piece)

    def _pieces(self, info: zipfile.ZipInfo, max_bytes: int) -> Iterator[bytes]:
        n_bytes = 0
        with self.file.open(info) as packed:
            while piece := packed.read(CHUNK_BYTES):
                n_bytes += len(piece)
                if n_bytes > max_bytes:
                    text = f"{self.source}: {info.filename} is larger than"
                    raise TranscriptError(f"{text} {max_bytes // 1_000_000} MB when unpacked")
                yield piece

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
            text = f"{self.source}: {name} is damaged ({error}); copy or export the archive again"
            raise TranscriptError(text) from error
        except (RuntimeError, NotImplementedError, KeyError) as error:
            text = f"{self.source}: {name} cannot be unpacked ({error}); unpack the archive"
            raise TranscriptError(f"{text} yourself") from error


@contextmanager
def open_archive(path: Path, source: str) -> Iterator[Archive]:
    """Open an archive.

    Raises:
        TranscriptError: broken, cannot be read, or unpacks to far more than any log.
    """
    try:
        file = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        text = f"{source}: broken zip archive ({error}); copy or export the file again"
        raise TranscriptError(text) from error
    with file:
        unpacked_bytes = sum(info.file_size for info in file.infolist())
        refuse_bomb(unpacked_bytes, path.stat().st_size, source)
        yield Archive(file, source)


def members(path: Path, source: str) -> Iterator[Member]:
    """Unpack the visible files of an archive one after the other.

    Raises:
        TranscriptError: as `Archive.unpack`.
    """
    with open_archive(path, source) as archive, tempfile.TemporaryDirectory() as folder:
        for info in archive.file.infolist():
            if info.is_dir() or _is_hidden(info.filename):
                continue
            file = Path(folder) / "member"
            archive.unpack(info, file)
            yield Member(file, f"{source}/{info.filename}")


def _is_hidden(name: str) -> bool:
    parts = (part for part in name.split("/") if part not in (".", ".."))
    return any(part.startswith((".", "__MACOSX")) for part in parts)
