"""Evicted text, kept by handle so that it can be read back byte for byte.

A handle may contain anything a model or a log put into a call id, so it never becomes a file name
unless it is a harmless one; everything else is stored under a digest.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from compaction.atomic import write_atomically
from compaction.errors import StoreError
from compaction.messages import digest_of

_HARMLESS_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_RESERVED_NAME: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|h-.*|.*\.")
"""Device names of Windows, our own prefix for digests, and names that Windows would shorten."""


class Store(Protocol):
    """Text by handle, for one conversation."""

    def put(self, handle: str, text: str) -> None:
        """Keep `text`; what is already kept under `handle` stays.

        Raises:
            StoreError: the text could not be written; nothing was kept.
        """
        ...

    def get(self, handle: str) -> str | None: ...


def make_handle(call_id: str | None, occurrence: int, text: str) -> str:
    """Name one tool result: its call id, how often that id occurred before, and its content.

    The id alone is not enough: real logs reuse call ids with other content.
    """
    return f"{call_id or 'result'}.{occurrence}.{digest_of(text)[:10]}"


class MemoryStore:
    """Keeps text for as long as the process lives."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def put(self, handle: str, text: str) -> None:
        self._texts.setdefault(handle, text)

    def get(self, handle: str) -> str | None:
        return self._texts.get(handle)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


class FolderStore:
    """Keeps each text as one UTF-8 file, written completely or not at all."""

    def __init__(self, folder: Path, *, suffix: str = ".txt") -> None:
        self.folder = folder
        self._suffix = suffix

    def path_of(self, handle: str) -> Path:
        """Return the file of a handle: the handle itself if it is a harmless name, else a digest.

        Names differing only in case would meet on some file systems, so upper case is digested.
        """
        harmless = _HARMLESS_NAME.fullmatch(handle) and not _RESERVED_NAME.fullmatch(handle)
        if harmless and handle == handle.lower():
            return self.folder / f"{handle}{self._suffix}"
        return self.folder / f"h-{digest_of(handle)}{self._suffix}"

    def put(self, handle: str, text: str) -> None:
        path = self.path_of(handle)
        try:
            if path.exists():
                return
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise StoreError(
                f"cannot keep {handle!r} in {self.folder}: {error.strerror}"
            ) from error

    def get(self, handle: str) -> str | None:
        try:
            return self.path_of(handle).read_bytes().decode("utf-8", "surrogatepass")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(
                f"cannot read {handle!r} in {self.folder}: {error.strerror}"
            ) from error


def place_of(store: Store, handle: str) -> str:
    """Return the path of a handle's file where the store keeps files, else the handle."""
    return str(store.path_of(handle)) if isinstance(store, FolderStore) else handle
