"""Unpacking with a limit, so that a small archive cannot fill memory, disk or an afternoon."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from compaction.errors import TranscriptError

CHUNK_BYTES: Final = 1_000_000
MAX_RATIO: Final = 100
"""Unpacked to packed bytes. Logs reach 5 to 50; deflate itself 1,032."""
FREE_BYTES: Final = 50_000_000
"""Unpacked bytes below which the ratio is not looked at."""


class Readable(Protocol):
    """A binary file."""

    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...


def refuse_bomb(unpacked_bytes: int, packed_bytes: int, source: str) -> None:
    """Stop what grows more than any log does.

    Raises:
        TranscriptError: it does.
    """
    if unpacked_bytes > max(FREE_BYTES, MAX_RATIO * packed_bytes):
        raise TranscriptError(
            f"{source}: unpacks to more than {MAX_RATIO} times its size, as no log does; "
            "unpack it yourself if it is one"
        )


@dataclass(slots=True)
class Unpacking:
    """A packed stream, read in pieces that are counted before the next one is unpacked."""

    file: Readable
    packed_bytes: Callable[[], int]
    """How much of the packed file has been read."""
    source: str
    unpacked_bytes: int = 0

    def read(self, size: int, /) -> bytes:
        return self._joined(self.file.read, size, b"")

    def readline(self, size: int, /) -> bytes:
        return self._joined(self.file.readline, size, b"\n")

    def _joined(self, read: Callable[[int], bytes], size: int, end: bytes) -> bytes:
        pieces = []
        while size > 0 and (piece := read(min(size, CHUNK_BYTES))):
            pieces.append(piece)
            size -= len(piece)
            self.unpacked_bytes += len(piece)
            refuse_bomb(self.unpacked_bytes, self.packed_bytes(), self.source)
            if end and piece.endswith(end):
                break
        return b"".join(pieces)
