"""Opening files of unknown content: plain or gzip, their first part, and whole JSON documents.

A zip archive is recognised here and opened by `zip_archives`.
"""

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from compaction.errors import TranscriptError
from evals.importers.unpacking import Readable, Unpacking

JsonValue = Any
"""What `json.loads` returns."""

HEAD_BYTES: Final = 65_536
HEAD_LINES: Final = 50
MAX_DOCUMENT_BYTES: Final = 500_000_000
"""A JSON value larger than this is refused, because reading it takes about five times its size in
memory; JSON Lines are read line by line."""
MAX_LINE_BYTES: Final = MAX_DOCUMENT_BYTES
BINARY_FRACTION: Final = 0.1
"""Share of undecodable characters in the head above which a file is called binary."""

GZIP_START: Final = b"\x1f\x8b"
ZIP_START: Final = b"PK\x03\x04"

Layout = Literal["document", "lines", "text", "archive"]


class UnknownFormatError(TranscriptError):
    """The file holds no conversation at all, as far as can be told. In a folder: passed over."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a format is recognised by."""

    source: str
    """The file as the user named it."""
    text: str
    """The first part of the file, with replacement characters where it is not UTF-8; of an archive
    the names of its members, one a line."""
    layout: Layout
    """One JSON value, JSON Lines (also a single line), no JSON at all, or a zip archive."""
    values: tuple[JsonValue, ...] = ()
    """The document, or the first values of the lines."""

    @property
    def objects(self) -> list[dict[str, JsonValue]]:
        return [value for value in self.values if isinstance(value, dict)]


@contextmanager
def open_bytes(path: Path, source: str) -> Iterator[Readable]:
    """Open a file for reading, unpacked if it is gzip, whatever it is called.

    Raises:
        TranscriptError: while it is open: unreadable, or a broken archive.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP_START
            raw.seek(0)
            if packed:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield Unpacking(unpacked, raw.tell, source)
            else:
                yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        text = f"{source}: broken gzip archive ({error}); copy or export the file again"
        raise TranscriptError(text) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise TranscriptError(f"{source}: cannot be read ({reason}); check the path") from error


def read_bytes(path: Path, source: str) -> bytes:
    with open_bytes(path, source) as file:
        data = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(data) > MAX_DOCUMENT_BYTES:
        limit = MAX_DOCUMENT_BYTES // 1_000_000
        raise TranscriptError(f"{source}: one JSON value larger than {limit} MB; split it")
    return data


def read_document(path: Path, source: str) -> JsonValue:
    """Parse a file that is one JSON value.

    Raises:
        TranscriptError: not UTF-8, or not JSON, with the line and column.
    """
    data = read_bytes(path, source)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TranscriptError(
            f"{source}:{line}: not UTF-8 (byte {error.start}); export the file again as UTF-8"
        ) from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        cut = " (the file ends too early)" if error.pos >= len(text.rstrip()) else ""
        raise TranscriptError(
            f"{source}:{error.lineno}: not JSON: {error.msg} in column {error.colno}{cut}; "
            "export the file again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"{source}: not usable JSON: {error}; export it again") from error


def head_of(path: Path, source: str) -> Head:
    """Look at the start of a file; a JSON document is parsed as a whole.

    Raises:
        UnknownFormatError: empty or binary.
        TranscriptError: looks like JSON and is not, or cannot be read.
    """
    start, is_whole = _first_bytes(path, source)
    if start.startswith(ZIP_START):
        return Head(source, "\n".join(_member_names(path, source)), "archive")
    if start.startswith(GZIP_START):
        raise TranscriptError(f"{source}: gzip within gzip; unpack it once")
    text = start.decode("utf-8-sig", "replace")
    if not text.strip():
        reason = "the file is empty" if is_whole else f"begins with {HEAD_BYTES} blanks"
        raise UnknownFormatError(f"{source}: {reason}; name another file")
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TranscriptError(f"{source}: UTF-16 text; save the file as UTF-8")
    if "\0" in text or text.count("\ufffd") > BINARY_FRACTION * len(text):
        raise UnknownFormatError(f"{source}: binary data, no conversation; name another file")
    if text.lstrip()[0] not in "{[":
        return Head(source, text, "text")
    first, *others = _parsed_lines(text, is_whole=is_whole)
    text = text[:HEAD_BYTES]
    if first is not None:
        lines = [value for value in (first, *others) if value is not None]
        return Head(source, text, "lines", tuple(lines))
    try:
        return Head(source, text, "document", (read_document(path, source),))
    except TranscriptError:
        objects = [value for value in others if isinstance(value, dict)]
        if len(objects) * 2 <= len(others):
            raise
        return Head(source, text, "lines", tuple(objects))


def is_archive(path: Path, source: str) -> bool:
    """Tell a zip archive by its first bytes, also if it is packed with gzip."""
    with open_bytes(path, source) as file:
        return file.read(len(ZIP_START)) == ZIP_START


def _member_names(path: Path, source: str) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        text = f"{source}: broken zip archive ({error}); copy or export the file again"
        raise TranscriptError(text) from error


def _first_bytes(path: Path, source: str) -> tuple[bytes, bool]:
    """Return at least one whole line, and whether that is the whole file."""
    with open_bytes(path, source) as file:
        start = file.read(HEAD_BYTES)
        shown = start.removeprefix(b"\xef\xbb\xbf").strip()
        if len(start) == HEAD_BYTES and b"\n" not in shown and shown.startswith((b"{", b"[")):
            start += file.readline(MAX_LINE_BYTES)
        return start, not file.read(1)


def _parsed_lines(text: str, *, is_whole: bool) -> list[JsonValue]:
    """Parse the first non-empty lines; None stands for one that is not one JSON value."""
    lines = text.split("\n")
    if not is_whole and len(lines) > 1 and not text.endswith("\n"):
        lines.pop()
    return [_parsed(line) for line in [x for x in lines if x.strip()][:HEAD_LINES]]


def _parsed(line: str) -> JsonValue:
    try:
        value, end = json.JSONDecoder().raw_decode(line.strip())
    except (ValueError, RecursionError):
        return None
    return value if line.strip()[end:].strip()[:1] in ("", "{", "[") else None
