"""Files that are written completely or not at all."""

import errno
import os
import secrets
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` beside `path` and rename it there, so that no reader sees half of it.

    Raises:
        OSError: nothing was written.
    """
    if path.name in ("", ".."):  # the root, or the current folder, or the one above
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
